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
 */
import { joinNear, near, system } from "../shared/namespaces.ts";
import { bareScan } from "../shared/processes.ts";
import { build, respond } from "../shared/responders.ts";
import { masscan, zmap } from "../shared/scanners.ts";
import { median, table } from "../shared/table.ts";
import { inTurns } from "../shared/turns.ts";
import type { Case } from "./case.ts";

const OPTIONS = {
  live: "1000",
  rounds: "5",
  engines: "udp,portable",
  peers: "masscan,zmap",
};
const FIRST = "10.80.0.0";
const BITS = 16;
const PORT = 19132;
const RANGE = `${FIRST}/${BITS}`;
/** Maximum duration of a process, milliseconds. masscan sometimes waits for minutes. */
const MAX_MS = 20_000;

/** The result of one run. */
interface Run {
  readonly seconds: number;
  readonly found: number;
}

export const race: Case = {
  purpose:
    "seconds until the last of 1,000 servers in a /16 is found, compared with masscan and zmap",
  options: OPTIONS,
  async run(options, folder) {
    const program = await build("respond", folder);
    await using _ = await joinNear("10.80.0.0/12", true);
    const live = Number(options.live);
    const end = await respond(program, {
      first: FIRST,
      targets: 2 ** (32 - BITS),
      live,
      port: PORT,
    });
    const commands = await programs(options, folder);
    const runs = await inTurns(
      [...commands.keys()],
      Number(options.rounds),
      async (name, round) => {
        const run = await runToLast(commands.get(name)!);
        console.error(`round ${round}: ${name} ${run.found} in ${run.seconds.toFixed(3)} s`);
        return run;
      },
    );
    await end();
    print(runs, live);
    return true;
  },
};

/** The command lines, by name. */
async function programs(
  options: Readonly<Record<string, string>>,
  folder: string,
): Promise<Map<string, string[]>> {
  const [, gateway] = /link\/ether ([0-9a-f:]+)/.exec(await system("ip -o link show far0"))!;
  const sweep = { range: RANGE, port: PORT, gateway, folder, output: "-" };
  const peers: Record<string, () => Promise<string[]>> = {
    masscan: () => masscan(sweep),
    zmap: () => zmap(sweep, 1),
  };
  const commands = new Map(
    options.engines.split(",").map((engine) => [
      `ours, ${engine}`,
      bareScan({ range: RANGE, port: PORT, engine }, ["--format", "hostport"]),
    ]),
  );
  for (const name of options.peers.split(",").filter((name) => name !== "")) {
    commands.set(name, await peers[name]());
  }
  return commands;
}

/** Runs a scanner. The time ends when the last server is in its output. */
async function runToLast(command: readonly string[]): Promise<Run> {
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

function print(runs: ReadonlyMap<string, readonly Run[]>, live: number): void {
  const secondsOf = (name: string) => median(runs.get(name)!.map(({ seconds }) => seconds));
  const yardstick = runs.has("masscan") ? secondsOf("masscan") : NaN;
  const lines = [...runs].map(([name, all]) => {
    const least = Math.min(...all.map(({ found }) => found));
    return [name, secondsOf(name), secondsOf(name) / yardstick, least, live];
  });
  console.log(table(["scanner", "seconds", "by masscan", "least found", "of"], lines));
}
