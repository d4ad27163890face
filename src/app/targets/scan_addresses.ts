/**
 * The addresses of a scan, as databases record them.
 *
 * @module
 */
import { type Address, family } from "../../core/address.ts";
import type { ScanAddresses } from "../../store/mod.ts";
import type { Targets } from "../../targets/compose.ts";
import { type Range, rangeOfOne, RangeSet } from "../../targets/ranges.ts";
import type { FoundTargets } from "./find_targets.ts";

/**
 * The addresses that the user named for a scan, known servers included, and those of them that no
 * shard of the scan probes.
 *
 * @param whole The targets of all shards.
 */
export function addressesOf(
  { inclusions, known }: Pick<FoundTargets, "inclusions" | "known">,
  whole: Targets,
  optedOut: readonly Range[],
): ScanAddresses {
  const requested = [
    ...inclusions.map(({ range }) => range),
    ...known.map(({ endpoint: { address } }) => rangeOfOne(address)),
  ];
  const open = whole.groups.flatMap(({ addresses }) => [...addresses]);
  const excluded = ([4, 6] as const).flatMap((bits) => {
    const [all, probed, left] = [requested, open, optedOut].map((ranges) =>
      RangeSet.of<Address>(ranges.filter(({ start }) => family(start) === bits))
    );
    return [...all.subtract(probed.subtract(left))];
  });
  return { requested, excluded };
}
