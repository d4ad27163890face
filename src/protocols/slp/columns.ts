/**
 * What a status says in the columns of a row, and beside them. All of it is bounded: a stranger may
 * send 2 MiB, and a row is kept for ever.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Facts, FactValue, ServerRecord } from "../../core/record.ts";
import { cutText, plainText } from "../../core/text.ts";
import type { Statement } from "../protocol.ts";
import type { Modding } from "./forge_mods.ts";
import type { LegacyReply } from "./legacy_ping.ts";
import type { JavaDisconnect, JavaStatus } from "./status_json.ts";

/** What a server said. */
export type SlpStatus =
  | {
    readonly kind: "status";
    /** The status. */
    readonly java: JavaStatus;
    /** Bytes behind the JSON, in its frame. */
    readonly more: number;
    /** Whether the pong brought other bytes than the ping. */
    readonly pongDiffers: boolean;
  }
  | JavaDisconnect
  | {
    readonly kind: "legacy";
    /** The kick: a status, or the reason why there is none. */
    readonly reply: LegacyReply;
    /** Which question it answers: `fe01`, `fe`, or `status`, where it came in place of one. */
    readonly asked: string;
  };

/** UTF-16 units of a MOTD, which a gradient can take fifteen of for one letter. */
const MOST_MOTD = 8192;
/** UTF-16 units of any other text. */
const MOST_TEXT = 256;
/** Names of players, of which vanilla sends twelve. */
const MOST_PLAYERS = 128;
/** Mods, of which big packs have four hundred. */
const MOST_MODS = 512;
/** Keys of an object. */
const MOST_KEYS = 24;

/** The protocol number with which later software answers legacy pings, whatever its own. */
const LATER_PROTOCOL = 127;

/** What a status says. */
export function slpStatement(status: SlpStatus): Statement {
  switch (status.kind) {
    case "status":
      return statusStatement(status);
    case "legacy":
      return legacyStatement(status.reply, status.asked);
    case "disconnect":
      return {
        columns: { edition: "java" },
        flags: ["disconnected", ...status.flags],
        facts: { form: "disconnect", reason: reasonText(status.reason) },
      };
  }
}

function statusStatement({ java, more, pongDiffers }: Extract<SlpStatus, { kind: "status" }>) {
  const icon = readIcon(java.favicon);
  const { software, version } = splitVersion(java.versionName);
  const columns = {
    ...motdColumns(java.motd),
    edition: "java",
    software,
    version,
    protocol_version: java.protocol,
    players_online: java.online,
    players_max: java.max,
    players: java.sample?.slice(0, MOST_PLAYERS).map(({ name }) => cutToText(name)) ?? null,
    plugins: null,
    favicon_hash: icon.hash,
  };
  const flags: string[] = [...java.flags];
  if (icon.odd) flags.push("badFavicon");
  if (more > 0) flags.push("trailingBytes");
  if (pongDiffers) flags.push("pongDiffers");
  if (java.sample?.some(({ name }) => name.includes("§"))) flags.push("sampleText");
  if (exceedsLimits(java) && !flags.includes("cut")) flags.push("cut");
  const facts = statusFacts(java, icon.size);
  return {
    ...{ columns, flags, facts },
    ...(java.motdSent !== null && { motdSent: java.motdSent }),
    ...(icon.bytes !== undefined && { icon: icon.bytes }),
  };
}

/** Whether a row cannot hold all that was said. */
function exceedsLimits({ motd, sample, modding, versionName, keys }: JavaStatus): boolean {
  const names = sample?.map(({ name }) => name) ?? [];
  return isLonger(motd, MOST_MOTD) || isLonger(names, MOST_PLAYERS) ||
    isLonger(modding?.mods, MOST_MODS) ||
    [versionName, ...names].some((text) => isLonger(text, MOST_TEXT)) ||
    Object.values(keys).some((list) => isLonger(list, MOST_KEYS));
}

function isLonger(what: ArrayLike<unknown> | null | undefined, most: number): boolean {
  return (what?.length ?? 0) > most;
}

function statusFacts(java: JavaStatus, iconSize: number | null): Facts {
  const names = (list: readonly string[]) => list.slice(0, MOST_KEYS).map(cutToText);
  return withoutNulls({
    form: "status",
    version_name: java.versionName === null ? null : cutToText(java.versionName),
    motd_form: java.motdForm,
    keys: names(java.keys.status),
    version_keys: names(java.keys.version),
    players_keys: names(java.keys.players),
    sample_size: java.sample?.length ?? null,
    favicon_size: iconSize,
    ...Object.fromEntries(java.switches),
    ...(java.unread.size > 0 && { unread: textPairs(java.unread) }),
    ...(java.modding && moddingFacts(java.modding)),
  });
}

