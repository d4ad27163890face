/**
 * The addresses of host names that opted out. The names are looked up in each minute.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import type { Clock } from "../../net/clock.ts";
import { type Range, rangeOfOne, unmapped } from "../../targets/ranges.ts";
import { reason } from "../environment.ts";
import type { Lookups } from "../targets/name_lookup.ts";

/** Looks up the host names of an opt-out file. */
export interface OptOutLookups extends Pick<Lookups, "resolve" | "findService"> {
  readonly clock: Pick<Clock, "now">;
}

/** Names are looked up again after this time, milliseconds. */
const LOOKUP_MS = 60_000;
/** Maximum number of concurrent lookups. */
const MAX_LOOKUPS = 16;

/** Host names that opted out, with all addresses that they have had. */
export class OptedOutNames {
  readonly #named = new Map<string, Range[]>();
  /** The minute in which each name was last looked up. */
  readonly #minutes = new Map<string, number>();
  readonly #unresolved = new Set<string>();
  #running: Promise<void> | undefined;
  #found = 0;

  /** @param report Receives a line when a name cannot be looked up, once for each name. */
  constructor(
    private readonly lookups: OptOutLookups,
    private readonly report: (line: string) => void,
  ) {}

  /** Replaces the names. Those that stay keep their addresses. */
  set(names: ReadonlySet<string>): void {
    for (const name of this.#named.keys()) {
      if (names.has(name)) continue;
      this.#named.delete(name);
      this.#minutes.delete(name);
    }
    for (const name of names) this.#named.set(name, this.#named.get(name) ?? []);
  }

  /** The addresses that the names have had. */
  get ranges(): Range[] {
    return [...this.#named.values()].flat();
  }

  /** Number of addresses that lookups have found. */
  get found(): number {
    return this.#found;
  }

  /**
   * Looks up the names that were not looked up in this minute. While earlier lookups run, no further
   * ones begin. Resolves when the lookups have ended, and never rejects.
   */
  lookUp(): Promise<void> {
    return this.#running ??= this.#lookUpDue().finally(() => this.#running = undefined);
  }

  async #lookUpDue(): Promise<void> {
    const minute = Math.floor(this.lookups.clock.now() / LOOKUP_MS);
    const due = [...this.#named.keys()].filter((name) => this.#minutes.get(name) !== minute);
    const waiting = due.values();
    const work = async () => {
      for (const name of waiting) {
        this.#minutes.set(name, minute);
        await this.#lookUp(name);
      }
    };
    await Promise.all(Array.from({ length: Math.min(MAX_LOOKUPS, due.length) }, work));
  }

  async #lookUp(name: string): Promise<void> {
    const before = this.#named.get(name) ?? [];
    const [own, led] = await Promise.allSettled([
      this.lookups.resolve(name),
      this.#followService(name),
    ]);
    const all = [own, led].flatMap((one) => one.status === "fulfilled" ? one.value : []);
    const added = all.map(rangeOfOne).map(unmapped)
      .filter((one) => !before.some(({ start }) => start === one.start));
    before.push(...added);
    this.#found += added.length;
    // a name with an SRV record needs no address of its own
    const failed = [led, all.length === 0 ? own : led].find(({ status }) => status === "rejected");
    const fault = failed?.status === "rejected" ? reason(failed.reason) : undefined;
    if (fault === undefined) return void this.#unresolved.delete(name);
    if (!this.#unresolved.has(name)) {
      this.report(
        `blocksweep: new addresses of "${name}", which the opt-out file names, are not left out: ` +
          fault,
      );
    }
    this.#unresolved.add(name);
  }

  /** The addresses of the target of a name's SRV record. */
  async #followService(name: string): Promise<readonly Address[]> {
    const service = await this.lookups.findService?.(name);
    return service === undefined ? [] : await this.lookups.resolve(service.host);
  }
}
