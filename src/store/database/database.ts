/**
 * The contract of a database engine: SQLite or PostgreSQL. Values from servers are bound as
 * parameters, never put into SQL text.
 *
 * @module
 */

/** A database could not be read or written. The message names the database and the reason. */
export class StoreError extends Error {
  /** The name in stack traces, always `"StoreError"`. */
  override readonly name = "StoreError";
}

/** The database cannot be used now: its server is unreachable, or another program has locked its file. */
export class Unavailable extends Error {
  /** The name in stack traces, always `"Unavailable"`. */
  override readonly name = "Unavailable";
}

/** The reason why a database is unavailable; `undefined` for other errors. */
export function unavailableReason(error: unknown): string | undefined {
  if (error instanceof StoreError) return unavailableReason(error.cause);
  return error instanceof Unavailable ? error.message : undefined;
}

/**
 * Another transaction changed rows after this one had read them. {@linkcode Database.transaction} runs the
 * work again.
 */
export class ChangedMeanwhile extends Error {
  /** The name in stack traces, always `"ChangedMeanwhile"`. */
  override readonly name = "ChangedMeanwhile";
}

/** A value of a column. Booleans are 1 and 0, times Unix milliseconds; lists and facts are JSON text. */
export type Value = string | number | null;

/** SQL, and the values of its parameters. */
export interface Sql {
  /** SQL with a `?` for each parameter. */
  readonly sql: string;
  /** The parameters. */
  readonly values: readonly Value[];
}

/** A row of a query's result: values by column name. */
export type Row = Readonly<Record<string, Value>>;

/** A value of a row that a bulk statement writes. */
export type BulkValue = Value | Uint8Array;

export type BulkRows = readonly (readonly BulkValue[])[];

/**
 * Types of columns that are written in bulk, by PostgreSQL's names. Times are Unix milliseconds, booleans
 * 1 and 0, `jsonb` is JSON text, and `bytea` is bytes or hexadecimal text.
 */
export type ColumnType =
  | "text"
  | "bigint"
  | "integer"
  | "double precision"
  | "boolean"
  | "timestamptz"
  | "inet"
  | "jsonb"
  | "uuid"
  | "bytea";

/** A statement that runs for many rows in one call. */
export interface BulkStatement {
  /** The types of a row's parameters, in order. */
  readonly types: readonly ColumnType[];
  /** The statement for SQLite, which runs once per row: one `?` per column. */
  readonly sqlite: string;
  /** The statement for SQLite with the parameters of {@linkcode BLOCK_ROWS} rows. Default: none. */
  readonly sqliteBlock?: string;
  /** The statement for PostgreSQL, which runs once: `$1`, `$2`… are arrays, one per column. */
  readonly postgres: string;
}

/** Number of rows that one statement inserts into SQLite. It takes half the time of 16 statements. */
export const BLOCK_ROWS = 16;

/** Maximum number of times that a transaction runs if other transactions make it fail. */
export const MAX_ATTEMPTS = 8;

/**
 * An open database. Statements run one at a time, in the order of the calls. A transaction, stream
 * or snapshot waits until the one before it has ended. None of them may therefore begin another
 * one, except that a snapshot may begin streams.
 */
export interface Database extends AsyncDisposable {
  /** The name of the database in error messages: a quoted path, or a URL without its password. */
  readonly name: string;
  /** The engine, which decides the SQL dialect. */
  readonly engine: "sqlite" | "postgres";
  /** Runs one or more statements without parameters. */
  script(sql: string): Promise<void>;
  /** Runs a statement that has a `?` for each parameter. Returns the number of changed rows. */
  run(sql: string, parameters?: readonly Value[]): Promise<number>;
  /** Runs a query and returns all its rows: for results that fit in memory. */
  rows(sql: string, parameters?: readonly Value[]): Promise<readonly Row[]>;
  /** Reads the rows of a query one by one, in a transaction that ends after the last row. */
  stream(sql: string, parameters?: readonly Value[]): AsyncIterable<Row>;
  /** Runs `work`, whose queries all see one state of the database, and which writes nothing. */
  snapshot<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Runs a bulk statement. Returns the number of changed rows.
   *
   * @internal
   */
  bulk(statement: BulkStatement, rows: BulkRows): Promise<number>;
  /**
   * Runs a bulk statement that inserts rows into a table with the columns `id` and `key`. The key is the
   * first value of each row.
   *
   * @returns The `id` of each row; `undefined`: a row with the key exists.
   *
   * @internal
   */
  insert(statement: BulkStatement, rows: BulkRows): Promise<(number | undefined)[]>;
  /**
   * Runs `work` in a transaction: commits when `work` resolves, rolls back when it rejects. PostgreSQL
   * may end a transaction because of another one (a deadlock, a serialization failure), and `work` may
   * throw {@linkcode ChangedMeanwhile}: then `work` runs again, at most {@linkcode MAX_ATTEMPTS} times.
   *
   * @param work Gets the number of the attempt, from 1.
   */
  transaction<T>(work: (attempt: number) => Promise<T>): Promise<T>;
  /** The current time of the database's clock, Unix milliseconds. */
  now(): number;
  /**
   * What to add to a time of this machine to get a time of the database's clock, milliseconds. 0 unless
   * the clocks differ by more than a minute.
   */
  readonly clockOffsetMs: number;
  /** Syncs committed transactions to the disk. */
  flush(): Promise<void>;
}

