/** Runs inputs through a subject, measures each, and makes a crashing input shorter. */
import process from "node:process";
import { Random } from "../../src/fleet/random.ts";
import { Mutator } from "./mutator.ts";
import type { Subject, Verdict } from "./subject.ts";

/** Maximum CPU time for one input of up to 64 KiB, milliseconds. */
export const MAX_MS = 100;
/** Maximum growth of memory by one input, bytes. */
export const MAX_BYTES = 64 << 20;
/** The memory is measured after one of this many inputs, because measuring takes 6 µs. */
const MEASURED = 128;
/** Inputs with this time are measured again, and their memory too. */
const SLOW_MS = 1;
/** Maximum number of crashes of one subject that are minimised. */
const MAX_CRASHES = 20;
/** Maximum number of attempts to make an input shorter. */
const MAX_ATTEMPTS = 3000;

/** An input that breaks a rule. */
export interface Crash {
  readonly subject: Subject;
  /** The name and the first line of the error, and where it was thrown. */
  readonly error: string;
  readonly bytes: Uint8Array;
}

/** What happened to the inputs of a subject. */
export interface Tally {
  inputs: number;
  accepted: number;
  refused: number;
  crashes: number;
  worstMs: number;
  worstBytes: number;
}

/** The error of an input that takes too long or too much memory. */
class Excess extends Error {
  override readonly name = "Excess";
}

/** Feeds one subject with inputs. Equal seeds give equal inputs. */
export class Hammer {
  readonly tally: Tally = {
    ...{ inputs: 0, accepted: 0, refused: 0, crashes: 0, worstMs: 0, worstBytes: 0 },
  };
  /** One crash of each kind. */
  readonly crashes: Crash[] = [];
  readonly #mutator: Mutator;
  readonly #verdicts = new Set<Verdict>();
  readonly #errors = new Set<string>();

  constructor(readonly subject: Subject, seed: number) {
    const salt = [...subject.name].reduce((sum, one) => Math.imul(sum, 31) + one.charCodeAt(0), 7);
    this.#mutator = new Mutator(subject.seeds, new Random(seed ^ salt));
  }

  /** Kinds of verdicts so far. */
  get verdicts(): ReadonlySet<Verdict> {
    return this.#verdicts;
  }

  /** Runs some inputs. */
  async run(count: number): Promise<void> {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0; // most inputs are refused with an error, and stacks take time
    for (let i = 0; i < count; i++) {
      const tested = this.#test(this.#mutator.next());
      if (tested !== undefined) await tested;
    }
    Error.stackTraceLimit = stackTraceLimit;
  }

  /** Runs inputs for some milliseconds. */
  async runFor(ms: number, most = Infinity): Promise<void> {
    const { tally } = this;
    const [end, last] = [performance.now() + ms, tally.inputs + most];
    while (performance.now() < end && tally.inputs < last) {
      await this.run(Math.min(64, last - tally.inputs));
    }
  }

  /** Tests an input. Returns a promise only if the subject does, or after a crash. */
  #test(bytes: Uint8Array<ArrayBuffer>): Promise<void> | undefined {
    const isMeasured = ++this.tally.inputs % MEASURED === 0;
    const before = isMeasured ? memory() : 0;
    const start = performance.now();
    const finish = (verdict: Verdict) => {
      const ms = performance.now() - start;
      if (isMeasured) this.#weigh(memory() - before);
      if (verdict[0] === "+") this.tally.accepted++;
      else this.tally.refused++;
      this.#note(verdict, bytes);
      return ms > this.tally.worstMs ? this.#time(bytes, ms) : undefined;
    };
    try {
      const verdict = this.subject.check(bytes);
      const finished = typeof verdict === "string" ? finish(verdict) : verdict.then(finish);
      return finished?.catch(() => this.#crashed(bytes));
    } catch {
      return this.#crashed(bytes);
    }
  }

  #note(verdict: Verdict, bytes: Uint8Array): void {
    if (this.#verdicts.size > 5000 || this.#verdicts.has(verdict)) return;
    this.#verdicts.add(verdict);
    this.#mutator.keep(bytes);
  }

  #weigh(bytes: number): void {
    this.tally.worstBytes = Math.max(this.tally.worstBytes, bytes);
    if (bytes > MAX_BYTES) throw new Excess(`${bytes} bytes of memory`);
  }

  /**
   * Measures a slow input again: other programs, and the compiler, take time too. What still takes too
   * long is judged by the CPU time of this thread, because other tests run on other threads. The
   * system counts that in steps of 10 ms.
   */
  async #time(bytes: Uint8Array<ArrayBuffer>, first: number): Promise<void> {
    let least = first;
    for (let i = 0; i < 3 && first > SLOW_MS; i++) {
      const before = memory();
      const [start, used] = [performance.now(), process.threadCpuUsage()];
      await this.subject.check(bytes);
      const ms = performance.now() - start;
      const { user, system } = process.threadCpuUsage(used);
      least = Math.min(least, ms > MAX_MS ? (user + system) / 1000 : ms);
      this.#weigh(memory() - before);
    }
    this.tally.worstMs = Math.max(this.tally.worstMs, least);
    if (least > MAX_MS) throw new Excess(`${Math.round(least)} ms`);
  }

  /** Runs a crashing input once more, with the stack of its error. */
  async #crashed(input: Uint8Array<ArrayBuffer>): Promise<void> {
    const { subject, tally } = this;
    tally.crashes++;
    if (this.#errors.size >= MAX_CRASHES) return;
    Error.stackTraceLimit = 20;
    const bytes = input.slice();
    const error = await crashOf(subject, bytes.slice()) ?? new Excess("of time or memory");
    if (!this.#errors.has(kindOf(error))) {
      this.#errors.add(kindOf(error));
      const shortest = error instanceof Excess
        ? bytes
        : await minimised(subject, bytes, kindOf(error));
      this.crashes.push({ subject, error: shown(error), bytes: shortest });
    }
    Error.stackTraceLimit = 0;
  }
}

/** The error of a crash; `undefined`: the input does not crash. */
async function crashOf(
  subject: Subject,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Error | undefined> {
  try {
    await subject.check(bytes);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Memory in use, bytes. */
function memory(): number {
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}

/** Crashes of one kind have one cause, probably. */
function kindOf({ name, message, stack = "" }: Error): string {
  const [place = ""] = /(?:src|tests)\/[\w/]+\.ts:\d+/.exec(stack) ?? [];
  return `${name} ${place} ${message.slice(0, 60).replace(/"[^"]*"?|\d+/g, "")}`;
}

function shown({ name, message, stack = "" }: Error): string {
  const [place = ""] = /src\/[\w/]+\.ts:\d+/.exec(stack) ?? [];
  return `${name}: ${message.slice(0, 300)} ${place}`;
}

/** Removes and simplifies bytes as long as the input crashes in the same way. */
async function minimised(subject: Subject, bytes: Uint8Array, kind: string): Promise<Uint8Array> {
  let [best, attempts] = [bytes, 0];
  const crashes = async (candidate: Uint8Array<ArrayBuffer>): Promise<boolean> => {
    attempts++;
    const error = await crashOf(subject, candidate.slice());
    return error !== undefined && kindOf(error) === kind;
  };
  for (let size = best.length >> 1; size > 0; size >>= 1) {
    for (let at = 0; at < best.length && attempts < MAX_ATTEMPTS;) {
      const shorter = Uint8Array.from([...best.subarray(0, at), ...best.subarray(at + size)]);
      if (await crashes(shorter)) best = shorter;
      else at += size;
    }
  }
  return best;
}
