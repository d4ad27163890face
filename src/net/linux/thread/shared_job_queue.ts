/**
 * The main thread's side of a queue of send jobs in shared memory. The main thread submits jobs and
 * waits for them asynchronously. Jobs are done in the order of submission.
 *
 * @module
 */
import { countError, interfaceError } from "../ffi/libc.ts";
import type { SentBlock, SocketErrors, Template } from "../../socket.ts";
import {
  AT,
  type BlockJob,
  BYTES_OF_QUEUE,
  DEPTH,
  ERRNOS,
  jobAt,
  jobTargetsAt,
  KIND,
  microseconds,
  REFUSAL_COUNTERS,
  SEND_METHODS,
  type SendJob,
  WAITS,
  WORD,
  writeTemplate,
} from "./job_memory.ts";

/** Maximum time that a message of the worker takes, microseconds. */
const LATEST_MESSAGE = 500_000;

/** A job whose outcome was not read yet. */
interface OpenJob {
  readonly number: number;
  readonly errors: SocketErrors;
  readonly promise: Promise<SentBlock>;
  readonly resolve: (outcome: SentBlock) => void;
  readonly reject: (error: Error) => void;
}

/** The main thread's side of the queue. */
export class SharedJobQueue {
  /** The memory that both sides share. */
  readonly memory = new SharedArrayBuffer(BYTES_OF_QUEUE);
  readonly #words = new Int32Array(this.memory);
  /** Pending jobs in the order of submission. */
  readonly #open: OpenJob[] = [];
  /** Templates that are in the memory. */
  readonly #templates: Template[] = [];
  /** Signals that cancel waits. */
  readonly #signals = new WeakSet<AbortSignal>();
  #watching = false;
  #failure: Error | undefined;

  /**
   * Compares the clocks of both threads.
   *
   * @param now A recent time of the worker's {@linkcode microseconds}.
   */
  setClock(now: number): void {
    const ahead = microseconds() - now | 0;
    // A small difference is the time that the message took.
    this.#words[AT.ahead] = ahead < 0 || ahead > LATEST_MESSAGE ? ahead : 0;
  }

  /** Resolves when no job is pending. Blocks and waits end early. */
  async idle(): Promise<void> {
    if (this.#open.length === 0) return;
    this.cancelWaits();
    await Promise.allSettled(this.#open.map(({ promise }) => promise));
  }

  /** Number of pending jobs. */
  get pending(): number {
    return this.#open.length;
  }

  /**
   * Sends to the targets of a job.
   *
   * @param errors Gets the errors of the system.
   * @param signal Ends the wait for an interface that is down.
   * @returns Number of datagrams that the system accepted.
   * @throws RangeError when the datagram is too long, or there are too many templates; Error when
   * the queue is full, or the interface is down after the signal or gone; the error of
   * {@linkcode fail}.
   */
  async send(job: SendJob, errors: SocketErrors, signal?: AbortSignal): Promise<number> {
    const { sent } = await this.#submit(errors, signal, (start, number) => {
      const { socket, method, targets, port = 0 } = job;
      const words = this.#words;
      words[start + WORD.kind] = KIND.list;
      words[start + WORD.count] = targets.length;
      words[start + WORD.socket] = socket;
      words[start + WORD.method] = SEND_METHODS.indexOf(method);
      words[start + WORD.template] = this.#numberOf(targets.template);
      words[start + WORD.port] = port;
      words.set(targets.words.subarray(0, targets.length * targets.size), jobTargetsAt(number));
    });
    return sent;
  }

