// deno-lint-ignore-file no-console
/**
 * Compares a scan with two libraries that ask the same questions, on the same live servers: a
 * simulated fleet on loopback, one host an address.
 *
 *     deno run --allow-read --allow-write --allow-run bench/peers.ts [--targets 20000] [--rounds 3]
 *         [--in-flight 16,64,256] [--job raknet,query] [--peers FOLDER]
 *
 * It needs Linux, Node and npm, and downloads the peers (peers/package.json names their versions)
 * into a folder that it removes again; with `--peers` it takes those that `npm install` put into that
 * folder. No other server may have the ports 19132 and 25565 of loopback: where one does, run it in a
 * network namespace (`unshare --net`, then `ip link set lo up`).
 *
 * Every program is a process of its own, Node for the peers. In a round each takes its turn for each
 * number in flight; ours runs as often as every peer, always as users run it (256 inspections at
 * once). A run that is not counted warms the fleet up.
 *
 * `servers/s` is servers found ÷ time from the first probe to the last row, so that neither start-up
 * nor the waits at a scan's end count:
 *
 * - ours: `first_probe_at` to `last_row_at` of the metadata file, which is when sending begins, and
 *   when the output file has taken the last row. A server is found when its row is right in every
 *   field by the fleet's manifest.
 * - peers: from before the first query to when the file has taken the last line, both told by the
 *   peer's own process; a line is what the peer's promise resolved with, as JSON. A server is found
 *   when that is the server's own, by the GUID or name, or by version, map and counts.
 *
 * `CPU µs` is user and system time of the whole process, start-up included, ÷ servers found. `run s`
 * is from the start of the process to its end: ours waits a second between its passes, and another
 * for late answers. All wait 1,500 ms for an answer; ours asks the silent a second time, as is its
 * default, the peers' default is to ask once. `lost` counts datagrams that found a full buffer, at
 * the fleet or at the program, from the kernel's counter.
 */
import type { ManifestEntry } from "../src/fleet/manifest.ts";
import { readNdjson, verifyAgainstManifest } from "../src/fleet/judge/verify_rows.ts";
import { serverId } from "../src/core/record.ts";
import { type Job, jobOptions, JOBS, selectionOf, writeTargets } from "./shared/jobs.ts";
import { readOptions } from "./shared/options.ts";
import { runTimed, scanCommand, startFleet, udpCounters, type Usage } from "./shared/processes.ts";
import { median, table } from "./shared/table.ts";

const TIMEOUT_MS = 1500;
const OURS = "blocksweep";
const PEERS = ["gamedig", "minecraft-server-util"];

/** What one run of one program came to. */
interface Run {
  readonly program: string;
  readonly inFlight: string;
  readonly found: number;
  readonly rate: number;
  readonly cpu: number;
  readonly elapsed: number;
  readonly lost: number;
}

/** Everything that the runs of one job share. */
interface Arena {
  readonly job: Job;
  readonly entries: readonly ManifestEntry[];
  /** A file with one `host:port` a line. */
  readonly targets: string;
  readonly folder: string;
}

