/**
 * The filter of game versions: ranges in release order, and versions that are other texts.
 *
 * @module
 */
import {
  firstVersion,
  isInRange,
  NUMBERED_EDITIONS,
  parseVersionRange,
  plainVersion,
  protocolNumbers,
  rangeTest,
  type VersionRange,
} from "../../classify/version_ranges.ts";
import { type Database, isInList, listValue, type Value } from "../database/database.ts";
import type { ListedRecord } from "../rows/stored_record.ts";
import { storable, versionKey } from "../rows/stored_values.ts";
import { distinctValues, ofRanges, type ServerCondition } from "./server_conditions.ts";

/** The columns that determine whether a server has a version. */
export type VersionedServer = Pick<ListedRecord, "edition" | "version" | "protocol_version">;

/** The text of a key, in lower case, without zeros before numbers: the inverse of `versionKey()`. */
function textOf(key: string): string {
  return key.replace(/.(\d+)/gs, "$1");
}

/** The ranges among wanted versions, and the keys of the others. */
function divided(wanted: readonly string[]): { ranges: VersionRange[]; keys: string[] } {
  const ranges = wanted.flatMap((text) => parseVersionRange(text) ?? []);
  const others = wanted.filter((text) => parseVersionRange(text) === undefined);
  return { ranges, keys: outermostKeys(others) };
}

/** The keys of versions without those of versions that another one includes. */
function outermostKeys(versions: readonly string[]): string[] {
  const keys = [...new Set(versions.map((version) => versionKey(storable(version))))];
  return keys.filter((key) => !keys.some((other) => key.startsWith(`${other}.`)));
}

/** A test of whether servers have one of some versions. */
export function isVersion(wanted: readonly string[]): (server: VersionedServer) => boolean {
  const { ranges, keys } = divided(wanted);
  const tests = ranges.map(rangeTest);
  return ({ version, edition, protocol_version: number }) => {
    const own = versionKey(version);
    if (keys.some((key) => own === key || own.startsWith(`${key}.`))) return true;
    if (tests.length === 0) return false;
    const facts = { text: textOf(own), edition, number };
    return tests.some((test) => test(facts));
  };
}

/**
 * The condition of the filter `version`. A version that is no range equals a wanted one, or begins with it
 * and a period: few keys of other versions are between `KEY` and `KEY/`.
 */
export async function hasVersion(
  database: Database,
  { version = [] }: { readonly version?: readonly string[] },
): Promise<ServerCondition> {
  const { ranges, keys } = divided(version);
  const isKey = (s: string) =>
    `${s}version_key >= ? and ${s}version_key < ? and (${s}version_key = ? or ${s}version_key >= ?)`;
  const each = keys.map((key) => [key, `${key}/`, key, `${key}.`]);
  if (ranges.length === 0) {
    return { ...ofRanges(isKey, each), ...keys.length === 1 && { order: "version" as const } };
  }
  const known = await distinctValues(database, "version_key");
  const inRange = ranges.map((range) => inVersionRange(database, known, range));
  const sql = [...each.map(() => `(${isKey("s.")})`), ...inRange.map(({ sql }) => sql)];
  const found = [...each.map(() => `(${isKey("")})`), ...inRange.map(({ isOne }) => isOne)];
  const values = each.flat();
  return {
    table: "s",
    sql: `(${sql.join(" or ")})`,
    values: [...values, ...inRange.flatMap((one) => one.values)],
    ids: {
      sql: `select id from servers where ${found.join(" or ")}`,
      values: [...values, ...inRange.map((one) => one.candidates)],
    },
    isApproximate: true,
  };
}

/**
 * The condition that a version is in a range. Keys of plain versions decide it. For other keys, the
 * protocol number decides it, and the text of the key if the number is unknown.
 */
function inVersionRange(database: Database, keys: readonly string[], range: VersionRange) {
  const [inside, numbered, named] = [[], [], []] as [string[], string[], string[]];
  for (const key of keys) {
    const text = textOf(key);
    const plain = plainVersion(text);
    if (plain === undefined) {
      numbered.push(key);
      const first = firstVersion(text);
      if (first !== undefined && isInRange(range, first)) named.push(key);
    } else if (isInRange(range, plain)) inside.push(key);
  }
  const list = (values: readonly (string | number)[]): Value => listValue(database, values);
  const isKey = isInList(database, "s.version_key", "text");
  const isNumber = NUMBERED_EDITIONS.map((edition) =>
    `coalesce(s.edition = '${edition}' and ${
      isInList(database, "s.protocol_version", "integer")
    }, false)`
  ).join(" or ");
  const numbers = (wanted?: VersionRange) =>
    NUMBERED_EDITIONS.map((edition) => list(protocolNumbers(edition, wanted)));
  return {
    sql: `(${isKey} or ${isKey} and (${isNumber}) or ${isKey} and not (${isNumber}))`,
    values: [
      list(inside),
      list(numbered),
      ...numbers(range),
      list(named),
      ...numbers(),
    ],
    isOne: isInList(database, "version_key", "text"),
    candidates: list([...inside, ...numbered]),
  };
}
