/**
 * Servers that were known before a scan: what the passes withhold from them, and interviews of those
 * that no pass visits.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../../core/address.ts";
import { EndpointSet } from "../../core/endpoint_set.ts";
import type { Endpoints } from "../../core/endpoints.ts";
import { sleep } from "../../net/clock.ts";
import { PROTOCOLS } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import {
  isLookedFor,
  isVisited,
  type KnownPlan,
  knownPlans,
  targeted,
} from "./known_server_plan.ts";
import type { ScanOptions } from "../scan_options.ts";

/** How long to wait while too many inspections are pending, milliseconds. */
const PAUSE_MS = 10;

/** What interviews servers. */
export interface Interviewer {
  /** Whether too many interviews are pending. */
  readonly backlogged: boolean;
  /**
   * Interviews a server.
   *
   * @param through Called once that has ended; never where it was cut off before a reply.
   */
  interview(endpoint: Endpoint, plan: KnownPlan, through: () => void): void;
}

/** Endpoints by the name of a protocol. */
type ByProtocol = ReadonlyMap<string, EndpointSet>;

/** The known servers of a scan. */
export class KnownServerInterviews {
  readonly #plans: ReadonlyMap<number | bigint, KnownPlan>;
  /** Servers that are never sent a protocol but in an interview, or after a reply. */
  readonly #withheld: ByProtocol;
  /** Servers that are not looked for in a protocol for the sake of another one. */
  readonly #unlooked: ByProtocol;
  /** Interviews that have not ended, and whether there are more to begin. */
  #pending = 0;
  #hasMore = false;

  /**
   * Interviews nobody yet.
   *
   * @param seed 32 bits that nobody can guess.
   */
  constructor(private readonly options: ScanOptions, seed: number) {
    this.#plans = knownPlans(options.targets);
    const { protocols, allProtocols = PROTOCOLS } = options.targets;
    const looked = allProtocols.filter(({ name }) =>
      protocols.some(({ suppressedBy }) => suppressedBy === name)
    );
    const sent = [...new Set([...looked, ...protocols])];
    this.#unlooked = this.#without(looked, isLookedFor, seed);
    this.#withheld = this.#without(
      sent,
      (plan, one) => isVisited(plan, one) || isLookedFor(plan, one),
      seed,
    );
  }

  /** Of each protocol, the servers whose plan leaves it out. */
  #without(
    protocols: readonly Protocol[],
    keeps: (plan: KnownPlan, protocol: Protocol) => boolean,
    seed: number,
  ): ByProtocol {
    const sets = protocols.map((protocol) => ({ protocol, set: new EndpointSet(seed) }));
    for (const { endpoint } of sets.length === 0 ? [] : this.options.targets.known ?? []) {
      const plan = this.#plans.get(endpointKey(endpoint))!;
      for (const { protocol, set } of sets) if (!keeps(plan, protocol)) set.add(endpoint);
    }
    return new Map(sets.map(({ protocol, set }) => [protocol.name, set]));
  }

  /** The protocols that an endpoint that has replied is sent; `undefined`: all of the scan's. */
  protocolsOf(endpoint: Endpoint): readonly Protocol[] | undefined {
    return this.#plans.size === 0 ? undefined : this.#plans.get(endpointKey(endpoint))?.all;
  }

  /** Whether no pass sends a protocol to an endpoint. */
  withholds(endpoint: Endpoint, protocol: string): boolean {
    return this.#plans.size > 0 && this.#withheld.get(protocol)!.has(endpoint);
  }

  /**
   * The same of a target in a batch.
   *
   * @param looking Whether the pass only looks for speakers of the protocol.
   */
  withholdsAt(targets: Endpoints, i: number, protocol: string, looking: boolean): boolean {
    if (this.#plans.size === 0) return false;
    return (looking ? this.#unlooked : this.#withheld).get(protocol)!.hasAt(targets, i);
  }

  /** Whether servers are left that no pass visits, and that were not interviewed to the end. */
  get areLeft(): boolean {
    return this.#hasMore || this.#pending > 0;
  }

  /** Has all those interviewed that no pass visits, as fast as that goes. */
  async interview(interviewer: Interviewer, signal: AbortSignal): Promise<void> {
    const { io: { clock }, targets: { known = [], answered } } = this.options;
    if (known.length === 0) return;
    const isTarget = targeted(this.options);
    const done = new Set([...answered].map(endpointKey));
    for (const server of known) {
      const { endpoint } = server;
      const key = endpointKey(endpoint);
      const plan = this.#plans.get(key)!;
      if (!plan.interviewed || done.has(key) || !isTarget(server)) continue;
      while (interviewer.backlogged && !signal.aborted) await sleep(clock, PAUSE_MS, signal);
      this.#hasMore = signal.aborted;
      if (signal.aborted) return;
      this.#pending++;
      interviewer.interview(endpoint, plan, () => void this.#pending--);
    }
  }
}
