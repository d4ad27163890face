// deno-lint-ignore-file no-console
/**
 * Shows how fast servers are found where every address is one: each sweeps the range once, and each
 * row is held against the range.
 *
 *     deno run -A bench/live.ts [--targets 524288] [--live 524288] [--rounds 3]
 *         [--engines udp,portable] [--format ndjson]
 *
 * It needs Linux, root, iproute2 and a C compiler: the servers are bench/c/respond.c, in a network
 * namespace of its own, behind a veth pair. `servers/s` is from the first probe to the last row in the
 * file, `CPU us` user and system time of the whole process by server, start-up included, `peak` its
 * VmHWM, `no room` the datagrams that found a full buffer on either side. Medians of all rounds, but
 * for `missing`, `twice` and `no room`, which are sums. Exits with 1 when a server is missing or twice.
 */
import { beFarEnd, joinNear, near } from "./shared/namespaces.ts";
import { readOptions } from "./shared/options.ts";
import { readProc, scanCommand, start } from "./shared/processes.ts";
import { build, respond } from "./shared/responders.ts";
import { median, table } from "./shared/table.ts";

await beFarEnd(import.meta.url);
const options = readOptions({
  targets: String(2 ** 19),
  live: String(2 ** 19),
  rounds: "3",
  engines: "udp,portable",
  format: "ndjson",
});
const FIRST = "10.80.0.0";
const PORT = 19132;
const MIB = 1024;
/** In a second of a process's time, as /proc/PID/stat has it. */
const TICKS = 100;
const folder = await Deno.makeTempDir({ prefix: "blocksweep-live-" });
const [targets, live] = [Number(options.targets), Number(options.live)];

/** What one run came to. */
interface Run {
  readonly rate: number;
  readonly cpu: number;
  readonly peak: number;
  readonly missing: number;
  readonly twice: number;
  readonly noRoom: number;
}

/** Memory at its peak, MiB, and processor time, seconds, of a process that still runs. */
async function usageOf(pid: number): Promise<{ peak: number; cpu: number } | undefined> {
  const status = await readProc(`/proc/${pid}/status`);
  const peak = /^VmHWM:\s+(\d+) kB/m.exec(status)?.[1];
  const times = (await readProc(`/proc/${pid}/stat`)).split(") ")[1]?.split(" ");
  if (peak === undefined || times === undefined) return undefined;
  return { peak: Number(peak) / MIB, cpu: (Number(times[11]) + Number(times[12])) / TICKS };
}

async function run(engine: string, program: string): Promise<Run> {
  const end = await respond(program, { first: FIRST, targets, live, port: PORT });
  const [rows, metadata] = [`${folder}/rows`, `${folder}/metadata.json`];
  await Deno.remove(rows).catch(() => {});
  const bits = 32 - Math.log2(targets);
  const child = start(near(scanCommand([
    ...[`${FIRST}/${bits}`, "--i-have-permission", "--protocol", "raknet", "--ports", `${PORT}`],
    ...["--retries", "0", "--no-follow", "--rate", "1000M", "--net-rate", "off"],
    ...["--host-rate", "off", "--cooldown", "1s", "--format", options.format],
    ...["--output", rows, "--metadata-file", metadata],
  ], engine)));
  let usage = { peak: 0, cpu: 0 };
  let over = false;
  void child.status.then(() => over = true);
  while (!over) {
    usage = await usageOf(child.pid) ?? usage;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { code } = await child.status;
  if (code !== 0) throw new Error(`the scan with ${engine} failed with ${code}`);
  const { noRoom: theirs } = await end();
  const found = await hosts(rows);
  const { first_probe_at, last_row_at, datagrams_dropped: ours } = JSON.parse(
    await Deno.readTextFile(metadata),
  );
  return {
    rate: found.length / (last_row_at - first_probe_at) * 1000,
    cpu: usage.cpu / found.length * 1e6,
    peak: usage.peak,
    missing: live - new Set(found).size,
    twice: found.length - new Set(found).size,
    noRoom: theirs + Number(ours ?? 0),
  };
}

/** The hosts of all rows. */
async function hosts(file: string): Promise<string[]> {
  const pattern = /^(?:\{"schema":1,"host":")?(10\.\d+\.\d+\.\d+)/;
  return (await Deno.readTextFile(file)).split("\n").flatMap((line) =>
    pattern.exec(line)?.[1] ?? []
  );
}

let wrong = 0;
try {
  const program = await build("respond", folder);
  await using _ = await joinNear("10.80.0.0/12", true);
  const engines = options.engines.split(",");
  const runs = new Map(engines.map((engine) => [engine, [] as Run[]]));
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const engine of round % 2 === 0 ? engines : engines.toReversed()) {
      const one = await run(engine, program);
      runs.get(engine)!.push(one);
      console.error(`round ${round + 1}: ${engine} ${Math.round(one.rate)} servers/s`);
    }
  }
  const middle = (all: Run[], of: keyof Run) => median(all.map((one) => one[of]));
  const sum = (all: Run[], of: keyof Run) => all.reduce((total, one) => total + one[of], 0);
  for (const all of runs.values()) wrong += sum(all, "missing") + sum(all, "twice");
  console.log(table(
    ["engine", "servers", "servers/s", "CPU us", "peak MiB", "missing", "twice", "no room"],
    [...runs].map(([engine, all]) => [
      ...[engine, live, Math.round(middle(all, "rate")), middle(all, "cpu"), middle(all, "peak")],
      ...[sum(all, "missing"), sum(all, "twice"), sum(all, "noRoom")],
    ]),
  ));
} finally {
  await Deno.remove(folder, { recursive: true });
}
Deno.exit(wrong > 0 ? 1 : 0);
