// deno-lint-ignore-file no-console
/**
 * Sends SIGKILL at many moments to a scan that writes files or a database, and resumes the scan
 * each time. It shows that every server is in each output exactly once, and that every row is
 * correct.
 *
 *     deno run -A bench/kill.ts [--outputs files,postgres] [--moments 20] [--seed 1]
 *         [--range 127.16.0.0/12] [--servers 2000] [--protocol raknet,slp,query] [--rate 100k]
 *         [--lived 8000] [--engine portable] [--last RATE] [--adaptive 30%]
 *
 * `files` is one scan with three outputs: CSV, NDJSON and SQLite. `postgres` needs Debian's
 * `postgresql`; the benchmark starts a server of its own with the default settings. It needs Linux.
 * No other program may use the usual ports of loopback. The seed determines the times of the kills.
 * Every second kill comes after a random time: 200 ms, and at most `--lived` more. The others come
 * at an event of an output: a row is written, the list or SQLite's log grows, the next checkpoint
 * is created, is written or replaces the old one, or PostgreSQL is within a transaction of the
 * scan. If the event does not occur within twice the time of `--lived`, the scan is killed at that
 * time.
 *
 * `lived` is the duration of the killed part of the scan, milliseconds, start-up included. `listed`
 * is the number of rows in the checkpoint's list at the time of the kill; the outputs had accepted
 * them. `behind` is the number of rows in each output that the list does not contain. `gone` is the
 * number of listed rows that an output lacks. `udp` and `tcp` are pass and position of the
 * checkpoint. `--last` is the rate of the last part. Exits with 1 when a listed row is gone, a
 * server is missing, duplicate or wrong, an observation is missing or duplicate, or SQLite's
 * `integrity_check` is not ok.
 *
 * With `--protocol slp` the Java servers also accept connections.
 *
 * With `--adaptive` the servers are crowded, and the scan is adaptive with this budget. A scan that
 * is not killed runs first. The killed scan must have the same plans, and find the same servers.
 */
import { countOf } from "../src/core/quantities.ts";
import { serverId } from "../src/core/record.ts";
import { isFlawless, verdictLines, verifyAgainstManifest } from "../src/fleet/judge/verify_rows.ts";
import type { ManifestEntry } from "../src/fleet/manifest.ts";
import { Random } from "../src/fleet/random.ts";
import { startPostgres } from "../tests/postgres/server.ts";
import { usualSelection } from "./shared/jobs.ts";
import { fileOutputs, type Outputs, postgresOutput } from "./shared/killed_outputs.ts";
import { after, listed, marksOf, opened, passesIn, textOf, within } from "./shared/moments.ts";
import { readOptions } from "./shared/options.ts";
import { runTimed, scanCommand, start, startFleet } from "./shared/processes.ts";
import { table } from "./shared/table.ts";

const options = readOptions("a scan that is killed at many times and resumed", {
  outputs: "files,postgres",
  moments: "20",
  seed: "1",
  range: "127.16.0.0/12",
  servers: "2000",
  software: "bds,pocketmine,paper,vanilla",
  protocol: "raknet,slp,query",
  rate: "100k",
  lived: "8000",
  engine: "portable",
  last: "",
  adaptive: "",
});
const LIVED = Number(options.lived);
const random = new Random(Number(options.seed));
const folder = await Deno.makeTempDir({ prefix: "blocksweep-kill-" });

/**
 * The arguments of a scan, or of a resumed scan. Outputs are named again, because a checkpoint
 * contains no passwords of URLs.
 */
function wordsOf({ paths, checkpoint }: Outputs, begun: boolean): string[] {
  const outputs = paths.flatMap((path) => ["-o", path]);
  if (begun) return ["--resume", checkpoint, ...outputs];
  const targets = [options.range, "--protocol", options.protocol, "--rate", options.rate];
  const adaptive = ["--adaptive", "--budget", options.adaptive, "--seed", options.seed];
  const ways = options.adaptive === "" ? [] : adaptive;
  return [...targets, ...ways, ...outputs, "--checkpoint", checkpoint];
}

/** What a scan that was not killed planned and found. */
interface Reference {
  readonly passes: readonly string[];
  readonly servers: ReadonlySet<string>;
}

/** Runs a scan to its end, and returns its time and its passes. */
async function finish(
  words: readonly string[],
  checkpoint: string,
): Promise<{ readonly elapsed: number; readonly passes: readonly string[] }> {
  const running = runTimed(scanCommand(words, options.engine));
  // The open file can be read after the scan has removed the list.
  using list = await Promise.race([opened(`${checkpoint}.list`), running.then(() => undefined)]);
  const { elapsed } = await running;
  const text = list === undefined ? "" : await new Response(list.readable).text();
  return { elapsed, passes: passesIn(text) };
}

