// deno-lint-ignore-file no-console
/**
 * Shows how much memory and processor time a scan takes while it sweeps: at a quarter, a half, three
 * quarters and the end of 2^16 to 2^24 addresses, of which none, or some, are servers.
 *
 *     deno run -A bench/sweep/memory.ts [--bits 16,20,24] [--live 0,1000] [--engines udp,portable]
 *         [--threads 0] [--slow 30000]
 *
 * It needs Linux, root, iproute2 and a C compiler. Every probe is really sent, one RakNet ping an
 * address, without caps, without retries, over a veth pair into a network namespace where
 * bench/c/respond.c answers for the servers; `arrived` counts what came there. Rows go to a file. Sweeps
 * of up to 2^18 addresses are slowed down to `--slow` a second, or they would be over before they are
 * looked at.
 *
 * `RSS` and `peak` are VmRSS and VmHWM of the scan's process in /proc, MiB; `CPU us` its user and
 * system time by probe, start-up included; the share done is from its status file.
 */
import { beFarEnd, joinNear, near } from "../shared/namespaces.ts";
import { readOptions } from "../shared/options.ts";
import { readProc, scanCommand, start } from "../shared/processes.ts";
import { build, respond } from "../shared/responders.ts";
import { table } from "../shared/table.ts";

await beFarEnd(import.meta.url);
const options = readOptions({
  bits: "16,20,24",
  live: "0,1000",
  engines: "udp,portable",
  threads: "0",
  slow: "30000",
});
const [FIRST, PORT] = ["10.0.0.0", 19132];
const SHARES = [0.25, 0.5, 0.75, 1];
const MIB = 1024;
/** Clock ticks in a second, as /proc counts processor time. */
const TICKS = 100;
/** Sweeps up to this size are slowed down. */
const SMALL = 18;
const folder = await Deno.makeTempDir({ prefix: "blocksweep-memory-" });

/** Memory, MiB, and processor time so far, seconds, of a process. */
async function usageOf(pid: number): Promise<{ rss: number; peak: number; cpu: number }> {
  const status = await readProc(`/proc/${pid}/status`);
  const value = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / MIB;
  const times = (await readProc(`/proc/${pid}/stat`)).split(") ")[1].split(" ");
  const cpu = (Number(times[11]) + Number(times[12])) / TICKS;
  return { rss: value("VmRSS"), peak: value("VmHWM"), cpu };
}

/** Which share of a scan is done; 0 while it does not say. */
async function shareDone(statusFile: string): Promise<number> {
  const text = await Deno.readTextFile(statusFile).catch(() => "");
  if (text === "") return 0;
  const { visited, total } = JSON.parse(text);
  return total === 0 ? 0 : visited / total;
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Sweeps 2^bits addresses; the table's line. */
async function sweep(engine: string, bits: number, live: number, program: string) {
  const [rows, status] = [`${folder}/rows.ndjson`, `${folder}/status.json`];
  for (const file of [rows, status]) await Deno.remove(file).catch(() => {});
  const end = await respond(program, { first: FIRST, targets: 2 ** bits, live, port: PORT });
  const threads = engine === "portable" ? [] : ["--threads", options.threads];
  const child = start(near(scanCommand([
    ...[`${FIRST}/${32 - bits}`, "--i-have-permission", "--protocol", "raknet", "--no-follow"],
    ...["--ports", `${PORT}`, "--retries", "0", "--net-rate", "off", "--host-rate", "off"],
    ...["--rate", bits <= SMALL ? options.slow : "1000M", "--cooldown", "2s", ...threads],
    ...["--output", rows, "--status-file", status],
  ], engine)));
  let ended = false;
  child.status.then(() => ended = true);
  const resident: number[] = [];
  let last = { rss: 0, peak: 0, cpu: 0 };
  for (const share of SHARES) {
    while (!ended && await shareDone(status) < share) await sleep(20);
    if (ended) throw new Error(`the scan was over before ${100 * share} % were seen`);
    last = await usageOf(child.pid);
    resident.push(last.rss);
  }
  const { success } = await child.status;
  if (!success) throw new Error("the scan failed");
  const { answered, toNobody } = await end();
  const written = (await Deno.readTextFile(rows)).split("\n").length - 1;
  return [
    ...[engine, `2^${bits}`, live, ...resident, last.peak, last.cpu / 2 ** bits * 1e6],
    ...[answered + toNobody, written],
  ];
}

try {
  const program = await build("respond", folder);
  await using _ = await joinNear("10.0.0.0/8", true);
  const lines = [];
  for (const engine of options.engines.split(",")) {
    for (const bits of options.bits.split(",").map(Number)) {
      for (const live of options.live.split(",").map(Number).filter((some) => some <= 2 ** bits)) {
        lines.push(await sweep(engine, bits, live, program));
        console.error(lines.at(-1)!.join(" "));
      }
    }
  }
  console.log(table(
    [
      ...["engine", "addresses", "live", "25 %", "50 %", "75 %", "100 %", "peak MiB", "CPU us"],
      ...["arrived", "rows"],
    ],
    lines,
  ));
} finally {
  await Deno.remove(folder, { recursive: true });
}
