/**
 * Measures adaptive discovery in synthetic worlds of servers, in memory: no socket is opened.
 *
 *     deno run -A bench/reach.ts [CASE] [--seeds 6,7,8,9,10]
 *
 * The worlds are 240.0.0.0/4 with 201 ports. A is one probe for each of the 2^28 addresses. The
 * first reply of a server is lost with a chance of 2.4 %, by a hash of the endpoint.
 */
import type { Case } from "./reach/case.ts";
import { rivals, world } from "./reach/worlds.ts";
import { printUse, readOptions } from "./shared/options.ts";

const CASES: Readonly<Record<string, Case>> = { world, rivals };

const [name] = Deno.args;
if (!(name in CASES)) {
  const purposes = Object.entries(CASES).map(([name, { purpose }]) => `${name}: ${purpose}`);
  printUse(purposes.join("\n"), ["CASE", "[options]"], []);
  Deno.exit(name === "--help" ? 0 : 2);
}
const { purpose, run } = CASES[name];
const options = readOptions(purpose, { seeds: "6,7,8,9,10" }, [name]);
Deno.exit(run(options.seeds.split(",").map(Number)) ? 0 : 1);