  /** Sends a block. The result and the errors are those of {@linkcode send}. */
  sendBlock(
    { from, count, stamp }: BlockJob,
    errors: SocketErrors,
    signal?: AbortSignal,
  ): Promise<SentBlock> {
    return this.#submit(errors, signal, (start) => {
      const words = this.#words;
      words[start + WORD.kind] = KIND.block;
      words[start + WORD.count] = count;
      words[start + WORD.fromLow] = from % 2 ** 32 | 0;
      words[start + WORD.fromHigh] = Math.floor(from / 2 ** 32);
      words[start + WORD.stamp] = stamp;
    });
  }

  /** The index of a template, which is written into the memory if it is new. */
  #numberOf(one: Template): number {
    const known = this.#templates.indexOf(one);
    if (known >= 0) return known;
    writeTemplate(this.memory, this.#templates.length, one);
    return this.#templates.push(one) - 1;
  }

  #submit(
    errors: SocketErrors,
    signal: AbortSignal | undefined,
    write: (start: number, number: number) => void,
  ): Promise<SentBlock> {
    const { promise, resolve, reject } = Promise.withResolvers<SentBlock>();
    try {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#open.length === DEPTH) throw new Error(`Cannot send: ${DEPTH} batches are pending`);
      const number = this.#words[AT.submitted];
      const start = jobAt(number);
      write(start, number);
      this.#words[start + WORD.submittedAt] = microseconds();
      this.#announce(number);
      this.#open.push({ number, errors, promise, resolve, reject });
      this.#cancelWith(signal);
      void this.#watch();
    } catch (error) {
      reject(error);
    }
    return promise;
  }

  #announce(number: number): void {
    Atomics.store(this.#words, AT.submitted, number + 1 | 0);
    if (Atomics.load(this.#words, AT.workerSleeps) !== 0) Atomics.notify(this.#words, AT.submitted);
  }

  /** Lets a signal end the waits of this and all later jobs. */
  #cancelWith(signal: AbortSignal | undefined): void {
    if (signal === undefined || this.#signals.has(signal)) return;
    this.#signals.add(signal);
    if (signal.aborted) this.cancelWaits();
    else signal.addEventListener("abort", () => this.cancelWaits(), { once: true });
  }

  /** Ends blocks after the datagrams of a call, and waits for an interface that is down. */
  cancelWaits(): void {
    Atomics.store(this.#words, AT.cancelled, 1);
    Atomics.notify(this.#words, AT.cancelled);
  }

  /** Resolves completed jobs until none is pending. */
  async #watch(): Promise<void> {
    if (this.#watching) return;
    this.#watching = true;
    while (this.#open.length > 0 && this.#failure === undefined) {
      const completed = Atomics.load(this.#words, AT.completed);
      this.#read(WAITS, this.#open[0].errors.waits);
      while (this.#open.length > 0 && (completed - this.#open[0].number | 0) > 0) {
        this.#settle(this.#open.shift()!);
      }
      if (this.#open.length === 0) break;
      // A wake-up costs as much time as filling a batch. The worker therefore wakes this thread
      // only after half of the pending jobs, and when it waits.
      Atomics.store(this.#words, AT.wakeAt, completed + Math.ceil(this.#open.length / 2) | 0);
      const wait = Atomics.waitAsync(this.#words, AT.completed, completed);
      if (wait.async) await wait.value;
    }
    this.#watching = false;
  }

  #settle({ number, errors, resolve, reject }: OpenJob): void {
    const words = this.#words;
    const start = jobAt(number);
    if (words[start + WORD.refused] > 0) this.#read(REFUSAL_COUNTERS, errors.send);
    const errno = words[start + WORD.errno];
    if (errno !== 0) return reject(interfaceError(errno));
    const at = jobTargetsAt(number);
    resolve({
      sent: words[start + WORD.taken],
      left: words.slice(at, at + words[start + WORD.left]),
      visited: words[start + WORD.visited],
    });
  }

  /** Moves counters of errors to counts by name. */
  #read(from: number, counts: Map<string, number>): void {
    if (Atomics.exchange(this.#words, from, 0) === 0) return; // set when any other is
    for (let errno = 1; errno < ERRNOS; errno++) {
      const times = Atomics.exchange(this.#words, from + errno, 0);
      if (times > 0) countError(counts, errno, times);
    }
  }

  /** Makes the worker receive a message after the pending jobs. */
  interrupt(): void {
    this.#tell(KIND.message);
  }

  /** Ends the worker after the pending jobs. */
  close(): void {
    this.#tell(KIND.end);
  }

  #tell(kind: number): void {
    const number = this.#words[AT.submitted];
    this.#words[jobAt(number) + WORD.kind] = kind;
    this.#announce(number);
  }

  /** Rejects all pending jobs, because the worker has failed. */
  fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#open.splice(0)) reject(error);
    Atomics.notify(this.#words, AT.completed);
  }
}
