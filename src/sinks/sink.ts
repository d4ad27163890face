/**
 * The contract of sinks, which write records, and the sink that writes a text format to an output.
 *
 * @module
 */
import type { ServerRecord } from "../core/record.ts";

/** Rows that a thread made. */
export interface MadeRows {
  /** The rows as `serverId()` names them. */
  readonly ids: readonly string[];
  /** The rows in the format of each sink that writes text, UTF-8. */
  readonly texts: readonly Uint8Array<ArrayBuffer>[];
  /** Number of rows with `alias_of`. */
  readonly aliases: number;
  /** Numbers of rows by their values of the column `software`. */
  readonly software: ReadonlyMap<string | null, number>;
  /** Numbers of rows by their values of the column `version`. */
  readonly versions: ReadonlyMap<string | null, number>;
  /** The records of the last rows. */
  readonly latest: readonly ServerRecord[];
}

/** Maximum number of records in {@linkcode MadeRows.latest}. */
export const MAX_LATEST = 4;

/** The destination of a scan's records. */
export interface Sink extends AsyncDisposable {
  /**
   * Writes records.
   *
   * @returns Resolves when the file or database has accepted every record completely.
   */
  write(records: readonly ServerRecord[]): Promise<void>;
  /**
   * Writes rows that a thread made, as {@linkcode write} does. At least one record was written before.
   * The method is missing if the sink takes only records.
   *
   * @param index Index of the sink's text.
   *
   * @internal
   */
  writeMade?(rows: MadeRows, index: number): Promise<void>;
  /** Syncs accepted records to the disk. */
  flush(): Promise<void>;
  /** Number of accepted bytes; 0 for a database. */
  position(): number;
  /**
   * Checks that accepted rows were not lost. The method is missing if this cannot be checked.
   *
   * @throws OutputLostError
   */
  check?(): Promise<void>;
}

/** A text format of records. */
export interface Format {
  /** The name of the format in `--format`. */
  readonly name: string;
  /** Text before the first row: the header of CSV, for example. */
  readonly head: string;
  /** Text after the last row. */
  readonly tail: string;
  /** Whether rows can be appended to a complete file. */
  readonly appendable: boolean;
  /**
   * Whether rows can be appended to a file with this first line. Default: they can if the line is the
   * header.
   */
  canFollow?(firstLine: string): boolean;
  /** Whether a last line without a line feed is a complete row. Default: it is not. */
  isComplete?(line: string): boolean;
  /**
   * Formats a record as a row.
   *
   * @param first Whether the row is the first of its file.
   */
  row(record: ServerRecord, first: boolean): string;
}

/** A file, a pipe or standard output. */
export interface Output extends AsyncDisposable {
  /** The name of the output in error messages. */
  readonly name: string;
  /** Writes some of the bytes; returns the number of written bytes. */
  write(bytes: Uint8Array): Promise<number>;
  /** Truncates the output to a length in bytes. Does nothing for pipes and standard output. */
  truncate(length: number): Promise<void>;
  /** Syncs a regular file to the disk. Does nothing for other outputs. */
  sync(): Promise<void>;
  /**
   * Checks a regular file. Other outputs do not have this method.
   *
   * @returns Its size in bytes; or text that describes how it was deleted or replaced.
   */
  readonly currentSize?: () => Promise<number | string>;
}

/** The error of an output that refused rows. The message names the output and the reason. */
export class WriteError extends Error {
  /** The name in stack traces, always `"WriteError"`. */
  override readonly name = "WriteError";
}

/**
 * The error of an output file that was deleted, replaced or changed by another program. Written
 * rows are lost.
 */
export class OutputLostError extends WriteError {
  /**
   * Creates the error for an output.
   *
   * @param name The name of the output in error messages.
   * @param reason What happened to the output.
   */
  constructor(name: string, reason: string) {
    super(`Cannot write to ${name}: ${reason}`);
  }
}

/** A sink that writes records to an output in a text format. */
export class TextSink implements Sink {
  readonly #encoder = new TextEncoder();
  /** Number of accepted bytes in the output. */
  #length: number;
  /** Whether the output has no row yet. */
  #empty: boolean;
  /** Whether the header is written. */
  #begun: boolean;
  #separator: string;
  #failed = false;
  /** Number of bytes of the pending write. */
  #pending = 0;

  /**
   * Takes ownership of an output: disposing of the sink closes the output.
   *
   * @param length Number of bytes in the output: more than 0 when rows are appended.
   * @param separator Text to write before the first appended row.
   */
  constructor(
    private readonly output: Output,
    private readonly format: Format,
    length = 0,
    separator = "",
  ) {
    this.#separator = separator;
    this.#length = length;
    this.#begun = length > 0;
    this.#empty = length <= format.head.length;
  }

  /**
   * Writes records. If the output accepts only a part of the bytes, the output is truncated to its length
   * before this call, and the records are lost.
   *
   * @throws WriteError
   */
  async write(records: readonly ServerRecord[]): Promise<void> {
    if (records.length === 0 && this.#begun) return;
    let text = this.#begun ? this.#separator : this.format.head;
    for (const record of records) {
      text += this.format.row(record, this.#empty);
      this.#empty = false;
    }
    await this.#put(this.#encoder.encode(text));
    this.#begun = true;
    this.#separator = "";
  }

  /**
   * Writes rows that are already formatted.
   *
   * @throws WriteError
   */
  async writeMade({ texts }: MadeRows, index: number): Promise<void> {
    await this.#put(texts[index]);
  }

  async #put(bytes: Uint8Array): Promise<void> {
    const newLength = this.#length + bytes.length;
    this.#pending = bytes.length;
    try {
      while (bytes.length > 0) {
        const written = await this.output.write(bytes);
        if (written === 0) throw new Error("it accepts no more bytes");
        bytes = bytes.subarray(written);
      }
    } catch (error) {
      this.#failed = true;
      const { message } = error as Error;
      await this.output.truncate(this.#length).catch(() => {}); // the first error is reported
      throw new WriteError(`Cannot write to ${this.output.name}: ${message}`, { cause: error });
    }
    this.#length = newLength;
    this.#pending = 0;
  }

  /**
   * Compares the output's size with the number of written bytes, because another program may have
   * changed the file.
   */
  async check(): Promise<void> {
    if (this.output.currentSize === undefined || this.#failed) return;
    const minSize = this.#length;
    const size = await this.output.currentSize();
    const maxSize = this.#length + this.#pending;
    if (typeof size === "number" && size >= minSize && size <= maxSize) return;
    const expected = typeof size === "number" && size < minSize ? minSize : maxSize;
    const reason = typeof size === "string"
      ? size
      : `another program changed it: it has ${size} bytes instead of ${expected}`;
    throw new OutputLostError(this.output.name, reason);
  }

  flush(): Promise<void> {
    return this.output.sync();
  }

  position(): number {
    return this.#length;
  }

  /** Writes the text after the last row, syncs, and closes the output. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (!this.#failed) {
        const text = (this.#begun ? "" : this.format.head) + this.format.tail;
        await this.#put(this.#encoder.encode(text));
        await this.output.sync();
        await this.check();
      }
    } finally {
      await this.output[Symbol.asyncDispose]();
    }
  }
}
