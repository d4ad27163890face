/**
 * Removes servers from a database, so that no later write restores them.
 *
 * @module
 */
import {
  type Database,
  insertInto,
  isInList,
  listValue,
  type Row,
  timeParameter,
} from "../database/database.ts";
import { addressColumn, canonicalHost, hasAddressIn } from "../rows/addresses.ts";
import { isTimeIn, timeList } from "../uptime/rollup_hours.ts";
import { TABLE_COLUMNS } from "../schema/table_columns.ts";
import { hasTextIndex } from "../schema/text_index.ts";
import { othersEnded } from "../database/other_transactions.ts";
import { removeFromSets } from "../members/members.ts";
import { readSalt, tombstone, tombstoneKeys } from "./tombstones.ts";
import { removeAllOrphanedIcons } from "./orphaned_icons.ts";
import { formatAddress, parseEndpoint } from "../../core/address.ts";

export interface ServerToForget {
  /** `servers.id`; `undefined`: the database has no row of the server. */
  readonly id: number | undefined;
  /** The server's key. */
  readonly key: string;
  /** All keys by which writes of the server are recognised: its own, and at last that of its endpoint. */
  readonly keys: readonly string[];
}

const INSERT_TOMBSTONE = insertInto(
  "forgotten",
  [["hash", "bytea"], ["subject", "bytea"], ["at", "timestamptz"]],
  "on conflict (hash) do nothing",
);

/**
 * The other tables with rows of a server. Writers lock rows of `server_state` and `servers` before
 * those of these tables. The table `rollups` needs other statements, because its key begins with
 * the time.
 */
const TABLES: readonly string[] = TABLE_COLUMNS.filter(({ name, columns }) =>
  columns.some((column) => column.name === "server") && !["server_state", "rollups"].includes(name)
).map(({ name }) => name);

/** Servers per transaction. */
const PAGE = 100;
/** Pages of the text index that one transaction merges. */
const MERGED_PAGES = 500;
/** Hours or days per statement. */
const STARTS = 500;
/** Maximum number of checks for the end of other transactions. */
const ATTEMPTS = 1000;

/**
 * Marks servers as forgotten. From then on, transactions that begin leave them out.
 *
 * @param at Unix milliseconds.
 */
export async function writeTombstones(
  database: Database,
  servers: readonly ServerToForget[],
  at: number,
): Promise<void> {
  const salt = await readSalt(database);
  const rows = servers.flatMap((server) =>
    server.keys.map((key) => [tombstone(salt, key), tombstone(salt, server.keys.at(-1)!), at])
  );
  rows.sort(([a], [b]) => a < b ? -1 : 1);
  await database.transaction(() => database.bulk(INSERT_TOMBSTONE, rows));
}

/**
 * Removes the rows of servers from all tables, their addresses from the ranges of scans, and all icons
 * that no server has: earlier icons of the servers may be among these. {@linkcode writeTombstones} has marked the servers before.
 *
 * @param pause Awaited between two checks for other transactions that may not have seen the marks.
 * @returns `false` when another transaction does not end: no row was removed.
 */
export async function removeServers(
  database: Database,
  servers: readonly ServerToForget[],
  pause: () => Promise<void>,
): Promise<boolean> {
  const known = servers.flatMap(({ id, ...server }) => id === undefined ? [] : [{ ...server, id }]);
  known.sort((a, b) => a.id - b.id);
  if (known.length > 0 && !await othersEnded(database, pause, ATTEMPTS)) return false;
  const periods = known.length === 0 ? [] : await readPeriods(database);
  if (database.engine === "sqlite") await database.script("pragma secure_delete = on");
  for (let from = 0; from < known.length; from += PAGE) {
    await database.transaction(() => removePage(database, known.slice(from, from + PAGE), periods));
  }
  if (known.length > 0) await removeAllOrphanedIcons(database, pause);
  await removeScannedAddresses(database, servers.map(({ keys }) => keys.at(-1)!));
  if (database.engine === "sqlite") await eraseCopies(database, pause);
  return true;
}

/**
 * Erases what SQLite keeps of removed rows elsewhere: in the text index, and in the write-ahead log. While
 * another program reads the file, the log stays as it is.
 */
async function eraseCopies(database: Database, pause: () => Promise<void>): Promise<void> {
  if (await hasTextIndex(database)) {
    const merge = "insert into server_text (server_text, rank) values ('merge', ?)";
    // A negative number begins to merge everything. A merge that has nothing to do changes one row.
    for (let pages = -MERGED_PAGES;; pages = MERGED_PAGES) {
      const before = await totalChanges(database);
      await database.transaction(() => database.run(merge, [pages]));
      if (await totalChanges(database) - before < 2) break;
      await pause();
    }
  }
  await database.rows("pragma wal_checkpoint(truncate)");
}

/** Number of rows that this connection to a SQLite file has changed. */
async function totalChanges(database: Database): Promise<number> {
  return Number((await database.rows("select total_changes() as n"))[0].n);
}

