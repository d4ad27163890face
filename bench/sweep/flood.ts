// deno-lint-ignore-file no-console
/**
 * Runs a scan under a flood of forged replies. All servers must be found, no forged reply may get
 * into an output, memory must not grow, and hosts whose addresses are forged must not get
 * additional probes.
 *
 * Servers (bench/c/respond.c) and attacker (bench/c/flood.c) are behind a veth pair. The scan sends
 * a RakNet ping and then a Query handshake to every target, at a rate at which the scan lasts
 * longer than the flood. The benchmark prints the resident memory of the scan each second, the
 * summary of the scan, and the numbers of datagrams that the attacker sent and the targets
 * received. A missing, duplicate or forged row is an error. All targets together may get at most
 * four additional pings for each of the 4,096 holds.
 */
import { joinNear, NEAR, near } from "../shared/namespaces.ts";
import { scanCommand, start, takenUntilEnd } from "../shared/processes.ts";
import { build, respond, type Seen } from "../shared/responders.ts";
import type { Case } from "./case.ts";

const OPTIONS = {
  rate: "200000",
  seconds: "20",
  targets: String(2 ** 18),
  live: "1000",
  engine: "udp",
};
const FIRST = "10.80.0.0";
const PORT = 19132;
/** The source port of the scan. */
const OURS = 40_000;
const MAX_HELD = 4096;
const PINGS_EACH = 4;

export const flood: Case = {
  purpose: "a scan under a flood of forged replies",
  options: OPTIONS,
  async run(options, folder) {
    const [targets, live] = [options.targets, options.live].map(Number);
    const [servers, attacker] = [await build("respond", folder), await build("flood", folder)];
    await using _ = await joinNear("10.80.0.0/12", true);
    const end = await respond(servers, { first: FIRST, targets, live, port: PORT });
    const [rows, metadata] = [`${folder}/rows.ndjson`, `${folder}/metadata.json`];
    const outputs = ["--output", rows, "--metadata-file", metadata];
    const scan = start(near(scanCommand([...scanOptions(options), ...outputs], options.engine)));
    const memory = Array.fromAsync(
      takenUntilEnd(scan, 1000),
      ({ resident }) => Math.round(resident),
    );
    // waits until the sockets of the scan are open
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const { stdout } = await new Deno.Command(attacker, {
      args: [FIRST, options.targets, NEAR.address, `${OURS}`, options.rate, options.seconds],
    }).output();
    console.log(`sent by the attacker: ${new TextDecoder().decode(stdout).trim()}`);
    const { code } = await scan.status;
    console.log(`resident memory by the second, MiB: ${(await memory).join(" ")}`);
    const found = await printFound(rows, metadata, live);
    return printSeen(await end(), targets) && found && code === 0;
  },
};

function scanOptions({ targets, seconds }: Readonly<Record<string, string>>): string[] {
  const rate = Math.ceil(1.8 * Number(targets) / Number(seconds));
  const range = `${FIRST}/${32 - Math.log2(Number(targets))}`;
  const probes = `--protocol raknet,query --ports ${PORT} --source-port ${OURS} --retries 0`;
  const limits = `--rate ${rate} --net-rate off --host-rate off --cooldown 3s --i-have-permission`;
  return `${range} ${probes} ${limits}`.split(" ");
}

/**
 * Prints the results of the scan. Returns whether every server was found exactly once, and nothing
 * else.
 */
async function printFound(rows: string, metadata: string, live: number): Promise<boolean> {
  const found = (await Deno.readTextFile(rows)).trim().split("\n").map((line) => JSON.parse(line));
  const { replies, datagrams_dropped } = JSON.parse(await Deno.readTextFile(metadata));
  const hosts = new Set(found.map(({ host }) => host));
  const forged = found.filter(({ name }) => !`${name}`.startsWith("Server ")).length;
  console.log(`rows ${found.length} of ${live}, ${forged} forged`);
  console.log(`replies ${JSON.stringify(replies)}, ${datagrams_dropped} dropped`);
  return found.length === live && hosts.size === live && forged === 0;
}

/** Prints what the targets received. Returns whether few of them got additional pings. */
function printSeen(seen: Seen, targets: number): boolean {
  const again = seen.replied + seen.withoutServer - targets;
  console.log(`the targets received ${JSON.stringify(seen)}`);
  console.log(`pings beyond the first to each target: ${again}`);
  return again <= PINGS_EACH * MAX_HELD;
}
