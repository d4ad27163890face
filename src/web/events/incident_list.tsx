/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * What changed: numbers of changes with sparklines, and incidents.
 *
 * @module
 */
import { roughDuration } from "../../core/quantities.ts";
import { Sparkline } from "../charts/sparkline.tsx";
import { Card, Figure } from "../components/blocks.tsx";
import { serversUrl, serverUrl } from "../components/links.ts";
import { countText, momentText } from "../components/quantities.ts";
import { Age, safeText, visibleName } from "../components/texts.tsx";
import { CHANGE_KINDS, type Changes, type Incident } from "../queries/dashboard_data.ts";
import { eventsUrl } from "./events_url.ts";

/** The kinds of changes in words, and the numbers of their colours. */
const KINDS: Readonly<Record<typeof CHANGE_KINDS[number], readonly [string, number]>> = {
  new: ["New", 1],
  back: ["Back in a scan", 0],
  lost: ["Lost by a scan", 2],
  offline: ["Went offline", 4],
  online: ["Came online", 0],
};

/** The period of the changes in URLs. */
const PERIOD = "24h";
/** The kinds of events of incidents. */
const STATE_KINDS = ["offline", "online", "back"] as const;

/** The changes of the last day. */
export function ChangesCard({ changes, now }: { changes: Changes; now: number }) {
  const { counts, incidents, others, isCut } = changes;
  const all = eventsUrl({ kinds: STATE_KINDS, period: PERIOD });
  return (
    <Card title="Last 24 hours" aside={<a href={eventsUrl({ period: PERIOD })}>All events</a>}>
      <dl class="figures small changes">
        {CHANGE_KINDS.map((kind) => {
          const [title, color] = KINDS[kind];
          const sum = counts[kind].reduce((a, b) => a + b, 0);
          const url = kind === "new"
            ? serversUrl({}, { sort: "new" })
            : eventsUrl({ kinds: [kind], period: PERIOD });
          return (
            <Figure
              name={title}
              value={<a href={url}>{countText(sum)}</a>}
              note={<Sparkline values={counts[kind]} color={color} />}
            />
          );
        })}
      </dl>
      {incidents.length === 0
        ? <p class="hint">No server went offline or came back.</p>
        : <IncidentTable incidents={incidents} now={now} />}
      {(others > 0 || isCut) && (
        <p class="hint">
          <a href={all}>{`${countText(others)} more ${others === 1 ? "change" : "changes"}`}</a>
          {isCut && " of the newest ones; older ones are not grouped"}
        </p>
      )}
    </Card>
  );
}

function IncidentTable({ incidents, now }: { incidents: readonly Incident[]; now: number }) {
  return (
    <div class="scroll">
      <table class="events incidents" role="table" aria-label="Incidents">
        <thead role="rowgroup">
          <tr role="row">
            {["Time (UTC)", "Where", "What", "Servers"].map((title) => (
              <th role="columnheader" scope="col">{title}</th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {incidents.map((one) => (
            <tr role="row">
              <td role="cell" class="no-wrap c-time">
                <a href={incidentEvents(one)}>{momentText(one.at, now)}</a>
                <small>
                  <Age at={one.at} now={now} />
                </small>
              </td>
              <td role="cell" class="c-server">
                <Where incident={one} />
              </td>
              <td role="cell" class="change">
                <IncidentText incident={one} now={now} />
              </td>
              <td role="cell" class="no-wrap">
                <Affected incident={one} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The network of an incident with its operator, or its only server. */
export function Where({ incident: { server, network, operator } }: { incident: Incident }) {
  const label = server === null ? undefined : visibleName(server.name);
  const place = server?.key ?? network ?? "unknown network";
  return (
    <>
      {server === null ? <b>{safeText(place, 80)}</b> : (
        <a href={serverUrl(server.id)}>
          {label === undefined
            ? <code>{safeText(place, 80)}</code>
            : <bdi>{safeText(label, 60)}</bdi>}
        </a>
      )}
      {label !== undefined && (
        <small class="endpoint">
          <code>{safeText(place, 80)}</code>
        </small>
      )}
      {operator !== null && (
        <small class="endpoint">
          <bdi>{safeText(operator, 60)}</bdi>
        </small>
      )}
    </>
  );
}

/** How many servers went down and came back: `108 down, 0 back`, and for how long. */
export function IncidentText(
  { incident: { at, backAt, down, back, server }, now }: { incident: Incident; now: number },
) {
  if (down === 0) {
    return <span class="badge good">{server === null ? `${countText(back)} back` : "back"}</span>;
  }
  const isOver = back === down;
  const lasted = roughDuration((isOver ? backAt! : now) - at);
  const counts = server === null ? `${countText(down)} down, ${countText(back)} back` : "offline";
  return (
    <>
      <span class={`badge ${isOver ? "" : "bad"}`}>{counts}</span>{" "}
      <small>{isOver ? `over after ${lasted}` : `for ${lasted}`}</small>
    </>
  );
}

/** Links to the servers that an incident affects. */
function Affected({ incident: { server, network, down, back } }: { incident: Incident }) {
  if (server !== null || network === null) return null;
  return back < down
    ? <a href={serversUrl({ network: [network], online: false })}>offline servers</a>
    : <a href={serversUrl({ network: [network] })}>servers</a>;
}

/** The events of an incident. */
export function incidentEvents({ at, until, backAt, network, server }: Incident): string {
  const bounds = { from: at, to: Math.max(until, backAt ?? 0) };
  return eventsUrl({
    ...{ kinds: STATE_KINDS, ...bounds },
    ...server === null
      ? { network: network === null ? undefined : [network] }
      : { server: server.id },
  });
}
