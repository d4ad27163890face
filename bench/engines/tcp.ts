// deno-lint-ignore-file no-console
/** The comparison of SYN packets over TCP: see bench/engines.ts. */
import {
  FIRST,
  NOBODY,
  overThreads,
  ratio,
  ratios,
  scanWith,
  type Summary,
  takeTurns,
  titled,
} from "../shared/link.ts";
import { scanCommand } from "../shared/processes.ts";
import { build } from "../shared/responders.ts";
import { masscan, zmap } from "../shared/scanners.ts";
import { median, table } from "../shared/table.ts";

/** Options of the comparison, as text. */
export interface TcpOptions {
  readonly targets: string;
  readonly connects: string;
  readonly sockets: string;
  readonly rounds: string;
  readonly engines: string;
  readonly threads: string;
  readonly rates: string;
}

const PORT = 25565;
/** Time for a reply: systems repeat a SYN packet after one second. */
const WAIT_MS = 900;
/** File descriptors that a process leaves free. */
const SPARE = 512;
const SCANNERS = ["masscan", "zmap"];
const [C_REUSE, C_PLAIN, DENO_LOOP] = ["C, reused sockets", "C, plain loop", "Deno.connect"];
/** The least ratio that each engine has to reach, and to which programs: the fastest of them counts. */
const GOALS: Readonly<Record<string, readonly [least: number, to: readonly string[]]>> = {
  xdp: [2, SCANNERS],
  packet: [1.5, SCANNERS],
  udp: [0.8, [C_REUSE]],
  portable: [0.8, [DENO_LOOP]],
};
/** The rates that `portable` has to keep are those of a default scan of this range. */
const DEFAULT_BITS = 14;
const DEFAULT_PASSES = 2;
const MIN_SHARE = 0.98;

/** A program, and how many targets it probes. */
interface Sender {
  readonly command: readonly string[];
  readonly targets: number;
}

/** Number of targets of each kind of sender. */
function targetsOf(engine: string, { targets, connects, sockets }: TcpOptions): number {
  if (engine === "portable") return Number(sockets);
  return Number(engine === "udp" ? connects : targets);
}

/** The maximum number of file descriptors of a process. */
async function descriptors(): Promise<number> {
  const { stdout } = await new Deno.Command("sh", { args: ["-c", "ulimit -n"] }).output();
  return Number(new TextDecoder().decode(stdout));
}

/** Our engines that take part, with each number of sender threads. */
function entrants({ engines, threads }: TcpOptions) {
  return overThreads(engines.split(","), threads.split(",").map(Number));
}

/** All programs, by name. Yardsticks of engines that do not take part are left out. */
async function senders(options: TcpOptions, folder: string): Promise<Map<string, Sender>> {
  const all = new Map<string, Sender>();
  const engines = options.engines.split(",");
  const add = (name: string, like: string, command: readonly string[]) =>
    all.set(name, { command, targets: targetsOf(like, options) });
  if (engines.includes("xdp") || engines.includes("packet")) {
    const range = `${FIRST}/${32 - Math.log2(targetsOf("xdp", options))}`;
    const sweep = { transport: "tcp" as const, range, port: PORT, gateway: NOBODY, folder };
    add("masscan", "xdp", await masscan({ ...sweep, output: `${folder}/masscan.list` }));
    add("zmap", "xdp", await zmap({ ...sweep, output: `${folder}/zmap.csv` }, 1));
  }
  const atOnce = String(await descriptors() - SPARE);
  const rest = [String(PORT), atOnce, String(WAIT_MS)];
  if (engines.includes("udp")) {
    const program = await build("connect", folder);
    const words = [FIRST, options.connects, ...rest];
    add(C_REUSE, "udp", [program, "reuse", ...words]);
    add(C_PLAIN, "udp", [program, "plain", ...words]);
  }
  if (engines.includes("portable")) {
    const loop = new URL("../peers/connect.ts", import.meta.url).pathname;
    add(DENO_LOOP, "portable", [
      ...["deno", "run", "--allow-net", loop],
      ...[FIRST, options.sockets, ...rest],
    ]);
  }
  for (const { engine, threads } of entrants(options)) {
    const targets = targetsOf(engine, options);
    const command = scanWith(engine, threads, targets, { protocol: "slp", port: PORT });
    add(titled(engine, threads), engine, command);
  }
  return all;
}

