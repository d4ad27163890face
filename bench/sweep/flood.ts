// deno-lint-ignore-file no-console
/**
 * Shows what a flood of forged replies does to a scan: servers must all be found, nothing forged may
 * reach an output, memory must stay flat, and those whose names are abused must not be asked for it.
 *
 *     deno run -A bench/sweep/flood.ts [--rate 200000] [--seconds 20] [--targets 262144] [--live 1000]
 *         [--engine udp]
 *
 * It needs Linux, root, iproute2 and a C compiler: servers (bench/c/respond.c) and attacker
 * (bench/c/flood.c) are in a network namespace of their own, behind a veth pair. The scan sends RakNet
 * pings and then Query handshakes to every target once, at a rate at which it outlasts the flood.
 * Prints its resident memory each second, its summary, what the attacker sent and what the targets
 * got. Exits with 1 when a row is missing, twice or forged, or when targets were pinged again beyond
 * the 4,096 pongs that are held at the most, four times each.
 */
import { beFarEnd, joinNear, NEAR, near } from "../shared/namespaces.ts";
import { readOptions } from "../shared/options.ts";
import { readProc, scanCommand, start } from "../shared/processes.ts";
import { build, respond } from "../shared/responders.ts";

await beFarEnd(import.meta.url);
const options = readOptions({
  rate: "200000",
  seconds: "20",
  targets: String(2 ** 18),
  live: "1000",
  engine: "udp",
});
const [FIRST, PORT, OURS] = ["10.80.0.0", 19132, 40000];
const [targets, live, seconds] = [options.targets, options.live, options.seconds].map(Number);
const MOST_HELD = 4096;
const QUESTIONS_EACH = 4;
const folder = await Deno.makeTempDir({ prefix: "blocksweep-flood-" });

/** Tells the memory of a process each second until it has ended. */
async function watchMemory(child: Deno.ChildProcess): Promise<number[]> {
  const all: number[] = [];
  let over = false;
  void child.status.then(() => over = true);
  while (!over) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const status = await readProc(`/proc/${child.pid}/status`);
    const resident = /^VmRSS:\s+(\d+) kB/m.exec(status)?.[1];
    if (resident !== undefined) all.push(Math.round(Number(resident) / 1024));
  }
  return all;
}

async function attack(): Promise<boolean> {
  const [servers, attacker] = [await build("respond", folder), await build("flood", folder)];
  await using _ = await joinNear("10.80.0.0/12", true);
  const end = await respond(servers, { first: FIRST, targets, live, port: PORT });
  const [rows, metadata] = [`${folder}/rows.ndjson`, `${folder}/metadata.json`];
  const scan = start(near(scanCommand([
    ...[`${FIRST}/${32 - Math.log2(targets)}`, "--i-have-permission", "--source-port", `${OURS}`],
    ...["--protocol", "raknet,query", "--ports", `${PORT}`, "--retries", "0"],
    ...["--rate", `${Math.ceil(1.8 * targets / seconds)}`, "--net-rate", "off"],
    ...["--host-rate", "off", "--cooldown", "3s", "--output", rows, "--metadata-file", metadata],
  ], options.engine)));
  const memory = watchMemory(scan);
  await new Promise((resolve) => setTimeout(resolve, 1000)); // until its sockets are open
  const { stdout } = await new Deno.Command(attacker, {
    args: [FIRST, `${targets}`, NEAR.address, `${OURS}`, options.rate, options.seconds],
  }).output();
  console.log(`sent by the attacker: ${new TextDecoder().decode(stdout).trim()}`);
  const { code } = await scan.status;
  const seen = await end();
  const found = (await Deno.readTextFile(rows)).trim().split("\n").map((line) => JSON.parse(line));
  const { replies, datagrams_dropped } = JSON.parse(await Deno.readTextFile(metadata));
  const hosts = new Set(found.map(({ host }) => host));
  const forged = found.filter(({ name }) => !`${name}`.startsWith("Server ")).length;
  console.log(`exit code ${code}; rows ${found.length} of ${live}, ${forged} forged`);
  console.log(`replies ${JSON.stringify(replies)}, ${datagrams_dropped} found no room`);
  console.log(`the targets got ${JSON.stringify(seen)}`);
  console.log(`resident memory by the second, MiB: ${(await memory).join(" ")}`);
  const again = seen.answered + seen.toNobody - targets;
  console.log(`pings beyond the first to each target: ${again}`);
  return code === 0 && found.length === live && hosts.size === live && forged === 0 &&
    again <= QUESTIONS_EACH * MOST_HELD;
}

let right = false;
try {
  right = await attack();
} finally {
  await Deno.remove(folder, { recursive: true });
}
Deno.exit(right ? 0 : 1);
