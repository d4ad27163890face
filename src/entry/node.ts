/**
 * What the main module of the library has in Node.js and Bun: functions that use no other sockets and files
 * than those of Node.js. The npm package contains it.
 *
 * @module
 */
export type { CommonOptions, InquiryOptions } from "../library/common_options.ts";
export { queryWithNode as query } from "../library/node_query.ts";
export type { QueryOptions } from "../library/query_host.ts";
export { InputError, ShortageError } from "../core/errors.ts";
export {
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
