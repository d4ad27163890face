/**
 * The outputs of commands: files, tables, and the rows that go there.
 *
 * @module
 */
export { isClosedPipe, whileRead } from "./closed_pipe.ts";
export { formatWithJson, FoundRows, planFoundRows, refuseDatabases } from "./found_rows.ts";
export { LatestRows } from "./latest_rows.ts";
export { openOutputs } from "./open_outputs.ts";
export { type OutputOptions, type OutputPlan, planOutputs, type RowKind } from "./plan_outputs.ts";
export { SoftwareTally } from "./software_tally.ts";
export {
  playersText,
  type PrintedColumn,
  serverTable,
  tableLine,
  tableLines,
} from "./table_format.ts";
