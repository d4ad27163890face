/**
 * So many inspections at once, and never two of one address.
 *
 * @module
 */
import type { Address } from "../core/address.ts";

/** Runs tasks. */
export class InspectionPool {
  readonly #concurrency: number;
  /** Tasks that could start, in order. */
  readonly #ready: { address: Address; run: () => Promise<void> }[] = [];
  #next = 0;
  /** Tasks that wait for another of their address, which is running or ready. */
  readonly #behind = new Map<Address, (() => Promise<void>)[]>();
  #running = 0;
  #waiting = 0;
  readonly #idle: (() => void)[] = [];

  /**
   * Starts empty.
   *
   * @param concurrency How many run at once.
   * @param onError Told what a task throws.
   */
  constructor(concurrency: number, private readonly onError: (error: Error) => void) {
    this.#concurrency = concurrency;
  }

  /** Tasks that have not ended, and so hold memory. */
  get load(): number {
    return this.#running + this.#waiting;
  }

  /** Runs a task as soon as there is room and no other of its address is running. */
  add(address: Address, run: () => Promise<void>): void {
    this.#waiting++;
    const behind = this.#behind.get(address);
    if (behind !== undefined) {
      behind.push(run);
      return;
    }
    this.#behind.set(address, []);
    this.#ready.push({ address, run });
    this.#start();
  }

  /** Waits until all tasks have ended. */
  async idle(): Promise<void> {
    if (this.load > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #start(): void {
    while (this.#running < this.#concurrency && this.#next < this.#ready.length) {
      const { address, run } = this.#ready[this.#next++];
      if (this.#next > 1024 && this.#next * 2 > this.#ready.length) {
        this.#ready.splice(0, this.#next);
        this.#next = 0;
      }
      this.#waiting--;
      this.#running++;
      void this.#run(address, run);
    }
  }

  async #run(address: Address, run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.onError(error as Error);
    }
    this.#running--;
    const behind = this.#behind.get(address)!;
    const next = behind.shift();
    if (next === undefined) this.#behind.delete(address);
    else this.#ready.push({ address, run: next });
    this.#start();
    if (this.load === 0) this.#idle.splice(0).forEach((resolve) => resolve());
  }
}
