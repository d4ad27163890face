/** A discovery that plans given passes. */
import { endpointKey } from "../../../src/core/address.ts";
import type { Address } from "../../../src/core/address.ts";
import { hashBytes } from "../../../src/core/bits.ts";
import type {
  DiscoveryPass,
  Estimate,
  IPv4Endpoint,
  PassInput,
  PassPlanner,
  PassResult,
} from "../../../src/discovery/contract.ts";
import type { Endpoints } from "../../../src/core/endpoints.ts";
import type { ProbeSpace } from "../../../src/targets/space.ts";

/** The endpoints of a list, in its order. */
function spaceOf(endpoints: readonly IPv4Endpoint[]): ProbeSpace {
  const keys = new Set(endpoints.map(endpointKey));
  return {
    size: endpoints.length,
    at: (position, target) => void Object.assign(target, endpoints[position]),
    fill(from, count, targets: Endpoints) {
      for (let i = 0; i < count; i++) targets.set(i, endpoints[from + i]);
    },
    has: (endpoint) => keys.has(endpointKey(endpoint)),
  };
}

/** Plans one list of endpoints after the other, for one protocol. */
export class ListedPasses implements PassPlanner {
  /** The water level of each pass. */
  static readonly LEVEL = 0.25;
  /** What each pass was planned with. */
  readonly inputs: PassInput[] = [];
  /** The results of the closed passes. */
  readonly folded: (readonly PassResult[])[] = [];
  spent = 0;
  found = 0;
  recentYield = 0;
  readonly evenSweep: number;
  readonly bytes = 0;

  constructor(private readonly passes: readonly (readonly IPv4Endpoint[])[]) {
    this.evenSweep = passes.flat().length;
  }

  get next(): number {
    return this.folded.length;
  }

  plan(input: PassInput): DiscoveryPass {
    this.inputs.push(input);
    const number = this.next;
    const endpoints = this.passes[number] ?? [];
    const text = JSON.stringify([number, endpoints]);
    const digest = hashBytes(new TextEncoder().encode(text)).toString(16).padStart(16, "0");
    const pass = { probes: endpoints.length, space: () => spaceOf(endpoints) };
    return {
      number,
      digest,
      probes: endpoints.length,
      level: ListedPasses.LEVEL,
      protocols: [pass],
    };
  }

  fold(results: readonly PassResult[]): void {
    this.spent += this.passes[this.next].length;
    this.found += results[0].hits.length;
    this.recentYield = 1e6 * results[0].hits.length / this.passes[this.next].length;
    this.folded.push(results);
  }

  estimate(): Estimate | undefined {
    return undefined;
  }

  wasProbed(_: number, address: Address, port: number): boolean {
    return this.passes.slice(0, this.next).flat()
      .some((one) => one.address === address && one.port === port);
  }
}
