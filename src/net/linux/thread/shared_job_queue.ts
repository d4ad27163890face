/**
 * A queue of send jobs between the main thread and a sender thread, in shared memory.
 *
 * The main thread submits jobs and waits for them asynchronously. The worker sleeps until a job
 * arrives. Jobs are done in the order of submission.
 *
 * @module
 */
import { MAX_WORDS, type TargetBatch } from "../batch/target_batch.ts";
import type { SendReport } from "./blocking_send.ts";
import type { Template } from "../../socket.ts";

/**
 * How datagrams are sent: messages of an address family, or frames by a packet socket or XDP ring.
 */
export const SEND_METHODS = ["ipv4", "ipv6", "packet", "xdp"] as const;
/** A method of sending, one of {@linkcode SEND_METHODS}. */
export type SendMethod = typeof SEND_METHODS[number];

/** A send job: a batch of targets for one socket. */
export interface SendJob {
  /** File descriptor of the socket that sends. */
  readonly socket: number;
  /** The method of sending. */
  readonly method: SendMethod;
  /** The targets, which the caller still owns. */
  readonly targets: TargetBatch;
  /** The source port of frames. Default: 0, because the system writes the port. */
  readonly port?: number;
}

/** A job as it arrives at the worker. */
export interface ArrivedSendJob extends Omit<SendJob, "targets"> {
  readonly port: number;
  /** Id of the job. The rest of a job that is submitted again has the same id. */
  readonly id: number;
  /** Index of the template. */
  readonly template: number;
  /** Number of targets, and index of their first word in the memory. */
  readonly count: number;
  readonly at: number;
  /** Time since the first submission, microseconds. */
  readonly waited: number;
}

/** Sends a job, reports unsent datagrams, and returns the number of tried ones. */
export type SendJobHandler = (job: ArrivedSendJob, report: SendReport) => number;

/** The outcome of a job. */
export interface SendJobOutcome {
  /** Number of datagrams that the system accepted. */
  readonly taken: number;
  /** Number of datagrams that were tried; the rest waits for the interface. */
  readonly tried: number;
  /** The error that stopped sending, if a rest is left. */
  readonly errno: number;
}

/** Indexes of the numbers of submitted and of completed jobs. */
const SUBMITTED = 0;
const COMPLETED = 16; // on another cache line, because the worker writes it
/** Index of the number of completed jobs at which the worker wakes the main thread. */
const WAKE_AT = 1;
/**
 * Index of the flag that the worker sleeps. The main thread wakes only a sleeping worker, because
 * each wake-up is expensive.
 */
const WORKER_SLEEPS = 17;
const JOBS = 32;
/**
 * Words of a job. The main thread writes socket, method, template, number of targets, source port
 * and time of submission. It also writes the time between the first and this submission of the job,
 * which is 0 for a new job, and the job's id. The sender thread writes the numbers of accepted and
 * tried datagrams, and the error that stopped sending. A job without targets ends the worker.
 */
const JOB = 16;
const METHOD = 1;
const TEMPLATE = 2;
const COUNT = 3;
const PORT = 4;
const SUBMITTED_AT = 5;
const TAKEN = 6;
const TRIED = 7;
const ERRNO = 8;
const EARLIER_WAIT = 9;
const ID = 10;
/** Maximum number of jobs in the queue. */
const DEPTH = 64;
/**
 * Longest valid wait, microseconds. A longer wait means that the wall clock was set between the
 * starts of the two threads.
 */
const LONGEST_WAIT = 1_000_000;
/**
 * Index of the counters of refusals, one for each error number. A counter is set to 0 when it is
 * read. The last counter is also for all higher error numbers.
 */
