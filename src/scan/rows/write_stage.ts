/**
 * Makes rows, writes them to the outputs, and then to the checkpoint's list. The stage contains the
 * queue of rows. The queue is bounded: while it is full, interviews wait. A slow disk therefore slows
 * the scan down, and does not increase its memory.
 *
 * While many servers are found, a thread makes the rows (`rows/row_thread.ts`), and the outputs still
 * get them here.
 *
 * @module
 */
import { serverId } from "../../core/record.ts";
import type { MadeRows } from "../../sinks/sink.ts";
import type { EarlyStop } from "../tables/early_stop.ts";
import type { RowMaker, RowSource } from "./row_maker.ts";
import type { MakingThread, ThreadStart } from "./thread_start.ts";
import type { ScanIo } from "../setup/scan_setup.ts";

/** Number of rows at which the queue is full. */
const CAPACITY = 256;
/**
 * Number of rows at which the queue is full while a thread makes them. The main thread reads what the
 * thread has made only when it yields to the event loop, which may take 10 ms while it sends.
 */
const THREAD_CAPACITY = 2048;
/** Size of the raw replies of rows at which that queue is full, bytes. */
const THREAD_BYTES = 4 << 20;
/** Number of rows that are passed to a thread that is busy. */
const PASSED_AT_ONCE = 512;

/** A row in the queue. */
interface Waiting {
  readonly source: RowSource;
  /** Called when every sink has accepted the row; not called for a lost row. */
  readonly onAccepted: () => void;
}

/** Rows that a thread makes. */
interface Passed {
  readonly batch: readonly Waiting[];
  readonly rows: Promise<MadeRows>;
}

/** Makes rows, and writes them to all sinks, in batches. */
export class WriteStage implements Disposable {
  #waiting: Waiting[] = [];
  /** Batches that the thread makes, in their order. */
  readonly #passed: Passed[] = [];
  #thread: MakingThread | undefined;
  /** Number of rows that were added and not written, and size of their undecoded replies. */
  #unwritten = 0;
  #bytes = 0;
  #writing: Promise<void> | undefined;
  /** Resolves when the queue is emptied; `undefined` if no caller waits for that. */
  #emptied: PromiseWithResolvers<void> | undefined;
  #failure: Error | undefined;

  /**
   * Creates the stage with an empty queue.
   *
   * @param io The sinks, of which each gets all rows, and the state that counts the rows.
   * @param stop Ends the scan when a sink fails. Rows that are added later are lost.
   * @param maker Makes the rows until a thread does.
   * @param threadStart Starts the thread. Default: none is started.
   */
  constructor(
    private readonly io: Pick<ScanIo, "sinks" | "clock" | "checkpoint" | "state">,
    private readonly stop: Pick<EarlyStop, "fail">,
    private readonly maker: RowMaker,
    private readonly threadStart?: Pick<ThreadStart, "note" | typeof Symbol.dispose>,
  ) {}

  /**
   * Puts a row into the queue.
   *
   * @param onAccepted Called when every sink has accepted the row. It is never called if the row is
   * lost.
   */
  add(source: RowSource, onAccepted: () => void): void {
    if (this.#failure !== undefined) {
      this.io.state.lost++;
      return;
    }
    this.#waiting.push({ source, onAccepted });
    this.#unwritten++;
    this.#bytes += sizeOf(source);
    const isIdle = this.#passed.length === 0 || this.#waiting.length >= PASSED_AT_ONCE;
    if (this.#thread !== undefined && isIdle) this.#pass(this.#thread);
    this.#writing ??= this.#write();
  }

  /** While the queue is full, a promise that settles when the queue has space again. */
  get whenFree(): Promise<void> | undefined {
    const isFull = this.#thread === undefined
      ? this.#waiting.length >= CAPACITY
      : this.#unwritten >= THREAD_CAPACITY || this.#bytes >= THREAD_BYTES;
    if (!isFull) return undefined;
    return (this.#emptied ??= Promise.withResolvers()).promise;
  }

  /** Resolves when all rows in the queue are written or lost. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  /** Ends the thread that makes rows. */
  [Symbol.dispose](): void {
    this.threadStart?.[Symbol.dispose]();
  }

  async #write(): Promise<void> {
    while (this.#unwritten > 0) {
      try {
        if (this.#thread === undefined) await this.#writeHere();
        else await this.#writeMade(this.#thread);
      } catch (error) {
        this.#fail(error as Error);
      }
    }
    this.#writing = undefined;
  }

  /** Makes the rows of the queue, and writes them. */
  async #writeHere(): Promise<void> {
    const { sinks } = this.io;
    const batch = this.#takeAll();
    const records = batch.map(({ source }) => this.maker.make(source));
    await Promise.all(sinks.map((sink) => sink.write(records)));
    const aliases = records.filter((record) => record.alias_of !== null).length;
    await this.#accept(batch, records.map(serverId), aliases);
    this.#thread = this.threadStart?.note(undecoded(batch), this.maker.aliases);
  }

  /** Writes the oldest rows that the thread makes. */
  async #writeMade(thread: MakingThread): Promise<void> {
    const { sinks } = this.io;
    if (this.#passed.length === 0) this.#pass(thread);
    const { batch, rows } = this.#passed[0];
    const made = await rows;
    this.#passed.shift();
    if (this.#passed.length === 0 && this.#waiting.length > 0) this.#pass(thread);
    await Promise.all(sinks.map((sink, i) => sink.writeMade!(made, i)));
    await this.#accept(batch, made.ids, made.aliases);
    this.#free();
  }

  /** Passes the rows of the queue to the thread. */
  #pass(thread: MakingThread): void {
    const batch = this.#takeAll();
    const rows = thread.make(batch.map(({ source }) => source));
    rows.catch(() => {}); // #writeMade() gets the error
    this.#passed.push({ batch, rows });
  }

  /** Counts rows that every sink has accepted. */
  async #accept(
    batch: readonly Waiting[],
    ids: readonly string[],
    aliases: number,
  ): Promise<void> {
    const { clock, checkpoint, state } = this.io;
    this.#unwritten -= batch.length;
    for (const { source } of batch) this.#bytes -= sizeOf(source);
    state.written += batch.length;
    state.aliases += aliases;
    state.lastRowAt = clock.wall();
    await checkpoint?.accepted(ids);
    for (const { onAccepted } of batch) onAccepted();
  }

  #fail(error: Error): void {
    this.#failure = error;
    this.io.state.lost += this.#unwritten;
    this.#unwritten = this.#bytes = 0;
    this.#passed.length = 0;
    this.#takeAll();
    this.#free();
    this.stop.fail(error);
  }

  /** Removes and returns all rows of the queue. */
  #takeAll(): Waiting[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    if (this.#thread === undefined) this.#free();
    return waiting;
  }

  #free(): void {
    this.#emptied?.resolve();
    this.#emptied = undefined;
  }
}

/**
 * Number of rows whose reply is not decoded yet. To pass a decoded reply to a thread takes as long as to
 * make its row.
 */
function undecoded(batch: readonly Waiting[]): number {
  return batch.filter(({ source: { replies } }) => "raw" in replies).length;
}

function sizeOf({ replies }: RowSource): number {
  if ("raw" in replies) return replies.raw.length;
  return replies.reduce((sum, { raw }) => sum + (raw?.length ?? 0), 0);
}
