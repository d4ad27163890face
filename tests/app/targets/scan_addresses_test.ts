/** Covers src/app/targets/scan_addresses.ts. */
import { assertEquals } from "@std/assert";
import { addressesOf } from "../../../src/app/targets/scan_addresses.ts";
import { composeTargets } from "../../../src/app/targets/find_targets.ts";
import { parseAddress } from "../../../src/core/address.ts";
import { parseTarget } from "../../../src/targets/parse.ts";
import { mergedRanges } from "../../../src/store/scans/scan_ranges.ts";

const range = (text: string) => {
  const target = parseTarget(text);
  if (!("range" in target)) throw new Error(text);
  return target.range;
};

Deno.test("the addresses of a scan are the requested ones, and those among them that it leaves out", () => {
  const inclusions = ["10.0.0.0/24", "10.0.0.128/25", "9.255.255.0/24", "224.0.0.0/30"]
    .map((text) => ({ range: range(text), port: undefined }));
  const known = [{ endpoint: { address: parseAddress("10.9.0.1")!, port: 5 }, protocols: [] }];
  const found = {
    ...{ inclusions, known, excluded: [range("10.0.0.7"), range("11.0.0.0/8")] },
    ...{ names: new Map(), services: new Map() },
  };
  const named = composeTargets(found, [range("10.0.0.8")]);
  const { requested, excluded } = addressesOf(found, named.targets, [
    ...named.optedOut,
    range("10.0.0.9"),
  ]);
  assertEquals(
    mergedRanges(requested).ranges,
    ["9.255.255.0/24", "10.0.0.0/24", "10.9.0.1", "224.0.0.0/30"]
      .map(range).reduce((merged: { start: number; end: number }[], { start, end }) => {
        const last = merged.at(-1);
        if (last?.end === start) last.end = Number(end);
        else merged.push({ start: Number(start), end: Number(end) });
        return merged;
      }, []),
  );
  assertEquals(mergedRanges(excluded).ranges, [
    { start: Number(range("10.0.0.7").start), end: Number(range("10.0.0.9").end) },
    range("224.0.0.0/30"),
  ]);
});
