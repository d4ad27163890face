/**
 * Counts the servers that the first and the second pass of their protocol found. The servers that only
 * the second pass found show how many replies were lost in the first one.
 *
 * @module
 */
import type { CanaryCounts } from "./loss_estimate.ts";

/** The passes of a protocol, and the servers that they found. */
interface ProtocolPasses {
  /** When each pass began, milliseconds of the clock. */
  readonly begun: number[];
  /** Number of servers that the first and the second pass found. */
  readonly found: [first: number, second: number];
  /** Whether both passes are over. */
  isCounted: boolean;
}

/**
 * Counts the servers of protocols whose first two passes ran from start to end: the numbers of others
 * would make the loss too low or too high.
 */
export class PassTally {
  readonly #protocols = new Map<string, ProtocolPasses>();
  #running: string | undefined;

  /** @param counts The counters to increment. */
  constructor(private readonly counts: CanaryCounts) {}

  /**
   * Begins a pass of a protocol, and ends the pass before it.
   *
   * @param at The time, milliseconds of the clock.
   * @param isFirst Whether the pass is the first one of its protocol, from its start.
   */
  begin(protocol: string, at: number, isFirst: boolean): void {
    this.end();
    this.#running = protocol;
    if (isFirst) this.#protocols.set(protocol, { begun: [], found: [0, 0], isCounted: false });
    this.#protocols.get(protocol)?.begun.push(at);
  }

  /** Ends the running pass at its last position. */
  end(): void {
    const passes = this.#protocols.get(this.#running ?? "");
    this.#running = undefined;
    if (passes === undefined || passes.begun.length < 2 || passes.isCounted) return;
    passes.isCounted = true;
    this.counts.firstFound += passes.found[0];
    this.counts.secondFound += passes.found[1];
  }

  /** Leaves out all passes so far: parts of them are repeated. */
  forget(): void {
    this.#protocols.clear();
  }

  /**
   * Counts a server. Its first reply may arrive during a later pass than the one whose probe it answers.
   *
   * @param at When the probe of its first reply was sent, milliseconds of the clock.
   */
  add(protocol: string, at: number): void {
    const passes = this.#protocols.get(protocol);
    if (passes === undefined) return;
    const [, second = Infinity, third = Infinity] = passes.begun;
    if (at >= third) return;
    passes.found[at < second ? 0 : 1]++;
    if (!passes.isCounted) return;
    if (at < second) this.counts.firstFound++;
    else this.counts.secondFound++;
  }
}
