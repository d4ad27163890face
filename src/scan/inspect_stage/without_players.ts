/**
 * Rows for scans that keep no names.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";

/** A row without its players: the column, and what a protocol's own facts say of each. */
export function withoutPlayers(record: ServerRecord): ServerRecord {
  const extras = record.extras && Object.fromEntries(
    Object.entries(record.extras).map(([protocol, { players: _, ...facts }]) => [protocol, facts]),
  );
  return { ...record, players: null, extras };
}