/** Puts the peers' programs into a folder, and what they import beside them. */
async function install(folder: string): Promise<void> {
  const files = ["package.json", "loop.mjs", ...PEERS.map((name) => `${name}.mjs`)];
  for (const name of files) {
    await Deno.copyFile(new URL(`peers/${name}`, import.meta.url), `${folder}/${name}`);
  }
  if (options.peers !== "") {
    const modules = await Deno.realPath(`${options.peers}/node_modules`);
    return await Deno.symlink(modules, `${folder}/node_modules`);
  }
  await runTimed(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"], folder);
}

/** What the kernel knows of a run. */
interface Measured extends Usage {
  readonly lost: number;
}

async function measured(command: readonly string[], folder: string): Promise<Measured> {
  const before = await udpCounters();
  const usage = await runTimed(command, folder);
  const after = await udpCounters();
  return { ...usage, lost: after.RcvbufErrors - before.RcvbufErrors };
}

async function runOurs({ job, entries, targets, folder }: Arena): Promise<Run> {
  const [rows, metadata] = [`${folder}/rows.ndjson`, `${folder}/metadata.json`];
  const options = [...jobOptions(job, targets), "--timeout", String(TIMEOUT_MS)];
  const used = await measured(
    scanCommand([...options, "-o", rows, "--metadata-file", metadata]),
    folder,
  );
  const read = readNdjson(await Deno.readTextFile(rows));
  const { right } = verifyAgainstManifest(entries, read, selectionOf(job), "ndjson");
  const { first_probe_at, last_row_at } = JSON.parse(await Deno.readTextFile(metadata));
  return runOf(OURS, "default", right, (last_row_at - first_probe_at) / 1000, used);
}

async function runPeer(program: string, inFlight: string, arena: Arena): Promise<Run> {
  const { job, entries, targets, folder } = arena;
  const [rows, report] = [`${folder}/rows.ndjson`, `${folder}/report.json`];
  const args = [job.name, targets, inFlight, String(TIMEOUT_MS), rows, report];
  const used = await measured(["node", `${program}.mjs`, ...args], folder);
  const { seconds } = JSON.parse(await Deno.readTextFile(report));
  const lines = (await Deno.readTextFile(rows)).trim().split("\n");
  const answers = new Map(
    lines.filter((line) => line !== "").map((line) => {
      const row: Row = JSON.parse(line);
      return [serverId(row), row.status];
    }),
  );
  const found = entries.filter((entry) => {
    const status = answers.get(serverId(entry));
    return status !== undefined && isOwn(entry, job, status);
  });
  return runOf(program, inFlight, found.length, seconds, used);
}

function runOf(
  program: string,
  inFlight: string,
  found: number,
  seconds: number,
  { cpu, elapsed, lost }: Measured,
): Run {
  const rate = found / seconds;
  return { program, inFlight, found, rate, cpu: cpu / found * 1e6, elapsed, lost };
}

/** A line that a peer's program writes. */
interface Row {
  readonly host: string;
  readonly port: number;
  readonly status: Status;
}

/** The parts of the peers' statuses that are looked at: those of either have names of their own. */
interface Status {
  // gamedig
  readonly name?: string;
  readonly numplayers?: number;
  readonly maxplayers?: number;
  readonly raw?: { readonly version?: string; readonly map?: string };
  // minecraft-server-util
  readonly serverGUID?: string;
  readonly version?: string;
  readonly map?: string;
  readonly players?: { readonly online?: number; readonly max?: number };
}

/** Whether a status is the server's own. What a peer's parser makes of a MOTD is not judged. */
function isOwn({ truth }: ManifestEntry, job: Job, status: Status): boolean {
  const { columns } = truth[job.name];
  if (job.name === "query") {
    const { raw = status, numplayers, maxplayers, players } = status;
    return raw.version === columns.version && raw.map === columns.map &&
      (numplayers ?? players?.online) === columns.players_online &&
      (maxplayers ?? players?.max) === columns.players_max;
  }
  if (status.serverGUID !== undefined) {
    return BigInt.asUintN(64, BigInt(status.serverGUID)) === BigInt(columns.guid!);
  }
  const beginning = status.name?.replace(/\\$/, "") ?? ""; // gamedig ends it at the first `;`
  return beginning !== "" && columns.motd!.startsWith(beginning);
}

async function compare(arena: Arena, rounds: number, settings: readonly string[]): Promise<Run[]> {
  await runOurs(arena);
  const runs: Run[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const inFlight of settings) {
      runs.push(await runOurs(arena));
      for (const peer of PEERS) runs.push(await runPeer(peer, inFlight, arena));
    }
    console.error(`  round ${round} of ${rounds} is done`);
  }
  return runs;
}

/** The medians of each program and number in flight. */
function medians(runs: readonly Run[]): Run[] {
  const groups = Map.groupBy(runs, ({ program, inFlight }) => `${program} ${inFlight}`);
  return [...groups.values()].map((group) => {
    const middle = (name: "found" | "rate" | "cpu" | "elapsed" | "lost") =>
      median(group.map((run) => run[name]));
    return {
      ...group[0],
      found: Math.min(...group.map(({ found }) => found)),
      rate: middle("rate"),
      cpu: middle("cpu"),
      elapsed: middle("elapsed"),
      lost: middle("lost"),
    };
  });
}

function print({ job, entries }: Arena, runs: readonly Run[], rounds: number): void {
  const rows = medians(runs);
  const ours = rows.find(({ program }) => program === OURS)!;
  const best = PEERS.map((peer) =>
    rows.filter(({ program }) => program === peer).sort((a, b) => b.rate - a.rate)[0]
  ).sort((a, b) => b.rate - a.rate);
  const rates = runs.filter(({ program }) => program === OURS).map(({ rate }) => Math.round(rate));
  console.log(`\n${job.title}: ${entries.length} live servers, medians of ${rounds} rounds\n`);
  console.log(table(
    ["program", "in flight", "least found", "servers/s", "CPU µs", "run s", "lost"],
    rows.map((run) => [
      run.program + (best.includes(run) ? " *" : ""),
      run.inFlight,
      ...[run.found, run.rate, run.cpu, run.elapsed, run.lost],
    ]),
  ));
  console.log(
    `\n* the peer's best. Ours ran ${rates.length} times: ${rates.join(", ")} servers/s.`,
  );
  for (const peer of best) {
    console.log(
      `ours ÷ ${peer.program}: ${(ours.rate / peer.rate).toFixed(2)} in servers/s, ` +
        `${(ours.cpu / peer.cpu).toFixed(2)} in CPU a server`,
    );
  }
}

const options = readOptions({
  "targets": "20000",
  "rounds": "3",
  "in-flight": "16,64,256",
  "job": "raknet,query",
  "peers": "",
});
const folder = await Deno.makeTempDir({ prefix: "blocksweep-peers-" });
try {
  await install(folder);
  for (const job of JOBS.filter(({ name }) => options.job.split(",").includes(name))) {
    await using fleet = await startFleet({
      servers: Number(options.targets),
      software: job.software,
      folder,
    });
    const { entries } = fleet;
    const targets = await writeTargets(entries, folder);
    const arena = { job, entries, targets, folder };
    const rounds = Number(options.rounds);
    print(arena, await compare(arena, rounds, options["in-flight"].split(",")), rounds);
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
