/**
 * A store on a server that may go away: its rows wait in a file until it is back.
 *
 * @module
 */
import { type Clock, sleep } from "../net/clock.ts";
import type { ServerRecord } from "../record.ts";
import type { Database } from "./database.ts";
import { ConnectionLost } from "./postgres.ts";
import { type ScanBegin, type ScanFinish, type Store, StoreError } from "./store.ts";

/** How rows wait. */
export interface SpillOptions {
  /** The file, which is made when it is needed, and gone when it is not. */
  readonly path: string;
  /** How large it may get, bytes. */
  readonly most: number;
  /** How long to wait for the server at the end, milliseconds. */
  readonly patienceMs: number;
  /** The clock. */
  readonly clock: Clock;
  /** Told when the server goes away, and when it is back. */
  readonly tell: (line: string) => void;
}

/** How often the server is looked for, milliseconds. */
const RETRY_MS = 1000;
/** Rows that are read back at a time. */
const BATCH = 500;

/** Takes rows as a {@linkcode Store} does, and keeps those that the server does not take. */
export class SpillingStore implements AsyncDisposable {
  /** Rows in the file. */
  #rows = 0;
  #bytes = 0;
  #triedAt = -Infinity;

  /** Takes a store over. */
  constructor(private readonly store: Store, private readonly options: SpillOptions) {}

  /** The store's own. */
  get database(): Database {
    return this.store.database;
  }

  /** Notes that a scan begins, or goes on: then rows may wait that it kept before. */
  async begin(scan: ScanBegin): Promise<void> {
    await this.store.begin(scan);
    const { path } = this.options;
    const text = await Deno.readTextFile(path).catch((error) => {
      const { NotCapable, NotFound } = Deno.errors;
      if (error instanceof NotFound || error instanceof NotCapable) return "";
      throw error;
    });
    const whole = text.slice(0, text.lastIndexOf("\n") + 1); // a torn row was never accepted
    if (whole !== text) await Deno.writeTextFile(path, whole);
    this.#rows = whole.split("\n").length - 1;
    this.#bytes = new TextEncoder().encode(whole).length;
  }

  /**
   * Writes rows, to the server or to the file.
   *
   * @throws StoreError when the server refuses them, or neither takes them.
   */
  async write(records: readonly ServerRecord[]): Promise<void> {
    const { clock } = this.options;
    const waiting = this.#rows > 0;
    if (waiting && clock.now() - this.#triedAt < RETRY_MS) return await this.#keep(records);
    try {
      await this.#replay();
      await this.store.write(records);
    } catch (error) {
      const lost = lossOf(error);
      if (lost === undefined) throw error;
      this.#triedAt = clock.now();
      if (!waiting) this.#tell(`went away (${lost}): rows wait in "${this.options.path}"`);
      await this.#keep(records);
    }
  }

  /** Hands everything that was written on to the disk. */
  async flush(): Promise<void> {
    if (this.#rows === 0) await this.store.flush();
  }

  /** Always 0: nothing is ever cut back. */
  position(): number {
    return 0;
  }

  /**
   * Notes that a scan ended, after all rows have been brought to the server.
   *
   * @throws StoreError when it does not come back: then it says how many rows wait, and where.
   */
  async end(finish: ScanFinish): Promise<number> {
    const { clock, patienceMs, path } = this.options;
    const deadline = clock.now() + patienceMs;
    for (;;) {
      try {
        await this.#replay();
        return await this.store.end(finish);
      } catch (error) {
        const lost = lossOf(error);
        if (lost === undefined) throw error;
        if (clock.now() + RETRY_MS <= deadline) {
          await sleep(clock, RETRY_MS);
          continue;
        }
        const { name } = this.store.database;
        const kept = this.#rows === 0
          ? "all rows are there, but not how the scan ended"
          : `${this.#rows} rows wait in "${path}"; when it is back, import that file`;
        throw new StoreError(`Cannot write to ${name}: ${lost}; ${kept}`, { cause: error });
      }
    }
  }

  /** Closes the database; a file with rows stays. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]();
  }

  async #keep(records: readonly ServerRecord[]): Promise<void> {
    const { path, most } = this.options;
    const text = records.map((record) => `${JSON.stringify(record)}\n`).join("");
    const bytes = new TextEncoder().encode(text);
    const { name } = this.store.database;
    if (this.#bytes + bytes.length > most) {
      throw new StoreError(`Cannot write to ${name}: it went away, and "${path}" is full`);
    }
    try {
      await Deno.writeFile(path, bytes, { append: true });
    } catch (error) {
      const { message } = error as Error;
      throw new StoreError(`Cannot write to ${name}: it went away, nor to "${path}": ${message}`);
    }
    this.#bytes += bytes.length;
    this.#rows += records.length;
  }

  /** Brings what waits to the server. Rows that it has already change nothing. */
  async #replay(): Promise<void> {
    if (this.#rows === 0) return;
    const { path } = this.options;
    const lines = (await Deno.readTextFile(path)).split("\n").filter((line) => line !== "");
    for (let at = 0; at < lines.length; at += BATCH) {
      await this.store.write(lines.slice(at, at + BATCH).map((line) => JSON.parse(line)));
    }
    await Deno.remove(path);
    this.#tell(`is back: ${this.#rows} rows that waited were written`);
    this.#rows = 0;
    this.#bytes = 0;
  }

  #tell(what: string): void {
    this.options.tell(`${this.store.database.name} ${what}`);
  }
}

/** How the connection was lost; `undefined` for other errors. */
function lossOf(error: unknown): string | undefined {
  const cause = error instanceof StoreError ? error.cause : error;
  return cause instanceof ConnectionLost ? cause.message : undefined;
}
