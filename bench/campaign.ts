// deno-lint-ignore-file no-console
/**
 * Measures what a campaign costs beside a scan of the same targets.
 *
 *     deno run -A bench/campaign.ts [--cases wall,parts,rows] [--seconds 300] [--rate 2000]
 *         [--parts 64,512,4096] [--rows 100000]
 *
 * It needs Linux and `nats-server`, which it starts. Everything is on loopback.
 *
 * - `wall`: the time from the start of the processes to the last row in the database: of `scan`, of
 *   a campaign with one worker, and of one with four workers that have a fourth of the rate each.
 *   Targets and rate are chosen so that the scan takes about `--seconds`. `peak` is the VmHWM of a
 *   worker.
 * - `parts`: a campaign whose parts have one address, without retries: milliseconds per part, from
 *   the start of one worker with 64 slots to the last part.
 * - `rows`: rows per second from the stream of results into SQLite by one collector, and its share of
 *   `Store.write` in the same process kind (the loop of `bench/store.ts`).
 */
import project from "../deno.json" with { type: "json" };
import { PROTOCOLS } from "../src/protocols/list.ts";
import { formatAddress } from "../src/core/address.ts";
import type { ServerRecord } from "../src/core/record.ts";
import { Control } from "../src/campaign/control.ts";
import { getSpec } from "../src/campaign/spec.ts";
import { RESULTS, resultSubject } from "../src/campaign/names.ts";
import { connectBroker } from "../src/campaign/nats/connection.ts";
import { spillLine } from "../src/store/spill_file.ts";
import { openSqlite } from "../src/store/database/sqlite.ts";
import { createTables } from "../src/store/schema/create_tables.ts";
import { Store } from "../src/store/store.ts";
import { startNats } from "../tests/campaign/nats_server.ts";
import { partsOf } from "./shared/campaign_rows.ts";
import { readOptions } from "./shared/options.ts";
import { programWords, startFleet } from "./shared/processes.ts";
import { repliesOfFleet, rowOf } from "./shared/rows.ts";
import { table } from "./shared/table.ts";

const options = readOptions("what a campaign costs beside a scan", {
  cases: "wall,parts,rows",
  seconds: "300",
  rate: "2000",
  parts: "64,512,4096",
  rows: "100000",
});
const folder = await Deno.makeTempDir({ prefix: "blocksweep-campaign-" });
await using nats = await startNats();
const NATS = ["--nats", nats.url];

/** The result of a process: its duration and its peak of memory. */
interface Ran {
  readonly seconds: number;
  readonly peak: number;
}

