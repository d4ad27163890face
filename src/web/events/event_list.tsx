/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * A list of events with the values before and now.
 *
 * @module
 */
import type { Child } from "npm:hono@4.13.19/jsx";
import type { StoredEvent } from "../../store/mod.ts";
import type { EventGroup } from "../queries/dashboard_data.ts";
import { IncidentText, Where } from "./incident_list.tsx";
import { serverUrl } from "../components/links.ts";
import {
  countText,
  durationText,
  momentText,
  percentText,
  UNKNOWN_TEXT,
} from "../components/quantities.ts";
import { Age, MotdText, safeText, visibleName, wordsOf } from "../components/texts.tsx";

/** The kinds of events in words, and the classes of their badges. */
const KINDS: Readonly<Record<string, readonly [title: string, badge: string]>> = {
  online: ["online", "good"],
  offline: ["offline", "bad"],
  new: ["new", "good"],
  back: ["back", "good"],
  lost: ["lost", "warn"],
  changed: ["changed", ""],
  players: ["players", ""],
  restarted: ["restarted", "warn"],
  opted_out: ["opted out", "warn"],
  scan_summary: ["scan summary", ""],
  watcher_offline: ["watch offline", "bad"],
  watcher_online: ["watch online", "good"],
};

export function kindTitle(kind: string): string {
  return KINDS[kind]?.[0] ?? safeText(kind, 30);
}

/**
 * A table of events, the newest first. On narrow pages its rows become cards.
 *
 * @param withServers Whether each event names its server.
 * @param withNames Whether events list the names of players who joined and left.
 */
