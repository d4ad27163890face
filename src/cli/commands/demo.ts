/**
 * The demo command: a fleet on loopback, a real scan of it over real sockets, and a check of every
 * row against the manifest.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import {
  drawFleet,
  type FleetHost,
  ifInUse,
  isFlawless,
  openFleet,
  readCsv,
  readNdjson,
  type RowsVerdict,
  type ScannedSelection,
  verdictLines,
  verifyAgainstManifest,
} from "../../fleet/mod.ts";
import { EXIT, IS_NPM_PACKAGE, reason, userPath } from "../../app/mod.ts";
import { serverTable } from "../../app/outputs/mod.ts";
import { systemClock } from "../../net/clock.ts";
import { usualProtocols } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { ServerRecord } from "../../core/record.ts";
import { parseTarget } from "../../targets/parse.ts";
import { type CommandCall, readCommandLine } from "../options/command_line.ts";
import { outputColumns, print, reportLine } from "../term/console.ts";
import { FLEET_RANGE } from "../../fleet/usual_fleet.ts";
import { usualPorts } from "../../protocols/usual_ports.ts";
import { countOf, withCommas } from "../../core/quantities.ts";
import { runPassingScan } from "./scan/scan.ts";

/** The folder that the demo writes to. */
const FOLDER = "demo";
/** Number of rows that the demo shows. */
const SHOWN = 12;
/** Whether npx runs Deno: there may be no command `deno`. */
const IS_NPX = /[/\\]_npx[/\\]/.test(Deno.execPath());
/** How the user calls a task. The demo may not read `INIT_CWD`. */
const TASK = IS_NPX ? `npx -y deno@${Deno.version.deno} task` : "deno task";
const CALLED = IS_NPM_PACKAGE ? "blocksweep" : TASK;
/** What to do after the demo. */
const NEXT = [
  `next: ${CALLED} lan finds servers on your LAN; ${CALLED} scan 192.168.1.0/24 -o servers.csv scans a range`,
  IS_NPM_PACKAGE
    ? "blocksweep --help lists the commands"
    : "deno task install adds the command blocksweep, which does the same; blocksweep --help lists its commands",
];

/** The hosts of a demo: servers, and a tenth of that number of hostile or opted-out hosts. */
export function demoFleet(servers: number, seed: number): FleetHost[] {
  const target = parseTarget(FLEET_RANGE);
  if ("name" in target) throw new Error("the fleet's range is one");
  return drawFleet({ servers, hostile: Math.ceil(servers / 10), range: target.range, seed });
}

/** Runs `demo`; returns the exit code. */
export async function runDemo(
  call: CommandCall,
): Promise<number> {
  const { options: { servers, seed, quiet, allProtocols } } = readCommandLine("demo", call);
  const hosts = demoFleet(servers, seed);
  const [csv, ndjson] = [`${FOLDER}/servers.csv`, `${FOLDER}/servers.ndjson`];
  await makeFolder();
  if (!quiet) {
    reportLine(
      `simulating ${countOf(servers, "server")} and ` +
        `${countOf(hosts.length - servers, "hostile or opted-out host")} in ${FLEET_RANGE} ` +
        "(65,536 addresses), and scanning all of it:",
    );
  }
  const args = [FLEET_RANGE, "-o", csv, "-o", ndjson, "--opt-out-file", `${FOLDER}/opt-out.txt`];
  const code = await scanFleet(hosts, seed, {
    args: quiet ? [...args, "--quiet"] : args,
    allProtocols,
  });
  if (code !== EXIT.done) return code;
  const rows = readNdjson(await Deno.readTextFile(userPath(ndjson)));
  await printTable(rows);
  const csvRows = readCsv(await Deno.readTextFile(userPath(csv)));
  const verdicts = [
    { name: ndjson, verdict: check(hosts, rows, "ndjson", allProtocols) },
    { name: csv, verdict: check(hosts, csvRows, "csv", allProtocols) },
  ];
  const result = await judge(verdicts);
  if (!quiet && result === EXIT.done) NEXT.forEach(reportLine);
  return result;
}

async function makeFolder(): Promise<void> {
  try {
    await Deno.mkdir(userPath(FOLDER), { recursive: true });
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new InputError(`Cannot make folder "${FOLDER}": ${reason(error)}`);
  }
}

/** Simulates the hosts while a scan of them runs; returns its exit code. */
async function scanFleet(
  hosts: readonly FleetHost[],
  seed: number,
  scan: CommandCall,
): Promise<number> {
  await using _fleet = await openFleet(hosts, {
    clock: systemClock,
    seed,
    ifInUse: ifInUse(FLEET_RANGE),
  });
  return await runPassingScan(scan);
}

function check(
  hosts: readonly FleetHost[],
  rows: readonly ServerRecord[],
  format: "csv" | "ndjson",
  allProtocols: readonly Protocol[],
): RowsVerdict {
  const ports = usualPorts(allProtocols);
  const selection: ScannedSelection = {
    protocols: usualProtocols(allProtocols).map(({ name }) => name),
    ports: (protocol) => ports(protocol, 4),
    follow: true,
  };
  return verifyAgainstManifest(hosts.map(({ entry }) => entry), rows, selection, format);
}

async function printTable(rows: readonly ServerRecord[]): Promise<void> {
  const shown = rows.toSorted((a, b) => (b.players_online ?? 0) - (a.players_online ?? 0)).slice(
    0,
    SHOWN,
  );
  const table = serverTable(outputColumns() ?? Infinity);
  const text = table.head + shown.map((record) => table.row(record, false)).join("");
  await print(`\n${text}... and ${withCommas(rows.length - shown.length)} more\n`);
}

async function judge(
  verdicts: readonly { readonly name: string; readonly verdict: RowsVerdict }[],
): Promise<number> {
  for (const { name, verdict } of verdicts) await print(verdictLines(name, verdict).join("\n"));
  return verdicts.every(({ verdict }) => isFlawless(verdict)) ? EXIT.done : EXIT.failed;
}
