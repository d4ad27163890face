/**
 * Tables of a copy: their columns, and the source of their rows.
 *
 * @module
 */
import { FieldError, parseJson } from "../../core/checked_values.ts";
import { nodeCrypto } from "../../core/node_modules.ts";
import { type ColumnDefinition, type Row, StoreError, type Value } from "../database/database.ts";
import { canonicalHost } from "../rows/addresses.ts";
import {
  inKeyOrder,
  safeIntegerOrNull,
  storable,
  storableCount,
  storableJson,
  storableTime,
} from "../rows/stored_values.ts";

/** A row's position in the order in which a table is copied: values of its key. */
export type Position = readonly Value[];

/** A row, converted to values that both engines can store. */
export interface CopiedRow {
  /** The values of {@linkcode CopiedTable.columns}. */
  readonly values: readonly Value[];
  readonly position: Position;
}

export interface CopiedTable {
  readonly name: string;
  /** The columns that are copied: the others have their defaults in the target. */
  readonly columns: readonly ColumnDefinition[];
  /**
   * Number of rows of the source that {@linkcode rows} leaves out. It is final when all rows have
   * been read.
   */
  readonly leftOut: () => number;
  /** Reads the rows after a position in batches, in a fixed order. Each batch ends at a position. */
  readonly rows: (after: Position | undefined) => AsyncIterable<readonly CopiedRow[]>;
}

/** Maximum number of rows of a batch. */
const BATCH_ROWS = 2000;
/** The length of text after which a batch ends, UTF-16 code units. */
const BATCH_TEXT = 4_000_000;

/**
 * Collects the rows of a stream into batches that take a limited amount of memory.
 *
 * @param convert Returns the row of the copy for a row of the stream. `undefined`: it is left out.
 */
export async function* batchesOf(
  rows: AsyncIterable<Row>,
  convert: (row: Row) => CopiedRow | undefined,
): AsyncIterable<readonly CopiedRow[]> {
  let [batch, text]: [CopiedRow[], number] = [[], 0];
  for await (const row of rows) {
    const converted = convert(row);
    if (converted === undefined) continue;
    batch.push(converted);
    for (const value of converted.values) if (typeof value === "string") text += value.length;
    if (batch.length < BATCH_ROWS && text < BATCH_TEXT) continue;
    yield batch;
    [batch, text] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

/**
 * A value, converted to what both engines can store and return.
 *
 * @throws StoreError for JSON that cannot be parsed, or is nested too deeply.
 */
export function canonicalValue(
  [name, type]: ColumnDefinition,
  value: Value,
  table: string,
): Value {
  if (value === null) return null;
  if (type === "inet") return canonicalHost(String(value));
  if (type === "text" || type === "uuid") return storable(String(value));
  if (type !== "jsonb") return value;
  try {
    return storableJson(inKeyOrder(parseJson(String(value))));
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    throw new StoreError(
      `Cannot copy the column ${table}.${name}: one of its values is not JSON, or nested too deeply`,
    );
  }
}

/**
 * Whether a column can contain a number in both engines. A SQLite file of another program may contain
 * integers that are too large.
 */
export function isStorable([, type]: ColumnDefinition, value: Value): boolean {
  if (typeof value !== "number") return true;
  if (type === "timestamptz") return storableTime(value) === value;
  if (type === "integer") return storableCount(value) === value;
  return type !== "bigint" || safeIntegerOrNull(value) === value;
}

/** Counts the rows of a table, and hashes them independently of their order. */
export class TableDigest {
  rows = 0;
  /** Sums of the words of the rows' hashes, modulo 2^32. */
  readonly #sums = new Uint32Array(8);

  /** Adds rows with values that {@linkcode canonicalValue} returned. */
  add(rows: readonly CopiedRow[]): void {
    for (const { values } of rows) {
      const bytes = nodeCrypto().hash("sha256", JSON.stringify(values), "buffer");
      for (let i = 0; i < 8; i++) this.#sums[i] += bytes.readUInt32LE(4 * i);
      this.rows++;
    }
  }

  /** 128 bits of the sum, hexadecimal. */
  toString(): string {
    return new Uint8Array(this.#sums.buffer, 0, 16).toHex();
  }
}