export function EventList(
  { events, groups = [], now, withServers, withNames }: {
    events: readonly StoredEvent[];
    /** Events that are shown together. */
    groups?: readonly EventGroup[];
    now: number;
    withServers: boolean;
    withNames: boolean;
  },
) {
  const row = (event: StoredEvent) => (
    <tr role="row">
      <td role="cell" class="no-wrap c-time">
        <Age at={event.at} now={now} />
      </td>
      <td role="cell">
        <span class={`badge ${KINDS[event.kind]?.[1] ?? ""}`}>{kindTitle(event.kind)}</span>
      </td>
      {withServers && (
        <td role="cell" class="c-server">
          <ServerOf event={event} />
        </td>
      )}
      <td role="cell" class="change">
        <Change event={event} withNames={withNames} />
      </td>
    </tr>
  );
  const groupOf = new Map(groups.flatMap((group) => group.events.map((i) => [i, group] as const)));
  return (
    <div class="scroll">
      <table class="events" role="table" aria-label="Events">
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader" scope="col">Time</th>
            <th role="columnheader" scope="col">Event</th>
            {withServers && <th role="columnheader" scope="col">Server</th>}
            <th role="columnheader" scope="col">Change</th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          {events.map((event, i) => {
            const group = groupOf.get(i);
            if (group === undefined) return row(event);
            return group.events[0] === i && <GroupRow group={group} events={events} now={now} />;
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Maximum number of servers of an incident that are listed. */
const MAX_LISTED = 500;

/** An incident, with its events folded. */
function GroupRow(
  { group: { incident, events: positions }, events, now }: {
    group: EventGroup;
    events: readonly StoredEvent[];
    now: number;
  },
) {
  return (
    <tr role="row">
      <td role="cell" class="no-wrap c-time">
        <Age at={events[positions[0]].at} now={now} />
      </td>
      <td role="cell">
        <IncidentText incident={incident} now={now} />
      </td>
      <td role="cell" class="c-server">
        <Where incident={incident} />
      </td>
      <td role="cell" class="change">
        <details>
          <summary>{`${countText(positions.length)} events`}</summary>
          <ul>
            {positions.slice(0, MAX_LISTED).map((i) => (
              <li>
                <small>{`${momentText(events[i].at, now)} ${kindTitle(events[i].kind)}`}</small>
                {" "}
                <ServerOf event={events[i]} isShort />
              </li>
            ))}
          </ul>
        </details>
      </td>
    </tr>
  );
}

/** The name of an event's server, if it is known, and its endpoint. */
function ServerOf(
  { event: { server, server_id: id, name }, isShort }: { event: StoredEvent; isShort?: boolean },
) {
  if (server === null || id === null) return <span class="none">{UNKNOWN_TEXT}</span>;
  const endpoint = <code>{safeText(server, 80)}</code>;
  const label = visibleName(name);
  return (
    <>
      <a href={serverUrl(id)}>
        {label === undefined ? endpoint : <bdi>{safeText(label, 60)}</bdi>}
      </a>
      {label !== undefined && !isShort && <small class="endpoint">{endpoint}</small>}
    </>
  );
}

/** What an event changed. Another program may have written any data. */
function Change({ event: { kind, data }, withNames }: { event: StoredEvent; withNames: boolean }) {
  const values = ownValues(data);
  switch (kind) {
    case "online":
      return typeof values.offline_ms === "number"
        ? <span>{`after ${durationText(values.offline_ms)} offline`}</span>
        : <span>for the first time</span>;
    case "new":
      return <span>found for the first time</span>;
    case "back":
      return typeof values.missing_ms === "number"
        ? <span>{`after ${durationText(values.missing_ms)} without a reply`}</span>
        : <span>replies again</span>;
    case "lost":
      return (
        <span>
          no reply to a scan
          {typeof values.packet_loss === "number" && values.packet_loss > 0 &&
            ` that lost ${percentText(Math.min(1, values.packet_loss))} of its probes`}
        </span>
      );
    case "scan_summary":
      return (
        <span>
          {(["new", "back", "lost"] as const)
            .map((name) => `${countText(Number(values[name]) || 0)} ${name}`).join(", ")}
        </span>
      );
    case "offline":
      return <span>{`no reply to ${Number(values.misses)} polls in a row`}</span>;
    case "players":
      return <PlayersChange values={values} withNames={withNames} />;
    case "restarted":
      return <span>the GUID changed, as at a restart</span>;
    case "opted_out":
      return <span>the address is polled no more</span>;
    case "watcher_offline":
      return (
        <span>
          {values.reason === "no_route"
            ? "the watch has no route to servers"
            : "no server replies to the watch"}
        </span>
      );
    case "watcher_online":
      return (
        <span>
          servers reply again
          {typeof values.offline_ms === "number" && ` after ${durationText(values.offline_ms)}`}
        </span>
      );
    default:
      return <Changes changes={ownValues(values.changes)} />;
  }
}

/** The members of an object; none for other values. */
function ownValues(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : {};
}

/** The value before and now, if a value is such a pair. */
function pairOf(value: unknown): readonly [unknown, unknown] | undefined {
  return Array.isArray(value) && value.length === 2 ? [value[0], value[1]] : undefined;
}

function PlayersChange(
  { values, withNames }: { values: Readonly<Record<string, unknown>>; withNames: boolean },
) {
  const names = (key: string): readonly string[] => {
    const list = values[key];
    return Array.isArray(list) ? list.filter((one) => typeof one === "string") : [];
  };
  const parts = [["joined", names("joined")], ["left", names("left")]] as const;
  return (
    <span>
      <Pair pair={pairOf(values.players_online)} />
      {parts.filter(([, list]) => list.length > 0).map(([verb, list]) => (
        <small>
          {withNames
            ? ` ${verb}: ${list.slice(0, 10).map((one) => safeText(one, 40)).join(", ")}`
            : ` ${countText(list.length)} ${verb}`}
        </small>
      ))}
    </span>
  );
}

/** Maximum number of changed columns that an event shows. */
const MAX_CHANGES = 12;

function Changes({ changes }: { changes: Readonly<Record<string, unknown>> }) {
  return (
    <ul>
      {Object.entries(changes).slice(0, MAX_CHANGES).map(([column, value]) => (
        <li>
          <small>{safeText(column.replaceAll("_", " "), 40)}</small>{" "}
          <Pair pair={pairOf(value)} column={column} />
        </li>
      ))}
    </ul>
  );
}

function Pair(
  { pair, column }: { pair: readonly [unknown, unknown] | undefined; column?: string },
) {
  if (pair === undefined) return <span class="none">{UNKNOWN_TEXT}</span>;
  const [before, now] = pair;
  if (Array.isArray(before) && Array.isArray(now)) return <ListChange before={before} now={now} />;
  return (
    <span class="pair-of-values">
      <del>{valueOf(pair[0], column)}</del>
      <span aria-hidden="true">→</span>
      <ins>{valueOf(pair[1], column)}</ins>
    </span>
  );
}

/** What a list lost and gained. */
function ListChange(
  { before, now }: { before: readonly unknown[]; now: readonly unknown[] },
) {
  const [old, fresh] = [before, now].map((list) => list.map((one) => wordsOf(one)));
  const removed = old.filter((one) => !fresh.includes(one));
  const added = fresh.filter((one) => !old.includes(one));
  if (removed.length + added.length === 0) return <span>another order</span>;
  return (
    <span class="pair-of-values">
      {removed.length > 0 && (
        <del>
          <bdi>{safeText(`− ${removed.join(", ")}`, 160)}</bdi>
        </del>
      )}
      {added.length > 0 && (
        <ins>
          <bdi>{safeText(`+ ${added.join(", ")}`, 160)}</bdi>
        </ins>
      )}
    </span>
  );
}

/** A value of any type as text. */
function valueOf(value: unknown, column?: string): Child {
  if (column === "motd" && typeof value === "string") return <MotdText motd={value} />;
  return <bdi>{safeText(wordsOf(value), 160)}</bdi>;
}
