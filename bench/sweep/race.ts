// deno-lint-ignore-file no-console
/**
 * Races scanners to the last of 1,000 live servers in a /16: from the start of the process to the
 * moment at which its output names the last one.
 *
 *     deno run -A bench/sweep/race.ts [--live 1000] [--rounds 5] [--engines udp,portable]
 *         [--peers masscan,zmap]
 *
 * It needs Linux, root, iproute2, a C compiler, and masscan and zmap (Debian's) where they are named.
 * The servers are bench/c/respond.c, in a network namespace of its own, behind a veth pair. All send the
 * same 33 bytes as fast as they can, from one thread; theirs are told the interface and the gateway's
 * address, ours find them. `seconds` is the median, `least found` the least of all rounds, `by masscan`
 * the median's ratio. Programs take turns, in an order that changes with every round.
 */
import { beFarEnd, joinNear, NEAR, near, system } from "../shared/namespaces.ts";
import { readOptions } from "../shared/options.ts";
import { scanCommand } from "../shared/processes.ts";
import { build, respond } from "../shared/responders.ts";
import { median, table } from "../shared/table.ts";

await beFarEnd(import.meta.url);
const options = readOptions({
  live: "1000",
  rounds: "5",
  engines: "udp,portable",
  peers: "masscan,zmap",
});
const [FIRST, BITS, PORT] = ["10.80.0.0", 16, 19132];
const RANGE = `${FIRST}/${BITS}`;
const [targets, live] = [2 ** (32 - BITS), Number(options.live)];
const PING = "01" + "00".repeat(8) + "00ffff00fefefefefdfdfdfd12345678" + "626c6f636b737770";
/** How long a peer listens at the end, seconds: ours for a second. */
const WAIT = "1";
/** How long a process may take in all, milliseconds: masscan has been seen to wait for minutes. */
const MOST_MS = 20_000;
const folder = await Deno.makeTempDir({ prefix: "blocksweep-race-" });

/** What one run came to. */
interface Run {
  readonly seconds: number;
  readonly found: number;
}

function ours(engine: string): string[] {
  return scanCommand([
    ...[RANGE, "--protocol", "raknet", "--ports", `${PORT}`, "--retries", "0", "--no-follow"],
    ...["--rate", "1000M", "--net-rate", "off", "--host-rate", "off", "--cooldown", `${WAIT}s`],
    ...["--format", "hostport"],
  ], engine);
}

async function peers(): Promise<Record<string, string[]>> {
  const [, gateway] = /link\/ether ([0-9a-f:]+)/.exec(await system("ip -o link show far0"))!;
  const payload = `${folder}/payload`;
  await Deno.writeTextFile(payload, `udp ${PORT} "${PING.replace(/../g, "\\x$&")}"\n`);
  const { interface: name, address } = NEAR;
  return {
    masscan: [
      ...["masscan", RANGE, `-pU:${PORT}`, "--rate", "10000000", "--wait", WAIT, "-oL", "-"],
      ...["--interface", name, "--router-mac", gateway, "--adapter-ip", address],
      ...["--adapter-port", "40000", "--nmap-payloads", payload],
    ],
    zmap: [
      ...["zmap", "-q", "-M", "udp", "-p", `${PORT}`, `--probe-args=hex:${PING}`, "-r", "10000000"],
      ...["-i", name, "-G", gateway, "-S", address, "-b", "/dev/null", "-c", WAIT],
      ...["-f", "saddr", "-o", "-", RANGE],
    ],
  };
}

/** Runs a scanner; what matters is when the last server stood in its output. */
async function race(command: readonly string[]): Promise<Run> {
  const begun = performance.now();
  const [program, ...args] = near(command);
  const child = new Deno.Command(program, {
    args,
    env: { DENO_NO_UPDATE_CHECK: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), MOST_MS);
  const found = new Set<string>();
  let last = begun;
  let rest = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const address = /\b10\.80\.\d+\.\d+\b/.exec(line)?.[0];
      if (address === undefined || found.has(address)) continue;
      found.add(address);
      last = performance.now();
    }
  }
  await child.status;
  clearTimeout(timer);
  return { seconds: (last - begun) / 1000, found: found.size };
}

try {
  const program = await build("respond", folder);
  await using _ = await joinNear("10.80.0.0/12", true);
  const end = await respond(program, { first: FIRST, targets, live, port: PORT });
  const theirs = await peers();
  const commands = new Map([
    ...options.engines.split(",").map((engine) => [`ours, ${engine}`, ours(engine)] as const),
    ...options.peers.split(",").filter((name) => name !== "")
      .map((name) => [name, theirs[name]] as const),
  ]);
  const runs = new Map([...commands.keys()].map((name) => [name, [] as Run[]]));
  const names = [...commands.keys()];
  for (let round = 0; round < Number(options.rounds); round++) {
    const turn = round % names.length;
    for (const name of [...names.slice(turn), ...names.slice(0, turn)]) {
      const run = await race(commands.get(name)!);
      runs.get(name)!.push(run);
      console.error(`round ${round + 1}: ${name} ${run.found} in ${run.seconds.toFixed(3)} s`);
    }
  }
  await end();
  const secondsOf = (name: string) => median(runs.get(name)!.map(({ seconds }) => seconds));
  const yardstick = runs.has("masscan") ? secondsOf("masscan") : NaN;
  console.log(table(
    ["scanner", "seconds", "by masscan", "least found", "of"],
    names.map((name) => [
      ...[name, secondsOf(name), secondsOf(name) / yardstick],
      ...[Math.min(...runs.get(name)!.map(({ found }) => found)), live],
    ]),
  ));
} finally {
  await Deno.remove(folder, { recursive: true });
}
