/**
 * The servers that were known before a scan: the protocols they are sent, and those left out.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../../core/address.ts";
import { EndpointSet } from "../../core/endpoint_set.ts";
import type { Endpoints } from "../../core/endpoints.ts";
import { PROTOCOLS } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { isLookedFor, isVisited, type KnownPlan, knownPlans } from "./known_server_plan.ts";
import type { ScanTargets } from "../scan_setup.ts";

/** Endpoints by the name of a protocol. */
type ByProtocol = ReadonlyMap<string, EndpointSet>;

/** What the known servers of a scan are sent. */
export class KnownServers {
  readonly #plans: ReadonlyMap<number | bigint, KnownPlan>;
  /** Servers that are never sent a protocol but in an interview, or after a reply. */
  readonly #withheld: ByProtocol;
  /** Servers that are not looked for in a protocol for the sake of another one. */
  readonly #unlooked: ByProtocol;
  /**
   * Plans what they are sent.
   *
   * @param seed 32 unpredictable bits.
   */
  constructor(private readonly targets: ScanTargets, seed: number) {
    this.#plans = knownPlans(targets);
    const { protocols, allProtocols = PROTOCOLS } = targets;
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

  /** For each protocol, the servers that are not sent the protocol. */
  #without(
    protocols: readonly Protocol[],
    keeps: (plan: KnownPlan, protocol: Protocol) => boolean,
    seed: number,
  ): ByProtocol {
    const sets = protocols.map((protocol) => ({ protocol, set: new EndpointSet(seed) }));
    for (const { endpoint } of sets.length === 0 ? [] : this.targets.known ?? []) {
      const plan = this.#plans.get(endpointKey(endpoint))!;
      for (const { protocol, set } of sets) if (!keeps(plan, protocol)) set.add(endpoint);
    }
    return new Map(sets.map(({ protocol, set }) => [protocol.name, set]));
  }

  /** What a known server is sent; `undefined` for all other endpoints. */
  planOf(endpoint: Endpoint): KnownPlan | undefined {
    return this.#plans.size === 0 ? undefined : this.#plans.get(endpointKey(endpoint));
  }

  /** Whether no pass sends a protocol to an endpoint. */
  withholds(endpoint: Endpoint, protocol: string): boolean {
    return this.#plans.size > 0 && this.#withheld.get(protocol)!.has(endpoint);
  }

  /**
   * Whether a pass does not send a protocol to a target in a batch.
   *
   * @param looking Whether the pass only detects servers of the protocol.
   */
  withholdsAt(targets: Endpoints, i: number, protocol: string, looking: boolean): boolean {
    if (this.#plans.size === 0) return false;
    return (looking ? this.#unlooked : this.#withheld).get(protocol)!.hasAt(targets, i);
  }
}
