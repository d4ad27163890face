/**
 * The share of a campaign's rate that a worker may send.
 *
 * @module
 */
import type { Clock } from "../../net/clock.ts";
import type { Throttle } from "../../net/mod.ts";
import { type ScanLimits, throttleOf } from "../../scan/mod.ts";

/**
 * One throttle for all parts of a campaign that a worker scans. Its rate is the campaign's rate,
 * divided by the maximum number of running parts, for each part. A part that sends nothing, because
 * it waits for late replies, leaves its share to the others.
 */
export class Budget {
  /** The rate limit, and the caps of the campaign. */
  readonly throttle: Throttle;
  readonly #share: number | undefined;
  #held = 0;

  /**
   * Begins without parts.
   *
   * @param rate Packets per second of the whole campaign; `null`: no limit.
   * @param maxRunning Maximum number of parts that all workers scan at the same time.
   */
  constructor(
    limits: Pick<ScanLimits, "rates" | "capLoopback">,
    rate: number | null,
    maxRunning: number,
    private readonly clock: Pick<Clock, "now">,
  ) {
    this.#share = rate === null ? undefined : rate / maxRunning;
    this.throttle = throttleOf({ ...limits, rates: { ...limits.rates, rate: this.#share } });
  }

  /** Adds the share of a part, until the result is disposed of. */
  hold(): Disposable {
    this.#change(1);
    return { [Symbol.dispose]: () => this.#change(-1) };
  }

  #change(by: number): void {
    this.#held += by;
    if (this.#share === undefined || this.#held === 0) return;
    this.throttle.setRate(this.#share * this.#held, this.clock.now());
  }
}
