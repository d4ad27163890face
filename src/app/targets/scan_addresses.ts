/**
 * The addresses of a scan, as databases record them.
 *
 * @module
 */
import { type Address, family } from "../../core/address.ts";
import type { ScanAddresses } from "../../store/scans/scan_ranges.ts";
import { type Range, RangeSet } from "../../targets/ranges.ts";
import type { FoundTargets, NamedTargets } from "./find_targets.ts";

/**
 * The addresses that the user named for a scan, known servers included, and those of them that the
 * scan does not probe.
 *
 * @param optedOut Further addresses that opted out, in addition to those of `named`.
 */
export function addressesOf(
  { inclusions, known }: Pick<FoundTargets, "inclusions" | "known">,
  named: Pick<NamedTargets, "targets" | "optedOut">,
  optedOut: readonly Range[],
): ScanAddresses {
  const requested = [
    ...inclusions.map(({ range }) => range),
    ...known.map(({ endpoint: { address } }) => rangeOf(address)),
  ];
  const open = named.targets.groups.flatMap(({ addresses }) => [...addresses]);
  const closed = [...named.optedOut, ...optedOut];
  const excluded = ([4, 6] as const).flatMap((bits) => {
    const [all, probed, left] = [requested, open, closed].map((ranges) =>
      RangeSet.of<Address>(ranges.filter(({ start }) => family(start) === bits))
    );
    return [...all.subtract(probed.subtract(left))];
  });
  return { requested, excluded };
}

function rangeOf(address: Address): Range {
  return { start: address, end: typeof address === "number" ? address + 1 : address + 1n };
}
