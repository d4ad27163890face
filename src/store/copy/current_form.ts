/**
 * The tables of a database of version 4 or later, for a copy.
 *
 * @module
 */
import {
  type ColumnDefinition,
  type Database,
  hexOf,
  type Row,
  StoreError,
  timeParameter,
  type Value,
} from "../database/database.ts";
import type { BrokenCell } from "../rows/json_cells.ts";
import { flagsOf } from "../rows/server_flags.ts";
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

/** Names of columns in version 4 that are named differently now. */
const EARLIER_NAMES: Readonly<Record<string, string>> = {
  "scans.runs": "parts",
  "server_players.seen_at": "changed_at",
  "server_state.missed_scans": "failures",
};

/**
 * The tables that a database has, in the order in which they are copied.
 *
 * @param onBroken Receives each number that its column cannot contain in both engines.
 */
export async function currentTables(
  source: Database,
  onBroken?: (cell: BrokenCell) => void,
): Promise<CopiedTable[]> {
  const tables: CopiedTable[] = [];
  for (const { name, columns } of TABLE_COLUMNS) {
    if (NOT_COPIED.includes(name)) continue;
    const stored = await columnsIn(source, name);
    const copied = columns.map((column) => column.name).filter((column) =>
      stored.has(column) || stored.has(EARLIER_NAMES[`${name}.${column}`])
    );
    if (copied.length > 0) tables.push(tableIn(source, name, copied, { stored, onBroken }));
    else if (name === "server_flags") {
      tables.push(flagsTable(tables.find((table) => table.name === "servers")!));
    }
  }
  return tables;
}

/** The columns of a table of the source; none when there is no such table. */
async function columnsIn(source: Database, table: string): Promise<ReadonlySet<string>> {
  const rows = await source.rows(
    source.engine === "postgres"
      ? "select column_name as name from information_schema.columns " +
        "where table_schema = current_schema() and table_name = ?"
      : "select name from pragma_table_info(?)",
    [table],
  );
  return new Set(rows.map(({ name }) => String(name)));
}

/**
 * A table of a database.
 *
 * @param wanted The columns to copy, by their current names.
 * @param options.stored The names that the columns have. Default: the current names.
 * @param options.onBroken Receives each number or JSON that its column cannot contain in both engines:
 * it is copied as null, or as 0 or an empty list or object if the column is NOT NULL. A row with such a number in its key is left out.
 */
export function tableIn(
  database: Database,
  table: string,
  wanted: readonly string[],
  { stored = new Set(wanted), onBroken }: {
    readonly stored?: ReadonlySet<string>;
    readonly onBroken?: (cell: BrokenCell) => void;
  } = {},
): CopiedTable {
  const { columns: all, key } = TABLE_COLUMNS.find(({ name }) => name === table)!;
  const copied = all.filter((column) => wanted.includes(column.name) && isCopied(column, all));
  const columns = copied.map(({ name, type }) => [name, type] as ColumnDefinition);
  const keys = key[database.engine].map((one) => all.find(({ name }) => name === one)!);
  const nameOf = (name: string) => stored.has(name) ? name : EARLIER_NAMES[`${table}.${name}`];
  const selected = [
    ...copied.map(({ name, type }) => `${valueOf(database, `t.${nameOf(name)}`, type)} as ${name}`),
    ...keys.map(({ name, type }, i) => `${valueOf(database, `t.${name}`, type)} as key${i}`),
  ];
  const select = `select ${selected.join(", ")} from ${table} t`;
  const names = keys.map(({ name }) => `t.${name}`).join(", ");
  const order = names === "" ? "" : ` order by ${names}`;
  const parameters = keys.map(({ type }) => parameterOf(database, type)).join(", ");
  let leftOut = 0;
  const convert = (row: Row): CopiedRow[] => {
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
    if (hasKey) return [{ values, position }];
    leftOut++;
    return [];
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
  return type === "bytea" ? hexOf(database, column) : column;
}

/** SQL of a `?` parameter of a type. */
function parameterOf(database: Database, type: TableColumn["type"]): string {
  if (type === "timestamptz") return timeParameter(database);
  if (database.engine === "sqlite") return type === "bytea" ? "unhex(?)" : "?";
  return type === "bytea" ? "decode(?, 'hex')" : `?::${type}`;
}

/** The flags of servers as a table, of a source that has only the column `servers.flags`. */
export function flagsTable(servers: CopiedTable): CopiedTable {
  const [id, flags] = ["id", "flags"].map((column) =>
    servers.columns.findIndex(([name]) => name === column)
  );
  const rowsOf = ({ values, position }: CopiedRow) =>
    [...flagsOf(String(values[flags]))].map((flag): CopiedRow => (
      { values: [flag, values[id] as Value], position }
    ));
  return {
    name: "server_flags",
    columns: [["flag", "text"], ["server", "integer"]],
    leftOut: () => 0,
    async *rows(after) {
      for await (const batch of servers.rows(after)) yield batch.flatMap(rowsOf);
    },
  };
}
