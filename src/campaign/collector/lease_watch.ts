/**
 * Follows the leases of all campaigns: which parts run where, and how far they are.
 *
 * @module
 */
import { type Clock, sleep } from "../../net/clock.ts";
import type { PartUpdate } from "../../store/mod.ts";
import { readEntry } from "../entries.ts";
import { type LeaseValue, parseLeaseValue } from "../lease_value.ts";
import { LEASE_BUCKET, parseLeaseKey } from "../names.ts";
import type { KvEntry, Received } from "../nats/client_types.ts";
import type { Broker } from "../nats/connection.ts";
import { partNumbers } from "./result_batch.ts";

/** Pause before the leases are followed again, milliseconds. */
const PAUSE_MS = 1000;

/** A lease of a part that has not ended, and when this program received it. */
interface SeenLease {
  readonly value: LeaseValue;
  readonly receivedAt: number;
}

/** Follows the leases until it is disposed of. */
export class LeaseWatch implements AsyncDisposable {
  readonly #end = new AbortController();
  /** The leases of parts that have not ended, by campaign and part. */
  readonly #open = new Map<string, Map<number, SeenLease>>();
  /** What has changed since the last {@linkcode take}. */
  readonly #changed = new Map<string, Map<number, PartUpdate>>();
  readonly #running: Promise<void>;
  readonly #startedAt: number;
  #watch: Received<KvEntry> | undefined;

  /** Begins to follow. `report` receives a line for each lease that cannot be read. */
  constructor(
    private readonly broker: Pick<Broker, "bucket">,
    private readonly clock: Clock,
    private readonly report: (line: string) => void,
  ) {
    this.#startedAt = clock.now();
    this.#running = this.#run();
  }

  /**
   * Takes what is new of the parts of each campaign whose leases have changed. What is not taken from
   * the result stays for the next call.
   */
  *take(): Generator<[campaign: string, updates: readonly PartUpdate[]]> {
    for (const [name, parts] of this.#changed) {
      this.#changed.delete(name);
      yield [name, [...parts.values()]];
    }
  }

  /** Returns what was taken, unless something newer has arrived. */
  putBack(campaign: string, updates: readonly PartUpdate[]): void {
    const parts = this.#changedOf(campaign);
    for (const one of updates) if (!parts.has(one.part)) parts.set(one.part, one);
  }

  /**
   * Whether a worker may hold a part of a campaign: its lease was renewed in this time, milliseconds,
   * by the clock of this machine. In that time after the start, a worker may always hold a part.
   */
  isHeld(campaign: string, within: number): boolean {
    const since = this.clock.now() - within;
    if (this.#startedAt > since) return true;
    return [...this.#open.get(campaign)?.values() ?? []]
      .some(({ value, receivedAt }) => value.state === "held" && receivedAt > since);
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      try {
        this.#watch = await (await this.broker.bucket(LEASE_BUCKET)).watch({ key: "lease.>" });
        if (signal.aborted) this.#watch.stop();
        for await (const entry of this.#watch) this.#note(entry);
      } catch {
        // Without a connection there is nothing to follow. The collector reports that.
      }
      await sleep(this.clock, PAUSE_MS, signal);
    }
  }

  #note(entry: KvEntry): void {
    const { key, operation, created } = entry;
    const lease = parseLeaseKey(key);
    if (lease === undefined) return; // campaign status reports it
    const { campaign, part } = lease;
    const open = this.#open.get(campaign) ?? new Map<number, SeenLease>();
    this.#open.set(campaign, open);
    open.delete(part);
    if (operation !== "PUT") return;
    const read = () => parseLeaseValue(entry.string());
    const value = readEntry(
      LEASE_BUCKET,
      entry,
      read,
      (line) => this.report(`blocksweep: ${line}`),
    );
    // The end of a part is a result.
    if (value?.state !== "held" && value?.state !== "released") return;
    open.set(part, { value, receivedAt: this.clock.now() });
    this.#changedOf(campaign).set(part, updateOf(part, value, created.getTime()));
  }

  #changedOf(campaign: string): Map<number, PartUpdate> {
    const parts = this.#changed.get(campaign) ?? new Map<number, PartUpdate>();
    this.#changed.set(campaign, parts);
    return parts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    this.#watch?.stop();
    await this.#running;
  }
}

function updateOf(part: number, { state, worker, tries, counters, why }: LeaseValue, at: number) {
  return {
    ...{ part, at, worker, tries, why, numbers: partNumbers(counters) },
    state: state === "held" ? "running" : "queued",
  } as const;
}
