/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * Parts of pages about servers: icon, name, address, players, software.
 *
 * @module
 */
import {
  type FlagReason,
  type FlagReasons,
  PLAYER_FLAGS,
  type PlayerFlag,
} from "../../core/flags.ts";
import { DAY_MS } from "../../core/quantities.ts";
import { watchedText, type WatchedUptime } from "../../store/mod.ts";
import type { ListedServer } from "../queries/schemas.ts";
import { serverUrl } from "./links.ts";
import { countText, durationText, percentText, UNKNOWN_TEXT } from "./quantities.ts";
import { Name, nameOf, safeText, Stranger } from "./texts.tsx";

/** The icon of a server. A server without one has a tile with the first letter of its name. */
export function ServerIcon({ server, size = 32 }: { server: ListedServer; size?: number }) {
  const { favicon_hash: hash, has_icon: hasIcon } = server;
  return hasIcon && hash !== null && /^[0-9a-f]{64}$/.test(hash)
    ? (
      <img
        class="icon"
        src={`/icons/${hash}.png`}
        alt=""
        width={size}
        height={size}
        loading="lazy"
      />
    )
    : <LetterTile text={nameOf(server)} size={size} />;
}

function LetterTile({ text, size }: { text: string; size: number }) {
  const letter = /[\p{L}\p{N}]/u.exec(text)?.[0].toUpperCase() ?? "?";
  const color = (letter.codePointAt(0) ?? 0) % 8;
  return (
    <svg
      class={`icon tile s${color}`}
      width={size}
      height={size}
      viewBox="0 0 32 32"
      aria-hidden="true"
    >
      <rect class="area" width="32" height="32" rx="6" />
      <text x="16" y="21.5" text-anchor="middle">{letter}</text>
    </svg>
  );
}

/** How old the last reply of an online server may be; with an older one it is `stale`. */
export const STALE_REPLY_MS = DAY_MS;

export type ShownState = "online" | "stale" | "offline";

/** The state of a server at a time. That of an online one is known only by replies that are not old. */
export function stateOf(
  { online, seen_at: seenAt }: Pick<ListedServer, "online" | "seen_at">,
  now: number,
): ShownState {
  return !online ? "offline" : now - seenAt > STALE_REPLY_MS ? "stale" : "online";
}

/** What a state means. */
const STATE_TITLES: Readonly<Record<ShownState, string>> = {
  online: "online",
  stale: `stale: the last reply is more than ${durationText(STALE_REPLY_MS)} old`,
  offline: "offline",
};

/** A dot with the state of a server, and the state in words for screen readers. */
export function StateDot({ state }: { state: ShownState }) {
  return (
    <span class={`dot ${state}`} title={STATE_TITLES[state]}>
      <span class="hidden">{state}</span>
    </span>
  );
}

/** The name of a server, which leads to its page, and its MOTD if that is more than the name. */
export function ServerLink({ server }: { server: ListedServer }) {
  return (
    <div class="server-name">
      <a href={serverUrl(server.id)} title={safeText(nameOf(server))}>
        <Name server={server} />
      </a>
    </div>
  );
}

/** The address of a server with its port. A click on it, or on its button, copies all of it. */
export function ServerAddress({ address }: { address: string }) {
  const text = safeText(address);
  return (
    <span class="address">
      <code>{text}</code>
      <button type="button" class="copy" data-copy={text} hidden aria-label={`Copy ${text}`}>
        <svg width="14" height="14" viewBox="0 0 16 16" aria-hidden="true">
          <path d="M5.5 5.5V2.5h8v8h-3M2.5 5.5h8v8h-8z" />
        </svg>
      </button>
    </span>
  );
}

/** The flags of a number of players, in one or two words. */
const FLAG_TEXTS: Readonly<Record<PlayerFlag, string>> = {
  playersAboveSlots: "above the slots",
  playersConstant: "constant",
  playersSteps: "steps",
  playersSameNames: "same names",
};

