/**
 * The filter of servers of which some columns are unknown.
 *
 * @module
 */
import type { Database } from "../database/database.ts";
import type { ListedRecord } from "../rows/stored_record.ts";
import type { ServerCondition } from "./server_conditions.ts";

/** The columns that may be unknown, and for which there is a filter. */
export const UNKNOWN_COLUMNS = ["edition", "software", "version", "protocol"] as const;
export type UnknownColumn = typeof UNKNOWN_COLUMNS[number];

type KnownColumns = Pick<ListedRecord, "edition" | "software" | "version" | "protocols">;

/** When a column is unknown: an empty version is, and the protocols of a server that never replied. */
const IS_UNKNOWN: Readonly<
  Record<UnknownColumn, { readonly sql: string; readonly test: (server: KnownColumns) => boolean }>
> = {
  edition: { sql: "s.edition is null", test: ({ edition }) => edition === null },
  software: { sql: "s.software is null", test: ({ software }) => software === null },
  version: { sql: "s.version_key = ''", test: ({ version }) => (version ?? "") === "" },
  protocol: { sql: "s.kind_key like '%|[]'", test: ({ protocols }) => protocols.length === 0 },
};

/** The condition of the filter `unknown`. */
export function hasUnknown(
  _: Database,
  { unknown = [] }: { readonly unknown?: readonly UnknownColumn[] },
): ServerCondition {
  const sql = unknown.map((name) => IS_UNKNOWN[name].sql).join(" and ") || "true";
  return { table: "s", sql, values: [] };
}

/** A test of whether all of some columns of servers are unknown. */
export function isUnknown(wanted: readonly UnknownColumn[]): (server: KnownColumns) => boolean {
  return (server) => wanted.every((name) => IS_UNKNOWN[name].test(server));
}
