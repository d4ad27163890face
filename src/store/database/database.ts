/**
 * What a store asks of its engine. Texts of strangers go in as parameters, never as SQL.
 *
 * @module
 */

/** The database takes nothing for now: its server is away, or another program has locked it. */
export class Unavailable extends Error {
  /** Always `"Unavailable"`. */
  override readonly name = "Unavailable";
}

/** What a column can hold. */
export type Value = string | number | null;

/** A row, by the names of its columns. */
export type Row = Readonly<Record<string, Value>>;

/** The types of columns that are written in bulk, as both engines call them. */
export type ColumnType = "text" | "bigint" | "integer" | "double precision";

/** A statement that is run for many rows at once. */
export interface Bulk {
  /** The types of a row's values, in their order. */
  readonly types: readonly ColumnType[];
  /** For SQLite: with a `?` for each value of one row. */
  readonly sqlite: string;
  /** For PostgreSQL: with a list of values for each column, `$1`, `$2`... */
  readonly postgres: string;
}

/** A database that was opened. Its statements run one after the other, in the order of the calls. */
export interface Database extends AsyncDisposable {
  /** How errors name it: without a password. */
  readonly name: string;
  /** Which engine it is. */
  readonly engine: "sqlite" | "postgres";
  /** Runs statements without parameters. */
  script(sql: string): Promise<void>;
  /** Runs a statement, with a `?` for each parameter; returns how many rows it changed. */
  run(sql: string, parameters?: readonly Value[]): Promise<number>;
  /** The rows of a query, which are few. */
  rows(sql: string, parameters?: readonly Value[]): Promise<readonly Row[]>;
  /** The rows of a query, however many, as they are read; meanwhile nothing else is to be done. */
  stream(sql: string, parameters?: readonly Value[]): AsyncIterable<Row>;
  /** Runs a statement for many rows; returns how many rows it changed. */
  bulk(statement: Bulk, rows: readonly (readonly Value[])[]): Promise<number>;
  /** Does all of the work, or nothing of it. */
  transaction<T>(work: () => Promise<T>): Promise<T>;
  /** Hands what was written on to the disk. */
  flush(): Promise<void>;
}

/** A column that is written. */
export type ColumnDefinition = readonly [name: string, type: ColumnType];

/**
 * A bulk insertion.
 *
 * @param conflict What happens to rows that are there already: an `on conflict` clause.
 */
export function insertInto(
  table: string,
  columns: readonly ColumnDefinition[],
  conflict: string,
): Bulk {
  const names = columns.map(([name]) => name).join(", ");
  const marks = columns.map(() => "?").join(", ");
  const lists = columns.map(([, type], i) => `$${i + 1}::${type}[]`).join(", ");
  return {
    types: columns.map(([, type]) => type),
    sqlite: `insert into ${table} (${names}) values (${marks}) ${conflict}`,
    postgres: `insert into ${table} (${names}) select * from unnest(${lists}) ${conflict}`,
  };
}
