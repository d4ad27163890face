/**
 * How far a webhook has sent the events of a database. Of the watches that have the same webhook, one at
 * a time holds its position, by a lease.
 *
 * @module
 */
import type { Database } from "../database/database.ts";
import { BEFORE_EVENTS, type EventPosition } from "./event_feed.ts";
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

/** The position of a webhook in a database. */
export class WebhookPosition {
  readonly #row: readonly [webhook: string, kinds: string];

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
   * has a position of the same URL with other kinds of events, the webhook begins there.
   *
   * @returns The number of events that are given up, because no watch had the webhook for a week.
   */
  async prepare(): Promise<number> {
    const { database } = this;
    return await database.transaction(async () => {
      const isOld = `held_until < ${timeIn(database, -KEPT_DAYS * 86_400_000)}`;
      const [old] = await database.rows(
        `select tx, seq, pruned from webhook_positions where webhook = ? and kinds = ? and ${isOld}`,
        this.#row,
      );
      const lost = old === undefined
        ? 0
        : Number(old.pruned) + await this.count(positionIn(old), MAX_COUNT);
      await database.run(`delete from webhook_positions where webhook = ? and ${isOld}`, [
        this.#row[0],
      ]);
      const { tx, seq } = await this.#start();
      await database.run(
        "insert into webhook_positions (webhook, kinds, tx, seq, held_until) values " +
          `(?, ?, ${xid(database)}, ?, ${
            timeIn(database)
          }) on conflict (webhook, kinds) do nothing`,
        [...this.#row, tx, seq],
      );
      return lost;
    });
  }

  /** The initial position of a new webhook. */
  async #start(): Promise<EventPosition> {
    const { database } = this;
    const [other] = await database.rows(
      "select tx, seq from webhook_positions where webhook = ? order by tx desc, seq desc limit 1",
      [this.#row[0]],
    );
    if (other !== undefined) return positionIn(other);
    const [newest] = await database.rows(
      database.engine === "postgres"
        ? "select pg_snapshot_xmax(pg_current_snapshot()) as tx, 0 as seq"
        : "select 0 as tx, coalesce(max(seq), 0) as seq from events",
    );
    return positionIn(newest);
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
    const end = "pg_snapshot_xmax(pg_current_snapshot())";
    const place = database.engine === "postgres"
      ? `tx = least(tx, ${end}), seq = case when tx > ${end} then 0 else seq end, `
      : "";
    const [row] = await database.rows(
      `update webhook_positions set ${place}holder = ${uuid(database)}, ` +
        `held_until = ${timeIn(database, LEASE_MS)} where webhook = ? and kinds = ? ` +
        // A time that is too late was written before the clock of the machine was set back.
        `and (holder is null or holder = ${uuid(database)} or held_until < ${now} ` +
        `or held_until > ${timeIn(database, 2 * LEASE_MS)}) returning tx, seq, pruned`,
      [this.holder, ...this.#row, this.holder],
    );
    return row === undefined ? undefined : { ...positionIn(row), pruned: Number(row.pruned) };
  }

  /**
   * Moves the position.
   *
   * @param reported Number of events that prune removed, and that were reported.
   * @returns `false` if another watch has taken the lease.
   */
  async advance({ tx, seq }: EventPosition, reported = 0): Promise<boolean> {
    const { database } = this;
    const changed = await database.run(
      `update webhook_positions set tx = ${xid(database)}, seq = ?, pruned = pruned - ?, ` +
        `held_until = ${timeIn(database, LEASE_MS)} ` +
        `where webhook = ? and kinds = ? and holder = ${uuid(database)}`,
      [tx, seq, reported, ...this.#row, this.holder],
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
    return await countSendable(this.database, position, this.key.kinds, limit);
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
  const isWaiting = "select count(*) from events e left join scans w on w.id = e.scan " +
    "where (e.tx, e.seq) > (webhook_positions.tx, webhook_positions.seq) " +
    `and ',' || webhook_positions.kinds || ',' like '%,' || e.kind || ',%' and ${isOne} ` +
    `and ${isSent(database)}`;
  await database.run(
    `update webhook_positions set pruned = pruned + (${isWaiting}) where (${isWaiting}) > 0`,
    [ids, ids],
  );
}

function positionIn({ tx, seq }: { readonly [name: string]: unknown }): EventPosition {
  return tx === null ? BEFORE_EVENTS : { tx: String(tx), seq: Number(seq) };
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