/** The flags of a number of players that this version knows, and their reasons. */
export function reasonsOf(reasons: FlagReasons | null): [PlayerFlag, FlagReason][] {
  return (Object.keys(FLAG_TEXTS) as PlayerFlag[]).flatMap((flag) => {
    const reason = reasons?.[flag];
    return typeof reason === "object" ? [[flag, reason]] : [];
  });
}

/** Players and slots, with a bar of the share: none if the count cannot be believed. */
export function Players({ server, isStale = false }: { server: ListedServer; isStale?: boolean }) {
  const { players_online: players, players_max: slots, online, player_flags: reasons } = server;
  const reported = reasonsOf(reasons).map(([flag]) => flag);
  if (!online || players === null) {
    return (
      <span class="players">
        <span class="none">{UNKNOWN_TEXT}</span>
        <PlayerFlags flags={reported} />
      </span>
    );
  }
  const isAbove = slots !== null && slots > 0 && players > slots;
  const flags = new Set(reported);
  if (isAbove) flags.add("playersAboveSlots");
  const share = slots !== null && slots > 0 ? Math.max(0, players / slots) : 0;
  return (
    <span class={isStale ? "players stale" : "players"}>
      <span>
        <b>{countText(players)}</b>
        {slots !== null && <small>{` / ${countText(slots)}`}</small>}
      </span>
      {flags.size === 0 ? <Bar share={share} /> : <PlayerFlags flags={[...flags]} />}
    </span>
  );
}

/** Why a number of players cannot be believed, in words whose tooltips are the rules. */
function PlayerFlags({ flags }: { flags: readonly PlayerFlag[] }) {
  if (flags.length === 0) return null;
  return (
    <small class="above">
      {flags.map((flag, i) => (
        <>
          {i > 0 && ", "}
          <abbr title={PLAYER_FLAGS[flag]}>{FLAG_TEXTS[flag]}</abbr>
        </>
      ))}
    </small>
  );
}

/** A horizontal bar. Its value stands beside it as text. */
export function Bar({ share, color }: { share: number; color?: number }) {
  const width = share > 0 ? Math.max(share * 100, 1) : 0;
  return (
    <svg class={`bar s${color ?? 0}`} width="100%" height="4" aria-hidden="true">
      <rect class="track" width="100%" height="4" rx="2" />
      <rect class="fill" width={`${Number(width.toFixed(2))}%`} height="4" rx="2" />
    </svg>
  );
}

/** The meanings of confidences. */
export const CONFIDENCES: Readonly<Record<string, string>> = {
  A: "stated by the server",
  B: "inferred from its replies",
  C: "uncertain: other software may send the same replies",
};

/** The software of a server with its confidence. */
export function SoftwareText({ server }: { server: ListedServer }) {
  const { software, software_confidence: confidence, proxy } = server;
  return (
    <span class="software">
      <Stranger text={software} longest={60} />
      {confidence !== null && software !== null && (
        <abbr
          class="badge"
          title={`Confidence ${safeText(confidence, 4)}: ${CONFIDENCES[confidence] ?? "unknown"}`}
        >
          {safeText(confidence, 4)}
        </abbr>
      )}
      {proxy !== null && <small>{`via ${safeText(proxy, 30)}`}</small>}
    </span>
  );
}

export function Badges({ names }: { names: readonly string[] }) {
  return names.length === 0 ? <span class="none">{UNKNOWN_TEXT}</span> : (
    <span class="badges">
      {names.slice(0, 20).map((name) => <span class="badge">{safeText(name, 40)}</span>)}
    </span>
  );
}

/** The share of the watched time in which a server was online, the share that was watched, and the polls. */
export function uptimeTexts(
  uptime: WatchedUptime,
): { share: string; watched: string } {
  const { watchedS, onlineS } = uptime;
  if (watchedS === 0) return { share: UNKNOWN_TEXT, watched: "not watched" };
  return { share: percentText(onlineS / watchedS), watched: watchedText(uptime) };
}

/** The uptime of a server with the share of the time in which it was watched. */
export function UptimeText({ uptime }: { uptime: WatchedUptime }) {
  const { share, watched } = uptimeTexts(uptime);
  return (
    <>
      {share} <small>{watched}</small>
    </>
  );
}
