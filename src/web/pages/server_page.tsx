/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * One server.
 *
 * @module
 */
import type { Child } from "npm:hono@4.13.19/jsx";
import { roughDuration } from "../../core/quantities.ts";
import { watchedText, type WatchedUptime } from "../../store/mod.ts";
import type { History, ServerDetails } from "../queries/dashboard_data.ts";
import type { ListedServer } from "../queries/schemas.ts";
import { UptimeStrip } from "../charts/uptime_strip.tsx";
import { EventList } from "../events/event_list.tsx";
import { countText, latencyText, percentText, timeText } from "../components/quantities.ts";
import { OtherRowList } from "../components/other_rows.tsx";
import { acceptedUrl, serversUrl, serverUrl } from "../components/links.ts";
import {
  FactsByProtocol,
  Flags,
  modsOf,
  PlayerFlags,
  Plugins,
  RawReplies,
  ServerColumns,
  ServerFacts,
} from "../components/server_facts.tsx";
import {
  Bar,
  ServerAddress,
  ServerIcon,
  StateDot,
  stateOf,
  uptimeTexts,
} from "../components/server_cells.tsx";
import { HistoryCharts } from "../components/server_history.tsx";
import {
  Age,
  MotdText,
  nameOf,
  safeText,
  Stranger,
  Time,
  visibleMotd,
} from "../components/texts.tsx";
import { Card, CommandText, Empty, Figure } from "../components/blocks.tsx";
import { htmlDocument } from "./layout.tsx";
import { commandFor, type PageContext } from "./page_context.ts";

/** What the page of a server shows. The URL has the range of the history as `from` and `to`. */
export interface ServerPageData {
  readonly details: ServerDetails;
  readonly history: History;
}

export function serverPage({ details, history }: ServerPageData, context: PageContext): string {
  const { server, events, replies } = details;
  const { now } = context;
  return htmlDocument({
    title: nameOf(server),
    context,
    scripts: ["charts"],
    children: (
      <>
        <Head details={details} now={now} />
        <Motd server={server} />
        <Figures details={details} history={history} now={now} />
        <Card title="Uptime by day">
          <UptimeStrip days={details.days} now={now} />
        </Card>
        <HistoryCharts history={history} id={server.id} now={now} />
        <div class="grid thirds">
          <ServerFacts
            server={server}
            stateSince={stateSince(details)}
            now={now}
            hasGeoip={context.hasGeoip}
          />
        </div>
        <Published details={details} now={now} />
        <Card
          title="Events"
          aside={events.length > 0 && <a href={`/events?server=${server.id}`}>All events</a>}
        >
          {events.length === 0
            ? (
              <Empty title="No change of this server was detected.">
                {details.uptime["24h"].watchedS === 0 && (
                  <p>
                    Watch it: <CommandText text={commandFor(context, "watch DATABASE")} />
                  </p>
                )}
              </Empty>
            )
            : <EventList events={events} now={now} withServers={false} withNames />}
        </Card>
        <ServerColumns server={server} hasGeoip={context.hasGeoip} />
        <RawReplies replies={replies} />
      </>
    ),
  });
}

/** What a server publishes besides its columns. */
function Published({ details, now }: { details: ServerDetails; now: number }) {
  const { server, players } = details;
  return (
    <div class="grid">
      <PlayerFlags reasons={server.player_flags} />
      {server.flags.length > 0 && (
        <Card title="Flags">
          <Flags flags={server.flags} />
        </Card>
      )}
      {players.length > 0 && (
        <Card title={`Players (${countText(players.length)})`}>
          {server.players_at !== null && (
            <p>
              <small>
                published <Age at={server.players_at} now={now} />
              </small>
            </p>
          )}
          <ul class="names">
            {players.slice(0, 500).map((name) => (
              <li>
                <Stranger text={name} longest={60} />
              </li>
            ))}
          </ul>
        </Card>
      )}
      <Plugins title="Mods" plugins={modsOf(server)} />
      <Plugins title="Plugins" plugins={server.plugins} />
      <Relations details={details} />
      <FactsByProtocol extras={server.extras} />
    </div>
  );
}

/** The MOTD on the ground of the game, unless it is no more than the name. */
function Motd({ server: { motd, name } }: { server: ListedServer }) {
  if (motd === null || visibleMotd(motd) === undefined || motd === name) return null;
  return (
    <p class="motd">
      <MotdText motd={motd} />
    </p>
  );
}

/** Kinds of events that change the state of a server, and whether it is then online. */
const STATES: Readonly<Record<string, boolean>> = {
  online: true,
  new: true,
  back: true,
  offline: false,
};

/** Since when a server is online or offline, Unix milliseconds; null: unknown. */
function stateSince({ server, events }: ServerDetails): number | null {
  const { online, seen_at: repliedAt, changed_at: changedAt } = server;
  const last = events.find(({ kind }) => Object.hasOwn(STATES, kind));
  if (last !== undefined && STATES[last.kind] === online) return last.at;
  return !online && changedAt >= repliedAt ? changedAt : null;
}

