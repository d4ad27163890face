/**
 * Who was asked in a scan that ran to its end: what a list of servers needs to tell those that fell
 * silent from those that nobody asked.
 *
 * @module
 */
import { type Address, endpointKey, formatAddress } from "../address.ts";
import { AddressSet } from "../targets/address_set.ts";
import { segmentsOf } from "../targets/compose.ts";
import { TargetSpace } from "../targets/space.ts";
import { isInterviewed, type ScanOptions } from "./options.ts";

/** What of a scan's options says whom it asks. */
export type Asking =
  & Pick<
    ScanOptions,
    | ("targets" | "protocols" | "ports" | "seed" | "shard" | "maxTargets" | "first" | "optedOut")
    | ("interviewed" | "asksKnown")
  >
  & {
    /** Addresses of hosts that flooded, as text: their replies may not have been read. */
    readonly flooding?: readonly string[];
    /** Whether replies in protocols that echo nothing were omitted. Default: none were. */
    readonly omitted?: boolean;
  };

/** Who was asked. */
export interface Asked {
  /** Ranges that hold all who were. */
  readonly ranges: readonly { readonly start: Address; readonly end: Address }[];
  /**
   * Whether an endpoint was asked in one of these protocols; with none of them, in any.
   *
   * A protocol that only follows others does not count: its absence says nothing. A server that the
   * scan knew before was asked when all of them were.
   */
  readonly asked: (address: Address, port: number, protocols: readonly string[]) => boolean;
}

/** Who is asked with these options. */
export function coverageOf(asking: Asking): Asked {
  const { targets, protocols, ports, seed, shard, maxTargets: limit, first } = asking;
  const shy = new AddressSet(asking.optedOut);
  const flooding = new Set(asking.flooding);
  const known = new Set(first?.map(endpointKey));
  const interviewed = new Map(
    asking.interviewed?.map((one) => [endpointKey(one.endpoint), one]),
  );
  const spaces = protocols.map(({ name, probe }) => {
    const segments = segmentsOf(targets, (bits) => ports(name, bits));
    const space = new TargetSpace(segments, { seed, shard, limit, first });
    return { name, space, unsure: asking.omitted && probe?.macMask === 0 };
  });
  return {
    ranges: targets.groups.flatMap(({ addresses }) => [...addresses]),
    asked: (address, port, spoken) => {
      if (shy.has(address)) return false;
      if (flooding.size > 0 && flooding.has(formatAddress(address))) return false;
      const key = endpointKey({ address, port });
      const one = interviewed.get(key);
      const reached = spaces.filter(({ space }) => space.has({ address, port }));
      if (one !== undefined) return reached.length > 0 && isInterviewed(one, asking);
      const sure = reached.filter(({ unsure }) => !unsure);
      if (spoken.length === 0) return sure.length > 0;
      const isReached = (name: string) => sure.some((space) => space.name === name);
      return known.has(key) ? spoken.every(isReached) : spoken.some(isReached);
    },
  };
}
