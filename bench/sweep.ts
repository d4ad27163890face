/**
 * Runs one measurement of sweeps. `CASE` is the name of a file in `bench/sweep/`; the first comment
 * of that file describes its table.
 *
 *     deno run -A bench/sweep.ts CASE [options]
 *
 * It needs Linux, root and iproute2; most cases need a C compiler. Servers are in a network
 * namespace of their own, which has no route to other networks. Exits with 1 when a case finds an
 * error.
 */
import { beFarEnd } from "./shared/namespaces.ts";
import { printUse, readOptions } from "./shared/options.ts";
import { auto } from "./sweep/auto.ts";
import type { Case } from "./sweep/case.ts";
import { flood } from "./sweep/flood.ts";
import { memory } from "./sweep/memory.ts";
import { pace } from "./sweep/pace.ts";
import { race } from "./sweep/race.ts";

const CASES: Readonly<Record<string, Case>> = { auto, flood, memory, pace, race };

async function run(name: string, { purpose, options, atFarEnd = true, run }: Case) {
  const values = readOptions(purpose, options, [name]);
  if (atFarEnd) await beFarEnd(import.meta.url);
  const folder = await Deno.makeTempDir({ prefix: `blocksweep-${name}-` });
  try {
    return await run(values, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const [name] = Deno.args;
if (name in CASES) Deno.exit(await run(name, CASES[name]) ? 0 : 1);
const purposes = Object.entries(CASES).map(([name, { purpose }]) => `${name}: ${purpose}`);
printUse(purposes.join("\n"), ["CASE", "[options]"], []);
Deno.exit(name === "--help" ? 0 : 2);
