// deno-lint-ignore-file no-console
/**
 * Shows that no live server is missing, whatever `--concurrency` says: every target of a simulated
 * fleet on loopback is alive, and every row is held against the fleet's manifest. With `--peers` it
 * compares the scan with two Node libraries on the same servers.
 *
 *     deno run --allow-read --allow-write --allow-run bench/complete.ts [--targets 20000]
 *         [--rounds 1] [--concurrency 16,256,2000] [--job raknet,query] [--engine portable]
 *         [--peers 16,64,256] [--modules FOLDER]
 *
 * It needs Linux, and no other program on the ports 19132 and 25565 of loopback: where one is, run it in a
 * network namespace (`unshare --net`, then `ip link set lo up`). For peers it needs Node and npm, and
 * downloads the libraries (bench/peers/package.json names their versions) into a folder that it
 * removes again, or takes those that `npm install` put into `--modules`.
 *
 * Scans run as users run them, with one retry. `--peers` names how many queries of a peer may be in
 * flight: for each number, every peer and a scan with each `--concurrency` take a turn in a round; a
 * scan that is not counted warms the fleet up. All wait 1,500 ms for a reply; the peers' default is to
 * send once.
 *
 * - `found`: of ours, rows that are right in every field. Of a peer, statuses that are the server's
 *   own, by the GUID or name, or by version, map and counts. The least of all rounds.
 * - `partial`: rows that lack what a later reply would have held; `faults`: all else that is wrong.
 * - `servers/s`: servers found ÷ time from the first probe to the last row, so that neither start-up
 *   nor the waits at a scan's end count; a peer's own process reports the same two moments.
 * - `CPU us`: user and system time of the whole process, start-up included, ÷ servers found.
 * - `run s`: from the start of the process to its end.
 * - `resent`: probes of the second pass; `lost`: datagrams that found a full buffer, at the fleet or
 *   at the program, from the kernel's counter.
 *
 * Exits with 1 when a row of ours is missing or wrong.
 */
import { readNdjson, verifyAgainstManifest } from "../src/fleet/judge/verify_rows.ts";
import type { ManifestEntry } from "../src/fleet/manifest.ts";
import { type Job, jobOptions, JOBS, selectionOf, writeTargets } from "./shared/jobs.ts";
import { foundByPeer, installPeers, NODE_PEERS } from "./shared/node_peers.ts";
import { readOptions } from "./shared/options.ts";
import { runTimed, scanCommand, startFleet, udpCounters } from "./shared/processes.ts";
import { median, table } from "./shared/table.ts";
import { inTurns } from "./shared/turns.ts";

const options = readOptions("that no live server is missing; servers per second", {
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

/** What one run came to. */
interface Run {
  readonly found: number;
  readonly partial: number;
  readonly faults: readonly string[];
  readonly resent: number;
  /** From the first probe to the last row, seconds. */
  readonly seconds: number;
}

/** And what the kernel knows of it. */
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
  const limits = ["--concurrency", concurrency, "--timeout", `${TIMEOUT_MS}`];
  const outputs = ["--output", rows, "--metadata-file", metadata];
  const words = [...jobOptions(job, targets), ...limits, ...outputs];
  return await measured(scanCommand(words, options.engine), folder, async () => {
    const read = readNdjson(await Deno.readTextFile(rows));
    const verdict = verifyAgainstManifest(entries, read, selectionOf(job), "ndjson");
    const { right: found, partial, faults } = verdict;
    const { probes_sent, first_probe_at, last_row_at } = JSON.parse(
      await Deno.readTextFile(metadata),
    );
    const seconds = (last_row_at - first_probe_at) / 1000;
    return { found, partial, faults, resent: probes_sent - entries.length, seconds };
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

/** Runs a program, then reads what it left behind. */
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

/** What takes turns, by program and number in flight. */
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

/** A line of the table: medians, but for what is found and what is wrong. */
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

/** Runs a job's programs and prints the table; returns whether our rows are all right. */
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
    await using fleet = await startFleet({ servers, software: job.software, folder });
    const targets = await writeTargets(fleet.entries, folder);
    right = await compare({ job, entries: fleet.entries, targets, folder }) && right;
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
Deno.exit(right ? 0 : 1);