const twoDigits = (value: number) => value.toFixed(2);
const fromTo = (values: readonly number[], write: (value: number) => string) =>
  `${write(Math.min(...values))}–${write(Math.max(...values))}`;
const inThousands = (rate: number) => `${(rate / 1000).toFixed(1)}k`;

/** Whether a ratio reaches a goal, in words. */
function judged(reached: number, least: number): string {
  return `${reached >= least ? "reached" : "MISSED"}: ${twoDigits(least)}`;
}

/** The cells of a ratio to the fastest of some programs, in each round. */
function againstGoal(summaries: ReadonlyMap<string, Summary>, name: string): string[] {
  const [engine] = name.split(",");
  const goal = GOALS[engine];
  if (goal === undefined) return ["", "", ""];
  const [least, to] = goal;
  const reached = ratio(summaries, name, ...to);
  const range = fromTo(ratios(summaries, name, ...to), twoDigits);
  return [`${twoDigits(reached)} (${range})`, to.join(" or "), judged(reached, least)];
}

/** The same runs, counted in targets in place of packets: a target may have got several packets. */
function perTarget(summary: Summary, targets: number): Summary {
  const packets = summary.arrivals.map((arrived) => arrived / targets);
  const rates = summary.rates.map((rate, i) => rate / packets[i]);
  const cpus = summary.cpus.map((cpu, i) => cpu * packets[i]);
  return { ...summary, rates, rate: median(rates), cpus, cpu: median(cpus) };
}

function printSpeeds(
  summaries: ReadonlyMap<string, Summary>,
  all: ReadonlyMap<string, Sender>,
): void {
  const counted = new Map(
    [...summaries].map(([name, one]) => [name, perTarget(one, all.get(name)!.targets)]),
  );
  const lines = [...counted].map(([name, { rate, rates, cpu, cpus, arrivals }]) => {
    const { targets } = all.get(name)!;
    return [
      name,
      Math.round(rate),
      fromTo(rates, inThousands),
      Number(cpu.toPrecision(3)),
      fromTo(cpus, (one) => one.toPrecision(3)),
      fromTo(arrivals.map((arrived) => arrived / targets), (one) => one.toFixed(4)),
      targets,
      ...againstGoal(counted, name),
    ];
  });
  const head = ["sender", "targets/s", "range", "CPU us", "range", "SYN a target", "targets"];
  console.log(table([...head, "ratio (range)", "to", "goal"], lines));
}

/** The command line of a scan with the default options, except protocol, engine and rate. */
function defaultScan(rate: string): string[] {
  const range = `${FIRST}/${32 - DEFAULT_BITS}`;
  const words = [range, "--protocol", "slp", "--rate", rate, "--format", "hostport"];
  return scanCommand(words, "portable");
}

/** Measures which rates `portable` keeps with default options. */
async function printKept({ rates, rounds }: TcpOptions): Promise<void> {
  const names = rates.split(",").filter((rate) => rate !== "");
  if (names.length === 0) return;
  const programs = new Map(names.map((rate) => [rate, defaultScan(rate)]));
  const summaries = await takeTurns(programs, Number(rounds), 0);
  const probes = DEFAULT_PASSES * 2 ** DEFAULT_BITS;
  const lines = [...summaries].map(([rate, summary]) => {
    const one = perTarget(summary, probes);
    const shares = one.rates.map((kept) => kept / Number(rate));
    return [
      Number(rate),
      Math.round(one.rate),
      fromTo(one.rates, (value) => String(Math.round(value))),
      Number(one.cpu.toPrecision(3)),
      fromTo(one.arrivals.map((arrived) => arrived / probes), (value) => value.toFixed(4)),
      judged(median(shares), MIN_SHARE),
    ];
  });
  const head = ["--rate", "kept", "range", "CPU us", "SYN a target and pass", "goal"];
  console.log(`\n${table(head, lines)}`);
}

/** Compares the engines over TCP, and prints the tables. */
export async function compareTcp(options: TcpOptions, folder: string): Promise<void> {
  const all = await senders(options, folder);
  const commands = new Map([...all].map(([name, { command }]) => [name, command]));
  if (commands.size > 0) {
    printSpeeds(await takeTurns(commands, Number(options.rounds)), all);
  }
  if (options.engines.split(",").includes("portable")) await printKept(options);
}
