/**
 * Servers that were known before a scan, and that are interviewed: no pass may visit them.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../address.ts";
import { EndpointSet } from "../endpoint_set.ts";
import type { Endpoints } from "../endpoints.ts";
import { sleep } from "../net/clock.ts";
import { PROTOCOLS } from "../protocols/mod.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { AddressSet } from "../targets/address_set.ts";
import { isInterviewed, type KnownTarget, type ScanOptions } from "./options.ts";

/** How long to wait while too many inspections are pending, milliseconds. */
const PAUSE_MS = 10;

/** What interviews servers. */
export interface Interviewer {
  /** Whether too many interviews are pending. */
  readonly backlogged: boolean;
  /** Interviews a server. */
  interview(endpoint: Endpoint, protocol: Protocol): void;
}

/** The interviewed servers of a scan. */
export class Known {
  readonly #all: EndpointSet;
  readonly #targets: readonly KnownTarget[];

  /**
   * Interviews nobody yet. Those that a limit leaves out are not visited either.
   *
   * @param seed 32 bits that nobody can guess.
   */
  constructor(
    private readonly options: ScanOptions,
    private readonly interviewer: Interviewer,
    seed: number,
  ) {
    const { interviewed = [], first = [], maxTargets, targets, answered } = options;
    this.#all = new EndpointSet(seed);
    for (const { endpoint } of interviewed) this.#all.add(endpoint);
    const allowed = new Set(first.slice(0, maxTargets).map(endpointKey));
    for (const endpoint of interviewed.length === 0 ? [] : answered) {
      allowed.delete(endpointKey(endpoint));
    }
    const addresses = new AddressSet(targets.groups.flatMap(({ addresses }) => [...addresses]));
    this.#targets = interviewed.filter((one) =>
      isInterviewed(one, options) && allowed.has(endpointKey(one.endpoint)) &&
      addresses.has(one.endpoint.address)
    );
  }

  /** Whether an endpoint is one of them. */
  has(endpoint: Endpoint): boolean {
    return this.#all.has(endpoint);
  }

  /** The same of a target in a batch. */
  hasAt(targets: Endpoints, i: number): boolean {
    return this.#all.hasAt(targets, i);
  }

  /** Has all of them interviewed, as fast as that goes. */
  async interview(signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    for (const { endpoint, protocol } of this.#targets) {
      while (this.interviewer.backlogged && !signal.aborted) await sleep(clock, PAUSE_MS, signal);
      if (signal.aborted) return;
      this.interviewer.interview(endpoint, PROTOCOLS.find(({ name }) => name === protocol)!);
    }
  }
}
