/**
 * Puts known servers that no pass visits into the queue of sightings. They are interviewed like
 * sighted servers.
 *
 * @module
 */
import { endpointKey } from "../../core/address.ts";
import { sleep } from "../../net/clock.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";
import type { ScanTables } from "../tables/scan_tables.ts";
import { targeted } from "../plan/known_server_plan.ts";
import type { SightingQueue } from "./sighting_queue.ts";

/** Pause while the queue is full, milliseconds. */
const PAUSE_MS = 10;

/** The stage that puts known servers without a pass into the queue. */
export class KnownServerStage {
  /** Number of interviews that have not ended, and whether some have not begun. */
  #pending = 0;
  #hasMore = false;

  /** Creates the stage; `run()` starts its interviews. */
  constructor(
    private readonly options: ScanSetup,
    private readonly tables: Pick<ScanTables, "known" | "stop">,
    private readonly sightings: SightingQueue,
  ) {}

  /** Whether the interviews of some known servers have not ended. */
  get hasUnfinished(): boolean {
    return this.#hasMore || this.#pending > 0;
  }

  /** Puts the servers into the queue, and waits while the queue is full. */
  async run(): Promise<void> {
    const { io: { clock }, targets: { known = [], responders } } = this.options;
    const { stop: { sweepSignal: signal }, known: plans } = this.tables;
    if (known.length === 0) return;
    const isTarget = targeted(this.options);
    const done = new Set([...responders].map(endpointKey));
    for (const server of known) {
      const { endpoint } = server;
      const plan = plans.planOf(endpoint)!;
      if (!plan.interviewed || done.has(endpointKey(endpoint)) || !isTarget(server)) continue;
      while (this.sightings.isFull && !signal.aborted) await sleep(clock, PAUSE_MS, signal);
      this.#hasMore = signal.aborted;
      if (signal.aborted) return;
      this.#pending++;
      this.sightings.add({ endpoint, plan, onFinished: () => void this.#pending-- });
    }
  }
}
