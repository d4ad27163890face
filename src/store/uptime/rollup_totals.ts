/**
 * Sums rollups by properties of servers: edition, software, version, port and protocol.
 *
 * @module
 */
import { DAY_MS } from "../../core/quantities.ts";
import {
  type ColumnDefinition,
  type Database,
  insertInto,
  type Row,
  timeParameter,
  type Value,
} from "../database/database.ts";
import { addressColumn } from "../rows/addresses.ts";
import { ALL_SERVERS } from "./dirty_hours.ts";
import { exclusively, periodStart, readState } from "./rollup_hours.ts";

/** The properties of servers by which rollups are summed: columns of `servers`. */
export const TOTAL_KINDS = ["edition", "software", "version", "port", "protocol"] as const;

/** Maximum number of values of a property that have a row of their own. */
export const MAX_PROPERTY_VALUES = 1000;
/**
 * Maximum number of values of a property in memory. If there are more, the half with the smaller
 * sums is added to the rest.
 */
const MAX_HELD = 20_000;
/** Maximum length of a value, characters. */
const MAX_LENGTH = 64;
/** Rollups per query. */
const PAGE = 2000;

/** An hour that is dirty for all servers. */
export interface DirtyHour {
  /** Start of the hour, Unix milliseconds. */
  readonly hour: number;
  /** `dirty_hours.marks`. */
  readonly marks: number;
}

/** Sums of the rollups of several servers. */
interface Sums {
  servers: number;
  playerS: number;
  watchedS: number;
  onlineS: number;
}

const COLUMNS: readonly ColumnDefinition[] = [
  ["at", "timestamptz"],
  ["hours", "integer"],
  ["kind", "text"],
  ["rank", "integer"],
  ["value", "text"],
  ["servers", "integer"],
  ["player_s", "bigint"],
  ["watched_s", "bigint"],
  ["online_s", "bigint"],
];

const INSERT = insertInto(
  "rollup_totals",
  COLUMNS,
  "on conflict (hours, at, kind, rank) do nothing",
);

/** Sums by the values of a property, in bounded memory. */
export class ValueSums {
  readonly #values = new Map<string | null, Sums>();
  readonly #rest: Sums = { servers: 0, playerS: 0, watchedS: 0, onlineS: 0 };

  /**
   * @param maxHeld Maximum number of values in memory. If there are more, the half with the smaller
   * sums is added to the rest.
   */
  constructor(private readonly maxHeld = MAX_HELD) {}

  /** Adds the rollup of a server. */
  add(value: string | null, sums: Readonly<Sums>): void {
    const stood = this.#values.get(value);
    if (stood !== undefined) return addTo(stood, sums);
    this.#values.set(value, { ...sums });
    if (this.#values.size > this.maxHeld) this.#addToRest(this.#ranked().slice(this.maxHeld >> 1));
  }

  /** The largest values by rank, from 1, and the rest as rank 0. */
  ranked(): [rank: number, value: string | null, sums: Readonly<Sums>][] {
    this.#addToRest(this.#ranked().slice(MAX_PROPERTY_VALUES));
    const ranked = this.#ranked().map(([value, sums], i) => [i + 1, value, sums] as const);
    const rest = this.#rest.servers === 0 ? [] : [[0, null, this.#rest] as const];
    return [...ranked, ...rest].map(([rank, value, sums]) => [rank, value, sums]);
  }

  #ranked(): [string | null, Sums][] {
    return [...this.#values].sort(([a, one], [b, other]) =>
      other.onlineS - one.onlineS || other.watchedS - one.watchedS ||
      ((a ?? "") < (b ?? "") ? -1 : 1)
    );
  }

  #addToRest(values: readonly [string | null, Sums][]): void {
    for (const [value, sums] of values) {
      addTo(this.#rest, sums);
      this.#values.delete(value);
    }
  }
}

function addTo(sums: Sums, more: Readonly<Sums>): void {
  sums.servers += more.servers;
  sums.playerS += more.playerS;
  sums.watchedS += more.watchedS;
  sums.onlineS += more.onlineS;
}

