// deno-lint-ignore-file no-console
/**
 * Holds the outputs of a scan, and a fleet's datagram log, against the truth about the fleet.
 *
 *     deno run --allow-read bench/verify.ts --manifest truth.ndjson [--log datagrams.ndjson]
 *         [--protocol raknet,query] [--ports 19132,T:25565] [--no-follow] [--verify] [--allow-partial]
 *         [--host-rate N] [--net-rate N] [--excluded RANGE] servers.csv servers.ndjson
 *
 * Prints what it found; exits with 1 when something is wrong.
 */
import { parseArgs } from "@std/cli";
import { audit } from "../src/fleet/judge/audit.ts";
import { parseManifest } from "../src/fleet/manifest.ts";
import { readCsv, readNdjson, verifyAgainstManifest } from "../src/fleet/judge/verify_rows.ts";
import { PROTOCOLS, USUAL_PROTOCOLS } from "../src/protocols/list.ts";
import type { WitnessLine } from "../src/fleet/witness_log.ts";
import { usualPorts } from "../src/protocols/usual_ports.ts";
import { parseTarget } from "../src/targets/parse.ts";
import { parsePorts } from "../src/targets/ports.ts";

const args = parseArgs(Deno.args, {
  string: ["_", "manifest", "log", "protocol", "ports", "host-rate", "net-rate", "excluded"],
  boolean: ["no-follow", "verify", "allow-partial"],
  unknown: (arg, key) => {
    if (key !== undefined) throw new TypeError(`Unknown option ${arg}`);
    return true;
  },
});
const text = (name: string) => args[name] as string | undefined;
const number = (name: string) => text(name) === undefined ? undefined : Number(text(name));

const entries = parseManifest(await Deno.readTextFile(text("manifest")!));
const usual = usualPorts(PROTOCOLS);
const ports = text("ports");
const selection = {
  protocols: (text("protocol") ?? USUAL_PROTOCOLS.map(({ name }) => name).join()).split(","),
  ports: (protocol: string) => {
    const { transport } = PROTOCOLS.find(({ name }) => name === protocol)!;
    return ports === undefined ? usual(protocol, 4) : parsePorts(ports)[transport];
  },
  follow: !args["no-follow"],
  verify: args.verify === true,
};
let wrong = false;

for (const path of args._.map(String)) {
  const format = path.endsWith(".csv") ? "csv" : "ndjson";
  const content = await Deno.readTextFile(path);
  const rows = format === "csv" ? readCsv(content) : readNdjson(content);
  const { expected, found, right, partial, faults } = verifyAgainstManifest(
    entries,
    rows,
    selection,
    format,
  );
  const missing = faults.filter((fault) => fault.includes(": missing")).length;
  console.log(
    `${path}: ${rows.length} rows; ${found} of ${expected} found, ${right} right in every field, ` +
      `${partial} in part; ${missing} missing, ${faults.length - missing} other faults`,
  );
  for (const fault of faults.slice(0, 20)) console.log(`  ${fault}`);
  const whole = right === expected && faults.length === 0;
  wrong ||= args["allow-partial"] ? faults.length > missing : !whole;
}

const log = text("log");
if (log !== undefined) {
  const lines = (await Deno.readTextFile(log)).split("\n").filter((line) => line !== "")
    .map((line) => JSON.parse(line) as WitnessLine);
  const excluded = text("excluded")?.split(",").map((word) => {
    const target = parseTarget(word);
    if ("name" in target) throw new TypeError(`Not a range: ${word}`);
    return target.range;
  });
  const faults = audit(lines, {
    hostRate: number("host-rate"),
    netRate: number("net-rate"),
    excluded,
  });
  const datagrams = lines.filter(({ connection }) => connection === undefined);
  const received = datagrams.filter(({ way }) => way === "in").length;
  const connections = lines.filter(({ event }) => event === "open").length;
  console.log(
    `${log}: ${received} datagrams received, ${datagrams.length - received} sent; ` +
      `${connections} connections; ${faults.length} faults`,
  );
  for (const fault of faults.slice(0, 20)) console.log(`  ${fault}`);
  wrong ||= faults.length > 0;
}
Deno.exit(wrong ? 1 : 0);
