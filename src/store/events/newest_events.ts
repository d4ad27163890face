/**
 * Reads the events of a database in the order of their times, the newest first, page by page.
 *
 * @module
 */
import {
  type Database,
  isInList,
  listValue,
  timeParameter,
  type Value,
} from "../database/database.ts";
import { conditionsOf } from "../queries/filters.ts";
import { storable } from "../rows/stored_values.ts";
import {
  type EventPosition,
  type EventSelection,
  isFinal,
  readable,
  SELECT_EVENTS,
  type StoredEvent,
} from "./event_feed.ts";

/** The position of an event in the order of times. */
export interface EventCursor extends EventPosition {
  /** The time of the event, Unix milliseconds. */
  readonly at: number;
}

/** Which events to read. */
export interface NewestEvents extends Pick<EventSelection, "onBroken"> {
  /** Only events after this position, which are older. Default: from the newest event on. */
  readonly before?: EventCursor;
  /** The kinds of the events. Default: all kinds. */
  readonly kinds?: readonly string[];
  /** `servers.id` of the servers whose events are read. Default: all servers. */
  readonly servers?: readonly number[];
  /** Only events of servers whose last address is in one of these networks. */
  readonly networks?: readonly string[];
  /** Only events at this time or later, Unix milliseconds. */
  readonly from?: number;
  /** Only events at this time or earlier, Unix milliseconds. */
  readonly to?: number;
  /** Maximum number of events. */
  readonly limit: number;
}

/** A page of events, the newest first. */
export interface EventsPage {
  readonly events: readonly StoredEvent[];
  /** The position after which the next page begins; `null`: there is no further event. */
  readonly next: EventCursor | null;
}

/** Reads a page of events, the newest first: by time, then by transaction. */
export async function newestEvents(
  database: Database,
  selection: NewestEvents,
): Promise<EventsPage> {
  const { limit } = selection;
  const { conditions, values } = await selectionOf(database, selection);
  const rows = await database.rows(
    `${SELECT_EVENTS}where ${conditions.join(" and ")} ` +
      "order by e.at desc, e.tx desc, e.seq desc limit ?",
    [...values, limit + 1],
  );
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  const next = last && { at: Number(last.at), tx: String(last.tx), seq: Number(last.seq) };
  return { events: readable(page, selection), next: next ?? null };
}

async function selectionOf(
  database: Database,
  { before, kinds, servers, networks, from, to }: NewestEvents,
): Promise<{ readonly conditions: readonly string[]; readonly values: readonly Value[] }> {
  const time = timeParameter(database);
  const isPostgres = database.engine === "postgres";
  const cursor = isPostgres ? `(${time}, ?::xid8, ?::bigint)` : "(?, cast(? as integer), ?)";
  const given: (false | readonly [condition: string, ...values: Value[]])[] = [
    [isFinal(database)],
    before !== undefined &&
    [`(e.at, e.tx, e.seq) < ${cursor}`, before.at, before.tx, before.seq],
    from !== undefined && [`e.at >= ${time}`, from],
    to !== undefined && [`e.at <= ${time}`, to],
    servers !== undefined && isServer(database, servers),
    networks !== undefined && await isInNetwork(database, networks),
    kinds !== undefined &&
    [isInList(database, "e.kind", "text"), listValue(database, kinds.map(storable))],
  ];
  const used = given.filter((one) => one !== false);
  return {
    conditions: used.map(([condition]) => condition),
    values: used.flatMap(([, ...values]) => values),
  };
}

/** The condition that an event is about one of some servers. */
function isServer(database: Database, servers: readonly number[]) {
  return servers.length === 1
    ? ["e.server = ?", servers[0]] as const
    : [isInList(database, "e.server", "integer"), listValue(database, servers)] as const;
}

/** Maximum number of servers of a network whose events an index finds. */
const MAX_IN_NETWORK = 1000;

/** The condition that an event is about a server in one of some networks. */
async function isInNetwork(
  database: Database,
  network: readonly string[],
): Promise<readonly [condition: string, ...values: Value[]]> {
  const [{ sql, values }] = await conditionsOf(database, { network });
  const found = await database.rows(
    `select s.id from servers s where ${sql} limit ${MAX_IN_NETWORK + 1}`,
    values,
  );
  return found.length > MAX_IN_NETWORK
    ? [`(${sql})`, ...values]
    : isServer(database, found.map(({ id }) => Number(id)));
}
