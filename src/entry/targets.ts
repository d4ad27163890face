/**
 * Targets: addresses, ranges and ports, exclusions, and the order of a sweep.
 *
 * This code is pure: it needs no permission.
 *
 * @example Visit each endpoint of a range once, in a shuffled order
 * ```ts
 * import {
 *   compose,
 *   formatEndpoint,
 *   parseTarget,
 *   segmentsOf,
 *   TargetSpace,
 * } from "blocksweep/targets";
 * import { assertEquals } from "@std/assert";
 *
 * const target = parseTarget("10.0.0.0/24");
 * if ("name" in target) throw new Error("10.0.0.0/24 is a range");
 * const targets = compose([target], { never: [], private: [], chosen: [] });
 * const space = new TargetSpace(segmentsOf(targets, () => [19132]), { seed: 7 });
 * const endpoint = { address: 0 as number | bigint, port: 0 };
 * const visited = new Set<string>();
 * for (let position = 0; position < space.size; position++) {
 *   space.at(position, endpoint);
 *   visited.add(formatEndpoint(endpoint));
 * }
 * assertEquals(visited.size, 256);
 * ```
 *
 * @module
 */
export {
  type Address,
  type Endpoint,
  family,
  formatAddress,
  formatEndpoint,
  parseAddress,
  parseEndpoint,
} from "../core/address.ts";
export { Endpoints } from "../core/endpoints.ts";
export {
  compose,
  type Exclusions,
  type Inclusion,
  segmentsOf,
  type TargetGroup,
  type Targets,
} from "../targets/compose.ts";
export {
  type NameTarget,
  parseTarget,
  parseTargetList,
  type RangeTarget,
  type Target,
} from "../targets/parse.ts";
export type { Shard } from "../targets/shards.ts";
export { permissionNeeded } from "../targets/permission.ts";
export { parsePorts, type Ports } from "../targets/ports.ts";
export { type Range, RangeSet } from "../targets/ranges.ts";
export {
  neverProbedRanges,
  optOutCheck,
  privateRanges,
  type ReasonedRange,
} from "../targets/shipped_lists.ts";
export {
  type Segment,
  type SpaceOptions,
  type TargetOrder,
  TargetSpace,
} from "../targets/space.ts";
export type { Service, ServiceFinder } from "../targets/srv.ts";
