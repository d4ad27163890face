/**
 * Copies a database into an empty one, of either engine. The rows are read in one snapshot of the
 * source.
 *
 * @module
 */
import {
  type BulkStatement,
  type ColumnDefinition,
  type Database,
  insertInto,
  StoreError,
} from "../database/database.ts";
import { parseAddress } from "../../core/address.ts";
import { addressSort } from "../rows/addresses.ts";
import { readSalt } from "../forget/tombstones.ts";
import type { BrokenCell } from "../rows/json_cells.ts";
import { readDatabaseIdentity } from "../spill_file.ts";
import { namedError } from "../store.ts";
import { TABLE_COLUMNS, UNFINISHED_COPY } from "../schema/table_columns.ts";
import { type CopiedRow, type CopiedTable, type Position, TableDigest } from "./copied_table.ts";
import { tableIn, tablesIn } from "./read_tables.ts";
import { type CopyProgress, readProgress, takeOver, writeProgress } from "./copy_progress.ts";

/** The comparison of a table in both databases. */
export interface ComparedTable {
  readonly table: string;
  /** Number of rows of the source that are in the target. */
  readonly rows: number;
  /** Number of rows of the source that have no place in the target. */
  readonly leftOut: number;
  /** Number of rows in the target. */
  readonly copied: number;
  /** Digest of the rows of the source, 32 hexadecimal digits. */
  readonly digest: string;
  /** Digest of the rows in the target. */
  readonly copiedDigest: string;
}

/** Whether a table is the same in both databases. */
export function isSameTable({ rows, copied, digest, copiedDigest }: ComparedTable): boolean {
  return rows === copied && digest === copiedDigest;
}

export interface CopyResult {
  /** Whether the whole source was read. `false`: the signal ended the copy. */
  readonly complete: boolean;
  /** The tables, in the order in which they were copied. Empty when the copy is not complete. */
  readonly tables: readonly ComparedTable[];
}

/** Options of {@linkcode copyDatabase}. */
export interface CopyOptions {
  /** Receives a line when a copy is continued, or starts again. */
  readonly report: (line: string) => void;
  /** Receives each number of the source that is too large for its column. It counts as empty. */
  readonly onBroken?: (cell: BrokenCell) => void;
  /** Ends the copy after the current batch. */
  readonly signal?: AbortSignal;
}

/**
 * Copies a database. A copy that ended early continues: it compares its rows with the source, and
 * starts again if the source has changed since.
 *
 * @param target A database that `openCopyTarget` has opened.
 */
export async function copyDatabase(
  source: Database,
  target: Database,
  { report, signal, onBroken }: CopyOptions,
): Promise<CopyResult> {
  return await source.snapshot(async () => {
    const copy = await Copy.begin(source, target, { signal, onBroken });
    if (copy.isContinued) {
      report(`${target.name}: continuing the copy of ${source.name}`);
      if (!await copy.isUnchanged() || !await copy.run() || !copy.isEqual) {
        if (signal?.aborted) return { complete: false, tables: [] };
        report(`${source.name} has changed since the copy began: copying it again from the start`);
        await copy.clear();
        await copy.run();
      }
    } else await copy.run();
    if (!copy.isComplete) return { complete: false, tables: [] };
    if (copy.isEqual) await copy.finish(source);
    return { complete: true, tables: copy.compared };
  });
}

class Copy {
  readonly #compared = new Map<string, ComparedTable>();

