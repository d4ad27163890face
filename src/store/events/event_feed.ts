/**
 * Reads the events of a database in an order that readers can follow: no new event gets a place
 * before the position of an event that was read.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { cutText, oneLine } from "../../core/text.ts";
import { type Clock, sleep } from "../../net/clock.ts";
import { type Database, isInList, listValue, type Row, type Value } from "../database/database.ts";
import { isServerNumber, storable } from "../rows/stored_values.ts";

/** The place of an event in the order of events. */
export interface EventPosition {
  /** The transaction that wrote the event, a decimal number: it may have 64 bits. */
  readonly tx: string;
  /** The order of the events of one transaction. */
  readonly seq: number;
}

/** The position before the first event. */
export const BEFORE_EVENTS: EventPosition = { tx: "0", seq: 0 };

/** The later one of two positions. */
export function laterPosition(a: EventPosition, b: EventPosition): EventPosition {
  const isLater = a.tx === b.tx ? a.seq > b.seq : BigInt(a.tx) > BigInt(b.tx);
  return isLater ? a : b;
}

/** An event in a database. */
export interface StoredEvent extends EventPosition {
  /** The event's identity, UUIDv7. */
  readonly id: string;
  /** When the change was detected, Unix milliseconds. */
  readonly at: number;
  /** `servers.key`; `null`: the event is about no single server. */
  readonly server: string | null;
  /** Identity of the scan or watch that detected the change, UUIDv7; `null`: unknown. */
  readonly scan_id: string | null;
  /** The kind of the event, such as `online`. */
  readonly kind: string;
  /** The further values of the event, an object. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Which events to read. */
export interface EventSelection {
  /** `servers.id` of the only server whose events are read. Default: all servers. */
  readonly server?: number;
  /** Maximum number of events. Default: 1,000. */
  readonly limit?: number;
  /** Receives each event that cannot be read, and that is left out. Default: it is an error. */
  readonly onBroken?: (event: BrokenEvent) => void;
}

/** An event that another program wrote and that cannot be read. */
export interface BrokenEvent extends EventPosition {
  /** A sentence with the event's identity and what is wrong. */
  readonly reason: string;
}

/** A value of {@linkcode EventSelection.onBroken}: events that cannot be read are left out. */
export function leaveOut(): void {}

/** Default of {@linkcode EventSelection.limit}. */
const LIMIT = 1000;

/**
 * SQL of the condition that an event has its final place. Transactions of PostgreSQL commit in another
 * order than they begin, so events of the oldest running transaction and of later ones have to wait.
 * Those of SQLite follow one another.
 */
export function isFinal({ engine }: Database): string {
  return engine === "postgres" ? "e.tx < (select tx from event_horizon)" : "true";
}

/** SQL of a position's two `?` parameters. */
export function positionOf({ engine }: Database): string {
  return engine === "postgres" ? "(?::xid8, ?::bigint)" : "(cast(? as integer), ?)";
}

/** Reads the events after a position, in their order. */
export async function eventsAfter(
  database: Database,
  position: EventPosition,
  selection: EventSelection = {},
): Promise<readonly StoredEvent[]> {
  return readable(await rowsAfter(database, position, selection), selection, storedEvent);
}

async function rowsAfter(
  database: Database,
  { tx, seq }: EventPosition,
  { server, limit = LIMIT }: EventSelection,
): Promise<readonly Row[]> {
  const isServers = server === undefined ? "" : "and e.server = ? ";
  return await database.rows(
    "select e.tx, e.seq, e.id, e.at, s.key, c.uuid, e.kind, e.data from events e " +
      "left join servers s on s.id = e.server left join scans c on c.id = e.scan " +
      `where (e.tx, e.seq) > ${positionOf(database)} and ${isFinal(database)} ${isServers}` +
      "order by e.tx, e.seq limit ?",
    [tx, seq, ...(server === undefined ? [] : [server]), limit],
  );
}

/** The events of rows, without those that cannot be read. */
function readable<Event extends StoredEvent>(
  rows: readonly Row[],
  { onBroken }: EventSelection,
  eventOf: (row: Row) => Event,
): Event[] {
  return rows.flatMap((row) => {
    try {
      return [eventOf(row)];
    } catch (error) {
      if (onBroken === undefined || !(error instanceof InputError)) throw error;
      onBroken({ tx: String(row.tx), seq: Number(row.seq), reason: error.message });
      return [];
    }
  });
}

/**
 * The number of committed events that have no final place yet, so that readers do not get them. A
 * transaction that runs in the database, and has written, delays the events after it.
 */
export async function countHeldUp(
  database: Database,
  { server }: Pick<EventSelection, "server"> = {},
): Promise<number> {
  if (database.engine !== "postgres") return 0;
  const isServers = server === undefined ? "" : " and e.server = ?";
  const [{ n }] = await database.rows(
    `select count(*) as n from events e where not ${isFinal(database)}${isServers}`,
    server === undefined ? [] : [server],
  );
  return Number(n);
}

/** The position of the newest event: a reader that starts there gets later events only. */
export async function newestPosition(database: Database): Promise<EventPosition> {
  const [row] = await database.rows(
    `select e.tx, e.seq from events e where ${
      isFinal(database)
    } order by e.tx desc, e.seq desc limit 1`,
  );
  return row === undefined ? BEFORE_EVENTS : { tx: String(row.tx), seq: Number(row.seq) };
}

/** Reads the last events, the oldest of them first. */
export async function lastEvents(
  database: Database,
  selection: EventSelection = {},
): Promise<readonly StoredEvent[]> {
  const { server, limit = LIMIT } = selection;
  const isServers = server === undefined ? "" : "and e.server = ? ";
  const order = server === undefined ? "e.tx desc, e.seq desc" : "e.at desc, e.tx desc, e.seq desc";
  const rows = await database.rows(
    "select e.tx, e.seq, e.id, e.at, s.key, c.uuid, e.kind, e.data from events e " +
      "left join servers s on s.id = e.server left join scans c on c.id = e.scan " +
      `where ${isFinal(database)} ${isServers}order by ${order} limit ?`,
    [...(server === undefined ? [] : [server]), limit],
  );
  return readable(rows.toReversed(), selection, storedEvent);
}

/** An event with the number of its server. */
export interface ListedEvent extends StoredEvent {
  /** `servers.id`; null: the event is about no single server, or the server is no longer stored. */
  readonly server_id: number | null;
}

/** Which earlier events to read. */
export interface EarlierEvents extends EventSelection {
  /** Only events before this position. Default: from the newest one on. */
  readonly before?: EventPosition;
  /** The kinds of the events. Default: all kinds. */
  readonly kinds?: readonly string[];
}

/** Reads the events before a position, the newest first. */
export async function eventsBefore(
  database: Database,
  selection: EarlierEvents,
): Promise<readonly ListedEvent[]> {
  const { before, kinds, server, limit = LIMIT } = selection;
  if (server !== undefined && !isServerNumber(server)) return [];
  const conditions = [isFinal(database)];
  const values: Value[] = [];
  if (before !== undefined) {
    conditions.push(`(e.tx, e.seq) < ${positionOf(database)}`);
    values.push(before.tx, before.seq);
  }
  if (server !== undefined) {
    conditions.push("e.server = ?");
    values.push(server);
  }
  if (kinds !== undefined) {
    conditions.push(isInList(database, "e.kind", "text"));
    values.push(listValue(database, kinds.map(storable)));
  }
  const rows = await database.rows(
    "select e.tx, e.seq, e.id, e.at, s.key, s.id as server_id, c.uuid, e.kind, e.data " +
      "from events e left join servers s on s.id = e.server left join scans c on c.id = e.scan " +
      `where ${conditions.join(" and ")} order by e.tx desc, e.seq desc limit ?`,
    [...values, limit],
  );
  return readable(rows, selection, (row) => ({
    ...storedEvent(row),
    server_id: row.server_id === null ? null : Number(row.server_id),
  }));
}

/** How to follow events. */
export interface FollowOptions extends EventSelection {
  /** Awaited before each reading of the database: if it rejects, the reading ends. Default: nothing. */
  readonly check?: () => Promise<void>;
  /** Pause before the database is read again when there was no further event, milliseconds. */
  readonly pauseMs: number;
  /** The clock of pauses. */
  readonly clock: Clock;
  /** Ends the reading. */
  readonly signal: AbortSignal;
}

/** Yields the events after a position, and further ones as they are written, until the signal. */
export async function* followEvents(
  database: Database,
  position: EventPosition,
  { check, pauseMs, clock, signal, ...selection }: FollowOptions,
): AsyncGenerator<StoredEvent, void, undefined> {
  const { limit = LIMIT } = selection;
  for (let after = position; !signal.aborted;) {
    await check?.();
    const rows = await rowsAfter(database, after, selection);
    yield* readable(rows, selection, storedEvent);
    const last = rows.at(-1);
    if (last !== undefined) after = { tx: String(last.tx), seq: Number(last.seq) };
    if (rows.length < limit) await sleep(clock, pauseMs, signal);
  }
}

/** Maximum of a time that a `Date` can represent, Unix milliseconds. */
const MAX_TIME = 8.64e15;

/**
 * The event of a row. Another program may have written the row.
 *
 * @throws InputError for a time that is not valid, and for data that is not JSON.
 */
function storedEvent({ tx, seq, id, at, key, uuid, kind, data }: Row): StoredEvent {
  const wrong = (reason: string) =>
    new InputError(`Cannot read event ${oneLine(cutText(String(id), 36))}: its ${reason}`);
  if (!(Math.abs(Number(at)) <= MAX_TIME)) throw wrong("time is not valid"); // NaN too
  return {
    tx: String(tx),
    seq: Number(seq),
    id: String(id),
    at: Number(at),
    server: key === null ? null : String(key),
    scan_id: uuid === null ? null : String(uuid),
    kind: String(kind),
    data: parseData(String(data), () => wrong("data is not JSON")),
  };
}

function parseData(text: string, wrong: () => InputError): StoredEvent["data"] {
  try {
    return JSON.parse(text);
  } catch {
    throw wrong();
  }
}
