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
  readonly behind: (() => Promise<void>)[];
}

/** Runs tasks. */
export class InspectionPool {
  readonly #concurrency: number;
  /** Tasks that could start, in order. */
  readonly #ready: (() => Promise<void>)[] = [];
  #next = 0;
  readonly #proved = new Map<Address, Lane>();
  readonly #unproved = new Map<Address, Lane>();
  #running = 0;
  #waiting = 0;
  readonly #idle: (() => void)[] = [];

  /**
   * Starts empty.
   *
   * @param concurrency How many run at once.
   * @param onError Called with what a task throws.
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
  add(address: Address, run: () => Promise<void>, isProved = true): void {
    this.#waiting++;
    const lanes = isProved ? this.#proved : this.#unproved;
    const lane = lanes.get(address) ??
      { active: 0, most: isProved ? 1 : this.atOnce, behind: [] };
    lanes.set(address, lane);
    const startable = () => this.#run(run, () => this.#leave(lanes, address));
    if (lane.active >= lane.most) {
      lane.behind.push(startable);
      return;
    }
    lane.active++;
    this.#ready.push(startable);
    this.#start();
  }

  /** Waits until all tasks have ended. */
  async idle(): Promise<void> {
    if (this.load > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #start(): void {
    while (this.#running < this.#concurrency && this.#next < this.#ready.length) {
      const run = this.#ready[this.#next++];
      if (this.#next > 1024 && this.#next * 2 > this.#ready.length) {
        this.#ready.splice(0, this.#next);
        this.#next = 0;
      }
      this.#waiting--;
      this.#running++;
      void run();
    }
  }

  async #run(run: () => Promise<void>, leave: () => void): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.onError(error as Error);
    }
    this.#running--;
    leave();
    this.#start();
    if (this.load === 0) this.#idle.splice(0).forEach((resolve) => resolve());
  }

  /**
   * Ends a task of a lane. Its first one lets as many others start as the lane may have; a lane
   * without tasks is forgotten.
   */
  #leave(lanes: Map<Address, Lane>, address: Address): void {
    const lane = lanes.get(address)!;
    lane.active--;
    lane.most = this.atOnce;
    while (lane.active < lane.most && lane.behind.length > 0) {
      lane.active++;
      this.#ready.push(lane.behind.shift()!);
    }
    if (lane.active === 0) lanes.delete(address);
  }
}
