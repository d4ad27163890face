/**
 * Reads the events of a database in an order that readers can follow, that of their transactions: no
 * new event gets a position before the position of an event that was read. `newest_events.ts` reads them
 * in the order of their times.
 *
 * @module
 */
import { parseJson } from "../../core/checked_values.ts";
import { InputError } from "../../core/errors.ts";
import { cutText, oneLine } from "../../core/text.ts";
import { type Clock, sleep } from "../../net/clock.ts";
import type { Database, Row } from "../database/database.ts";

/** The position of an event in the order of events. */
export interface EventPosition {
  /** The transaction that wrote the event, a decimal number: it may have 64 bits. */
  readonly tx: string;
  /** The order of the events of one transaction. */
  readonly seq: number;
}

/** The position before the first event. */
export const BEFORE_EVENTS: EventPosition = { tx: "0", seq: 0 };

/** Compares two positions: 1 if the first one is later. */
function inOrder(a: EventPosition, b: EventPosition): number {
  const isLater = a.tx === b.tx ? a.seq > b.seq : BigInt(a.tx) > BigInt(b.tx);
  return isLater ? 1 : -1;
}

/** The later one of two positions. */
export function laterPosition(a: EventPosition, b: EventPosition): EventPosition {
  return inOrder(a, b) > 0 ? a : b;
}

/** An event in a database. */
export interface StoredEvent extends EventPosition {
  /** The event's identity, UUIDv7. */
  readonly id: string;
  /** When the change was detected, Unix milliseconds. */
  readonly at: number;
  /** `servers.key`; `null`: the event is about no single server. */
  readonly server: string | null;
  /** `servers.id`; `null`: as `server`, or the server is no longer stored. */
  readonly server_id: number | null;
  /** `servers.name`, the name that the server publishes now; `null`: unknown. */
  readonly name: string | null;
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
 * SQL of the condition that an event has its final position. Transactions of PostgreSQL commit in another
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

/** SQL that selects events, for {@linkcode readable}. The conditions have the event as `e`. */
export const SELECT_EVENTS: string =
  "select e.tx, e.seq, e.id, e.at, s.id as server_id, s.key, s.name, c.uuid, e.kind, e.data " +
  "from events e left join servers s on s.id = e.server left join scans c on c.id = e.scan ";

/** Reads the events after a position, in their order. */
export async function eventsAfter(
  database: Database,
  position: EventPosition,
  selection: EventSelection = {},
): Promise<readonly StoredEvent[]> {
  return readable(await rowsAfter(database, position, selection), selection);
}

async function rowsAfter(
  database: Database,
  { tx, seq }: EventPosition,
  { server, limit = LIMIT }: EventSelection,
): Promise<readonly Row[]> {
  const isServers = server === undefined ? "" : "and e.server = ? ";
  return await database.rows(
    `${SELECT_EVENTS}where (e.tx, e.seq) > ${positionOf(database)} and ${
      isFinal(database)
    } ${isServers}` +
      "order by e.tx, e.seq limit ?",
    [tx, seq, ...(server === undefined ? [] : [server]), limit],
  );
}

/** The events of rows, without those that cannot be read. */
export function readable(
  rows: readonly Row[],
  { onBroken }: Pick<EventSelection, "onBroken">,
): StoredEvent[] {
  return rows.flatMap((row) => {
    try {
      return [storedEvent(row)];
    } catch (error) {
      if (onBroken === undefined || !(error instanceof InputError)) throw error;
      onBroken({ tx: String(row.tx), seq: Number(row.seq), reason: error.message });
      return [];
    }
  });
}

/**
 * The number of committed events that have no final position yet, so that readers do not get them. A
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

/** Reads the last events, in their order. Those of one server are the newest by time. */
export async function lastEvents(
  database: Database,
  selection: EventSelection = {},
): Promise<readonly StoredEvent[]> {
  const { server, limit = LIMIT } = selection;
  const isServers = server === undefined ? "" : "and e.server = ? ";
  const order = server === undefined ? "e.tx desc, e.seq desc" : "e.at desc, e.tx desc, e.seq desc";
  const rows = await database.rows(
    `${SELECT_EVENTS}where ${isFinal(database)} ${isServers}order by ${order} limit ?`,
    [...(server === undefined ? [] : [server]), limit],
  );
  return readable(rows, selection).sort(inOrder);
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
    yield* readable(rows, selection);
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
function storedEvent(row: Row): StoredEvent {
  const { tx, seq, id, at, key, name, uuid, kind, data } = row;
  const wrong = (reason: string) =>
    new InputError(`Cannot read event ${oneLine(cutText(String(id), 36))}: its ${reason}`);
  if (!(Math.abs(Number(at)) <= MAX_TIME)) throw wrong("time is not valid"); // NaN too
  return {
    tx: String(tx),
    seq: Number(seq),
    id: String(id),
    at: Number(at),
    server: key === null ? null : String(key),
    server_id: row.server_id === null ? null : Number(row.server_id),
    name: name === null ? null : String(name),
    scan_id: uuid === null ? null : String(uuid),
    kind: String(kind),
    data: parseData(String(data), () => wrong("data is not JSON, or nested too deeply")),
  };
}

function parseData(text: string, wrong: () => InputError): StoredEvent["data"] {
  try {
    return parseJson(text) as StoredEvent["data"];
  } catch {
    throw wrong();
  }
}
