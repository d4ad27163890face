/**
 * What the commands on a database have in common: which database, which servers, which table.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { serverId } from "../../core/record.ts";
import type { Format, Sink } from "../../sinks/sink.ts";
import { listServers, SERVER_ORDERS, type ServerSelection } from "../../store/server_queries.ts";
import {
  type ConnectionEnvironment,
  type DatabaseLocation,
  parseDatabaseLocation,
  readStore,
} from "../../store/open_store.ts";
import type { StoredRecord } from "../../store/server_columns.ts";
import type { Database } from "../../store/database/database.ts";
import { closestName } from "../../core/closest_name.ts";
import { playersText, type TableColumn, tableOf } from "../outputs/table_format.ts";
import type { Settings } from "../settings/option_values.ts";

/** The database that a command names first. */
export function namedPlace(word: string | undefined): DatabaseLocation {
  const place = word === undefined ? undefined : parseDatabaseLocation(word);
  if (place !== undefined) return place;
  throw new InputError(
    word === undefined
      ? "Cannot continue without a database: name one, as servers.db"
      : `Cannot use "${word}": name a database first, as servers.db or postgres://USER@HOST/DATABASE`,
  );
}

/** Opens the database that a command reads. */
export async function openNamed(
  word: string | undefined,
  surroundings: ConnectionEnvironment,
): Promise<Database> {
  return await readStore(namedPlace(word), surroundings);
}

/** Which servers the options select. */
export function readSelection(
  settings: Settings,
  usual: { readonly sort: keyof typeof SERVER_ORDERS; readonly limit?: number },
  now: number,
): ServerSelection {
  const sort = settings.text("sort");
  if (sort !== undefined && !Object.hasOwn(SERVER_ORDERS, sort)) {
    const meant = closestName(sort, Object.keys(SERVER_ORDERS));
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    throw new InputError(
      `Cannot sort by "${sort}": it goes by ${Object.keys(SERVER_ORDERS).join(", ")}${hint}`,
    );
  }
  const since = settings.text("since");
  return {
    online: settings.has("online"),
    software: settings.text("software"),
    version: settings.text("game-version"),
    minPlayers: settings.whole("min-players", 0, 1e9),
    text: settings.text("text"),
    since: since === undefined ? undefined : readSince(since, now),
    sort: (sort as keyof typeof SERVER_ORDERS | undefined) ?? usual.sort,
    limit: settings.wholeCount("limit") ?? usual.limit,
  };
}

const UNITS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 };

/**
 * A time in the past, Unix milliseconds: `90m`, `24h` or `7d` ago, a date, or the number itself.
 *
 * @throws InputError where it is none of these.
 */
export function readSince(text: string, now: number): number {
  const [, ago, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (ago !== undefined) return now - Number(ago) * UNITS[unit] * 1000;
  if (/^\d{12,14}$/.test(text)) return Number(text);
  const date = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
    ? Date.parse(text)
    : NaN;
  if (!Number.isNaN(date)) return date;
  throw new InputError(
    `Cannot use --since "${text}": it wants 90m, 24h or 7d ago, a date as 2026-01-31 or ` +
      "2026-01-31T08:00Z, or Unix milliseconds",
  );
}

/** Rows that are written together. */
const BATCH = 500;

/** Writes the selected servers; says how many, and when the last of them was asked. */
export async function writeServers(
  database: Database,
  selection: ServerSelection,
  sinks: readonly Sink[],
): Promise<{ count: number; latest: number }> {
  let [batch, count, latest]: [StoredRecord[], number, number] = [[], 0, 0];
  const write = async () => {
    for (const sink of sinks) await sink.write(batch);
    batch = [];
  };
  for await (const record of listServers(database, selection)) {
    batch.push(record);
    count++;
    latest = Math.max(latest, record.last_seen);
    if (batch.length >= BATCH) await write();
  }
  await write();
  return { count, latest };
}

/** How long ago, roughly: `5s`, `12m`, `3h`, `9d`. */
export function ago(at: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - at) / 1000));
  if (seconds < 100) return `${seconds}s`;
  if (seconds < 100 * 60) return `${Math.floor(seconds / 60)}m`;
  return seconds < 72 * 3600
    ? `${Math.floor(seconds / 3600)}h`
    : `${Math.floor(seconds / 86_400)}d`;
}

/** A table for a terminal: whether each server is online, and since when it was not. */
export function storedServersTable(now: number, space: number): Format {
  const columns: readonly TableColumn<StoredRecord>[] = [
    { title: "SERVER", width: 21, rank: 0, whole: true, text: serverId },
    {
      title: "STATE",
      width: 7,
      rank: 2,
      text: (one) => one.online ? "online" : one.protocol === "" ? "new" : "offline",
    },
    {
      title: "ANSWERED",
      width: 8,
      rank: 4,
      text: (one) => one.protocol === "" ? "never" : ago(one.seen_at, now),
    },
    { title: "MISSED", width: 6, rank: 6, text: ({ failures }) => failures ? `${failures}` : "" },
    { title: "EDITION", width: 9, rank: 7, text: ({ edition }) => edition ?? "" },
    { title: "PLAYERS", width: 9, rank: 1, text: playersText },
    { title: "VERSION", width: 12, rank: 3, text: ({ version }) => version ?? "" },
    { title: "SOFTWARE", width: 14, rank: 5, text: ({ software }) => software ?? "" },
    { title: "NAME", width: 0, rank: 0, text: ({ name }) => name ?? "" },
  ];
  return tableOf(columns, space);
}
