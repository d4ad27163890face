/**
 * A bounded number of interviews at once. Those of one address run a few at a time, because each may
 * wait for replies that come late or never: those with unproved endpoints in one lane, those with
 * proved endpoints in another. The first interview with a proved endpoint runs alone in its lane: an
 * opt-out that it finds holds for the whole address.
 *
 * @module
 */
import type { Address } from "../core/address.ts";

/** Endpoints of one lane that are interviewed at once, at most. */
const MOST_AT_ONCE = 16;

/**
 * How many endpoints of one lane are interviewed at once: no more than the datagrams that a host may be
 * sent in a second, so that each interview sends one a second.
 */
export function interviewsAtOnce(hostRate: number | undefined): number {
  return Math.max(1, Math.min(MOST_AT_ONCE, hostRate ?? MOST_AT_ONCE));
}

/** Interviews of one address, either those of proved endpoints or the others. */
interface Lane {
  /** How many run or could start. */
  active: number;
  /** How many may. */
  most: number;
  readonly behind: TaskQueue;
}

type Task = () => Promise<void>;

/** A queue of tasks: a linked list, because `Array.shift()` moves all tasks of a long array. */
class TaskQueue {
  #first: QueuedTask | undefined;
  #last: QueuedTask | undefined;

  /** Adds a task behind the others. */
  add(task: Task): void {
    const added: QueuedTask = { task, next: undefined };
    if (this.#last === undefined) this.#first = added;
    else this.#last.next = added;
    this.#last = added;
  }

  /** Removes the first task; `undefined`: there is none. */
  take(): Task | undefined {
    const taken = this.#first;
    this.#first = taken?.next;
    if (this.#first === undefined) this.#last = undefined;
    return taken?.task;
  }
}

interface QueuedTask {
  readonly task: Task;
  next: QueuedTask | undefined;
}

/** Runs tasks. */
export class InspectionPool {
  readonly #concurrency: number;
  /** Tasks that could start, in order. */
  readonly #ready = new TaskQueue();
  readonly #proved = new Map<Address, Lane>();
  readonly #unproved = new Map<Address, Lane>();
  #running = 0;
  #waiting = 0;
  readonly #idle: (() => void)[] = [];

  /**
   * Starts empty.
   *
   * @param concurrency How many run at once.
   * @param onError Called with what a task throws. What it throws itself is an unhandled rejection.
   * @param atOnce How many run at once in a lane.
   */
  constructor(
    concurrency: number,
    private readonly onError: (error: Error) => void,
    private readonly atOnce = 1,
  ) {
    this.#concurrency = concurrency;
  }

  /** Tasks that have not ended, and so hold memory. */
  get load(): number {
    return this.#running + this.#waiting;
  }

  /** Runs a task as soon as there is capacity, also for its address. */
  add(address: Address, run: Task, isProved = true): void {
    this.#waiting++;
    const lanes = isProved ? this.#proved : this.#unproved;
    const lane = lanes.get(address) ??
      { active: 0, most: isProved ? 1 : this.atOnce, behind: new TaskQueue() };
    lanes.set(address, lane);
    const startable = () => this.#run(run, () => this.#leave(lanes, address));
    if (lane.active >= lane.most) {
      lane.behind.add(startable);
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

  async #run(run: Task, leave: () => void): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.onError(error as Error);
    } finally {
      this.#running--;
      leave();
      this.#start();
      if (this.load === 0) this.#idle.splice(0).forEach((resolve) => resolve());
    }
  }

  /**
   * Ends a task of a lane. Its first one lets as many others start as the lane may have; a lane
   * without tasks is forgotten.
   */
  #leave(lanes: Map<Address, Lane>, address: Address): void {
    const lane = lanes.get(address)!;
    lane.active--;
    lane.most = this.atOnce;
    while (lane.active < lane.most) {
      const task = lane.behind.take();
      if (task === undefined) break;
      lane.active++;
      this.#ready.add(task);
    }
    if (lane.active === 0) lanes.delete(address);
  }
}