/** The state of a server in one sentence. */
function Sentence({ details, now }: { details: ServerDetails; now: number }) {
  const { server, uptime } = details;
  const { software, version, gamemode, edition, players_online: players, players_max: slots } =
    server;
  const month = uptime["30d"].watchedS > 0 ? uptime["30d"] : uptime["24h"];
  const what = [
    safeText(software ?? edition ?? server.protocol, 60),
    version !== null && !software?.includes(version) ? safeText(version, 40) : "",
  ].filter((one) => one !== "").join(" ");
  const state = stateOf(server, now);
  const since = stateSince(details);
  const parts: Child[] = [<bdi>{what}</bdi>];
  if (gamemode !== null && gamemode !== "") parts.push(<bdi>{safeText(gamemode, 40)}</bdi>);
  if (state === "online" && players !== null) {
    parts.push(
      <>
        <b>{countText(players)}</b>
        {slots !== null && ` of ${countText(slots)}`}{" "}
        {players === 1 && slots === null ? "player" : "players"}
      </>,
    );
  }
  if (month.watchedS > 0) {
    parts.push(
      `up ${percentText(month.onlineS / month.watchedS)} ${watchedText(month)}`,
    );
  }
  return (
    <p class="sentence">
      {state === "offline" && server.protocol !== "" && (
        <>
          <b class="problem">Offline</b>
          {since !== null && (
            <>
              {" since "}
              <Time at={since} now={now} />
              {` (${roughDuration(now - since)})`}
            </>
          )}
          , last reply <Time at={server.seen_at} now={now} />.{" "}
        </>
      )}
      {server.protocol === "" ? "It has never replied." : (
        <>
          {state === "stale" && (
            <>
              Last reply <Age at={server.seen_at} now={now} />.{" "}
            </>
          )}
          {parts.map((part, i) => <>{i > 0 && ", "}{part}</>)}
          {state === "online" && (
            <>
              {since === null ? ", first found " : ", online since "}
              <Time at={since ?? server.first_seen} now={now} />
            </>
          )}.
        </>
      )}
    </p>
  );
}

function Head({ details, now }: { details: ServerDetails; now: number }) {
  const { server, aliasOf } = details;
  const { key, probed_at: lastProbe } = server;
  const state = stateOf(server, now);
  return (
    <div class="server-head">
      <ServerIcon server={server} size={64} />
      <div>
        <h1>
          <Stranger text={nameOf(server)} />
        </h1>
        <Sentence details={details} now={now} />
        <p>
          <ServerAddress address={key} />
          <span class={`badge ${BADGES[state]}`}>
            <StateDot state={state} /> {state}
          </span>
          <small>
            last probed <Age at={lastProbe} now={now} />
          </small>
          {aliasOf !== null && (
            <small>
              alias of <a href={serverUrl(aliasOf.id)}>{safeText(aliasOf.key)}</a>
            </small>
          )}
        </p>
      </div>
    </div>
  );
}

/** The classes of badges by the state of a server. */
const BADGES = { online: "good", stale: "", offline: "bad" } as const;

function Figures(
  { details, history, now }: { details: ServerDetails; history: History; now: number },
) {
  const { server, uptime } = details;
  const { players_online: players, players_max: slots } = server;
  const isKnown = stateOf(server, now) === "online" && players !== null;
  const share = slots !== null && slots > 0 && isKnown && players <= slots ? players / slots : null;
  return (
    <dl class="figures small">
      <Figure
        name={isKnown || players === null ? "Players" : "Players, last known"}
        value={isKnown || players === null
          ? countText(players)
          : <span class="none">{countText(players)}</span>}
        note={
          <>
            {slots !== null && ` of ${countText(slots)}`}
            {share !== null && <Bar share={share} />}
          </>
        }
      />
      <Figure
        name="Peak in this period"
        value={countText(history.peak?.players ?? null)}
        note={history.peak && `${timeText(history.peak.at).slice(0, 16)} UTC`}
      />
      <Figure
        name={isKnown ? "Latency" : "Latency, last known"}
        value={latencyText(server.latency_ms)}
      />
      <UptimeFigure period="24 h" uptime={uptime["24h"]} />
      <UptimeFigure period="7 d + today" uptime={uptime["7d"]} />
      <UptimeFigure period="30 d + today" uptime={uptime["30d"]} />
    </dl>
  );
}

function UptimeFigure({ period, uptime }: { period: string; uptime: WatchedUptime }) {
  const { share, watched } = uptimeTexts(uptime);
  return <Figure name={`Uptime, ${period}`} value={share} note={watched} />;
}

function Relations(
  { details: { aliasOf, aliases, others, tags, notes } }: { details: ServerDetails },
) {
  return (
    <>
      {others !== null && (
        <Card title="Also reached at">
          <OtherRowList others={others} />
        </Card>
      )}
      {(aliasOf !== null || aliases.length > 0) && (
        <Card title="Aliases">
          <ul class="relations">
            {aliasOf !== null && (
              <li>
                This server is an alias of{" "}
                <a href={serverUrl(aliasOf.id)}>{safeText(aliasOf.key)}</a>.
              </li>
            )}
            {aliases.slice(0, 100).map(({ id, key }) => (
              <li>
                <a href={serverUrl(id)}>{safeText(key)}</a> is an alias of this server.
              </li>
            ))}
          </ul>
        </Card>
      )}
      {(tags.length > 0 || notes !== null) && (
        <Card title="Tags and notes">
          <p class="badges">
            {tags.map((tag) => (
              <a class="badge" href={acceptedUrl(serversUrl({ tag: [tag] }))}>
                {safeText(tag, 60)}
              </a>
            ))}
          </p>
          {notes !== null && <p>{safeText(notes, 2000)}</p>}
        </Card>
      )}
    </>
  );
}
