/**
 * The discovery of a crawl: adaptive scans, one round after the other. Each pass of a round waits for
 * its part of the budget.
 *
 * @module
 */
import type { RecentYield } from "../../discovery/mod.ts";
import type { Clock } from "../../net/clock.ts";

/** Minimum time between the starts of two rounds, milliseconds: a round begins with all known servers. */
const MIN_ROUND_MS = 3_600_000;

/** A pass of a round that is to be planned. */
export interface RoundPass {
  /** Number of probes that it would have. */
  readonly probes: number;
  /** Number of probes of the passes before it. */
  readonly spent: number;
  /** Number of new servers that they found. */
  readonly found: number;
  /** Number of known servers, with which the round begins. */
  readonly known: number;
  /** Whether any server has replied in the round. */
  readonly hasReplies: boolean;
}

/** Options of {@linkcode DiscoveryRounds}. */
export interface DiscoveryRoundsOptions {
  /**
   * Runs a round to its end.
   *
   * @param beforePass Has to be awaited before each pass; returns its maximum number of probes.
   */
  readonly run: (beforePass: (pass: RoundPass) => Promise<number>) => Promise<void>;
  /**
   * Gets what the passes found. Those that probe known servers do not count, and neither do those after
   * which no known server has replied: the own network is probably down.
   */
  readonly recentYield: RecentYield;
  /** A pass has at least this number of probes, if it would have more. */
  readonly minProbes: number;
  /** Called when a pass has ended. */
  readonly onPass: () => Promise<void>;
  /** Receives why a round failed. */
  readonly report: (line: string) => void;
  readonly clock: Clock;
  /** Ends the passes that wait. */
  readonly signal: AbortSignal;
}

/** A pass that waits for its probes. */
interface WaitingPass {
  readonly pass: RoundPass;
  readonly begin: (probes: number) => void;
}

export class DiscoveryRounds {
  /** What all rounds have done. */
  readonly counts = { probes: 0, found: 0 };
  #startedAt = -Infinity;
  #round: Promise<void> | undefined;
  /** The pass that waits; `undefined` after it: the round has ended. */
  #next = Promise.withResolvers<WaitingPass | undefined>();

  constructor(private readonly options: DiscoveryRoundsOptions) {}

  /**
   * Runs the next pass, if a number of probes is enough for it. Does not reject.
   *
   * @returns Number of probes that it had.
   */
  async discover(probes: number): Promise<number> {
    const { minProbes, recentYield, onPass, clock } = this.options;
    if (this.#round === undefined) {
      if (clock.now() - this.#startedAt < MIN_ROUND_MS) return 0;
      this.#start();
    }
    const waiting = await this.#next.promise;
    if (waiting === undefined || probes < Math.min(minProbes, waiting.pass.probes)) return 0;
    this.#next = Promise.withResolvers();
    const { pass: before, begin } = waiting;
    begin(probes);
    const after = (await this.#next.promise)?.pass;
    if (after === undefined) return 0; // the round ended without a further pass
    const [used, found] = [after.spent - before.spent, after.found - before.found];
    this.counts.probes += used;
    this.counts.found += found;
    const isSample = before.spent >= before.known && (before.known === 0 || after.hasReplies);
    if (isSample && used > 0) recentYield.add(used, found);
    await onPass();
    return used;
  }

  /** Waits for the end of the round. The signal ends it. */
  async end(): Promise<void> {
    await this.#round;
  }

  #start(): void {
    const { run, clock, report, signal } = this.options;
    this.#startedAt = clock.now();
    this.#next = Promise.withResolvers();
    const beforePass = (pass: RoundPass) =>
      new Promise<number>((begin) => {
        signal.addEventListener("abort", () => begin(1), { once: true });
        if (signal.aborted) begin(1);
        this.#next.resolve({ pass, begin });
      });
    this.#round = run(beforePass)
      .catch((error) => report(`discovery failed: ${(error as Error).message}`))
      .finally(() => {
        this.#round = undefined;
        this.#next.resolve(undefined);
      });
  }
}
