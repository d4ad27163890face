/** What rows of servers say that others wrote. */
import { assert } from "@std/assert";
import type { ServerRecord } from "../../src/core/record.ts";

/** What a row says of its server: without what only the scan knows, and what is not known. */
export function told(row: ServerRecord): Partial<ServerRecord> {
  const { latency_ms, seen_at, scan_id, ...rest } = row;
  assert(latency_ms !== null && latency_ms >= 0 && seen_at > 1.7e12 && scan_id !== null);
  const known = Object.entries(rest).filter(([name, value]) => name !== "schema" && value !== null);
  return Object.fromEntries(known);
}