function spawn(words: readonly string[]): Deno.ChildProcess {
  const [program, ...args] = [...programWords(), ...words];
  const env = { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" };
  return new Deno.Command(program, { args, env, stdin: "null", stdout: "null", stderr: "inherit" })
    .spawn();
}

async function end(child: Deno.ChildProcess): Promise<void> {
  const { code } = await child.status;
  if (code === 0 || code === 130) return;
  throw new Error(`a process ended with ${code}`);
}

async function peakOf({ pid }: Deno.ChildProcess): Promise<number> {
  const [, kilobytes] = /VmHWM:\s*(\d+)/.exec(await Deno.readTextFile(`/proc/${pid}/status`))!;
  return Number(kilobytes) / 1024;
}

/** Runs a campaign with some workers to its end. */
async function campaign(
  name: string,
  targets: readonly string[],
  { workers, slots = 4 }: { readonly workers: number; readonly slots?: number },
): Promise<Ran> {
  const begun = performance.now();
  const maxRunning = String(workers * slots);
  await end(spawn([
    ...["campaign", "submit", ...targets, "--name", name, "--max-running", maxRunning, ...NATS],
  ]));
  const working = Array.from(
    { length: workers },
    () => spawn(["campaign", "work", "--slots", String(slots), ...NATS]),
  );
  const database = `${folder}/${name}.db`;
  await end(spawn(["campaign", "collect", name, "-o", database, ...NATS]));
  const seconds = (performance.now() - begun) / 1000;
  const peaks = await Promise.all(working.map(peakOf));
  for (const child of working) child.kill("SIGINT");
  await Promise.all(working.map(end));
  return { seconds, peak: Math.max(...peaks) };
}

async function wall(): Promise<void> {
  const rate = Number(options.rate);
  // Each address gets two pings and two connections.
  const addresses = rate * Number(options.seconds) / 4;
  const networks = Math.round(addresses / 256);
  const range = `127.60.0.0-${formatAddress(0x7f3c0000 + networks * 256 - 1)}`;
  const fleet = { servers: 2000, software: "bds,paper", range: "127.60.0.0/18", tcp: true, folder };
  await using _fleet = await startFleet(fleet);
  const targets = [range, "--protocol", "raknet,slp", "--rate", options.rate, "--seed", "1"];
  const begun = performance.now();
  await end(spawn(["scan", ...targets, "-o", `${folder}/scan.db`, "--quiet"]));
  const seconds = (performance.now() - begun) / 1000;
  const one = await campaign("one", targets, { workers: 1 });
  const four = await campaign("four", targets, { workers: 4 });
  const row = (name: string, ran: Ran, by: number) => [
    name,
    ran.seconds.toFixed(1),
    (ran.seconds / by).toFixed(3),
    ran.peak === 0 ? "" : `${ran.peak.toFixed(0)} MB`,
  ];
  console.log(table(["wall", "seconds", "ratio", "peak"], [
    row("scan", { seconds, peak: 0 }, seconds),
    row("campaign, 1 worker, to scan", one, seconds),
    row("campaign, 4 workers, to 1 worker", four, one.seconds),
  ]));
}

async function parts(): Promise<void> {
  const rows: string[][] = [];
  for (const count of options.parts.split(",").map(Number)) {
    const list = `${folder}/${count}.txt`;
    const addresses = Array.from({ length: count }, (_, i) => formatAddress(0x7f400001 + i * 256));
    await Deno.writeTextFile(list, addresses.join("\n"));
    const targets = [
      ...["-iL", list, "--parts", String(count), "--protocol", "raknet", "--retries", "0"],
      ...["--cooldown", "0ms", "--seed", "1"],
    ];
    const { seconds } = await campaign(`parts-${count}`, targets, { workers: 1, slots: 64 });
    rows.push([String(count), seconds.toFixed(1), (seconds * 1000 / count).toFixed(1)]);
  }
  console.log(table(["parts", "seconds", "ms per part"], rows));
}

/** Rows per second of `Store.write`, in batches of 1,000. */
async function storeRate(records: readonly ServerRecord[]): Promise<number> {
  const database = openSqlite(`${folder}/bare.db`);
  await createTables(database);
  await using store = new Store(database, () => Promise.resolve());
  await store.begin({ id: records[0].scan_id!, at: Date.now(), config: "{}" });
  const begun = performance.now();
  for (let at = 0; at < records.length; at += 1000) await store.write(records.slice(at, at + 1000));
  return records.length / (performance.now() - begun) * 1000;
}

async function rows(): Promise<void> {
  const count = Number(options.rows);
  const records = repliesOfFleet("raknet", count).map(rowOf)
    .map((record) => ({ ...record, seen_at: Date.now() }));
  const bare = await storeRate(records);
  const range = "127.16.0.0/12";
  const name = "rows";
  const submit = [range, "--name", name, "--parts", "8", "--seed", "1", "--rate", "1000"];
  await end(spawn(["campaign", "submit", ...submit, "--i-have-permission", ...NATS]));
  await using broker = await connectBroker({ nats: nats.url }, "benchmark");
  await using control = await Control.open(broker, console.error);
  const { spec: digest } = control.campaigns().get(name)!;
  const expected = { name, digest, program: project.version, allProtocols: PROTOCOLS };
  const { configuration: { scanId } } = await getSpec(broker, expected);
  const byPart = Map.groupBy(records, partsOf(range, 8, 1));
  for (const [part, own] of byPart) {
    for (let at = 0; at < own.length; at += 200) {
      const lines = own.slice(at, at + 200).map((row) => spillLine({ ...row, scan_id: scanId }))
        .join("");
      await broker.js.publish(resultSubject(name, part, "rows"), lines);
    }
  }
  const database = `${folder}/rows.db`;
  const child = spawn(["campaign", "collect", "-o", database, ...NATS]);
  let [first, last, n] = [0, 0, 0];
  for (let before = 0; n < count; before = n) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    n = countIn(database);
    if (first === 0 && n > 0) [first, before] = [performance.now(), n];
    if (n > before) last = performance.now();
  }
  child.kill("SIGINT");
  await end(child);
  const collected = count / (last - first) * 1000;
  const { state } = await broker.jsm.streams.info(RESULTS);
  console.log(table(["rows", "rows/s", "share"], [
    ["Store.write", bare.toFixed(0), "1"],
    ["collector", collected.toFixed(0), (collected / bare).toFixed(2)],
  ]));
  console.log(`${state.messages} messages are left in the stream`);
}

const { DatabaseSync } = await import("node:sqlite");
function countIn(path: string): number {
  try {
    using database = new DatabaseSync(path, { readOnly: true });
    return database.prepare("select count(*) as n from servers").get()!.n as number;
  } catch {
    return 0; // the collector has not created it yet
  }
}

const CASES: Record<string, () => Promise<void>> = { wall, parts, rows };
for (const name of options.cases.split(",")) await CASES[name]();
await Deno.remove(folder, { recursive: true });