const REFUSALS = JOBS + DEPTH * JOB;
const ERRNOS = 256;
/** Templates, each with the offsets of token and time, its length, and the form of the token. */
const TEMPLATES = REFUSALS + ERRNOS;
const MAX_TEMPLATES = 32;
const TEMPLATE_WORDS = 512;
const BYTES = 4;
const MAX_BYTES = (TEMPLATE_WORDS - BYTES) * 4;
/** The targets of each job. */
const TARGETS = TEMPLATES + MAX_TEMPLATES * TEMPLATE_WORDS;
const WORDS = TARGETS + DEPTH * MAX_WORDS;

/** A job whose outcome was not read yet. */
interface OpenJob {
  readonly number: number;
  readonly count: number;
  readonly refuse: (errno: number, times: number) => void;
  readonly resolve: (outcome: SendJobOutcome) => void;
  readonly reject: (error: Error) => void;
}

/** The main thread's side of the queue. */
export class SharedJobQueue {
  /** The memory that both sides share. */
  readonly memory = new SharedArrayBuffer(WORDS * 4);
  readonly #words = new Int32Array(this.memory);
  /** Pending jobs in the order of submission. */
  readonly #open: OpenJob[] = [];
  /** Templates that are in the memory. */
  readonly #templates: Template[] = [];
  /** For each job, the time of its first submission, and its id. */
  readonly #first = new WeakMap<SendJob, { readonly id: number; readonly at: number }>();
  #watching = false;
  #failure: Error | undefined;

