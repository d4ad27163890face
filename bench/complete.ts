// deno-lint-ignore-file no-console
/**
 * Shows that a scan finds every live server, at any `--concurrency`. All targets are servers of a
 * simulated fleet on loopback, and every row is compared with the manifest of the fleet. With
 * `--peers`, two Node libraries query the same servers for comparison.
 *
 *     deno run --allow-read --allow-write --allow-run bench/complete.ts [--targets 20000]
 *         [--rounds 1] [--concurrency 16,256,2000] [--job raknet,query,slp] [--engine portable]
 *         [--peers 16,64,256] [--modules FOLDER]
 *
 * It needs Linux. No other program may use the ports 19132 and 25565 of loopback. If one does, run
 * the benchmark in a network namespace (`unshare --net`, then `ip link set lo up`). For `--peers`
 * it needs Node and npm. It downloads the libraries (bench/peers/package.json names their versions)
 * into a folder that it removes at the end. With `--modules` it uses the libraries that `npm
 * install` put into that folder.
 *
 * Scans have the options that users use, with one retry. `--peers` names the numbers of concurrent
 * queries of a peer. In each round, every peer runs with each of these numbers, and a scan with
 * each `--concurrency`. One scan before the rounds is not counted. All programs have a timeout of
 * 1,500 ms for a reply. The peers send each request once, which is their default.
 *
 * - `found`: of a scan, rows that are correct in every field. Of a peer, statuses that belong to
 *   the server, recognised by the GUID or name, or by version, map and counts. Minimum of all
 *   rounds.
 * - `partial`: rows that lack values of a later reply; `faults`: all other errors.
 * - `servers/s`: number of found servers, divided by the time from the first probe to the last row.
 *   Start-up and the cooldown of a scan do not count. A peer's process measures the same period.
 * - `CPU us`: user and system time of the whole process, start-up included, per found server.
 * - `run s`: time from the start of the process to its end.
 * - `resent`: number of probes in the second pass; `lost`: number of datagrams that were dropped
 *   because a receive buffer of the fleet or of the program was full, from the kernel's counter.
 *
 * Exits with 1 when a row of a scan is missing or wrong.
 */
import { readNdjson, verifyAgainstManifest } from "../src/fleet/judge/verify_rows.ts";
import type { ManifestEntry } from "../src/fleet/manifest.ts";
import { type Job, jobOptions, JOBS, selectionOf, writeTargets } from "./shared/jobs.ts";
import { foundByPeer, installPeers, NODE_PEERS } from "./shared/node_peers.ts";
import { readOptions } from "./shared/options.ts";
import { runTimed, scanCommand, startFleet, udpCounters } from "./shared/processes.ts";
import { median, table } from "./shared/table.ts";
import { inTurns } from "./shared/turns.ts";

const options = readOptions("finds every live server; servers per second", {
  targets: "20000",
  rounds: "1",
  concurrency: "16,256,2000",
  job: "raknet,query",
  engine: "portable",
  peers: "",
  modules: "",
});
const TIMEOUT_MS = 1500;
const OURS = "blocksweep";
const HEAD = ["program", "in flight", "alive", "found", "partial", "faults", "resent"];
const TIMES = ["servers/s", "CPU us", "run s", "lost"];

/** The result of one run. */
interface Run {
  readonly found: number;
  readonly partial: number;
  readonly faults: readonly string[];
  readonly resent: number;
  /** Time from the first probe to the last row, seconds. */
  readonly seconds: number;
}

/** The result of one run, with the kernel's numbers. */
interface Measured extends Run {
  readonly cpu: number;
  readonly elapsed: number;
  readonly lost: number;
}

/** The live servers of a job. */
interface Arena {
  readonly job: Job;
  readonly entries: readonly ManifestEntry[];
  /** A file with one `host:port` a line. */
  readonly targets: string;
  readonly folder: string;
}

async function scan({ job, entries, targets, folder }: Arena, concurrency: string) {
  const [rows, metadata] = [`${folder}/rows.ndjson`, `${folder}/metadata.json`];
  const limits = ["--concurrency", concurrency, "--timeout", `${TIMEOUT_MS}ms`];
  const outputs = ["--output", rows, "--metadata-file", metadata];
  const words = [...jobOptions(job, targets), ...limits, ...outputs];
  return await measured(scanCommand(words, options.engine), folder, async () => {
    const read = readNdjson(await Deno.readTextFile(rows));
    const verdict = verifyAgainstManifest(entries, read, selectionOf(job), "ndjson");
    const { right: found, partial, faults } = verdict;
    const { probes_sent, tcp, first_probe_at, last_row_at } = JSON.parse(
      await Deno.readTextFile(metadata),
    );
    const seconds = (last_row_at - first_probe_at) / 1000;
    const sent = probes_sent + tcp.probes_sent;
    return { found, partial, faults, resent: sent - entries.length, seconds };
  });
}

