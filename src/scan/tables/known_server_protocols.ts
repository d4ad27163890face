/**
 * The known servers of a scan: the protocols in which each is queried, and those in which it is
 * not.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../../core/address.ts";
import { type AddedAddresses, EndpointSet } from "../../core/endpoint_set.ts";
import type { Endpoints } from "../../core/endpoints.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import {
  isDetectionTarget,
  isVisited,
  type KnownPlan,
  knownPlans,
} from "../plan/known_server_plan.ts";
import type { ScanTargets } from "../setup/scan_setup.ts";

type ByProtocol = ReadonlyMap<string, EndpointSet>;

/** Decides in which protocols the known servers of a scan are queried. */
export class KnownServerProtocols {
  readonly #plans: ReadonlyMap<number | bigint, KnownPlan>;
  /** By protocol: servers that the passes of the protocol skip. */
  readonly #withheld: ByProtocol;
  /** By protocol: servers that the detecting passes of the protocol skip. */
  readonly #undetected: ByProtocol;
  /**
   * Plans the protocols of all known servers.
   *
   * @param seed 32 unpredictable bits.
   * @param added Gets the address of each server that some pass skips. Default: nothing does.
   */
  constructor(
    private readonly targets: ScanTargets,
    seed: number,
    private readonly added?: AddedAddresses,
  ) {
    this.#plans = knownPlans(targets);
    const { protocols, allProtocols } = targets;
    const looked = allProtocols.filter(({ name }) =>
      protocols.some(({ suppressedBy }) => suppressedBy === name)
    );
    const sent = [...new Set([...looked, ...protocols])];
    this.#undetected = this.#without(looked, isDetectionTarget, seed);
    this.#withheld = this.#without(
      sent,
      (plan, one) => isVisited(plan, one) || isDetectionTarget(plan, one),
      seed,
    );
  }

  /** For each protocol, the servers that `keeps` rejects. */
  #without(
    protocols: readonly Protocol[],
    keeps: (plan: KnownPlan, protocol: Protocol) => boolean,
    seed: number,
  ): ByProtocol {
    const sets = protocols.map((protocol) => ({
      protocol,
      set: new EndpointSet(seed, this.added),
    }));
    for (const { endpoint } of sets.length === 0 ? [] : this.targets.known ?? []) {
      const plan = this.#plans.get(endpointKey(endpoint))!;
      for (const { protocol, set } of sets) if (!keeps(plan, protocol)) set.add(endpoint);
    }
    return new Map(sets.map(({ protocol, set }) => [protocol.name, set]));
  }

  /** The plan of a known server; `undefined` for other endpoints. */
  planOf(endpoint: Endpoint): KnownPlan | undefined {
    return this.#plans.size === 0 ? undefined : this.#plans.get(endpointKey(endpoint));
  }

  /** The protocols in which an endpoint is queried after its first reply. */
  protocolsFor(endpoint: Endpoint): readonly Protocol[] {
    return this.planOf(endpoint)?.all ?? this.targets.protocols;
  }

  /** Names of the protocols that an endpoint is known to speak. */
  spokenBy(endpoint: Endpoint): readonly string[] {
    return this.planOf(endpoint)?.known ?? [];
  }

  /** Whether all passes of a protocol skip an endpoint. */
  withholds(endpoint: Endpoint, protocol: string): boolean {
    return this.#plans.size > 0 && this.#withheld.get(protocol)!.has(endpoint);
  }

  /**
   * Whether a pass of a protocol skips a target in a batch.
   *
   * @param isDetecting Whether the pass only detects servers of the protocol.
   */
  withholdsAt(targets: Endpoints, i: number, protocol: string, isDetecting: boolean): boolean {
    if (this.#plans.size === 0) return false;
    return (isDetecting ? this.#undetected : this.#withheld).get(protocol)!.hasAt(targets, i);
  }
}
