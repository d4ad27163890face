// deno-lint-ignore-file no-console
/**
 * Measures how fast servers are found if every address has a server. Each engine sweeps the range
 * once per round, and the rows are compared with the range.
 *
 *     deno run -A bench/live.ts [--targets 524288] [--live 524288] [--rounds 3]
 *         [--engines udp,portable] [--format ndjson]
 *
 * It needs Linux, root, iproute2 and a C compiler. The servers (bench/c/respond.c) are in a network
 * namespace of their own, behind a veth pair. `servers/s` counts from the first probe to the last
 * row in the file. `CPU us` is the user and system time of the whole process per server, start-up
 * included. `peak` is its VmHWM. `dropped` is the number of datagrams that were dropped because a
 * receive buffer on either side was full. `missing`, `twice` and `dropped` are sums of all rounds,
 * the other numbers are medians. Exits with 1 when a server is missing or duplicate.
 */
import { beFarEnd, joinNear, near } from "./shared/namespaces.ts";
import { readOptions } from "./shared/options.ts";
import { bareScan, start, takenUntilEnd } from "./shared/processes.ts";
import { build, respond } from "./shared/responders.ts";
import { median, table } from "./shared/table.ts";
import { inTurns } from "./shared/turns.ts";

const options = readOptions("servers per second if every address has a server", {
  targets: String(2 ** 19),
  live: String(2 ** 19),
  rounds: "3",
  engines: "udp,portable",
  format: "ndjson",
});
await beFarEnd(import.meta.url);
const FIRST = "10.80.0.0";
const PORT = 19132;
const folder = await Deno.makeTempDir({ prefix: "blocksweep-live-" });
const [targets, live] = [Number(options.targets), Number(options.live)];

/** The result of one run. */
interface Run {
  readonly rate: number;
  readonly cpu: number;
  readonly peak: number;
  readonly missing: number;
  readonly twice: number;
  readonly dropped: number;
}

async function run(engine: string, program: string): Promise<Run> {
  const end = await respond(program, { first: FIRST, targets, live, port: PORT });
  const [rows, metadata] = [`${folder}/rows`, `${folder}/metadata.json`];
  await Deno.remove(rows).catch(() => {});
  const scan = { range: `${FIRST}/${32 - Math.log2(targets)}`, port: PORT, engine };
  const outputs = ["--format", options.format, "--output", rows, "--metadata-file", metadata];
  const child = start(near(bareScan(scan, outputs)));
  let last = { peak: 0, cpu: 0 };
  for await (const taken of takenUntilEnd(child, 50)) last = taken;
  const { code } = await child.status;
  if (code !== 0) throw new Error(`the scan with ${engine} failed with ${code}`);
  const { dropped: theirs } = await end();
  const found = await hosts(rows);
  const { first_probe_at, last_row_at, datagrams_dropped: ours } = JSON.parse(
    await Deno.readTextFile(metadata),
  );
  return {
    rate: found.length / (last_row_at - first_probe_at) * 1000,
    cpu: last.cpu / found.length * 1e6,
    peak: last.peak,
    missing: live - new Set(found).size,
    twice: found.length - new Set(found).size,
    dropped: theirs + Number(ours ?? 0),
  };
}

/** The hosts of all rows. */
async function hosts(file: string): Promise<string[]> {
  const pattern = /^(?:\{"schema":1,"host":")?(10\.\d+\.\d+\.\d+)/;
  return (await Deno.readTextFile(file)).split("\n").flatMap((line) =>
    pattern.exec(line)?.[1] ?? []
  );
}

const middle = (all: readonly Run[], of: keyof Run) => median(all.map((one) => one[of]));
const sum = (all: readonly Run[], of: keyof Run) => all.reduce((total, one) => total + one[of], 0);

/** A line of the table. */
function lineOf([engine, all]: readonly [string, readonly Run[]]): (string | number)[] {
  const medians = [Math.round(middle(all, "rate")), middle(all, "cpu"), middle(all, "peak")];
  return [engine, live, ...medians, sum(all, "missing"), sum(all, "twice"), sum(all, "dropped")];
}

let wrong = 0;
try {
  const program = await build("respond", folder);
  await using _ = await joinNear("10.80.0.0/12", true);
  const engines = options.engines.split(",");
  const runs = await inTurns(engines, Number(options.rounds), async (engine, round) => {
    const one = await run(engine, program);
    console.error(`round ${round}: ${engine} ${Math.round(one.rate)} servers/s`);
    return one;
  });
  for (const all of runs.values()) wrong += sum(all, "missing") + sum(all, "twice");
  console.log(table(
    ["engine", "servers", "servers/s", "CPU us", "peak MiB", "missing", "twice", "dropped"],
    [...runs].map(lineOf),
  ));
} finally {
  await Deno.remove(folder, { recursive: true });
}
Deno.exit(wrong > 0 ? 1 : 0);
