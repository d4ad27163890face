/**
 * The record of a server: its columns, and the JSON Schema of a row.
 *
 * This code is pure: it needs no permission, and runs wherever JavaScript runs.
 *
 * @example Read a row of a scan's NDJSON file
 * ```ts
 * import { FIELDS, type ServerRecord } from "blocksweep/records";
 * import { assertEquals } from "@std/assert";
 *
 * const row: Partial<ServerRecord> = JSON.parse('{"host":"10.0.0.7","port":19132,"players_online":3}');
 * const columns = FIELDS.filter(({ name }) => name in row).map(({ name, type }) => [name, type]);
 * assertEquals(columns, [["host", "text"], ["port", "integer"], ["players_online", "integer"]]);
 * ```
 *
 * @module
 */
export {
  emptyRecord,
  type Facts,
  type FactValue,
  type Field,
  FIELDS,
  type FieldType,
  type Plugin,
  serverId,
  type ServerRecord,
} from "../core/record.ts";
export { type JsonSchema, recordSchema } from "../core/schema.ts";
