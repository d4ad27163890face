/**
 * The numbers by which other tables refer to scans.
 *
 * @module
 */
import { type Database, isInList, listValue } from "../database/database.ts";
import { storableUuid } from "./stored_values.ts";

/**
 * Finds the numbers of scans. A scan without a row gets one: its records come from a file.
 *
 * @param ids Identities of scans. Those that are not UUIDs are ignored.
 * @returns The numbers (`scans.id`) by identity, as it was given.
 */
export async function scanNumbers(
  database: Database,
  ids: Iterable<string | null>,
): Promise<ReadonlyMap<string | null, number>> {
  const uuids = new Map([...new Set(ids)].map((id) => [id, storableUuid(id)]));
  const wanted = [...new Set([...uuids.values()].filter((uuid) => uuid !== null))].sort();
  const found = await readNumbers(database, wanted);
  const unknown = wanted.filter((uuid) => !found.has(uuid));
  for (const uuid of unknown) {
    await database.run(
      "insert into scans (uuid, kind, state) values (?, 'import', 'finished') " +
        "on conflict (uuid) do nothing",
      [uuid],
    );
  }
  if (unknown.length > 0) {
    for (const [uuid, id] of await readNumbers(database, unknown)) found.set(uuid, id);
  }
  return new Map(
    [...uuids].flatMap(([id, uuid]) => {
      const number = uuid === null ? undefined : found.get(uuid);
      return number === undefined ? [] : [[id, number] as const];
    }),
  );
}

async function readNumbers(
  database: Database,
  uuids: readonly string[],
): Promise<Map<string, number>> {
  if (uuids.length === 0) return new Map();
  const rows = await database.rows(
    `select id, uuid from scans where ${isInList(database, "uuid", "uuid")}`,
    [listValue(database, uuids)],
  );
  return new Map(rows.map(({ id, uuid }) => [String(uuid), Number(id)]));
}
