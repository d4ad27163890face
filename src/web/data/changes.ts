/**
 * Reads what changed in the last day: numbers of changes by hour, and incidents.
 *
 * @module
 */
import { parseAddress } from "../../core/address.ts";
import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import {
  type Database,
  isInList,
  listValue,
  type Row,
  timeParameter,
} from "../../store/database/database.ts";
import { canonicalHost, leaveOut, newestEvents, type StoredEvent } from "../../store/mod.ts";
import type { GeoipLookup } from "../../app/geoip/mod.ts";
import {
  CHANGE_KINDS,
  type Changes,
  type EventGroup,
  type Incident,
} from "../queries/dashboard_data.ts";
import { type ChangeGroup, groupChanges, type StateChange } from "./incidents.ts";

/** Hours that are counted. */
const HOURS = DAY_MS / HOUR_MS;
/** Maximum number of events that are grouped. */
const MAX_EVENTS = 5000;
/** Number of incidents that the overview lists. */
const LISTED = 8;
/** Maximum number of scans whose summaries are read. */
const MAX_SUMMARIES = 1000;
/** The kinds of events that are parts of incidents, and whether the server is then offline. */
const STATES: Readonly<Record<string, boolean>> = { offline: true, online: false, back: false };

/** A change, and the server as it is stored now. */
interface ServerChange extends StateChange {
  readonly host: string | null;
  readonly key: string | null;
  readonly name: string | null;
}

/** Reads what changed since 24 hours before now. */
export async function readChanges(
  database: Database,
  geoipOf: GeoipLookup,
  now: number,
): Promise<Changes> {
  const since = now - DAY_MS;
  const rows = await database.rows(
    "select e.at, e.kind, s.id, s.key, s.name, s.address from events e " +
      `left join servers s on s.id = e.server where e.at >= ${timeParameter(database)} and ${
        isInList(database, "e.kind", "text")
      } order by e.at desc limit ?`,
    [since, listValue(database, Object.keys(STATES)), MAX_EVENTS + 1],
  );
  const changes = rows.slice(0, MAX_EVENTS).map(changeOf);
  const groups = groupChanges(changes);
  const [single, several] = [1, 2].map((least) =>
    groups.filter(({ starts }) => Math.min(2, starts.length) === least)
  );
  const listed = [...several, ...single].slice(0, LISTED)
    .sort((a, b) => b.starts[0].at - a.starts[0].at);
  return {
    since,
    counts: await countChanges(database, since),
    incidents: listed.map((group) => incidentOf(group, geoipOf)),
    others: groups.length - listed.length,
    isCut: rows.length > MAX_EVENTS,
  };
}

/** Groups the events of a page: those of incidents of several servers. */
export async function groupEvents(
  database: Database,
  events: readonly StoredEvent[],
  geoipOf: GeoipLookup,
): Promise<EventGroup[]> {
  const positions = events.flatMap(({ kind }, i) => Object.hasOwn(STATES, kind) ? [i] : []);
  const ids = [...new Set(positions.flatMap((i) => events[i].server_id ?? []))];
  if (ids.length < 2) return [];
  const rows = await database.rows(
    `select s.id, s.address from servers s where ${isInList(database, "s.id", "integer")}`,
    [listValue(database, ids)],
  );
  const hosts = new Map(rows.map(({ id, address }) => [Number(id), String(address)]));
  const changes = positions.map((i) => {
    const { at, kind, server_id: id, server: key, name } = events[i];
    const host = id === null ? null : hosts.get(id) ?? null;
    return { i, ...changeOf({ at, kind, id, key, name, address: host }) };
  });
  return groupChanges(changes).filter(({ starts }) => starts.length > 1).map((group) => ({
    incident: incidentOf(group, geoipOf),
    events: [...group.starts, ...group.returns].map(({ i }) => i).sort((a, b) => a - b),
  }));
}

