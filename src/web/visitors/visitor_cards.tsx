/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * Cards of servers for visitors.
 *
 * @module
 */
import { roughDuration } from "../../core/quantities.ts";
import { Sparkline } from "../charts/sparkline.tsx";
import { countText, percentText } from "../components/quantities.ts";
import { Bar, ServerIcon, stateOf } from "../components/server_cells.tsx";
import {
  editionName,
  MotdText,
  nameOf,
  safeText,
  Stranger,
  visibleMotd,
} from "../components/texts.tsx";
import type { ListedServer } from "../queries/schemas.ts";
import { visitorServerUrl } from "./visitor_filters.ts";
import { hasMods, playerCount, type VisitorServer } from "./visitor_server.ts";

/** The mean numbers of players of the last 24 hours, by `servers.id`. */
export type HourlyPlayers = ReadonlyMap<number, readonly (number | null)[]>;

/** A list of servers. */
export function Cards(
  { servers, hours, now }: { servers: readonly ListedServer[]; hours: HourlyPlayers; now: number },
) {
  return (
    <ol class="servers">
      {servers.map((one) => <Card server={one} hours={hours.get(one.id)} now={now} />)}
    </ol>
  );
}

function Card(
  { server, hours, now }: {
    server: ListedServer;
    hours: readonly (number | null)[] | undefined;
    now: number;
  },
) {
  return (
    <li class="server">
      <ServerIcon server={server} size={64} />
      <div class="what">
        <h2>
          <a href={visitorServerUrl(server.key)}>
            <Stranger text={nameOf(server)} longest={80} />
          </a>
        </h2>
        <MotdBlock server={server} />
      </div>
      <Count server={server} now={now} hours={hours} />
      <Foot server={server} />
    </li>
  );
}

/** The MOTD on the ground of the game, in both colour schemes. */
export function MotdBlock({ server: { motd, name } }: { server: VisitorServer }) {
  return motd === null || motd === name || visibleMotd(motd) === undefined ? null : (
    <p class="motd">
      <MotdText motd={motd} />
    </p>
  );
}

function Count(
  { server, hours = [], now }: {
    server: VisitorServer;
    hours?: readonly (number | null)[];
    now: number;
  },
) {
  const state = stateOf(server, now);
  const count = playerCount(server, now);
  return (
    <div class="count">
      {state === "online" ? <PlayerCount count={count} /> : (
        <p class="offline">
          <b>Offline</b> <small>{`for ${roughDuration(now - server.seen_at)}`}</small>
        </p>
      )}
      {hours.some((one) => one !== null) && (
        <span title="Players in the last 24 hours">
          <Sparkline values={hours.map((one) => one ?? 0)} color={1} />
        </span>
      )}
    </div>
  );
}

/** A number of players. One that cannot be believed is marked, and has no bar. */
export function PlayerCount({ count }: { count: ReturnType<typeof playerCount> }) {
  if (count === undefined) return <p class="offline">Online</p>;
  const { players, slots, isDoubtful } = count;
  return (
    <>
      <p>
        <b class="number">{countText(players)}</b>{" "}
        <small>
          {slots === null ? players === 1 ? "player" : "players" : `of ${countText(slots)}`}
          {isDoubtful && (
            <>
              {" "}
              <abbr title="The server reports this number; a rule found that it cannot be right.">
                reported
              </abbr>
            </>
          )}
        </small>
      </p>
      {slots !== null && !isDoubtful && <Bar share={players / slots} />}
    </>
  );
}

function Foot({ server }: { server: ListedServer }) {
  const { version, edition, software, country } = server;
  const { uptime_30d: uptime, uptime_watched: watched } = server;
  const facts = [
    safeText(version ?? "", 40),
    editionName(edition),
    safeText(software ?? "", 40),
    hasMods(server) ? "modded" : "",
    country === null ? "" : countryName(country),
    uptime === null ? "" : monthText(uptime, watched ?? 0),
  ].filter((one) => one !== "");
  return (
    <div class="foot">
      <p>
        {facts.map((one, i) => (
          <>
            {i > 0 && " · "}
            <bdi>{one}</bdi>
          </>
        ))}
      </p>
      <CopyAddress address={server.key} />
    </div>
  );
}

/** Share of the time that has to be watched so that an uptime stands alone. */
const MOSTLY = 0.9;

/**
 * The uptime of the last 30 days. The share that was watched stands beside it unless that is nearly all.
 *
 * @param share Share of the watched time in which the server was online, 0 to 1.
 * @param watched Share of the 30 days that was watched, 0 to 1.
 */
export function monthText(share: number, watched: number): string {
  const more = watched >= MOSTLY ? "" : `, ${percentText(watched)} watched`;
  return `up ${percentText(share)} (30 d${more})`;
}

/** The address of a server, and the button that copies it. Without scripts it is a text. */
export function CopyAddress({ address }: { address: string }) {
  const text = safeText(address);
  return (
    <span class="address">
      <code>{text}</code>
      <button type="button" class="copy primary" data-copy={text} hidden>Copy address</button>
    </span>
  );
}

const COUNTRIES = new Intl.DisplayNames(["en"], { type: "region", fallback: "code" });

/** The name of a country; of other texts, the text. */
export function countryName(code: string): string {
  return /^[A-Z]{2}$/.test(code) ? COUNTRIES.of(code) ?? code : safeText(code, 10);
}