/** Name and SQL type of a column. */
export type ColumnDefinition = readonly [name: string, type: ColumnType];

/**
 * Builds the bulk statement that inserts rows into a table.
 *
 * @param conflict The `on conflict` clause, for rows whose key exists.
 * @param sqliteColumns Columns after the others that only SQLite has. Default: none.
 */
export function insertInto(
  table: string,
  columns: readonly ColumnDefinition[],
  conflict: string,
  sqliteColumns: readonly ColumnDefinition[] = [],
): BulkStatement {
  const names = columns.map(([name]) => name).join(", ");
  const all = [...columns, ...sqliteColumns];
  const insert = `insert into ${table} (${all.map(([name]) => name).join(", ")}) values`;
  const placeholders = `(${all.map(() => "?").join(", ")})`;
  const block = Array(BLOCK_ROWS).fill(placeholders).join(", ");
  const arrays = columns.map(([, type], i) => `$${i + 1}::${type}[]`).join(", ");
  return {
    types: columns.map(([, type]) => type),
    sqlite: `${insert} ${placeholders} ${conflict}`,
    sqliteBlock: `${insert} ${block} ${conflict}`,
    postgres: `insert into ${table} (${names}) select * from unnest(${arrays}) ${conflict}`,
  };
}

/**
 * Builds the bulk statement that updates rows, for columns followed by parameters of the condition.
 *
 * @param condition The condition; `old` is the row, `new.NAME` a parameter. The parameters occur
 * once each, in the order of `parameters`.
 */
export function updateOf(
  table: string,
  columns: readonly ColumnDefinition[],
  parameters: readonly ColumnDefinition[],
  condition: string,
): BulkStatement {
  const all = [...columns, ...parameters];
  const names = all.map(([name]) => name).join(", ");
  const arrays = all.map(([, type], i) => `$${i + 1}::${type}[]`).join(", ");
  const sets = columns.map(([name]) => `${name} = ?`).join(", ");
  return {
    types: all.map(([, type]) => type),
    sqlite: `update ${table} as old set ${sets} where ${condition.replace(/new\.\w+/g, "?")}`,
    postgres: `update ${table} as old set ${
      columns.map(([name]) => `${name} = new.${name}`).join(", ")
    } from unnest(${arrays}) as new (${names}) where ${condition}`,
  };
}

/** SQL that reads a column of bytes as hexadecimal text. */
export function hexColumn({ engine }: Database, column: string): string {
  return engine === "postgres"
    ? `encode(${column}, 'hex')`
    : `case when ${column} is null then null else lower(hex(${column})) end`;
}

/** SQL of a `?` parameter that is a time, Unix milliseconds. */
export function timeParameter({ engine }: Database): string {
  return engine === "postgres" ? "to_timestamp(?::bigint / 1000.0)" : "?";
}

/** SQL of a condition: a column has one of the values of a list, which is one `?` parameter. */
export function isInList(
  { engine }: Database,
  column: string,
  type: "text" | "integer" | "uuid" | "inet",
): string {
  return engine === "postgres"
    ? `${column} = any (?::${type}[])`
    : `${column} in (select value from json_each(?))`;
}

/** The parameter of {@linkcode isInList}: JSON text, or an array in PostgreSQL's form. */
export function listValue({ engine }: Database, values: readonly (string | number)[]): string {
  if (engine === "sqlite") return JSON.stringify(values);
  const quoted = values.map((value) => `"${String(value).replace(/[\\"]/g, "\\$&")}"`);
  return `{${quoted.join(",")}}`;
}