/**
 * Writes the totals of an hour, and of its day if that is complete. Then the hour is no longer
 * dirty. If the hour became dirty again meanwhile, nothing is written.
 *
 * @param between Awaited between two queries.
 * @param signal Cancels the work.
 */
export async function writeTotals(
  database: Database,
  { hour, marks }: DirtyHour,
  between: () => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const day = periodStart(hour, DAY_MS);
  const ofHour = await sumsOf(database, 1, hour, between, signal);
  const isDayLeft = await isDayComplete(database, day, hour);
  const ofDay = isDayLeft ? await sumsOf(database, 24, day, between, signal) : undefined;
  if (signal?.aborted) return;
  await exclusively(database, async () => {
    const cleaned = await database.run(
      `delete from dirty_hours where hour = ${
        timeParameter(database)
      } and server = ? and marks = ?`,
      [hour, ALL_SERVERS, marks],
    );
    if (cleaned === 0) return;
    await replaceTotals(database, 1, hour, ofHour);
    if (ofDay !== undefined) await replaceTotals(database, 24, day, ofDay);
  });
}

/** Whether a day is complete, and no other hour of the day is dirty. */
async function isDayComplete(database: Database, day: number, hour: number): Promise<boolean> {
  const { closedUntil } = await readState(database);
  if (day + DAY_MS > closedUntil) return false;
  const time = timeParameter(database);
  const others = await database.rows(
    `select 1 from dirty_hours where hour >= ${time} and hour < ${time} and hour <> ${time} limit 1`,
    [day, day + DAY_MS, hour],
  );
  return others.length === 0;
}

/** Sums the rollups of an hour or day. Each address and port counts once. */
async function sumsOf(
  database: Database,
  hours: 1 | 24,
  at: number,
  between: () => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<readonly ValueSums[]> {
  const sums = TOTAL_KINDS.map(() => new ValueSums());
  const values = TOTAL_KINDS.map((kind) =>
    kind === "port" ? "s.port" : `substr(s.${kind}, 1, ${MAX_LENGTH}) as ${kind}`
  );
  const address = addressColumn(database);
  const sql = `select r.server, r.player_s, r.watched_s, r.online_s, ${values.join(", ")} ` +
    "from rollups r join servers s on s.id = r.server " +
    `where r.hours = ? and r.at = ${timeParameter(database)} and r.server > ? ` +
    // Several names of an address and port are several servers: the one with the lowest id counts.
    "and not exists (select 1 from servers o join rollups q on q.server = o.id " +
    `where o.${address} = s.${address} and o.port = s.port and o.id < s.id ` +
    "and q.hours = r.hours and q.at = r.at) " +
    `order by r.server limit ${PAGE}`;
  for (let last = 0; !signal?.aborted;) {
    const page = await database.transaction(() => database.rows(sql, [hours, at, last]));
    for (const row of page) addRow(sums, row);
    if (page.length < PAGE) break;
    last = Number(page.at(-1)!.server);
    await between();
  }
  return sums;
}

function addRow(sums: readonly ValueSums[], row: Row): void {
  const one = {
    servers: 1,
    playerS: Number(row.player_s),
    watchedS: Number(row.watched_s),
    onlineS: Number(row.online_s),
  };
  for (const [i, kind] of TOTAL_KINDS.entries()) {
    const value = row[kind];
    sums[i].add(value === null || value === "" ? null : String(value), one);
  }
}

async function replaceTotals(
  database: Database,
  hours: 1 | 24,
  at: number,
  sums: readonly ValueSums[],
): Promise<void> {
  await database.run(
    `delete from rollup_totals where hours = ? and at = ${timeParameter(database)}`,
    [hours, at],
  );
  const rows = sums.flatMap((ofKind, i) =>
    ofKind.ranked().map(([rank, value, { servers, playerS, watchedS, onlineS }]): Value[] => [
      ...[at, hours, TOTAL_KINDS[i], rank, value, servers, playerS, watchedS, onlineS],
    ])
  );
  await database.bulk(INSERT, rows);
}
