/**
 * The entry of a worker, which it writes every ten seconds. The server's stamp of the entry shows
 * how wrong the clock of this machine is.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { roughDuration } from "../../core/quantities.ts";
import { type Clock, sleep } from "../../net/clock.ts";
import { LEASE_BUCKET, workerKey } from "../names.ts";
import type { KV } from "../nats/client_types.ts";
import type { Broker } from "../nats/connection.ts";
import { brokerError } from "../nats/errors.ts";

/** Interval of the entries, milliseconds. */
const EVERY_MS = 10_000;
/** The smallest difference of clocks with which a worker refuses to work, milliseconds. */
const MAX_OFFSET_MS = 5000;

/** What a worker tells about itself. */
export interface WorkerFacts {
  /** Number of parts that it scans at the same time. */
  readonly slots: number;
  /** The engine that was chosen; `undefined`: the fastest that runs without a privilege. */
  readonly engine: string | undefined;
  /** The version of the program. */
  readonly program: string;
  /** The name of the machine, if the program may know it. */
  readonly host?: string;
  /** Where it scans from. Default: the vantage of workers that name none. */
  readonly vantage?: string;
}

/** Options of {@linkcode WorkerBeat}. */
export interface WorkerBeatOptions {
  readonly worker: string;
  readonly facts: WorkerFacts;
  readonly clock: Clock;
  /** Receives a line when the clock becomes wrong, or right again. */
  readonly report: (line: string) => void;
}

/** Writes the entry of a worker until it is disposed of, and then removes the entry. */
export class WorkerBeat implements AsyncDisposable {
  readonly #end = new AbortController();
  readonly #running: Promise<void>;
  #offsetMs: number;

  private constructor(
    private readonly bucket: KV,
    private readonly options: WorkerBeatOptions,
    offsetMs: number,
  ) {
    this.#offsetMs = offsetMs;
    this.#running = this.#run();
  }

  /**
   * Writes the first entry.
   *
   * @throws InputError when the clock of this machine is wrong, or the server does not reply.
   */
  static async start(
    broker: Pick<Broker, "bucket" | "urls">,
    options: WorkerBeatOptions,
  ): Promise<WorkerBeat> {
    try {
      const bucket = await broker.bucket(LEASE_BUCKET);
      const offsetMs = await writeEntry(bucket, options, 0);
      if (!isRight(offsetMs)) throw new InputError(`Cannot work: ${clockText(offsetMs)}`);
      return new WorkerBeat(bucket, options, offsetMs);
    } catch (error) {
      throw brokerError(error, broker.urls);
    }
  }

  /** Whether the clock was right when it was compared last. */
  get hasRightClock(): boolean {
    return isRight(this.#offsetMs);
  }

  async #run(): Promise<void> {
    const { clock, report } = this.options;
    const { signal } = this.#end;
    for (;;) {
      await sleep(clock, EVERY_MS, signal);
      if (signal.aborted) return;
      const wasRight = this.hasRightClock;
      try {
        this.#offsetMs = await writeEntry(this.bucket, this.options, this.#offsetMs);
      } catch {
        continue; // without the server, the fences of all parts close
      }
      if (this.hasRightClock === wasRight) continue;
      report(
        wasRight
          ? `blocksweep: takes no further parts: ${clockText(this.#offsetMs)}`
          : "blocksweep: takes parts again: the clock is right",
      );
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await this.#running;
    // An entry that stays is removed after 30 days, and its age is shown.
    await this.bucket.delete(workerKey(this.options.worker)).catch(() => {});
  }
}

/** Writes the entry, and compares the clocks. Returns how far this machine's clock is ahead, milliseconds. */
async function writeEntry(
  bucket: KV,
  { worker, facts, clock }: WorkerBeatOptions,
  clockOffsetMs: number,
): Promise<number> {
  const key = workerKey(worker);
  const before = clock.wall();
  const value = { ...facts, at: before, clockOffsetMs: Math.round(clockOffsetMs) };
  await bucket.put(key, JSON.stringify(value));
  const after = clock.wall();
  const entry = await bucket.get(key);
  if (entry === null) throw new Error("the entry of the worker was removed");
  const stamp = entry.created.getTime();
  // The server stored the entry between the two readings of this machine's clock.
  return stamp < before ? before - stamp : stamp > after ? after - stamp : 0;
}

function isRight(offsetMs: number): boolean {
  return Math.abs(offsetMs) < MAX_OFFSET_MS;
}

function clockText(offsetMs: number): string {
  const side = offsetMs > 0 ? "ahead of" : "behind";
  return `the clock of this machine is ${
    roughDuration(Math.abs(offsetMs))
  } ${side} that of NATS; ` +
    "set the clock, for example with NTP";
}
