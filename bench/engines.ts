// deno-lint-ignore-file no-console
/**
 * Compares what the engines send with the same calls in a small C program (bench/send.c): every
 * target once, nobody answers.
 *
 *     deno run -A bench/engines.ts [--targets 1048576] [--rounds 3] [--threads 0,1,2]
 *       [--engines udp,portable,packet,xdp]
 *
 * It needs Linux, root, iproute2 and a C compiler. Two network namespaces of its own are joined by a
 * veth pair; nothing leads out of them. Ours is the whole program doing its whole job: `scan` with
 * permutation, exclusion, tokens and the receiver at work, without caps and with a rate that no
 * machine reaches. C only sends. Programs take turns, in an order that changes with every round.
 * With threads, an engine is held against the same calls in C on as many; without, against C on one;
 * `portable` against what `udp` calls.
 *
 * The far end drops what comes before it is routed, and is where datagrams are counted: the interface's
 * counter is read every 10 ms, and the rate is that between the first and the last tenth of them.
 * `arrived` is the least of all rounds, to be held against the targets; `CPU us` is user and system
 * time of the whole process, start-up included, by datagram. Other numbers are medians.
 */
import { readOptions } from "./options.ts";
import { runTimed } from "./processes.ts";
import { median, table } from "./table.ts";

const options = readOptions({
  targets: String(2 ** 20),
  rounds: "3",
  engines: "udp,portable,packet,xdp",
  threads: "0,1,2",
});
const MAIN = new URL("../main.ts", import.meta.url).pathname;
const SELF = new URL(import.meta.url).pathname;
const PORT = 19132;
const FIRST = "10.80.0.0";
const NEAR = `blocksweep-${Deno.pid}`;
const TENTH = 0.1;
/** A station that is not the far end: it drops what is meant for others as soon as IP sees it. */
const NOBODY = "02:00:00:00:00:01";

