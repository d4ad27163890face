/**
 * Batches on their way to a thread that sends them: numbers in memory that both sides see. The
 * datagrams themselves are not copied: the system reads them where they were written.
 *
 * One side hands jobs over, and waits for them without keeping anybody up; the other sleeps until
 * there are any. Jobs are done in the order in which they came.
 *
 * @module
 */
import type { Load } from "./load.ts";
import type { LoadReport } from "./send_all.ts";

/** How many jobs were handed over, and how many are done. */
const SUBMITTED = 0;
const COMPLETED = 16; // on another line of the processor's caches: the other side writes it
/** At how many that are done whoever hands them over is to be woken up. */
const WAKE_AT = 1;
const JOBS = 32;
/**
 * A job: the socket, where its load is (two halves), how many there are, how long and how far apart;
 * and then how many were taken, how many were tried, and what stopped it. One of nothing is the last.
 */
const JOB = 16;
const AT = 1;
const COUNT = 3;
const LENGTH = 4;
const STRIDE = 5;
const TAKEN = 6;
const TRIED = 7;
const ERRNO = 8;
const PATIENT = 9;
/** Jobs that may wait. */
const DEPTH = 64;
/** Refusals since they were last asked for, by error number; higher ones count as the highest. */
const REFUSALS = JOBS + DEPTH * JOB;
const ERRNOS = 256;

/** Sends a load, and tells what was refused or left; returns how many were tried. */
export type SendWork = (load: Load, report: LoadReport) => number;

/** What came of a job. */
export interface JobOutcome {
  /** How many the system took. */
  readonly taken: number;
  /** How many were tried: the rest waits for the network. */
  readonly tried: number;
  /** What it waits for, where anything is left. */
  readonly errno: number;
}

/** A job that is not done, or whose outcome was not read. */
interface OpenJob {
  readonly number: number;
  readonly count: number;
  readonly refuse: (errno: number, times: number) => void;
  readonly resolve: (outcome: JobOutcome) => void;
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
   * Has a load sent. It must stay where it is until then.
   *
   * @param refuse Told which errors there were, and how many of each.
   * @returns What came of it.
   * @throws Error when too many jobs wait; what {@linkcode fail} was given.
   */
  send(load: Load, refuse: (errno: number, times: number) => void): Promise<JobOutcome> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#open.length === DEPTH) throw new Error(`Cannot send: ${DEPTH} batches wait`);
      const number = this.#submit(load);
      this.#open.push({ number, count: load.count, refuse, resolve, reject });
      void this.#watch();
    });
  }

  #submit({ socket, at, count, length, stride, isPatient }: Load): number {
    const words = this.#words;
    const job = words[SUBMITTED];
    const place = placeOf(job);
    words[place] = socket;
    words[place + AT] = Number(at & 0xffff_ffffn);
    words[place + AT + 1] = Number(at >> 32n);
    words[place + COUNT] = count;
    words[place + LENGTH] = length;
    words[place + STRIDE] = stride;
    words[place + PATIENT] = Number(isPatient);
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
    const place = placeOf(number);
    const taken = this.#words[place + TAKEN];
    if (taken < count) this.#readRefusals(refuse);
    resolve({ taken, tried: this.#words[place + TRIED], errno: this.#words[place + ERRNO] });
  }

  #readRefusals(refuse: (errno: number, times: number) => void): void {
    for (let errno = 0; errno < ERRNOS; errno++) {
      const times = Atomics.exchange(this.#words, REFUSALS + errno, 0);
      if (times > 0) refuse(errno, times);
    }
  }

  /** Lets the other side end, when all is done. */
  close(): void {
    this.#submit({ socket: 0, at: 0n, count: 0, length: 0, stride: 0, isPatient: false });
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
  let refused = 0;
  let left = 0;
  const report: LoadReport = {
    refuse(errno) {
      refused++;
      Atomics.add(words, REFUSALS + Math.min(errno, ERRNOS - 1), 1);
    },
    leave(errno) {
      left = errno;
    },
  };
  for (let done = 0;;) {
    Atomics.wait(words, SUBMITTED, done);
    if (Atomics.load(words, SUBMITTED) === done) continue;
    const place = placeOf(done);
    const load = loadAt(words, place);
    if (load.count === 0) return;
    refused = left = 0;
    const tried = work(load, report);
    words[place + TAKEN] = tried - refused;
    words[place + TRIED] = tried;
    words[place + ERRNO] = left;
    done = done + 1 | 0;
    Atomics.store(words, COMPLETED, done);
    if ((done - Atomics.load(words, WAKE_AT) | 0) >= 0) Atomics.notify(words, COMPLETED);
  }
}

function loadAt(words: Int32Array, place: number): Load {
  return {
    socket: words[place],
    at: BigInt(words[place + AT] >>> 0) | BigInt(words[place + AT + 1]) << 32n,
    count: words[place + COUNT],
    length: words[place + LENGTH],
    stride: words[place + STRIDE],
    isPatient: words[place + PATIENT] !== 0,
  };
}

function placeOf(job: number): number {
  return JOBS + (job & DEPTH - 1) * JOB;
}
