/**
 * Batches on their way to a thread that sends them: numbers in memory that both sides see. The
 * datagrams themselves are not copied: the system reads them where they were written.
 *
 * One side hands jobs over, and waits for them without keeping anybody up; the other sleeps until
 * there are any. Jobs are done in the order in which they came.
 *
 * @module
 */

/** How many jobs were handed over, and how many are done. */
const SUBMITTED = 0;
const COMPLETED = 16; // on another line of the processor's caches: the other side writes it
/** At how many that are done whoever hands them over is to be woken up. */
const WAKE_AT = 1;
const JOBS = 32;
/**
 * A job: the socket, where its messages are (two halves), how many; and how many were taken. One
 * without messages is the last.
 */
const JOB = 8;
const MESSAGES = 1;
const COUNT = 3;
const TAKEN = 4;
/** Jobs that may wait. */
const DEPTH = 64;
/** Refusals since they were last asked for, by error number; higher ones count as the highest. */
const REFUSALS = JOBS + DEPTH * JOB;
const ERRNOS = 256;

/** Sends so many messages that lie at an address; told of each that the system refuses. */
export type SendWork = (
  socket: number,
  messages: bigint,
  count: number,
  refuse: (errno: number) => void,
) => number;

/** A job that is not done, or whose outcome was not read. */
interface OpenJob {
  readonly number: number;
  readonly count: number;
  readonly refuse: (errno: number, times: number) => void;
  readonly resolve: (taken: number) => void;
  readonly reject: (error: Error) => void;
}

/** The side that hands jobs over. */
export class SendJobs {
  /** What both sides see. */
  readonly memory = new SharedArrayBuffer((REFUSALS + ERRNOS) * 4);
  readonly #words = new Int32Array(this.memory);
  /** Jobs in the order in which they will be done. */
  readonly #open: OpenJob[] = [];
  #watching = false;
  #failure: Error | undefined;

  /**
   * Has messages sent. They must stay where they are until then.
   *
   * @param refuse Told which errors there were, and how many of each.
   * @returns How many the system took.
   * @throws Error when too many jobs wait; what {@linkcode fail} was given.
   */
  send(
    socket: number,
    messages: bigint,
    count: number,
    refuse: (errno: number, times: number) => void,
  ): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#open.length === DEPTH) throw new Error(`Cannot send: ${DEPTH} batches wait`);
      const number = this.#submit(socket, messages, count);
      this.#open.push({ number, count, refuse, resolve, reject });
      void this.#watch();
    });
  }

  #submit(socket: number, messages: bigint, count: number): number {
    const words = this.#words;
    const job = words[SUBMITTED];
    const at = placeOf(job);
    words[at] = socket;
    words[at + MESSAGES] = Number(messages & 0xffff_ffffn);
    words[at + MESSAGES + 1] = Number(messages >> 32n);
    words[at + COUNT] = count;
    Atomics.store(words, SUBMITTED, job + 1 | 0);
    Atomics.notify(words, SUBMITTED);
    return job;
  }

  /** Tells of jobs that are done, until none is open. */
  async #watch(): Promise<void> {
    if (this.#watching) return;
    this.#watching = true;
    while (this.#open.length > 0 && this.#failure === undefined) {
      const completed = Atomics.load(this.#words, COMPLETED);
      while (this.#open.length > 0 && (completed - this.#open[0].number | 0) > 0) {
        this.#settle(this.#open.shift()!);
      }
      if (this.#open.length === 0) break;
      // Waking up costs as much as filling a batch does: half of the jobs at once.
      Atomics.store(this.#words, WAKE_AT, completed + Math.ceil(this.#open.length / 2) | 0);
      const wait = Atomics.waitAsync(this.#words, COMPLETED, completed);
      if (wait.async) await wait.value;
    }
    this.#watching = false;
  }

  #settle({ number, count, refuse, resolve }: OpenJob): void {
    const taken = this.#words[placeOf(number) + TAKEN];
    if (taken < count) this.#readRefusals(refuse);
    resolve(taken);
  }

  #readRefusals(refuse: (errno: number, times: number) => void): void {
    for (let errno = 0; errno < ERRNOS; errno++) {
      const times = Atomics.exchange(this.#words, REFUSALS + errno, 0);
      if (times > 0) refuse(errno, times);
    }
  }

  /** Lets the other side end, when all is done. */
  close(): void {
    this.#submit(0, 0n, 0);
  }

  /** Tells whoever waits that the other side does not work any longer. */
  fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#open.splice(0)) reject(error);
    Atomics.notify(this.#words, COMPLETED);
  }
}

/**
 * The other side: does jobs until no more will come. It keeps its thread to itself.
 *
 * @param memory That of the {@linkcode SendJobs}.
 */
export function serveJobs(memory: SharedArrayBuffer, work: SendWork): void {
  const words = new Int32Array(memory);
  const refuse = (errno: number) =>
    void Atomics.add(words, REFUSALS + Math.min(errno, ERRNOS - 1), 1);
  for (let done = 0;;) {
    Atomics.wait(words, SUBMITTED, done);
    if (Atomics.load(words, SUBMITTED) === done) continue;
    const at = placeOf(done);
    if (words[at + COUNT] === 0) return;
    const messages = BigInt(words[at + MESSAGES] >>> 0) |
      BigInt(words[at + MESSAGES + 1]) << 32n;
    words[at + TAKEN] = work(words[at], messages, words[at + COUNT], refuse);
    done = done + 1 | 0;
    Atomics.store(words, COMPLETED, done);
    if ((done - Atomics.load(words, WAKE_AT) | 0) >= 0) Atomics.notify(words, COMPLETED);
  }
}

function placeOf(job: number): number {
  return JOBS + (job & DEPTH - 1) * JOB;
}
