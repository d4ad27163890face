/**
 * Measures adaptive discovery in synthetic worlds of servers, in memory: no socket is opened.
 *
 *     deno run -A bench/reach.ts [CASE] [--seeds 6,7,8,9,10]
 *     deno run -A bench/reach.ts plot docs/reach.svg
 *
 * The worlds are 240.0.0.0/4 with 201 ports. A is one probe for each of the 2^28 addresses. Of the
 * replies 2.4 % are lost, by a hash of the endpoint. The default case is `all`. Exits with 1 when a
 * goal was not met.
 */
import { all, usual } from "./reach/all_ports.ts";
import { type Case, decimals, type Goal, print, SEEDS } from "./reach/case.ts";
import { estimates } from "./reach/estimates.ts";
import { plot } from "./reach/plot.ts";
import { aliases, shards, warm } from "./reach/variants.ts";
import { printUse, readOptions } from "./shared/options.ts";

const CASES: Readonly<Record<string, Case>> = {
  all,
  default: usual,
  warm,
  shards,
  aliases,
  estimates,
  plot,
};

/** Whether a goal was met. */
function isMet({ value, least = -Infinity, most = Infinity }: Goal): boolean {
  return least <= value && value <= most;
}

/** Runs a case, and prints its goals. Returns whether all were met. */
function runCase({ purpose, seeds = SEEDS, run }: Case, words: readonly string[]): boolean {
  const options = readOptions(purpose, { seeds: seeds.join() }, words);
  const goals = run(options.seeds.split(",").map(Number), words[1]);
  const limit = (value: number | undefined) => value === undefined ? "" : String(value);
  const rows = goals.map((goal) => [
    goal.figure,
    decimals(goal.value),
    limit(goal.least),
    limit(goal.most),
    isMet(goal) ? "yes" : "NO",
  ]);
  if (rows.length > 0) print("Goals", ["figure", "measured", "least", "most", "met"], rows);
  return goals.every(isMet);
}

const options = Deno.args.findIndex((word) => word.startsWith("-"));
const words = options < 0 ? Deno.args : Deno.args.slice(0, options);
const chosen = CASES[words[0] ?? "all"];
const isRight = words.length === 0 || words.length === (chosen?.file === undefined ? 1 : 2);
if (chosen && isRight && Deno.args[0] !== "--help") Deno.exit(runCase(chosen, words) ? 0 : 1);
const purposes = Object.entries(CASES).map(([name, { purpose, file }]) =>
  `${[name, file ?? []].flat().join(" ")}: ${purpose}`
);
printUse(purposes.join("\n"), ["[CASE]"], ["[--seeds N,...]"]);
Deno.exit(Deno.args[0] === "--help" ? 0 : 2);
