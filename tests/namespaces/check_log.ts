// deno-lint-ignore-file no-console
/**
 * Compares a fleet's datagram log with the limits and exclusions of the scan:
 *
 *     deno run --allow-read check_log.ts LOG --host-rate N --net-rate N --exclude RANGE
 *
 * Prints the violations, and exits with 1 if there are any.
 */
import { parseArgs } from "@std/cli";
import { audit } from "../../src/fleet/judge/audit.ts";
import type { WitnessLine } from "../../src/fleet/witness_log.ts";
import { parseTarget } from "../../src/targets/parse.ts";

const args = parseArgs(Deno.args, { string: ["_", "host-rate", "net-rate", "exclude"] });
const [path] = args._.map(String);
const excluded = parseTarget(String(args.exclude));
if ("name" in excluded) throw new TypeError(`Not a range: ${args.exclude}`);
const lines: WitnessLine[] = (await Deno.readTextFile(path)).split("\n")
  .filter((line) => line !== "").map((line) => JSON.parse(line));
const faults = audit(lines, {
  hostRate: Number(args["host-rate"]),
  netRate: Number(args["net-rate"]),
  excluded: [excluded.range],
});
const datagrams = lines.filter(({ connection }) => connection === undefined);
const received = datagrams.filter(({ way }) => way === "in").length;
const connections = lines.filter(({ event }) => event === "open").length;
console.log(
  `${path}: ${received} datagrams received, ${datagrams.length - received} sent; ` +
    `${connections} connections; ${faults.length} faults`,
);
for (const fault of faults.slice(0, 20)) console.log(`  ${fault}`);
Deno.exit(faults.length > 0 ? 1 : 0);
