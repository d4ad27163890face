/**
 * The addresses of host names that opted out. The names are looked up in each minute.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import type { Clock } from "../../net/clock.ts";
import { type Range, rangeOfOne, unmapped } from "../../targets/ranges.ts";
import { reason } from "../environment.ts";
import type { Lookups } from "../names/name_lookup.ts";

/** Looks up the host names of an opt-out file. */
export interface OptOutLookups extends Pick<Lookups, "resolve" | "findService"> {
  readonly clock: Pick<Clock, "now" | "wall" | "after">;
}

/** Names are looked up again after this time, milliseconds. */
const LOOKUP_MS = 60_000;
/** Maximum number of concurrent lookups. */
const MAX_LOOKUPS = 16;
/** A lookup counts as failed after this time, milliseconds. */
const PATIENCE_MS = 30_000;

/** Host names that opted out, with all addresses that they have had. */
export class OptedOutNames {
  readonly #named = new Map<string, Range[]>();
  /** The minute in which each name was last looked up. */
  readonly #minutes = new Map<string, number>();
  /** What was reported, until it succeeds. */
  readonly #failing = new Set<string>();
  /** The names that wait for a lookup, or are looked up. */
  readonly #due = new Map<string, Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  #lookupsRunning = 0;
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
   * Looks up the names that were not looked up in this minute. Resolves when all lookups have ended,
   * and never rejects.
   */
  async lookUp(): Promise<void> {
    const minute = Math.floor(this.lookups.clock.now() / LOOKUP_MS);
    for (const name of this.#named.keys()) {
      if (this.#minutes.get(name) === minute || this.#due.has(name)) continue;
      this.#minutes.set(name, minute);
      this.#due.set(name, this.#lookUpInTurn(name).finally(() => this.#due.delete(name)));
    }
    await Promise.all(this.#due.values());
  }

  async #lookUpInTurn(name: string): Promise<void> {
    if (this.#lookupsRunning >= MAX_LOOKUPS) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#lookupsRunning++;
    await this.#lookUp(name);
    const next = this.#waiting.shift();
    if (next === undefined) this.#lookupsRunning--;
    else next();
  }

  async #lookUp(name: string): Promise<void> {
    const before = this.#named.get(name) ?? [];
    const [own, led] = await Promise.allSettled([
      this.#inTime(this.lookups.resolve(name)),
      this.#inTime(this.#followService(name)),
    ]);
    const all = [own, led].flatMap((one) => one.status === "fulfilled" ? one.value : []);
    const added = all.map(rangeOfOne).map(unmapped)
      .filter((one) => !before.some(({ start }) => start === one.start));
    before.push(...added);
    this.#found += added.length;
    // a name with an SRV record needs no address of its own
    const isFound = led.status === "fulfilled" && led.value.length > 0;
    this.#note(`new addresses of "${name}"`, isFound ? led : own);
    this.#note(`addresses of the server in the SRV record of "${name}"`, led);
  }

  /** Reports that a lookup failed, unless it failed before. */
  #note(what: string, lookup: PromiseSettledResult<unknown>): void {
    if (lookup.status === "fulfilled") return void this.#failing.delete(what);
    if (!this.#failing.has(what)) {
      this.report(
        `blocksweep: ${what}, which the opt-out file names, are not left out: ` +
          reason(lookup.reason),
      );
    }
    this.#failing.add(what);
  }

  /** @throws InputError when the lookup takes too long; it goes on, and its result is not used. */
  async #inTime<T>(lookup: Promise<T>): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const cancel = this.lookups.clock.after(
      PATIENCE_MS,
      () => reject(new InputError("the name servers do not reply")),
    );
    try {
      return await Promise.race([lookup, late]);
    } finally {
      cancel();
    }
  }

  /** The addresses of the target of a name's SRV record. */
  async #followService(name: string): Promise<readonly Address[]> {
    const service = await this.lookups.findService?.(name);
    return service === undefined ? [] : await this.lookups.resolve(service.host);
  }
}