async function runPeer({ job, entries, targets, folder }: Arena, peer: string, inFlight: string) {
  const [rows, report] = [`${folder}/rows.ndjson`, `${folder}/report.json`];
  const args = [job.name, targets, inFlight, `${TIMEOUT_MS}`, rows, report];
  return await measured(["node", `${peer}.mjs`, ...args], folder, async () => {
    const { seconds } = JSON.parse(await Deno.readTextFile(report));
    const found = await foundByPeer(rows, entries, job);
    return { found: found.length, partial: 0, faults: [], resent: 0, seconds };
  });
}

/** Runs a program, then reads its results. */
async function measured(
  command: readonly string[],
  folder: string,
  read: () => Promise<Run>,
): Promise<Measured> {
  const before = await udpCounters();
  const { cpu, elapsed } = await runTimed(command, folder);
  const after = await udpCounters();
  return { ...await read(), cpu, elapsed, lost: after.RcvbufErrors - before.RcvbufErrors };
}

/** The programs to run, by name and number of concurrent queries. */
function programs(arena: Arena): Map<string, () => Promise<Measured>> {
  const all = new Map<string, () => Promise<Measured>>();
  for (const number of options.concurrency.split(",")) {
    all.set(`${OURS} ${number}`, () => scan(arena, number));
  }
  for (const number of options.peers.split(",").filter((one) => one !== "")) {
    for (const peer of NODE_PEERS) {
      all.set(`${peer} ${number}`, () => runPeer(arena, peer, number));
    }
  }
  return all;
}

/**
 * A line of the table. `found` is a minimum, the numbers of errors and lost datagrams are sums, and
 * all other numbers are medians.
 */
function lineOf(name: string, alive: number, runs: readonly Measured[]): (string | number)[] {
  const sum = (of: (run: Measured) => number) => runs.reduce((total, run) => total + of(run), 0);
  const middle = (of: (run: Measured) => number) => median(runs.map(of));
  const [program, inFlight] = name.split(" ");
  return [
    program,
    Number(inFlight),
    alive,
    Math.min(...runs.map(({ found }) => found)),
    sum(({ partial }) => partial),
    sum(({ faults }) => faults.length),
    middle(({ resent }) => resent),
    Math.round(middle(({ found, seconds }) => found / seconds)),
    middle(({ cpu, found }) => cpu / found * 1e6),
    middle(({ elapsed }) => elapsed),
    sum(({ lost }) => lost),
  ];
}

/**
 * Runs the programs of a job and prints the table. Returns whether all rows of the scans are
 * correct.
 */
async function compare(arena: Arena): Promise<boolean> {
  const all = programs(arena);
  if (options.peers !== "") await scan(arena, "256");
  const runs = await inTurns([...all.keys()], Number(options.rounds), async (name, round) => {
    const run = await all.get(name)!();
    console.error(`round ${round}: ${name} found ${run.found} in ${run.seconds.toFixed(1)} s`);
    for (const fault of run.faults.slice(0, 5)) console.error(`  ${fault}`);
    return run;
  });
  const alive = arena.entries.length;
  console.log(`${arena.job.title}\n`);
  const lines = [...runs].map(([name, one]) => lineOf(name, alive, one));
  console.log(`${table([...HEAD, ...TIMES], lines)}\n`);
  const ours = [...runs].filter(([name]) => name.startsWith(OURS)).flatMap(([, one]) => one);
  return ours.every(({ found, faults }) => found === alive && faults.length === 0);
}

const folder = await Deno.makeTempDir({ prefix: "blocksweep-complete-" });
let right = true;
try {
  if (options.peers !== "") await installPeers(folder, options.modules);
  for (const job of JOBS.filter(({ name }) => options.job.split(",").includes(name))) {
    const servers = Number(options.targets);
    const tcp = job.name === "slp";
    await using fleet = await startFleet({ servers, software: job.software, tcp, folder });
    const targets = await writeTargets(fleet.entries, folder);
    right = await compare({ job, entries: fleet.entries, targets, folder }) && right;
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
Deno.exit(right ? 0 : 1);
