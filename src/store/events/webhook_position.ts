/**
 * How far a webhook has sent the events of a database. Of the watches that have the same webhook, one at
 * a time holds its position, by a lease.
 *
 * @module
 */
import type { Database } from "../database/database.ts";
import { BEFORE_EVENTS, type EventPosition, laterPosition } from "./event_feed.ts";
import { countSendable, isSent } from "./sendable_events.ts";

/** Duration of a lease, milliseconds. */
export const LEASE_MS = 20_000;
/** A position that no watch has held for so long is given up, days. */
const KEPT_DAYS = 7;

/** A webhook in a database. */
export interface WebhookKey {
  /** The hash of its URL. */
  readonly webhook: string;
  /** The kinds of events that it gets. */
  readonly kinds: readonly string[];
}

/** A position that this watch holds. */
export interface HeldPosition extends EventPosition {
  /** Number of events that prune removed before they were sent. */
  readonly pruned: number;
}

/** A row of the table `webhook_positions`. */
interface StoredPosition {
  readonly kinds: readonly string[];
  readonly position: EventPosition;
  readonly pruned: number;
  /** Whether no watch has held the position for a week. */
  readonly isOld: boolean;
}

/** The position of a webhook in a database. */
export class WebhookPosition {
  readonly #row: readonly [webhook: string, kinds: string];
  /** By kind: events up to this position were sent with another list of kinds, or are not to be sent. */
  readonly #starts = new Map<string, EventPosition>();

  /**
   * Reads and writes the row of a webhook.
   *
   * @param holder The identity of this watch, UUIDv7.
   */
  constructor(
    private readonly database: Database,
    readonly key: WebhookKey,
    private readonly holder: string,
  ) {
    this.#row = [key.webhook, key.kinds.toSorted().join(",")];
  }

