/**
 * The hashes of forgotten servers, by which writers leave them out.
 *
 * @module
 */
import { nodeCrypto } from "../../core/node_modules.ts";
import { type Database, hexColumn } from "../database/database.ts";
import { byAddress, type ServerIdentity } from "../rows/identity.ts";

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
  const [found] = await database.rows(
    `select ${hexColumn(database, "salt")} as salt from blocksweep_salt ` +
      "where exists (select 1 from forgotten)",
  );
  if (found === undefined) return lists;
  const salt = String(found.salt);
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
