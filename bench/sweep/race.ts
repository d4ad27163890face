// deno-lint-ignore-file no-console
/**
 * Measures the time until a scanner has found the last of 1,000 servers in a /16: from the start of
 * the process to the moment when its output contains the last server. It compares the engines of
 * blocksweep with masscan and zmap (Debian's packages).
 *
 * The servers (bench/c/respond.c) are behind a veth pair. All scanners send the same 33 bytes as
 * fast as they can, from one thread. masscan and zmap are given the interface and the gateway's
 * address; blocksweep finds them itself. `seconds` is the median. `least found` is the minimum of
 * all rounds. `by masscan` is the median time divided by that of masscan.
 *
 * With `--transport tcp`, the servers are Java servers (bench/c/accept.c), and a server is found
 * when its status is in the output: masscan requests it with `--banners`, and bench/peers/follow.mjs
 * queries the servers that zmap finds. `--masscan` is the rate of masscan, packets per second: at
 * full speed its connections get few statuses. `least right` is the number of statuses with the right name
 * and number of players.
 */
import { joinNear, murmur, near, system } from "../shared/namespaces.ts";
import { bareScan } from "../shared/processes.ts";
import { build, respond } from "../shared/responders.ts";
import { masscan, zmap } from "../shared/scanners.ts";
import { median, table } from "../shared/table.ts";
import { inTurns } from "../shared/turns.ts";
import type { Case } from "./case.ts";
import * as tcp from "./tcp_race.ts";

const OPTIONS = {
  live: "1000",
  rounds: "5",
  engines: "udp,portable",
  peers: "masscan,zmap",
  transport: "udp",
  masscan: "100000",
};
const FIRST = "10.80.0.0";
const BITS = 16;
const PORT = 19132;
const RANGE = `${FIRST}/${BITS}`;
/** Maximum duration of a process, milliseconds. masscan sometimes waits for minutes. */
const MAX_MS = 60_000;

/** The result of one run. */
interface Run {
  readonly seconds: number;
  readonly found: number;
  /** Number of servers with the right status. Over UDP it is not checked. */
  readonly right: number;
}

export const race: Case = {
  purpose:
    "seconds until the last of 1,000 servers in a /16 is found, compared with masscan and zmap",
  options: OPTIONS,
  async run(options, folder) {
    const overTcp = options.transport === "tcp";
    await using _ = await joinNear("10.80.0.0/12", !overTcp);
    const live = Number(options.live);
    const end = overTcp
      ? await tcp.startServers(folder, FIRST, 2 ** (32 - BITS), live)
      : await startServers(folder, live);
    const commands = await programs(options, folder);
    using _murmur = murmur();
    const runs = await inTurns(
      [...commands.keys()],
      Number(options.rounds),
      async (name, round) => {
        const run = await runToLast(commands.get(name)!, overTcp);
        console.error(`round ${round}: ${name} ${run.found} in ${run.seconds.toFixed(3)} s`);
        return run;
      },
    );
    console.error(JSON.stringify(await end()));
    print(runs, live, overTcp);
    return true;
  },
};

async function startServers(folder: string, live: number) {
  const program = await build("respond", folder);
  return await respond(program, { first: FIRST, targets: 2 ** (32 - BITS), live, port: PORT });
}

/** The command lines, by name. */
async function programs(
  options: Readonly<Record<string, string>>,
  folder: string,
): Promise<Map<string, string[]>> {
  const overTcp = options.transport === "tcp";
  const ours = (engine: string) =>
    overTcp
      ? tcp.ours(RANGE, engine)
      : bareScan({ range: RANGE, port: PORT, engine }, ["--format", "hostport"]);
  const peers = overTcp ? await tcp.peers(RANGE, options.masscan, folder) : await udpPeers(folder);
  const commands = new Map(
    options.engines.split(",").map((engine) => [`ours, ${engine}`, ours(engine)]),
  );
  for (const name of options.peers.split(",").filter((name) => name !== "")) {
    commands.set(name, peers[name]);
  }
  return commands;
}

async function udpPeers(folder: string): Promise<Record<string, string[]>> {
  const [, gateway] = /link\/ether ([0-9a-f:]+)/.exec(await system("ip -o link show far0"))!;
  const sweep = { range: RANGE, port: PORT, gateway, folder, output: "-" };
  return { masscan: await masscan(sweep), zmap: await zmap(sweep, 1) };
}

/** Runs a scanner. The time ends when the last server is in its output. */
async function runToLast(command: readonly string[], overTcp: boolean): Promise<Run> {
  const begun = performance.now();
  const [program, ...args] = near(command);
  const child = new Deno.Command(program, {
    args,
    env: { DENO_NO_UPDATE_CHECK: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), MAX_MS);
  const found = new Set<string>();
  let right = 0;
  let last = begun;
  let rest = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      if (overTcp && !tcp.isStatus(line)) continue;
      const address = /\b10\.80\.\d+\.\d+\b/.exec(line)?.[0];
      if (address === undefined || found.has(address)) continue;
      found.add(address);
      if (overTcp && tcp.isRight(line, address)) right++;
      last = performance.now();
    }
  }
  await child.status;
  clearTimeout(timer);
  return { seconds: (last - begun) / 1000, found: found.size, right };
}

function print(runs: ReadonlyMap<string, readonly Run[]>, live: number, overTcp: boolean): void {
  const secondsOf = (name: string) => median(runs.get(name)!.map(({ seconds }) => seconds));
  const yardstick = runs.has("masscan") ? secondsOf("masscan") : NaN;
  const lines = [...runs].map(([name, all]) => {
    const seconds = all.map((one) => one.seconds);
    const range = `${Math.min(...seconds).toFixed(2)}–${Math.max(...seconds).toFixed(2)}`;
    const found = Math.min(...all.map((one) => one.found));
    const right = overTcp ? [Math.min(...all.map((one) => one.right))] : [];
    return [name, secondsOf(name), range, secondsOf(name) / yardstick, found, ...right, live];
  });
  const head = ["scanner", "seconds", "range", "by masscan", "least found"];
  console.log(table([...head, ...(overTcp ? ["least right"] : []), "of"], lines));
}
