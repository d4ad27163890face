/**
 * The worker's side of a queue of send jobs in shared memory: it runs jobs in their order, and
 * sleeps while there are none.
 *
 * @module
 */
import type { SendReport } from "./blocking_send.ts";
import {
  type ArrivedBlock,
  type ArrivedTargets,
  AT,
  ERRNOS,
  jobAt,
  jobTargetsAt,
  KIND,
  microseconds,
  REFUSAL_COUNTERS,
  SEND_METHODS,
  WAITS,
  WORD,
} from "./job_memory.ts";

/** Pause between attempts to send on an interface that is down, milliseconds. */
const DOWN_MS = 100;

/** What a job reports, apart from the number of datagrams that were tried. */
export interface JobReport extends SendReport {
  /** A position of the block was left out, because its target may have to be skipped. */
  leave(offset: number): void;
  /** The next positions of the block were visited. */
  visit(count: number): void;
  /** Whether the rest of a block is not to be sent. */
  isCancelled(): boolean;
}

/** Runs a job, reports unsent datagrams, and returns the number of tried ones. */
export type SendJobHandler = (job: ArrivedTargets | ArrivedBlock, report: JobReport) => number;

/** The worker's side of the queue. */
export class JobServer {
  readonly #words: Int32Array;
  /** Number of completed jobs. */
  #done = 0;
  /** Counts of the running job. */
  #refused = 0;
  #errno = 0;
  #left = 0;
  #visited = 0;
  readonly #report: JobReport = {
    refuse: (errno) => {
      this.#refused++;
      this.#count(REFUSAL_COUNTERS, errno);
    },
    wait: (errno) => {
      this.#count(WAITS, errno);
      Atomics.notify(this.#words, AT.completed);
      Atomics.wait(this.#words, AT.cancelled, 0, DOWN_MS);
      return Atomics.load(this.#words, AT.cancelled) === 0;
    },
    fail: (errno) => {
      this.#errno = errno;
    },
    leave: (offset) => {
      this.#words[jobTargetsAt(this.#done) + this.#left++] = offset;
    },
    visit: (count) => {
      this.#visited += count;
    },
    isCancelled: () => Atomics.load(this.#words, AT.cancelled) !== 0,
  };

  /** @param memory The memory of the {@linkcode SharedJobQueue}. */
  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
  }

  #count(counters: number, errno: number): void {
    Atomics.add(this.#words, counters + Math.min(errno, ERRNOS - 1), 1);
    Atomics.store(this.#words, counters, 1);
  }

  /**
   * Runs jobs, and blocks its thread.
   *
   * @returns Why it stopped: the thread has to receive a message, or to end.
   */
  serve(work: SendJobHandler): "message" | "end" {
    const words = this.#words;
    for (;;) {
      if (Atomics.load(words, AT.submitted) === this.#done) {
        // A job that is submitted after this line finds the flag set. For a job that was submitted
        // before it, wait() returns at once.
        Atomics.store(words, AT.workerSleeps, 1);
        Atomics.wait(words, AT.submitted, this.#done);
        Atomics.store(words, AT.workerSleeps, 0);
        continue;
      }
      const kind = words[jobAt(this.#done) + WORD.kind];
      if (kind === KIND.end) return "end";
      if (kind !== KIND.message) this.#run(work);
      this.#done = this.#done + 1 | 0;
      Atomics.store(words, AT.completed, this.#done);
      if ((this.#done - Atomics.load(words, AT.wakeAt) | 0) >= 0) {
        Atomics.notify(words, AT.completed);
      }
      if (kind === KIND.message) return "message";
    }
  }

  #run(work: SendJobHandler): void {
    const words = this.#words;
    const start = jobAt(this.#done);
    this.#refused =
      this.#errno =
      this.#left =
      this.#visited =
        0;
    const tried = work(this.#job(this.#done), this.#report);
    words[start + WORD.taken] = tried - this.#refused;
    words[start + WORD.refused] = this.#refused;
    words[start + WORD.errno] = this.#errno;
    words[start + WORD.left] = this.#left;
    words[start + WORD.visited] = this.#visited;
  }

  #job(number: number): ArrivedTargets | ArrivedBlock {
    const words = this.#words;
    const start = jobAt(number);
    const since = microseconds() + words[AT.ahead] - words[start + WORD.submittedAt] | 0;
    const waited = Math.max(0, since);
    const count = words[start + WORD.count];
    if (words[start + WORD.kind] === KIND.block) {
      const from = words[start + WORD.fromHigh] * 2 ** 32 + (words[start + WORD.fromLow] >>> 0);
      return { kind: "block", from, count, stamp: words[start + WORD.stamp], waited };
    }
    return {
      kind: "targets",
      socket: words[start + WORD.socket],
      method: SEND_METHODS[words[start + WORD.method]],
      template: words[start + WORD.template],
      count,
      port: words[start + WORD.port],
      at: jobTargetsAt(number),
      waited,
    };
  }
}
