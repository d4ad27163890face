/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * One server.
 *
 * @module
 */
import type { Uptime } from "../../store/mod.ts";
import type { History, ServerDetails } from "../queries/dashboard_data.ts";
import { UptimeStrip } from "../charts/uptime_strip.tsx";
import { EventList } from "../events/event_list.tsx";
import { countText, latencyText, timeText } from "../components/quantities.ts";
import { acceptedUrl, serversUrl, serverUrl } from "../components/links.ts";
import {
  FactsByProtocol,
  Flags,
  Plugins,
  RawReplies,
  ServerColumns,
} from "../components/server_facts.tsx";
import {
  Bar,
  ServerAddress,
  ServerIcon,
  StateDot,
  uptimeTexts,
} from "../components/server_cells.tsx";
import { HistoryCharts } from "../components/server_history.tsx";
import { Age, Name, nameOf, safeText, Stranger } from "../components/texts.tsx";
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
        <Figures details={details} history={history} />
        <Card title="Uptime by day">
          <UptimeStrip days={details.days} now={now} />
        </Card>
        <HistoryCharts history={history} id={server.id} now={now} />
        <div class="grid">
          <Card title="Status">
            <ServerColumns server={server} hasGeoip={context.hasGeoip} />
          </Card>
          <Published details={details} now={now} />
        </div>
        <Card
          title="Events"
          aside={events.length > 0 && <a href={`/events?server=${server.id}`}>All events</a>}
        >
          {events.length === 0
            ? (
              <Empty title="No change of this server was detected.">
                <p>
                  Watch it: <CommandText text={commandFor(context, "watch DATABASE")} />
                </p>
              </Empty>
            )
            : <EventList events={events} now={now} withServers={false} withNames />}
        </Card>
        <RawReplies replies={replies} />
      </>
    ),
  });
}

/** What a server publishes besides its columns. */
function Published({ details, now }: { details: ServerDetails; now: number }) {
  const { server, players } = details;
  return (
    <div class="stack">
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
      <Plugins plugins={server.plugins} />
      <Relations details={details} />
      <FactsByProtocol extras={server.extras} />
    </div>
  );
}

function Head({ details: { server, aliasOf }, now }: { details: ServerDetails; now: number }) {
  const { key, online, probed_at: lastSeen } = server;
  return (
    <div class="server-head">
      <ServerIcon server={server} size={64} />
      <div>
        <h1>
          <Name server={server} />
        </h1>
        <p>
          <ServerAddress address={key} />
          <span class={`badge ${online ? "good" : "bad"}`}>
            <StateDot state={online ? "online" : "offline"} /> {online ? "online" : "offline"}
          </span>
          <small>
            last probed <Age at={lastSeen} now={now} />
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

function Figures({ details, history }: { details: ServerDetails; history: History }) {
  const { server, uptime } = details;
  const { players_online: players, players_max: slots } = server;
  const isKnown = server.online && players !== null;
  return (
    <dl class="figures small">
      <Figure
        name="Players"
        value={countText(isKnown ? players : null)}
        note={
          <>
            {slots !== null && ` of ${countText(slots)}`}
            {isKnown && slots !== null && slots > 0 && <Bar share={Math.min(1, players / slots)} />}
          </>
        }
      />
      <Figure
        name="Peak in this period"
        value={countText(history.peak?.players ?? null)}
        note={history.peak && `${timeText(history.peak.at).slice(0, 16)} UTC`}
      />
      <Figure name="Latency" value={latencyText(server.latency_ms)} />
      <UptimeFigure period="24 hours" uptime={uptime["24h"]} />
      <UptimeFigure period="7 days" uptime={uptime["7d"]} />
      <UptimeFigure period="30 days" uptime={uptime["30d"]} />
    </dl>
  );
}

function UptimeFigure({ period, uptime }: { period: string; uptime: Uptime }) {
  const { share, watched } = uptimeTexts(uptime);
  return <Figure name={`Uptime, ${period}`} value={share} note={watched} />;
}

function Relations({ details: { aliasOf, aliases, tags, notes } }: { details: ServerDetails }) {
  return (
    <>
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
