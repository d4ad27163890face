/**
 * The hashes of forgotten servers, by which writers leave them out.
 *
 * @module
 */
import { nodeCrypto } from "../../core/node_modules.ts";
import { type Database, hexColumn } from "../database/database.ts";
import { isWatcherEvent, type WatchEvent } from "../events/watch_event.ts";
import { byAddress, identityOf, type ServerIdentity } from "../rows/identity.ts";

/** The fields of an identity that tombstones cover. */
export type ForgettableServer = Pick<ServerIdentity, "key" | "address" | "scope" | "port">;

/**
 * The hash of a key in the table `forgotten`, hexadecimal.
 *
 * @param salt The salt of the database, hexadecimal.
 */
export function tombstone(salt: string, key: string): string {
  return nodeCrypto().hash("sha256", `${salt} ${key}`, "hex");
}

/** The keys by which a server is recognised: its own, and at last that of its endpoint. */
export function tombstoneKeys(server: ForgettableServer): readonly string[] {
  return [...new Set([server.key, byAddress(server).key])];
}

/** Reads the salt of a database, hexadecimal. */
export async function readSalt(database: Database): Promise<string> {
  const sql = `select ${hexColumn(database, "salt")} as salt from blocksweep_salt`;
  const [{ salt }] = await database.rows(sql);
  return String(salt);
}

/** Reads the salt of a database, hexadecimal; `undefined` if no server was forgotten. */
async function readSaltInUse(database: Database): Promise<string | undefined> {
  const [found] = await database.rows(
    `select ${hexColumn(database, "salt")} as salt from blocksweep_salt ` +
      "where exists (select 1 from forgotten)",
  );
  return found && String(found.salt);
}

/**
 * Leaves forgotten servers out of what a transaction writes. The caller has begun the transaction, and
 * has read nothing of these servers yet.
 *
 * @param lists Lists of values with the identity of a server.
 * @returns The lists without the values of forgotten servers.
 */
export async function withoutForgotten<
  const Lists extends readonly (readonly { readonly identity: ForgettableServer }[])[],
>(database: Database, lists: Lists): Promise<Lists> {
  const all = lists.flat();
  if (all.length === 0) return lists;
  const salt = await readSaltInUse(database);
  if (salt === undefined) return lists;
  const hashes = new Map(
    all.flatMap(({ identity }) => tombstoneKeys(identity)).map((
      key,
    ) => [key, tombstone(salt, key)]),
  );
  const forgotten = await storedHashes(database, [...hashes.values()]);
  if (forgotten.size === 0) return lists;
  const isKept = ({ identity }: { readonly identity: ForgettableServer }) =>
    !tombstoneKeys(identity).some((key) => forgotten.has(hashes.get(key)!));
  return lists.map((list) => list.filter(isKept)) as unknown as Lists;
}

/** A text that differs after servers were forgotten. */
export async function forgottenState(database: Database): Promise<string> {
  const [row] = await database.rows("select count(*) as n, max(at) as at from forgotten");
  return `${row.n} ${row.at}`;
}

/** The keys by which the server of an event is recognised; none for an event of the watch itself. */
export function eventKeys(event: WatchEvent): readonly string[] {
  const identity = isWatcherEvent(event) ? undefined : identityOf(event);
  if (identity === undefined) return [];
  const keys = tombstoneKeys(identity);
  // An event contains the name of a server, but not the SRV record that led to the server.
  return identity.hostname === null ? keys : [identity.hostname, ...keys];
}

/** The ids of events whose servers were forgotten. */
export async function forgottenEvents(
  database: Database,
  events: readonly WatchEvent[],
): Promise<ReadonlySet<string>> {
  const salt = await readSaltInUse(database);
  if (salt === undefined) return new Set();
  const keys = new Map(events.map((event) => [event.id, eventKeys(event)]));
  const hashes = new Map(
    [...new Set([...keys.values()].flat())].map((key) => [key, tombstone(salt, key)]),
  );
  const forgotten = await storedHashes(database, [...hashes.values()]);
  const isForgotten = (key: string) => forgotten.has(hashes.get(key)!);
  return new Set(events.map(({ id }) => id).filter((id) => keys.get(id)!.some(isForgotten)));
}

/** The hashes of a list that the table `forgotten` contains. */
async function storedHashes(
  database: Database,
  hashes: readonly string[],
): Promise<ReadonlySet<string>> {
  const isStored = database.engine === "postgres"
    ? "hash = any (?::bytea[])"
    : "hash in (select unhex(value) from json_each(?))";
  const list = database.engine === "postgres"
    ? `{${hashes.map((one) => `"\\\\x${one}"`).join()}}`
    : JSON.stringify(hashes);
  const rows = await database.rows(
    `select ${hexColumn(database, "hash")} as hash from forgotten where ${isStored}`,
    [list],
  );
  return new Set(rows.map(({ hash }) => String(hash)));
}
