/**
 * Batches on their way to a thread that writes and sends them: numbers in memory that both sides see.
 *
 * One side hands jobs over, and waits for them without keeping anybody up; the other sleeps until
 * there are any. Jobs are done in the order in which they came.
 *
 * @module
 */
import { MOST_WORDS, type TargetBatch } from "../batch/target_batch.ts";
import type { SendReport } from "./blocking_send.ts";
import type { Template } from "../../socket.ts";

/** How datagrams leave: messages to a family, or frames through a packet socket or a ring. */
export const SEND_METHODS = ["ipv4", "ipv6", "packet", "xdp"] as const;
/** One of them. */
export type SendMethod = typeof SEND_METHODS[number];

/** What is handed over. */
export interface SendJob {
  /** The socket's descriptor. */
  readonly socket: number;
  /** How. */
  readonly method: SendMethod;
  /** To whom; they stay the caller's. */
  readonly targets: TargetBatch;
  /** Our own port, where frames are written. Default: the socket's. */
  readonly port?: number;
}

/** What arrives at the other side. */
export interface ArrivedSendJob extends Omit<SendJob, "targets"> {
  readonly port: number;
  /** Which one it is: a rest of it that comes again has the same. */
  readonly id: number;
  /** The number of the datagram. */
  readonly template: number;
  /** How many rows there are, and where in the memory. */
  readonly count: number;
  readonly at: number;
  /** How long they have waited, microseconds. */
  readonly waited: number;
}

/** Sends a job, and tells what was refused or left; returns how many were tried. */
export type SendJobHandler = (job: ArrivedSendJob, report: SendReport) => number;

/** What came of a job. */
export interface SendJobOutcome {
  /** How many the system took. */
  readonly taken: number;
  /** How many were tried: the rest waits for the network. */
  readonly tried: number;
  /** What it waits for, where anything is left. */
  readonly errno: number;
}

/** How many jobs were handed over, and how many are done. */
const SUBMITTED = 0;
const COMPLETED = 16; // on another line of the processor's caches: the other side writes it
/** At how many that are done whoever hands them over is to be woken up. */
const WAKE_AT = 1;
/** Whether the other side sleeps: waking somebody up who does not costs as much, and more. */
const WORKER_SLEEPS = 17;
const JOBS = 32;
/**
 * A job: the socket, the way, the number of the datagram, how many rows there are, our own port, and
 * when it was handed over; and then how many were taken, how many were tried, and what stopped it; how
 * long ago it came first, where this is a rest of it, and what number it had then. One of nothing is the
 * last.
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
/** Jobs that may wait. */
const DEPTH = 64;
/** What waits longer was not measured: the wall clock was set between the starts of the threads. */
const LONGEST_WAIT = 1_000_000;
/** Refusals since they were last asked for, by error number; higher ones count as the highest. */
const REFUSALS = JOBS + DEPTH * JOB;
const ERRNOS = 256;
/** Datagrams, each with where its token and its time go, and its length. */
const TEMPLATES = REFUSALS + ERRNOS;
const MOST_TEMPLATES = 32;
const TEMPLATE_WORDS = 512;
const BYTES = 4;
const MOST_BYTES = (TEMPLATE_WORDS - BYTES) * 4;
/** The rows of each job. */
const TARGETS = TEMPLATES + MOST_TEMPLATES * TEMPLATE_WORDS;
const WORDS = TARGETS + DEPTH * MOST_WORDS;

/** A job that is not done, or whose outcome was not read. */
interface OpenJob {
  readonly number: number;
  readonly count: number;
  readonly refuse: (errno: number, times: number) => void;
  readonly resolve: (outcome: SendJobOutcome) => void;
  readonly reject: (error: Error) => void;
}

/** The side that hands jobs over. */
export class SharedJobQueue {
  /** What both sides see. */
  readonly memory = new SharedArrayBuffer(WORDS * 4);
  readonly #words = new Int32Array(this.memory);
  /** Jobs in the order in which they will be done. */
  readonly #open: OpenJob[] = [];
  /** Datagrams that the other side knows. */
  readonly #templates: Template[] = [];
  /** When jobs were handed over first, and as which. */
  readonly #first = new WeakMap<SendJob, { readonly id: number; readonly at: number }>();
  #watching = false;
  #failure: Error | undefined;

  /** The number of a datagram; the other side is told of those that it does not know. */
  #numberOf(one: Template): number {
    const known = this.#templates.indexOf(one);
    if (known >= 0) return known;
    const { template, tokenAt = -1, tokenText = false, clockAt = -1 } = one;
    if (template.length > MOST_BYTES || this.#templates.length === MOST_TEMPLATES) {
      throw new RangeError("Cannot send: the datagram is too long, or of one kind too many");
    }
    const number = this.#templates.push(one) - 1;
    const place = TEMPLATES + number * TEMPLATE_WORDS;
    this.#words.set([tokenAt, clockAt, template.length, Number(tokenText)], place);
    new Uint8Array(this.memory).set(template, (place + BYTES) * 4);
    return number;
  }

  /**
   * Has the rows of a job sent, from one on.
   *
   * @param refuse Told which errors there were, and how many of each.
   * @returns What came of it.
   * @throws RangeError when the datagram is too long, or of one kind too many; Error when too many
   * jobs wait; what {@linkcode fail} was given.
   */
  send(
    job: SendJob,
    from: number,
    refuse: (errno: number, times: number) => void,
  ): Promise<SendJobOutcome> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#open.length === DEPTH) throw new Error(`Cannot send: ${DEPTH} batches wait`);
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
    const number = this.#words[SUBMITTED];
    this.#words[placeOf(number) + COUNT] = 0;
    this.#announce(number);
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
 * @param memory That of the {@linkcode SharedJobQueue}.
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
      Atomics.store(words, WORKER_SLEEPS, 1); // who submits after this sees it, and before it is seen
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

/** A copy of a datagram that the other side told of. */
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

/** Microseconds, modulo 2^32: the same for all threads. */
function microseconds(): number {
  return Math.floor((performance.timeOrigin + performance.now()) * 1000) % 2 ** 32 | 0;
}

function placeOf(job: number): number {
  return JOBS + (job & DEPTH - 1) * JOB;
}

function targetsOf(job: number): number {
  return TARGETS + (job & DEPTH - 1) * MOST_WORDS;
}
