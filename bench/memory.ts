// deno-lint-ignore-file no-console
/**
 * Shows how much memory a scan takes while it sweeps: at a quarter, a half, three quarters and the
 * end of 2^16 and of 2^22 addresses of a silent loopback range.
 *
 *     deno run --allow-read --allow-write --allow-run bench/memory.ts [--bits 16,22] [--rate 10000]
 *         [--live 0]
 *
 * It needs Linux, and nobody else on port 19132 of 127.192.0.0/10. Every probe is really sent, one
 * RakNet ping an address without retries; nobody listens, so that the kernel answers with ICMP. The
 * kernel's counters before and after say so: UDP datagrams that left, those that found no port, and
 * packets on the loopback interface (all processes together). Rows go to a file; `--live` puts so many
 * servers into the first 2^16 addresses, so that there are some: what is known of a server is kept.
 *
 * `RSS` and `peak` are VmRSS and VmHWM of the scan's process in /proc, the share done is from its
 * status file. The small sweep is slowed down by `--rate`, or it would be over before it is looked at.
 */
import { readOptions } from "./options.ts";
import {
  readProc,
  type RunningFleet,
  scanCommand,
  start,
  startFleet,
  udpCounters,
} from "./processes.ts";
import { table } from "./table.ts";

const SHARES = [0.25, 0.5, 0.75, 1];
const MIB = 1024;
/** Sweeps up to this size are slowed down. */
const SMALL = 18;

const options = readOptions({ bits: "16,22", rate: "10000", live: "0" });
const folder = await Deno.makeTempDir({ prefix: "blocksweep-memory-" });

/** Memory of a process, MiB. */
async function memoryOf(pid: number): Promise<{ rss: number; peak: number }> {
  const status = await readProc(`/proc/${pid}/status`);
  const value = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / MIB;
  return { rss: value("VmRSS"), peak: value("VmHWM") };
}

/** Packets that left on loopback. */
async function loopbackPackets(): Promise<number> {
  const [line] = (await readProc("/proc/net/dev")).split("\n").filter((one) => /^\s*lo:/.test(one));
  return Number(line.split(":")[1].trim().split(/\s+/)[9]);
}

async function counters() {
  const { OutDatagrams, NoPorts } = await udpCounters();
  return { sent: OutDatagrams, noPort: NoPorts, packets: await loopbackPackets() };
}

/** Which share of a scan is done; 0 while it does not say. */
async function shareDone(statusFile: string): Promise<number> {
  try {
    const { visited, total } = JSON.parse(await Deno.readTextFile(statusFile));
    return total === 0 ? 0 : visited / total;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Sweeps 2^bits addresses; a line of the table for each share. */
async function sweep(bits: number): Promise<(string | number)[][]> {
  const [rows, status] = [`${folder}/rows.ndjson`, `${folder}/status-${bits}.json`];
  const before = await counters();
  const slow = bits <= SMALL ? ["--rate", options.rate] : [];
  const outputs = ["--output", rows, "--status-file", status];
  const child = start(scanCommand([
    ...[`127.192.0.0/${32 - bits}`, "--protocol", "raknet", "--no-follow", "--retries", "0"],
    ...["--cooldown", "2s", ...slow, ...outputs],
  ]));
  let ended = false;
  child.status.then(() => ended = true);
  const lines: (string | number)[][] = [];
  for (const share of SHARES) {
    let done = 0;
    while (!ended && (done = await shareDone(status)) < share) await sleep(20);
    if (ended) throw new Error(`the scan was over before ${100 * share} % were seen`);
    const { rss, peak } = await memoryOf(child.pid);
    lines.push([`2^${bits}`, `${(100 * done).toFixed(0)} %`, rss, peak]);
  }
  const { success } = await child.status;
  if (!success) throw new Error("the scan failed");
  const after = await counters();
  const written = (await Deno.readTextFile(rows)).split("\n").length - 1;
  console.log(
    `2^${bits} = ${2 ** bits} addresses: ${after.sent - before.sent} UDP datagrams left, ` +
      `${after.noPort - before.noPort} found no port, ${
        after.packets - before.packets
      } packets on ` +
      `loopback, ${written} rows written`,
  );
  return lines;
}

try {
  const live = Number(options.live);
  await using _fleet: RunningFleet | null = live === 0 ? null : await startFleet({
    servers: live,
    software: "bds",
    range: "127.192.0.0/16",
    folder,
  });
  const lines = [];
  for (const bits of options.bits.split(",")) lines.push(...await sweep(Number(bits)));
  console.log(`\n${table(["addresses", "done", "RSS MiB", "peak MiB"], lines)}`);
} finally {
  await Deno.remove(folder, { recursive: true });
}