async function system(command: string): Promise<string> {
  const [program, ...args] = command.split(" ");
  const { code, stdout, stderr } = await new Deno.Command(program, { args }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (code !== 0) throw new Error(`${command}: ${decode(stderr)}`);
  return decode(stdout);
}

/** Joins our namespace, the far end, to a near one; the targets are behind us. */
async function connect(): Promise<void> {
  await system(`ip netns add ${NEAR}`);
  await system(
    `ip link add far0 numtxqueues 2 numrxqueues 2 type veth peer name near0 numtxqueues 2 numrxqueues 2 netns ${NEAR}`,
  );
  const near = `ip -n ${NEAR}`;
  const quiet = "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1";
  for (
    const command of [
      quiet, // IPv6 would send datagrams of its own
      `ip netns exec ${NEAR} ${quiet}`,
      "ip address add 10.79.0.2/24 dev far0",
      "ip link set far0 up",
      `${near} address add 10.79.0.1/24 dev near0`,
      `${near} link set lo up`,
      `${near} link set near0 up`,
      `${near} neighbour add 10.79.0.2 lladdr ${NOBODY} dev near0`,
      `${near} route add 10.80.0.0/12 via 10.79.0.2`,
    ]
  ) await system(command);
}

/** Datagrams that have come to the far end. */
function arrived(): number {
  const line = Deno.readTextFileSync("/proc/self/net/dev").split("\n")
    .find((one) => one.trim().startsWith("far0:"))!;
  return Number(line.split(":")[1].trim().split(/\s+/)[1]);
}

/** What one run came to. */
interface Run {
  readonly rate: number;
  readonly cpu: number;
  readonly arrived: number;
}

async function measure(command: readonly string[]): Promise<Run> {
  const before = arrived();
  const samples: [at: number, count: number][] = [];
  const timer = setInterval(() => samples.push([performance.now(), arrived() - before]), 10);
  const { cpu } = await runTimed(["ip", "netns", "exec", NEAR, ...command]);
  clearInterval(timer);
  const all = arrived() - before;
  const begin = samples.find(([, count]) => count >= TENTH * all)!;
  const end = samples.find(([, count]) => count >= (1 - TENTH) * all)!;
  const rate = (end[1] - begin[1]) / (end[0] - begin[0]) * 1000;
  return { rate, cpu: cpu / all * 1e6, arrived: all };
}

function scanWith(engine: string, threads: number): string[] {
  const bits = 32 - Math.log2(Number(options.targets));
  return [
    ...["deno", "run", "--no-prompt", "--allow-net", "--allow-read", "--allow-write=/dev/null"],
    ...["--allow-ffi", "--allow-env", MAIN, "scan", `${FIRST}/${bits}`, "--i-have-permission"],
    ...[
      "--quiet",
      "--engine",
      engine,
      "--threads",
      String(threads),
      "--protocol",
      "raknet",
      "--ports",
      String(PORT),
    ],
    ...["--retries", "0", "--no-follow", "--cooldown", "100ms", "--rate", "1000M"],
    ...["--net-rate", "off", "--host-rate", "off", "--format", "list"],
  ];
}

async function compare(folder: string): Promise<void> {
  await system(`cc -O2 -pthread -o ${folder}/send ${new URL("send.c", import.meta.url).pathname}`);
  await connect();
  const engines = options.engines.split(",").flatMap((engine) =>
    (engine !== "portable" ? options.threads.split(",").map(Number) : [0])
      .map((threads) => ({ engine, threads }))
  );
  const programs = new Map<string, string[]>();
  /** Which C a program is held against. */
  const yardsticks = new Map<string, string>();
  const add = (name: string, yardstick: string, command: string[]) => {
    programs.set(name, command);
    yardsticks.set(name, yardstick);
  };
  const titled = (name: string, threads: number) =>
    threads === 0 ? name : `${name}, ${threads} thread${threads === 1 ? "" : "s"}`;
  for (const { engine, threads } of engines) {
    const calls = engine === "portable" ? "udp" : engine;
    const yardstick = titled(`C ${calls}`, Math.max(1, threads));
    const way = calls === "udp" ? [] : ["near0", "10.79.0.1", NOBODY];
    const send = [
      calls,
      FIRST,
      options.targets,
      String(PORT),
      String(Math.max(1, threads)),
      ...way,
    ];
    add(yardstick, yardstick, [`${folder}/send`, ...send]);
    add(titled(engine, threads), yardstick, scanWith(engine, threads));
  }
  const runs = new Map([...programs.keys()].map((name) => [name, [] as Run[]]));
  await measure([...programs.values()][0]); // warms up, and is not counted
  for (let round = 0; round < Number(options.rounds); round++) {
    const names = [...programs.keys()];
    for (
      const name of [...names.slice(round % names.length), ...names.slice(0, round % names.length)]
    ) {
      const run = await measure(programs.get(name)!);
      runs.get(name)!.push(run);
      console.error(`round ${round + 1}: ${name} ${Math.round(run.rate)}/s`);
    }
  }
  const rateOf = (name: string) => median(runs.get(name)!.map(({ rate }) => rate));
  console.log(table(
    ["sender", "datagrams/s", "by that of C", "CPU us", "arrived", "of"],
    [...runs].map(([name, all]) => [
      ...[name, Math.round(rateOf(name)), rateOf(name) / rateOf(yardsticks.get(name)!)],
      ...[median(all.map(({ cpu }) => cpu)), Math.min(...all.map((run) => run.arrived))],
      Number(options.targets),
    ]),
  ));
}

if (Deno.env.get("BLOCKSWEEP_BENCH") === undefined) {
  // The far end is a namespace of its own: this script again, inside.
  const { code } = await new Deno.Command("unshare", {
    args: ["--net", "deno", "run", "-A", SELF, ...Deno.args],
    env: { BLOCKSWEEP_BENCH: "far end", DENO_NO_UPDATE_CHECK: "1" },
  }).spawn().status;
  Deno.exit(code);
}
const folder = await Deno.makeTempDir({ prefix: "blocksweep-engines-" });
try {
  await compare(folder);
} finally {
  await system(`ip netns delete ${NEAR}`).catch((error) => console.error(error.message));
  await Deno.remove(folder, { recursive: true });
}
