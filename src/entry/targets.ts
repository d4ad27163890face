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
  DEFAULT_SPEED,
  type DefaultSpeed,
  defaultSpeed,
  LOOPBACK_SPEED,
} from "../app/settings/defaults.ts";
export * from "../core/address.ts";
export * from "../core/endpoint_set.ts";
export * from "../core/endpoints.ts";
export * from "../targets/host_filter.ts";
export * from "../targets/shipped_lists.ts";
export * from "../targets/compose.ts";
export * from "../targets/density.ts";
export { RangeBudget } from "../targets/octet_ranges.ts";
export * from "../targets/parse.ts";
export { parseShard, Parts, type Shard } from "../targets/parts.ts";
export * from "../targets/permission.ts";
export * from "../targets/permutation.ts";
export * from "../targets/ports.ts";
export * from "../targets/ranges.ts";
export * from "../targets/space.ts";
export * from "../targets/srv.ts";