  private constructor(
    private readonly target: Database,
    /** The owner of the copy: see {@linkcode takeOver}. */
    private readonly owner: string,
    private readonly tables: readonly CopiedTable[],
    /** The complete tables. */
    private done: readonly string[],
    /** The table that an earlier run has begun, and its last row. */
    private begun: { readonly table?: string; readonly after?: Position },
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Reads the tables of the source, and how far the copy is. */
  static async begin(
    source: Database,
    target: Database,
    { signal, onBroken }: Omit<CopyOptions, "report">,
  ): Promise<Copy> {
    const tables = tablesIn(source, onBroken);
    const owner = await takeOver(target, source);
    const { done, ...begun } = await readProgress(target);
    const named = tables.map((table) => ({
      ...table,
      rows: (after: Position | undefined) => namingErrors(source, table.rows(after)),
    }));
    return new Copy(target, owner, named, done, begun, signal);
  }

  get isContinued(): boolean {
    return this.done.length > 0 || this.begun.after !== undefined;
  }

  get compared(): readonly ComparedTable[] {
    return [...this.#compared.values()];
  }

  get isComplete(): boolean {
    return this.#compared.size === this.tables.length;
  }

  get isEqual(): boolean {
    return this.isComplete && this.compared.every(isSameTable);
  }

  /** Compares the tables that an earlier run has completed. */
  async isUnchanged(): Promise<boolean> {
    for (const table of this.tables.filter(({ name }) => this.done.includes(name))) {
      if (!await this.#compare(table, await this.#digestOf(table))) return false;
    }
    return this.compared.every(isSameTable);
  }

  /** Copies and compares the tables that are not complete. Returns whether it came to the end. */
  async run(): Promise<boolean> {
    for (const table of this.tables) {
      if (this.done.includes(table.name)) continue;
      const { name } = table;
      const after = this.begun.table === name ? this.begun.after : undefined;
      const digest = new TableDigest();
      if (!await this.#copy(table, after, digest)) return false;
      const whole = after === undefined ? digest : await this.#digestOf(table);
      if (!await this.#compare(table, whole)) return false;
      this.done = [...this.done, name];
      await this.#write({ done: this.done }, () => Promise.resolve());
    }
    return true;
  }

  /** Writes rows and the progress in a transaction, unless another program has taken the copy over. */
  async #write(progress: CopyProgress, work: () => Promise<unknown>): Promise<void> {
    await this.target.transaction(async () => {
      await writeProgress(this.target, this.owner, progress);
      await work();
    });
  }

  async #copy(
    table: CopiedTable,
    after: Position | undefined,
    digest: TableDigest,
  ): Promise<boolean> {
    const { target, done } = this;
    const insert = insertCopied(table);
    if (!hasKey(table)) await this.#write({ done }, () => target.run(`delete from ${table.name}`));
    for await (const batch of table.rows(after)) {
      if (this.signal?.aborted) return false;
      if (batch.length === 0) continue;
      digest.add(batch);
      const rows = withSortColumns(table, batch);
      const { position } = batch.at(-1)!;
      const progress = { done, table: table.name, after: hasKey(table) ? position : undefined };
      await this.#write(progress, () => target.bulk(insert, rows));
    }
    return true;
  }

  /** Reads a whole table; `undefined`: the signal ended the copy. */
  async #digestOf({ rows }: Pick<CopiedTable, "rows">): Promise<TableDigest | undefined> {
    const digest = new TableDigest();
    for await (const batch of rows(undefined)) {
      if (this.signal?.aborted) return undefined;
      digest.add(batch);
    }
    return digest;
  }

  /** Compares a table with its copy. Returns whether both were read. */
  async #compare(table: CopiedTable, source: TableDigest | undefined): Promise<boolean> {
    if (source === undefined) return false;
    const copied = await this.#digestOf(tableIn(this.target, table.name));
    if (copied === undefined) return false;
    this.#compared.set(table.name, {
      table: table.name,
      rows: source.rows,
      leftOut: table.leftOut(),
      copied: copied.rows,
      digest: `${source}`,
      copiedDigest: `${copied}`,
    });
    return true;
  }

  /** Empties the tables of the target. */
  async clear(): Promise<void> {
    const { target } = this;
    await this.#write({ done: [] }, async () => {
      for (const { name } of this.tables.toReversed()) await target.run(`delete from ${name}`);
    });
    [this.done, this.begun] = [[], {}];
    this.#compared.clear();
  }

  /** Completes the target: copies the salt and the identity, sets the next numbers, and ends the unfinished state. */
  async finish(source: Database): Promise<void> {
    const { target } = this;
    const [salt, identity] = [await readSalt(source), await readDatabaseIdentity(source)];
    const statement = {
      types: ["bytea"],
      sqlite: "update blocksweep_salt set salt = ?",
      postgres: "update blocksweep_salt set salt = ($1::bytea[])[1]",
    } as const;
    await this.#write({ done: this.done }, async () => {
      await target.bulk(statement, [[salt]]);
      await target.run("update blocksweep_schema set identity = ?", [identity]);
      if (target.engine === "postgres") await setNextNumbers(target);
      await target.script(`drop table ${UNFINISHED_COPY}`);
    });
    await target.flush();
  }
}

/** Whether a table has a key. One without has one row, and is always copied whole. */
function hasKey({ name }: CopiedTable): boolean {
  return TABLE_COLUMNS.find((table) => table.name === name)!.key.sqlite.length > 0;
}

/** Reads batches from a database. Error messages contain its name. */
async function* namingErrors<T>(source: Database, batches: AsyncIterable<T>): AsyncIterable<T> {
  try {
    yield* batches;
  } catch (error) {
    throw namedError("read", source, error);
  }
}

/**
 * The statement that inserts rows of a table. SQLite has a column that PostgreSQL does not need.
 */
function insertCopied({ name, columns }: CopiedTable): BulkStatement {
  const conflict = "on conflict do nothing";
  const sqliteColumns: ColumnDefinition[] = name === "servers" ? [["address_sort", "text"]] : [];
  const statement = insertInto(name, columns, conflict, sqliteColumns);
  const postgres = statement.postgres.replace(") select ", ") overriding system value select ");
  return { ...statement, postgres };
}

function withSortColumns({ name, columns }: CopiedTable, batch: readonly CopiedRow[]) {
  if (name !== "servers") return batch.map(({ values }) => values);
  const [address, key] = ["address", "key"].map((name) =>
    columns.findIndex(([column]) => column === name)
  );
  return batch.map(({ values }) => {
    const text = String(values[address]);
    if (parseAddress(text) === undefined) {
      const server = JSON.stringify(values[key]);
      throw new StoreError(
        `Cannot copy server ${server}: its address is ${
          JSON.stringify(text)
        }; correct or delete it`,
      );
    }
    return [...values, addressSort(text)];
  });
}

/** Sets the next number of each column that PostgreSQL numbers. */
async function setNextNumbers(target: Database): Promise<void> {
  for (const { name, columns } of TABLE_COLUMNS) {
    for (const { name: column } of columns.filter(({ isIdentity }) => isIdentity)) {
      await target.run(
        `select setval(pg_get_serial_sequence('${name}', '${column}'), ` +
          `(select coalesce(max(${column}), 0) + 1 from ${name}), false)`,
      );
    }
  }
}