  /**
   * Prepares the position. A new webhook gets the events that are written from now on. If the database
   * has positions of the same URL with other lists of kinds, each kind of event continues at the latest
   * position of a list that contains the kind, and a kind that is in no list at the latest position of
   * all.
   *
   * @returns The number of events that are given up, because no watch had the webhook for a week.
   */
  async prepare(): Promise<number> {
    const { database, key: { kinds } } = this;
    return await database.transaction(async () => {
      const rows = await this.#readRows();
      const current = rows.filter(({ isOld }) => !isOld);
      const latest = latestOf(current) ?? await newestEnd(database);
      const known = new Set(current.flatMap((row) => row.kinds));
      for (const kind of kinds) {
        const reached = latestOf(current.filter((row) => row.kinds.includes(kind)));
        this.#starts.set(kind, reached ?? latest);
      }
      const old = rows.find(({ isOld, kinds }) => isOld && `${kinds}` === this.#row[1]);
      const unknown = kinds.filter((kind) => !known.has(kind));
      const givenUp = old === undefined ? 0 : old.pruned +
        await countSendable(database, old.position, unknown, MAX_COUNT) -
        await countSendable(database, latest, unknown, MAX_COUNT);
      await this.#writeStart(latest);
      return givenUp;
    });
  }

  /**
   * Removes old positions of the URL, and writes the one from which this webhook reads.
   *
   * @param latest The position of a webhook that gets no event of the database.
   */
  async #writeStart(latest: EventPosition): Promise<void> {
    const { database } = this;
    await database.run(
      `delete from webhook_positions where webhook = ? and ${isOldIn(database)}`,
      [this.#row[0]],
    );
    const [first = latest, ...others] = this.#starts.values();
    const start = others.reduce((a, b) => laterPosition(a, b) === a ? b : a, first);
    await database.run(
      "insert into webhook_positions (webhook, kinds, tx, seq, held_until) values " +
        `(?, ?, ${xid(database)}, ?, ${timeIn(database)}) on conflict (webhook, kinds) do update ` +
        "set tx = excluded.tx, seq = excluded.seq " +
        "where (webhook_positions.tx, webhook_positions.seq) < (excluded.tx, excluded.seq)",
      [...this.#row, start.tx, start.seq],
    );
  }

  /** The positions of the URL. */
  async #readRows(): Promise<readonly StoredPosition[]> {
    const { database } = this;
    const { tx, seq } = txAndSeqIn(database);
    const rows = await database.rows(
      `select kinds, ${tx} as tx, ${seq} as seq, pruned, ${isOldIn(database)} as is_old ` +
        "from webhook_positions where webhook = ?",
      [this.#row[0]],
    );
    return rows.map((row) => ({
      kinds: String(row.kinds).split(","),
      position: positionIn(row),
      pruned: Number(row.pruned),
      isOld: row.is_old === 1,
    }));
  }

  /** Whether the webhook gets events of a kind, and no other list of kinds has reached this one. */
  isDue(kind: string, position: EventPosition): boolean {
    const start = this.#starts.get(kind);
    return start !== undefined && laterPosition(position, start) !== start;
  }

  /**
   * Takes the lease, or renews it. In a database that was restored on another PostgreSQL server, the
   * position may be beyond its transactions: then the webhook is like a new one.
   *
   * @returns `undefined` if another watch holds the position.
   */
  async take(): Promise<HeldPosition | undefined> {
    const { database } = this;
    const now = timeIn(database);
    const { tx, seq } = txAndSeqIn(database);
    const [row] = await database.rows(
      `update webhook_positions set tx = ${tx}, seq = ${seq}, holder = ${uuid(database)}, ` +
        `held_until = ${timeIn(database, LEASE_MS)} where webhook = ? and kinds = ? ` +
        // A time that is too late was written before the clock of the machine was set back.
        `and (holder is null or holder = ${uuid(database)} or held_until < ${now} ` +
        `or held_until > ${timeIn(database, 2 * LEASE_MS)}) returning tx, seq, pruned`,
      [this.holder, ...this.#row, this.holder],
    );
    return row === undefined ? undefined : { ...positionIn(row), pruned: Number(row.pruned) };
  }

  /**
   * Moves the position forward.
   *
   * @param reported Number of events that prune removed, and that were reported.
   * @returns `false` if another watch has taken the lease, or the position is already later.
   */
  async advance({ tx, seq }: EventPosition, reported = 0): Promise<boolean> {
    const { database } = this;
    const changed = await database.run(
      `update webhook_positions set tx = ${xid(database)}, seq = ?, pruned = pruned - ?, ` +
        `held_until = ${timeIn(database, LEASE_MS)} ` +
        `where webhook = ? and kinds = ? and holder = ${uuid(database)} ` +
        `and (tx, seq) <= (${xid(database)}, ?)`,
      [tx, seq, reported, ...this.#row, this.holder, tx, seq],
    );
    return changed > 0;
  }

  /** Lets another watch take the lease at once. */
  async release(): Promise<void> {
    const { database } = this;
    await database.run(
      `update webhook_positions set holder = null, held_until = ${timeIn(database)} ` +
        `where webhook = ? and kinds = ? and holder = ${uuid(database)}`,
      [...this.#row, this.holder],
    );
  }

  /** The number of events after a position that wait for the webhook: at most a limit. */
  async count(position: EventPosition, limit: number): Promise<number> {
    const { database, key: { kinds } } = this;
    const byStart = Map.groupBy(
      kinds,
      (kind) => laterPosition(this.#starts.get(kind) ?? position, position),
    );
    let count = 0;
    for (const [start, some] of byStart) {
      count += await countSendable(database, start, some, limit - count);
    }
    return count;
  }
}

/** Maximum number of events that are counted. */
export const MAX_COUNT = 1_000_000;

/**
 * Counts, for each webhook, those of some events that it has not sent. The caller's transaction removes
 * these events.
 *
 * @param ids Identities of events, as `listValue` returns them.
 */
export async function countPruned(database: Database, ids: string): Promise<void> {
  const isOne = database.engine === "postgres"
    ? "e.id = any (?::uuid[])"
    : "e.id in (select value from json_each(?))";
  const hasKind = (row: string) => `',' || ${row}.kinds || ',' like '%,' || e.kind || ',%'`;
  // With another list of kinds, the same receiver may have got the event.
  const isPast = "select 1 from webhook_positions o where o.webhook = p.webhook " +
    `and (o.tx, o.seq) >= (e.tx, e.seq) and ${hasKind("o")}`;
  const isWaiting = "select count(*) from events e left join scans w on w.id = e.scan " +
    `where ${isOne} and ${hasKind("p")} and not exists (${isPast}) and ${isSent(database)}`;
  await database.run(
    `update webhook_positions as p set pruned = pruned + (${isWaiting}) where (${isWaiting}) > 0`,
    [ids, ids],
  );
}

function positionIn({ tx, seq }: { readonly [name: string]: unknown }): EventPosition {
  return tx === null ? BEFORE_EVENTS : { tx: String(tx), seq: Number(seq) };
}

function latestOf(rows: readonly StoredPosition[]): EventPosition | undefined {
  const positions = rows.map(({ position }) => position);
  return positions.length === 0 ? undefined : positions.reduce(laterPosition);
}

/** The position after all present events. */
export async function newestEnd(database: Database): Promise<EventPosition> {
  const [newest] = await database.rows(
    database.engine === "postgres"
      ? `select ${TX_END} as tx, 0 as seq`
      : "select 0 as tx, coalesce(max(seq), 0) as seq from events",
  );
  return positionIn(newest);
}

/** SQL of the transaction after all that have begun, in PostgreSQL. */
const TX_END = "pg_snapshot_xmax(pg_current_snapshot())";

/**
 * SQL of the position of a row. In a database that was restored on another PostgreSQL server, the row may
 * be beyond the transactions of this one.
 */
function txAndSeqIn({ engine }: Database): { readonly tx: string; readonly seq: string } {
  return engine === "postgres"
    ? { tx: `least(tx, ${TX_END})`, seq: `case when tx > ${TX_END} then 0 else seq end` }
    : { tx: "tx", seq: "seq" };
}

/** SQL of the condition that no watch has held a position for a week. */
function isOldIn(database: Database): string {
  return `held_until < ${timeIn(database, -KEPT_DAYS * 86_400_000)}`;
}

/** SQL of a time of the database's clock, which all watches of PostgreSQL share. */
function timeIn({ engine }: Database, plusMs = 0): string {
  return engine === "postgres"
    ? `clock_timestamp() + interval '${plusMs} milliseconds'`
    : `cast(unixepoch('subsec') * 1000 as integer) + ${plusMs}`;
}

function xid({ engine }: Database): string {
  return engine === "postgres" ? "?::xid8" : "cast(? as integer)";
}

function uuid({ engine }: Database): string {
  return engine === "postgres" ? "?::uuid" : "?";
}