  /** The index of a template, which is written into the memory if it is new. */
  #numberOf(one: Template): number {
    const known = this.#templates.indexOf(one);
    if (known >= 0) return known;
    const { template, tokenAt = -1, tokenText = false, clockAt = -1 } = one;
    if (template.length > MAX_BYTES || this.#templates.length === MAX_TEMPLATES) {
      throw new RangeError(
        "Cannot send: the datagram is too long, or there are too many templates",
      );
    }
    const number = this.#templates.push(one) - 1;
    const place = TEMPLATES + number * TEMPLATE_WORDS;
    this.#words.set([tokenAt, clockAt, template.length, Number(tokenText)], place);
    new Uint8Array(this.memory).set(template, (place + BYTES) * 4);
    return number;
  }

  /**
   * Sends the targets of a job, from index `from` on.
   *
   * @param refuse Called with each error number and its number of refusals.
   * @returns The outcome.
   * @throws RangeError when the datagram is too long, or there are too many templates; Error when
   * the queue is full; the error of {@linkcode fail}.
   */
  send(
    job: SendJob,
    from: number,
    refuse: (errno: number, times: number) => void,
  ): Promise<SendJobOutcome> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#open.length === DEPTH) throw new Error(`Cannot send: ${DEPTH} batches are pending`);
      const number = this.#submit(job, from);
      this.#open.push({ number, count: job.targets.length - from, refuse, resolve, reject });
      void this.#watch();
    });
  }

  #submit(job: SendJob, from: number): number {
    const { socket, method, targets, port = 0 } = job;
    const words = this.#words;
    const number = words[SUBMITTED];
    const now = microseconds();
    const first = this.#first.get(job) ?? { id: number, at: now };
    this.#first.set(job, first);
    const place = placeOf(number);
    words[place] = socket;
    words[place + METHOD] = SEND_METHODS.indexOf(method);
    words[place + TEMPLATE] = this.#numberOf(targets.template);
    words[place + COUNT] = targets.length - from;
    words[place + PORT] = port;
    words[place + SUBMITTED_AT] = now;
    words[place + EARLIER_WAIT] = now - first.at;
    words[place + ID] = first.id;
    const { size } = targets;
    words.set(targets.words.subarray(from * size, targets.length * size), targetsOf(number));
    this.#announce(number);
    return number;
  }

  #announce(number: number): void {
    Atomics.store(this.#words, SUBMITTED, number + 1 | 0);
    if (Atomics.load(this.#words, WORKER_SLEEPS) !== 0) Atomics.notify(this.#words, SUBMITTED);
  }

  /** Resolves completed jobs until none is pending. */
  async #watch(): Promise<void> {
    if (this.#watching) return;
    this.#watching = true;
    while (this.#open.length > 0 && this.#failure === undefined) {
      const completed = Atomics.load(this.#words, COMPLETED);
      while (this.#open.length > 0 && (completed - this.#open[0].number | 0) > 0) {
        this.#settle(this.#open.shift()!);
      }
      if (this.#open.length === 0) break;
      // A wake-up costs as much time as filling a batch. The worker therefore wakes this thread
      // only after half of the pending jobs.
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

  /** Ends the worker after the pending jobs. */
  close(): void {
    const number = this.#words[SUBMITTED];
    this.#words[placeOf(number) + COUNT] = 0;
    this.#announce(number);
  }

  /** Rejects all pending jobs, because the worker has failed. */
  fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#open.splice(0)) reject(error);
    Atomics.notify(this.#words, COMPLETED);
  }
}

/**
 * The worker's side of the queue: runs jobs until the last one. It blocks its thread.
 *
 * @param memory The memory of the {@linkcode SharedJobQueue}.
 */
export function serveJobs(memory: SharedArrayBuffer, work: SendJobHandler): void {
  const words = new Int32Array(memory);
  let refused = 0;
  let left = 0;
  const report: SendReport = {
    refuse(errno) {
      refused++;
      Atomics.add(words, REFUSALS + Math.min(errno, ERRNOS - 1), 1);
    },
    stop(errno) {
      left = errno;
    },
  };
  for (let done = 0;;) {
    if (Atomics.load(words, SUBMITTED) === done) {
      // A job that is submitted after this line finds the flag set. For a job that was submitted
      // before it, wait() returns at once.
      Atomics.store(words, WORKER_SLEEPS, 1);
      Atomics.wait(words, SUBMITTED, done);
      Atomics.store(words, WORKER_SLEEPS, 0);
      continue;
    }
    const place = placeOf(done);
    const job = jobAt(words, done);
    if (job.count === 0) return;
    refused = left = 0;
    const tried = work(job, report);
    words[place + TAKEN] = tried - refused;
    words[place + TRIED] = tried;
    words[place + ERRNO] = left;
    done = done + 1 | 0;
    Atomics.store(words, COMPLETED, done);
    if ((done - Atomics.load(words, WAKE_AT) | 0) >= 0) Atomics.notify(words, COMPLETED);
  }
}

function jobAt(words: Int32Array, number: number): ArrivedSendJob {
  const place = placeOf(number);
  const waited = microseconds() - words[place + SUBMITTED_AT] >>> 0;
  return {
    socket: words[place],
    method: SEND_METHODS[words[place + METHOD]],
    template: words[place + TEMPLATE],
    count: words[place + COUNT],
    port: words[place + PORT],
    id: words[place + ID],
    at: targetsOf(number),
    waited: (waited <= LONGEST_WAIT ? waited : 0) + words[place + EARLIER_WAIT],
  };
}

/** A copy of a template in the memory. */
export function templateAt(memory: SharedArrayBuffer, number: number): Template {
  const place = TEMPLATES + number * TEMPLATE_WORDS;
  const [tokenAt, clockAt, length, isText] = new Int32Array(memory, place * 4, BYTES);
  return {
    template: new Uint8Array(memory, (place + BYTES) * 4, length).slice(),
    tokenAt,
    tokenText: isText === 1,
    clockAt,
  };
}

/** Wall-clock time, microseconds modulo 2^32, equal in all threads. */
function microseconds(): number {
  return Math.floor((performance.timeOrigin + performance.now()) * 1000) % 2 ** 32 | 0;
}

function placeOf(job: number): number {
  return JOBS + (job & DEPTH - 1) * JOB;
}

function targetsOf(job: number): number {
  return TARGETS + (job & DEPTH - 1) * MAX_WORDS;
}
