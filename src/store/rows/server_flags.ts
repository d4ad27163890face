/**
 * The table `server_flags`, by which servers with a flag are found.
 *
 * @module
 */
import { type BulkStatement, type Database, insertInto, isInList } from "../database/database.ts";
import { listValue, type Value } from "../database/database.ts";
import { readJson, readTexts } from "./json_cells.ts";
import { SERVER_COLUMNS } from "./server_values.ts";

/** Writes the flags of servers. */
const INSERT_FLAG = insertInto(
  "server_flags",
  [["flag", "text"], ["server", "integer"]],
  "on conflict (flag, server) do nothing",
);

const DELETE_FLAG: BulkStatement = {
  types: ["text", "integer"],
  sqlite: "delete from server_flags where flag = ? and server = ?",
  postgres: "delete from server_flags old using unnest($1::text[], $2::integer[]) " +
    "as new (flag, server) where old.flag = new.flag and old.server = new.server",
};

const POSITION = SERVER_COLUMNS.findIndex(([name]) => name === "flags");

/** The flags among the values of SERVER_COLUMNS, as JSON text. */
export function flagsIn(columns: readonly Value[]): string {
  return String(columns[POSITION]);
}

/** The flags of a server, as JSON text. */
export interface ServerFlags {
  /** `servers.id`. */
  readonly id: number;
  /** The flags that `servers.flags` is to have. */
  readonly flags: string;
}

/**
 * Writes the flags of servers. It has to run before the rows of `servers` are updated.
 *
 * @param inserted Servers that the transaction has inserted, with all their flags.
 * @param updated Servers whose rows the transaction updates. Only the flags that differ from those in
 * `servers.flags` are written.
 */
export async function writeFlags(
  database: Database,
  inserted: readonly ServerFlags[],
  updated: readonly ServerFlags[],
): Promise<void> {
  const before = await readFlags(database, updated.map(({ id }) => id));
  const added: Value[][] = inserted.flatMap(pairsOf);
  const removed: Value[][] = [];
  for (const { id, flags } of updated) {
    if (flags === "[]" && before.get(id)?.size === 0) continue;
    const [old, now] = [before.get(id) ?? new Set<string>(), flagsOf(flags)];
    for (const flag of now.difference(old)) added.push([flag, id]);
    for (const flag of old.difference(now)) removed.push([flag, id]);
  }
  await changeFlags(database, added, removed);
}

/** Adds and removes flags of servers: pairs of a flag and `servers.id`. */
export async function changeFlags(
  database: Database,
  added: Value[][],
  removed: Value[][],
): Promise<void> {
  await database.bulk(DELETE_FLAG, inOrder(removed));
  await database.bulk(INSERT_FLAG, inOrder(added));
}

/** The flags in `servers.flags`, by `servers.id`. */
async function readFlags(
  database: Database,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Set<string>>> {
  if (ids.length === 0) return new Map();
  const rows = await database.rows(
    `select id, flags from servers where ${isInList(database, "id", "integer")}`,
    [listValue(database, ids)],
  );
  return new Map(rows.map(({ id, flags }) => [Number(id), flagsOf(String(flags))]));
}

function pairsOf({ id, flags }: ServerFlags): Value[][] {
  return flags === "[]" ? [] : [...flagsOf(flags)].map((flag) => [flag, id]);
}

/** The order of the key, in which every writer locks rows. */
function inOrder(pairs: Value[][]): Value[][] {
  return pairs.sort(([a, one], [b, other]) =>
    a === b ? Number(one) - Number(other) : a! < b! ? -1 : 1
  );
}

/** The flags of a server's last reply and of its number of players, from the JSON texts of both columns. */
export function allFlags(flags: string, playerFlags: string | null): string[] {
  const others = playerFlags === null ? {} : readJson(playerFlags, "facts") as object ?? {};
  return [...readTexts(flags) ?? [], ...Object.keys(others)];
}

/** The flags of a JSON list. A value of another program that is not a list of texts has none. */
export function flagsOf(json: string): Set<string> {
  return new Set(readTexts(json));
}
