/** The comparable part of rows of other projects' servers. */
import { assert } from "@std/assert";
import type { ServerRecord } from "../../src/core/record.ts";

/** A row without the values that vary between scans, and without nulls. */
export function comparable(row: ServerRecord): Partial<ServerRecord> {
  const { latency_ms, seen_at, scan_id, ...rest } = row;
  assert(latency_ms !== null && latency_ms >= 0 && seen_at > 1.7e12 && scan_id !== null);
  const known = Object.entries(rest).filter(([name, value]) => name !== "schema" && value !== null);
  return Object.fromEntries(known);
}