function moddingFacts({ form, loader, mods, channels, truncated }: Modding): Facts {
  const listed = mods?.slice(0, MOST_MODS).map(({ id, version }) => [id, version ?? ""] as const);
  return {
    mods_form: form,
    mods_loader: loader === null ? null : cutToText(loader),
    mods_count: mods?.length ?? null,
    mods_channels: mods === null ? null : channels,
    mods: listed === undefined ? null : textPairs(listed),
    mods_truncated: truncated || null,
  };
}

function legacyStatement({ status, text, flags }: LegacyReply, asked: string): Statement {
  if (status === undefined) {
    const facts = { form: "kick", reason: reasonText(text) };
    return { columns: { edition: "java" }, flags: ["disconnected", ...flags], facts };
  }
  const { software, version } = splitVersion(status.version);
  const later = status.protocol === LATER_PROTOCOL;
  const columns = {
    ...motdColumns(status.motd),
    edition: "java",
    software,
    version,
    protocol_version: later ? null : status.protocol,
    players_online: status.online,
    players_max: status.max,
  };
  const cut = isLonger(status.motd, MOST_MOTD) || isLonger(status.version, MOST_TEXT);
  const facts = withoutNulls({
    form: `legacy ${status.form}`,
    version_name: status.version === null ? null : cutToText(status.version),
    asked,
    later_protocol: later || null,
  });
  return { columns, flags: cut ? [...flags, "cut"] : flags, facts };
}

function motdColumns(motd: string | null): Partial<ServerRecord> {
  const text = (motd && cutText(motd, MOST_MOTD)) || null;
  const plain = text === null ? null : plainText(text) || null;
  return { motd: text, motd_plain: plain, name: plain };
}

function reasonText(text: string): string {
  return cutToText(plainText(cutText(text, MOST_MOTD)));
}

/** One word, then versions: `Paper 1.21.4`, `Velocity 1.7.2-1.21.4`, `Waterfall 1.8.x, 1.9.x`. */
const BRANDED = /^([A-Za-z][\w+-]{0,31}) (v?\d[\w.+-]*(?:[,/ ]+v?\d[\w.+-]*)*)$/;
/** Words with which servers tell clients what they want, not what they are. */
const NO_BRANDS = new Set(["requires", "minecraft", "version", "java", "only", "use", "mc"]);

/** A version's name taken apart, where it is a software's name with a version. */
function splitVersion(name: string | null): { software: string | null; version: string | null } {
  const text = cutToText(name ?? "");
  const [, software, version] = BRANDED.exec(text) ?? [];
  const branded = software !== undefined && !NO_BRANDS.has(software.toLowerCase());
  return branded ? { software, version } : { software: null, version: text || null };
}

const PNG = "89504e470d0a1a0a";

/** An icon, its hash and size in bytes, and whether it is anything but a PNG in a data URL. */
interface Icon {
  readonly bytes?: Uint8Array;
  readonly hash: string | null;
  readonly size: number | null;
  readonly odd: boolean;
}

function readIcon(url: string | null): Icon {
  if (!url) return { hash: null, size: null, odd: false };
  const bytes = base64Of(url);
  if (bytes === undefined) return { hash: null, size: null, odd: true };
  const hash = createHash("sha256").update(bytes).digest("hex");
  const odd = bytes.subarray(0, 8).toHex() !== PNG || !url.startsWith("data:image/png;");
  return { bytes, hash, size: bytes.length, odd };
}

/** The bytes in a data URL; servers before 1.13 break its lines. */
function base64Of(url: string): Uint8Array | undefined {
  const comma = url.indexOf(",");
  if (!url.startsWith("data:") || !url.slice(0, comma + 1).endsWith(";base64,")) return undefined;
  try {
    return Uint8Array.fromBase64(url.slice(comma + 1)); // which skips white space
  } catch {
    return undefined;
  }
}

function cutToText(text: string): string {
  return cutText(text, MOST_TEXT);
}

/** Pairs as a fact; `__proto__` is a key like any other. */
function textPairs(pairs: Iterable<readonly [string, string]>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Array.from(pairs, ([key, value]) => [cutToText(key), cutToText(value)]),
  );
}

/** Facts without those that are not known. */
function withoutNulls(facts: Record<string, FactValue>): Facts {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== null));
}