/** The first pass in which two scans differ. */
function passFaults(passes: readonly string[], expected: readonly string[]): string[] {
  const length = Math.max(passes.length, expected.length);
  const first = Array.from({ length }, (_, i) => i).find((i) => passes[i] !== expected[i]);
  return first === undefined ? [] : [`passes differ: ${passes[first]}, not ${expected[first]}`];
}

/** Runs a scan that is not killed. */
async function unkilled(): Promise<Reference> {
  const inside = await Deno.makeTempDir({ dir: folder });
  const outputs = fileOutputs(inside, random);
  const { passes } = await finish(wordsOf(outputs, false), outputs.checkpoint);
  const servers = new Set((await outputs.rows()).map(serverId));
  console.log(
    `not killed: ${countOf(passes.length, "pass", "passes")}, ${countOf(servers.size, "server")}`,
  );
  return { passes, servers };
}

/** Starts a part of the scan and kills it at a moment. Returns a line of the table. */
async function kill(outputs: Outputs, i: number, begun: boolean) {
  const ms = 200 + random.below(LIVED);
  const moment = i % 2 === 0 ? after(ms) : within(2 * LIVED, outputs.border());
  const coming = moment.come();
  const from = performance.now();
  const child = start(scanCommand(wordsOf(outputs, begun), options.engine));
  const ended = await Promise.race([coming.then(() => false), child.status.then(() => true)]);
  if (ended) throw new Error(`the scan ended before moment ${i + 1}: lower --rate or --lived`);
  child.kill("SIGKILL");
  const lived = Math.round(performance.now() - from);
  await child.status;
  const saved = await textOf(outputs.checkpoint);
  const known = listed(await textOf(`${outputs.checkpoint}.list`));
  const held = await outputs.held();
  const behind = held.map(({ size }) => size - known.length).join(" ");
  const gone = known.filter((id) => held.some((one) => !one.has(id))).length;
  const marks = saved === "" ? ["none", "none"] : marksOf(saved);
  const line = [i + 1, moment.name, lived, known.length, behind, gone, ...marks];
  return { line, gone, begun: saved !== "" };
}

/** Kills and resumes a scan. Returns whether there was no error. */
async function run(
  name: string,
  outputs: Outputs,
  entries: readonly ManifestEntry[],
  reference?: Reference,
): Promise<boolean> {
  const lines: (string | number)[][] = [];
  let [begun, gone] = [false, 0];
  for (let i = 0; i < Number(options.moments); i++) {
    const killed = await kill(outputs, i, begun);
    begun = killed.begun;
    gone += killed.gone;
    lines.push(killed.line);
  }
  const rate = options.last === "" ? [] : ["--rate", options.last];
  const words = [...wordsOf(outputs, begun), ...rate];
  const { elapsed, passes } = await finish(words, outputs.checkpoint);
  console.log(table([name, "killed", "lived", "listed", "behind", "gone", "udp", "tcp"], lines));
  const rows = await outputs.rows();
  const ids = rows.map(serverId);
  const selection = usualSelection(options.protocol.split(","));
  const expected = entries.filter((one) => reference?.servers.has(serverId(one)) ?? true);
  const verdict = verifyAgainstManifest(expected, rows, selection, "ndjson");
  const faults = await outputs.faults(ids);
  if (reference !== undefined) faults.push(...passFaults(passes, reference.passes));
  const left = await textOf(outputs.checkpoint) + await textOf(`${outputs.checkpoint}.list`);
  if (left !== "") faults.push("the checkpoint or its list was not removed");
  const ending = `killed ${lines.length} times; the last part took ${elapsed.toFixed(1)} s`;
  console.log(verdictLines(ending, verdict).join("\n"));
  if (reference !== undefined) console.log(countOf(passes.length, "pass", "passes"));
  console.log(`${faults.length} other faults, ${gone} listed rows gone\n`);
  for (const fault of faults) console.error(`  ${fault}`);
  return isFlawless(verdict) && faults.length === 0 && gone === 0;
}

let right = true;
try {
  await using fleet = await startFleet({
    servers: Number(options.servers),
    software: options.software,
    range: options.range,
    tcp: options.protocol === "slp",
    folder,
    more: options.adaptive === "" ? [] : ["--crowded"],
  });
  const reference = options.adaptive === "" ? undefined : await unkilled();
  for (const name of options.outputs.split(",")) {
    if (name === "files") {
      right = await run(name, fileOutputs(folder, random), fleet.entries, reference) && right;
    } else {
      await using server = await startPostgres("on");
      const outputs = postgresOutput(folder, `${server.url}postgres`, random);
      right = await run(name, outputs, fleet.entries, reference) && right;
    }
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
Deno.exit(right ? 0 : 1);