async function removePage(
  database: Database,
  servers: readonly (ServerToForget & { readonly id: number })[],
  periods: readonly Period[],
): Promise<void> {
  const ids = listValue(database, servers.map(({ id }) => id));
  const isOne = isInList(database, "id", "integer");
  const isOfServer = isInList(database, "server", "integer");
  await database.run(`delete from server_state where ${isOfServer}`, [ids]);
  await database.run(`delete from servers where ${isOne}`, [ids]);
  for (const table of TABLES) await database.run(`delete from ${table} where ${isOfServer}`, [ids]);
  await removeFromSets(database, servers.map(({ id }) => id));
  for (const { hours, starts } of periods) {
    await database.run(
      `delete from rollups where hours = ? and ${isTimeIn(database, "at")} ` +
        `and ${isOfServer}`,
      [hours, timeList(database, starts), ids],
    );
  }
  const endpoints = servers.flatMap(({ keys }) => keys);
  await database.run(
    `update servers set alias_of = null where ${isInList(database, "alias_of", "text")}`,
    [listValue(database, endpoints)],
  );
}

/** Hours or days that have rollups. */
interface Period {
  /** 1: hours; 24: days. */
  readonly hours: number;
  /** Their starts, Unix milliseconds. */
  readonly starts: readonly number[];
}

/**
 * The hours and days that have rollups. The key of `rollups` begins with the time, so each time is
 * found by one index lookup.
 */
async function readPeriods(database: Database): Promise<Period[]> {
  const periods: Period[] = [];
  for (const hours of [1, 24]) {
    const starts: number[] = [];
    for (let last = -1;;) {
      const [{ at }] = await database.rows(
        `select min(at) as at from rollups where hours = ? and at > ${timeParameter(database)}`,
        [hours, last],
      );
      if (at === null) break;
      starts.push(last = Number(at));
    }
    for (let from = 0; from < starts.length; from += STARTS) {
      periods.push({ hours, starts: starts.slice(from, from + STARTS) });
    }
  }
  return periods;
}

/**
 * Removes the marks of forgotten servers, of their endpoints, and of all servers that were forgotten with
 * the same endpoint.
 *
 * @param keys The keys of the servers or of their endpoints.
 * @returns The first key that is not marked. Then no mark was removed.
 */
export async function removeTombstones(
  database: Database,
  keys: readonly string[],
): Promise<string | undefined> {
  const salt = await readSalt(database);
  const parameter = database.engine === "postgres" ? "decode(?, 'hex')" : "unhex(?)";
  const ofKey = `select subject from forgotten where hash = ${parameter}`;
  return await database.transaction(async () => {
    const hashes = keys.map((key) => tombstone(salt, key));
    for (const [i, hash] of hashes.entries()) {
      if ((await database.rows(ofKey, [hash])).length === 0) return keys[i];
    }
    for (const hash of hashes) {
      await database.run(`delete from forgotten where subject in (${ofKey})`, [hash]);
    }
  });
}

/** The servers whose addresses opted out. */
export async function readOptedOutServers(database: Database): Promise<ServerToForget[]> {
  const sql = `select ${COLUMNS} from servers s join opt_outs o on o.address = s.address`;
  return (await database.rows(`${sql} order by s.id`)).map(serverOf);
}

/** The given servers, and other servers with the same address and port. */
export async function readSharingServers(
  database: Database,
  ids: readonly number[],
): Promise<ServerToForget[]> {
  const rows = await database.rows(
    `select ${COLUMNS} from servers s join servers o on o.port = s.port and ` +
      `o.${addressColumn(database)} = s.${addressColumn(database)} ` +
      `and coalesce(o.scope, '') = coalesce(s.scope, '') ` +
      `where ${isInList(database, "o.id", "integer")} order by s.id`,
    [listValue(database, ids)],
  );
  return [...new Map(rows.map((row) => [row.id, serverOf(row)])).values()];
}

const COLUMNS = "s.id, s.key, s.address, s.scope, s.port";

function serverOf({ id, key: own, address: stored, scope: zone, port: number }: Row) {
  const [key, address, port] = [String(own), canonicalHost(String(stored)), Number(number)];
  const scope = zone === null ? null : String(zone);
  return { id: Number(id), key, keys: tombstoneKeys({ key, address, scope, port }) };
}

/** Addresses per transaction. */
const ADDRESSES_PAGE = 10_000;

/**
 * Removes the ranges of scans that consist of one address of these servers, unless another server has
 * the address. Longer ranges stay: they do not show which of their addresses had a server.
 *
 * @param endpoints Keys of endpoints. Other keys are ignored.
 */
export async function removeScannedAddresses(
  database: Database,
  endpoints: readonly string[],
): Promise<void> {
  const hosts = new Set(endpoints.flatMap((key) => {
    const endpoint = parseEndpoint(key);
    return endpoint === undefined ? [] : [formatAddress(endpoint.address)];
  }));
  const all = [...hosts];
  for (let from = 0; from < all.length; from += ADDRESSES_PAGE) {
    await database.transaction(() =>
      removeAddresses(database, all.slice(from, from + ADDRESSES_PAGE))
    );
  }
}

async function removeAddresses(database: Database, hosts: readonly string[]): Promise<void> {
  const { condition, value } = hasAddressIn(database, hosts);
  const rows = await database.rows(`select distinct s.address from servers s where ${condition}`, [
    value,
  ]);
  const used = new Set(rows.map(({ address }) => canonicalHost(String(address))));
  const type = database.engine === "postgres" ? "inet" : "text";
  await database.run(
    `delete from scan_ranges where first = last and ${isInList(database, "first", type)}`,
    [listValue(database, hosts.filter((host) => !used.has(host)))],
  );
}