function changeOf({ at, kind, id, key, name, address }: Row): ServerChange {
  const host = address === null ? null : canonicalHost(String(address));
  return {
    at: Number(at),
    server: id === null ? null : Number(id),
    isDown: STATES[String(kind)],
    address: host === null ? null : parseAddress(host) ?? null,
    host,
    key: key === null ? null : String(key),
    name: name === null ? null : String(name),
  };
}

function incidentOf(
  { network, starts, returns }: ChangeGroup<ServerChange>,
  geoipOf: GeoipLookup,
): Incident {
  const operators = new Set(
    starts.map(({ host }) => host === null ? null : geoipOf(host).operator),
  );
  const [first] = starts;
  const { server: id, key, name } = first;
  const isOne = starts.every(({ server }) => server === id) && id !== null && key !== null;
  return {
    at: first.at,
    until: starts.at(-1)!.at,
    backAt: returns.at(-1)?.at ?? null,
    network,
    operator: operators.size === 1 ? [...operators][0] : null,
    down: first.isDown ? starts.length : 0,
    back: first.isDown ? returns.length : starts.length,
    server: isOne ? { id, key, name } : null,
  };
}

/** The changes of each hour. New servers are those of the list; scans have events of only some of them. */
async function countChanges(database: Database, since: number): Promise<Changes["counts"]> {
  const time = timeParameter(database);
  const hourOf = (column: string) =>
    database.engine === "postgres"
      ? `floor((extract(epoch from ${column}) * 1000 - ${since}) / ${HOUR_MS})::integer`
      : `(${column} - ${since}) / ${HOUR_MS}`;
  const counts = Object.fromEntries(
    CHANGE_KINDS.map((kind) => [kind, new Array<number>(HOURS).fill(0)]),
  ) as Record<typeof CHANGE_KINDS[number], number[]>;
  const add = (kind: keyof typeof counts, hour: number, count: number) =>
    counts[kind][Math.min(HOURS - 1, Math.max(0, hour))] += count;
  const byHour = (kinds: string, more = "") =>
    `select e.kind, ${hourOf("e.at")} as hour, count(*) as n from events e where e.at >= ${time} ` +
    `and e.kind in (${kinds}) ${more}group by 1, 2`;
  const addRows = (rows: readonly Row[], sign: 1 | -1) => {
    for (const { kind, hour, n } of rows) {
      add(String(kind) as keyof typeof counts, Number(hour), sign * Number(n));
    }
  };
  addRows(
    await database.rows(
      `select 'new' as kind, ${hourOf("s.first_seen")} as hour, count(*) as n from servers s ` +
        `where s.first_seen >= ${time} group by 2`,
      [since],
    ),
    1,
  );
  addRows(await database.rows(byHour("'offline', 'online', 'back', 'lost'"), [since]), 1);
  const summaries = await readSummaries(database, since);
  if (summaries.length === 0) return counts;
  for (const { at, back, lost } of summaries) {
    const hour = Math.floor((at - since) / HOUR_MS);
    add("back", hour, back);
    add("lost", hour, lost);
  }
  const ofSummaries = "and e.scan in (select c.id from scans c where " +
    `${isInList(database, "c.uuid", "uuid")}) `;
  const scans = listValue(database, summaries.flatMap(({ scan }) => scan ?? []));
  addRows(await database.rows(byHour("'back', 'lost'", ofSummaries), [since, scans]), -1);
  return counts;
}

/** The numbers of scans that have not an event for each of their changes. */
async function readSummaries(database: Database, since: number) {
  const { events } = await newestEvents(database, {
    kinds: ["scan_summary"],
    from: since,
    limit: MAX_SUMMARIES,
    onBroken: leaveOut,
  });
  return events.map(({ at, scan_id: scan, data }) => {
    const countOf = (name: string) => {
      const count = data[name];
      return typeof count === "number" && count >= 0 ? Math.round(count) : 0;
    };
    return { at, scan, back: countOf("back"), lost: countOf("lost") };
  });
}
