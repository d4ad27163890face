/**
 * Reads the tables of a database for a copy.
 *
 * @module
 */
import {
  type ColumnDefinition,
  type Database,
  hexColumn,
  type Row,
  StoreError,
  timeParameter,
} from "../database/database.ts";
import type { BrokenCell } from "../rows/json_cells.ts";
import { TABLE_COLUMNS, type TableColumn } from "../schema/table_columns.ts";
import {
  batchesOf,
  canonicalValue,
  type CopiedRow,
  type CopiedTable,
  isStorable,
  type Position,
} from "./copied_table.ts";

/**
 * The tables that are not copied as rows. The target has its own version, and gets only the identity and the salt. It
 * numbers events anew, so positions of webhooks are not valid in it.
 */
const NOT_COPIED: readonly string[] = ["blocksweep_schema", "blocksweep_salt", "webhook_positions"];

/** What replaces broken JSON in the NOT NULL columns in which it is not an empty list. */
const EMPTY_JSON: Readonly<Record<string, string>> = { "scans.config": "{}" };

/**
 * The tables to copy, in the order in which they are copied.
 *
 * @param onBroken See {@linkcode tableIn}.
 */
export function tablesIn(source: Database, onBroken?: (cell: BrokenCell) => void): CopiedTable[] {
  return TABLE_COLUMNS.filter(({ name }) => !NOT_COPIED.includes(name))
    .map(({ name }) => tableIn(source, name, onBroken));
}

/**
 * A table of a database.
 *
 * @param onBroken Receives each number or JSON that its column cannot contain in both engines:
 * it is copied as null, or as 0 or an empty list or object if the column is NOT NULL. A row with such a number in its key is left out.
 */
export function tableIn(
  database: Database,
  table: string,
  onBroken?: (cell: BrokenCell) => void,
): CopiedTable {
  const { columns: all, key } = TABLE_COLUMNS.find(({ name }) => name === table)!;
  const copied = all.filter((column) => isCopied(column, all));
  const columns = copied.map(({ name, type }) => [name, type] as ColumnDefinition);
  const keys = key[database.engine].map((one) => all.find(({ name }) => name === one)!);
  const selected = [
    ...copied.map(({ name, type }) => `${valueOf(database, `t.${name}`, type)} as ${name}`),
    ...keys.map(({ name, type }, i) => `${valueOf(database, `t.${name}`, type)} as key${i}`),
  ];
  const select = `select ${selected.join(", ")} from ${table} t`;
  const names = keys.map(({ name }) => `t.${name}`).join(", ");
  const order = names === "" ? "" : ` order by ${names}`;
  const parameters = keys.map(({ type }) => parameterOf(database, type)).join(", ");
  let leftOut = 0;
  const convert = (row: Row): CopiedRow | undefined => {
    const position = keys.map((_, i) => row[`key${i}`]);
    let hasKey = true;
    const values = copied.map(({ name, isNullable }, i) => {
      const value = row[name];
      try {
        if (isStorable(columns[i], value)) return canonicalValue(columns[i], value, table);
      } catch (error) {
        if (!(error instanceof StoreError) || onBroken === undefined) throw error;
      }
      onBroken?.({ key: String(row.key ?? position.join(" ")), column: `${table}.${name}` });
      if (keys.some((key) => key.name === name)) hasKey = false;
      if (isNullable) return null;
      return columns[i][1] === "jsonb" ? EMPTY_JSON[`${table}.${name}`] ?? "[]" : 0;
    });
    if (hasKey) return { values, position };
    leftOut++;
    return undefined;
  };
  const rows = (after: Position | undefined) => {
    leftOut = 0;
    const isAfter = after === undefined ? "" : ` where (${names}) > (${parameters})`;
    return batchesOf(database.stream(select + isAfter + order, after), convert);
  };
  return { name: table, columns, rows, leftOut: () => leftOut };
}

/** The number of a transaction means nothing in another database. Rows that have one are numbered anew. */
function isCopied({ type, isIdentity }: TableColumn, all: readonly TableColumn[]): boolean {
  const isNumberedAnew = all.some((column) => column.type === "xid8");
  return type !== "xid8" && !(isIdentity && isNumberedAnew);
}

/** SQL of a column in the form of {@linkcode Value}. */
function valueOf(database: Database, column: string, type: TableColumn["type"]): string {
  return type === "bytea" ? hexColumn(database, column) : column;
}

/** SQL of a `?` parameter of a type. */
function parameterOf(database: Database, type: TableColumn["type"]): string {
  if (type === "timestamptz") return timeParameter(database);
  if (database.engine === "sqlite") return type === "bytea" ? "unhex(?)" : "?";
  return type === "bytea" ? "decode(?, 'hex')" : `?::${type}`;
}
