/**
 * Where rows go.
 *
 * @module
 */
import type { ServerRecord } from "../core/record.ts";

/** Takes rows. */
export interface Sink extends AsyncDisposable {
  /**
   * Writes rows.
   *
   * @returns Resolves when they have been accepted; then each of them is whole where it went.
   */
  write(records: readonly ServerRecord[]): Promise<void>;
  /** Hands everything that was accepted on to the disk. */
  flush(): Promise<void>;
  /** How many bytes were accepted. */
  position(): number;
  /**
   * Checks that what was accepted is still there. Default: nobody can tell.
   *
   * @throws OutputLostError
   */
  check?(): Promise<void>;
}

/** How rows become text. */
export interface Format {
  /** Its name: `--format`. */
  readonly name: string;
  /** What stands before the first row. */
  readonly head: string;
  /** What stands behind the last row. */
  readonly tail: string;
  /** Whether rows can be added to a file that has an end. */
  readonly appendable: boolean;
  /**
   * Whether rows can be added to a file that starts with this line. Without it, they can where that
   * is the head.
   */
  fits?(first: string): boolean;
  /**
   * Whether a last line that lacks its end is a whole row all the same, and not a torn one. Without
   * it, none is.
   */
  whole?(line: string): boolean;
  /**
   * One row.
   *
   * @param first Whether it is the first of its file.
   */
  row(record: ServerRecord, first: boolean): string;
}

/** A file, or what stands for one. */
export interface Output extends AsyncDisposable {
  /** How errors name it. */
  readonly name: string;
  /** Writes some of the bytes; returns how many. */
  write(bytes: Uint8Array): Promise<number>;
  /** Cuts it back to a length, where that is possible: pipes have no way back. */
  truncate(length: number): Promise<void>;
  /** Hands it on to the disk, where there is one. */
  sync(): Promise<void>;
  /**
   * Looks what became of a regular file since it was opened.
   *
   * @returns How long it is, bytes, or what became of it in words.
   */
  look?(): Promise<number | string>;
}

/** Rows could not be written. */
export class WriteError extends Error {
  /** Always `"WriteError"`. */
  override readonly name = "WriteError";
}

/** Rows that were written are no longer there. */
export class OutputLostError extends WriteError {
  /**
   * Says what became of an output.
   *
   * @param name How errors name it.
   * @param fate What became of it.
   */
  constructor(name: string, fate: string) {
    super(`Cannot write to ${name}: ${fate}`);
  }
}

/** Rows as text in an output. */
export class TextSink implements Sink {
  readonly #encoder = new TextEncoder();
  #length: number;
  #empty: boolean;
  #begun: boolean;
  #joint: string;
  #failed = false;
  /** Bytes that are being written. */
  #pending = 0;

  /**
   * Takes an output over.
   *
   * @param length How long the output is already: more than 0 when rows are appended to it.
   * @param joint What goes between that and the first row.
   */
  constructor(
    private readonly output: Output,
    private readonly format: Format,
    length = 0,
    joint = "",
  ) {
    this.#joint = joint;
    this.#length = length;
    this.#begun = length > 0;
    this.#empty = length <= format.head.length;
  }

  /**
   * Writes rows. Where the output takes only a part, it is cut back to the last whole row, and the
   * rows behind that are lost.
   *
   * @throws WriteError
   */
  async write(records: readonly ServerRecord[]): Promise<void> {
    if (records.length === 0 && this.#begun) return;
    let text = this.#begun ? this.#joint : this.format.head;
    for (const record of records) {
      text += this.format.row(record, this.#empty);
      this.#empty = false;
    }
    await this.#put(text);
    this.#begun = true;
    this.#joint = "";
  }

  async #put(text: string): Promise<void> {
    let bytes = this.#encoder.encode(text);
    const whole = this.#length + bytes.length;
    this.#pending = bytes.length;
    try {
      while (bytes.length > 0) {
        const written = await this.output.write(bytes);
        if (written === 0) throw new Error("nothing more is taken");
        bytes = bytes.subarray(written);
      }
    } catch (error) {
      this.#failed = true;
      const { message } = error as Error;
      await this.output.truncate(this.#length).catch(() => {}); // what is reported is the cause
      throw new WriteError(`Cannot write to ${this.output.name}: ${message}`, { cause: error });
    }
    this.#length = whole;
    this.#pending = 0;
  }

  /** A file that another program truncates or writes to has another length than was written. */
  async check(): Promise<void> {
    if (this.output.look === undefined || this.#failed) return;
    const least = this.#length;
    const found = await this.output.look();
    const most = this.#length + this.#pending;
    if (typeof found === "number" && found >= least && found <= most) return;
    const fate = typeof found === "string"
      ? found
      : `another program changed it: it has ${found} bytes in place of ${
        found < least ? least : most
      }`;
    throw new OutputLostError(this.output.name, fate);
  }

  flush(): Promise<void> {
    return this.output.sync();
  }

  position(): number {
    return this.#length;
  }

  /** Writes what stands behind the last row, and closes the output. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (!this.#failed) {
        await this.#put((this.#begun ? "" : this.format.head) + this.format.tail);
        await this.output.sync();
        await this.check();
      }
    } finally {
      await this.output[Symbol.asyncDispose]();
    }
  }
}
