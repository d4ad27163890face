/** The parts to which rows of a campaign belong. */
import { parseAddress } from "../../src/core/address.ts";
import type { ServerRecord } from "../../src/core/record.ts";
import { compose } from "../../src/targets/compose.ts";
import { parseTarget } from "../../src/targets/parse.ts";
import { Shards } from "../../src/targets/shards.ts";

/** Returns a function that finds the part of a row, for a campaign of one range with a seed. */
export function partsOf(range: string, parts: number, seed: number) {
  const target = parseTarget(range);
  if ("name" in target) throw new TypeError(`${range} is not a range`);
  const none = { never: [], private: [], chosen: [] };
  const dealt = new Shards(compose([target], none), parts, seed);
  return ({ host }: ServerRecord): number => dealt.indexOf(parseAddress(host)!)!;
}
