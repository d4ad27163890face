/**
 * Runs a bounded number of interviews at once, and only a few with endpoints of one address,
 * because each interview may wait for late or missing replies. Each address has two lanes, which limit
 * its parallel interviews: one for proved endpoints, and one for unproved endpoints. The first interview with a proved
 * endpoint runs alone in its lane, because an opt-out in its replies applies to the whole address.
 *
 * @module
 */
import type { Address } from "../core/address.ts";

/** Maximum number of concurrent interviews of one lane. */
const MAX_AT_ONCE = 16;

/**
 * The number of concurrent interviews of one lane: at most the cap of datagrams per second to a
 * host. Each interview can then send one datagram per second.
 */
export function interviewsAtOnce(hostRate: number | undefined): number {
  return Math.max(1, Math.min(MAX_AT_ONCE, hostRate ?? MAX_AT_ONCE));
}

/** The limit of parallel interviews of one address with proved endpoints, or with unproved ones. */
interface Lane {
  /** Number of tasks that run or are ready to start. */
  active: number;
  /** Maximum number of running tasks of the lane. */
  limit: number;
  readonly waiting: TaskQueue;
}

export type PoolTask = () => Promise<void>;

/** A queue of tasks: a linked list, because `Array.shift()` moves all tasks of a long array. */
class TaskQueue {
  #first: QueuedTask | undefined;
  #last: QueuedTask | undefined;

  /** Adds a task at the end. */
  add(task: PoolTask): void {
    const added: QueuedTask = { task, next: undefined };
    if (this.#last === undefined) this.#first = added;
    else this.#last.next = added;
    this.#last = added;
  }

  /** Removes and returns the first task; `undefined` when the queue is empty. */
  take(): PoolTask | undefined {
    const taken = this.#first;
    this.#first = taken?.next;
    if (this.#first === undefined) this.#last = undefined;
    return taken?.task;
  }
}

interface QueuedTask {
  readonly task: PoolTask;
  next: QueuedTask | undefined;
}

/** Runs a limited number of tasks at once, in all and per address. */
export class InspectionPool {
  readonly #concurrency: number;
  /** Tasks that are ready to start, in order. */
  readonly #ready = new TaskQueue();
  readonly #proved = new Map<Address, Lane>();
  readonly #unproved = new Map<Address, Lane>();
  #running = 0;
  #waiting = 0;
  readonly #idle: (() => void)[] = [];

  /**
   * Creates a pool without tasks.
   *
   * @param concurrency Maximum number of running tasks.
   * @param onError Called with the error of a task. Errors that `onError` throws are unhandled
   * rejections.
   * @param atOnce Maximum number of running tasks of a lane.
   */
  constructor(
    concurrency: number,
    private readonly onError: (error: Error) => void,
    private readonly atOnce = 1,
  ) {
    this.#concurrency = concurrency;
  }

  /** Number of tasks that have not ended. */
  get load(): number {
    return this.#running + this.#waiting;
  }

  /** Runs a task as soon as the pool and the lane of its address have capacity. */
  add(address: Address, run: () => Promise<void>, isProved = true): void {
    this.#waiting++;
    const lanes = isProved ? this.#proved : this.#unproved;
    const lane = lanes.get(address) ??
      { active: 0, limit: isProved ? 1 : this.atOnce, waiting: new TaskQueue() };
    lanes.set(address, lane);
    const startable = () => this.#run(run, () => this.#endTask(lanes, address));
    if (lane.active >= lane.limit) {
      lane.waiting.add(startable);
      return;
    }
    lane.active++;
    this.#ready.add(startable);
    this.#start();
  }

  /** Waits until all tasks have ended. */
  async idle(): Promise<void> {
    if (this.load > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #start(): void {
    while (this.#running < this.#concurrency) {
      const run = this.#ready.take();
      if (run === undefined) return;
      this.#waiting--;
      this.#running++;
      void run();
    }
  }

  async #run(run: PoolTask, endTask: () => void): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.onError(error as Error);
    } finally {
      this.#running--;
      endTask();
      this.#start();
      if (this.load === 0) this.#idle.splice(0).forEach((resolve) => resolve());
    }
  }

  /**
   * Records that a task of a lane has ended, and makes waiting tasks ready. After its first task, a
   * lane may run `atOnce` tasks. A lane without tasks is removed.
   */
  #endTask(lanes: Map<Address, Lane>, address: Address): void {
    const lane = lanes.get(address)!;
    lane.active--;
    lane.limit = this.atOnce;
    while (lane.active < lane.limit) {
      const task = lane.waiting.take();
      if (task === undefined) break;
      lane.active++;
      this.#ready.add(task);
    }
    if (lane.active === 0) lanes.delete(address);
  }
}
