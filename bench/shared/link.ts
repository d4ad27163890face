// deno-lint-ignore-file no-console
/**
 * Counts the datagrams that arrive at the far end of a veth pair, for benchmarks of sending.
 *
 * The far end drops datagrams before they are routed. They are counted by the interface: its
 * counter is read every 10 ms, and the rate is measured between the first and the last tenth of all
 * datagrams.
 */
import { beFarEnd, joinNear, NEAR, near, system } from "./namespaces.ts";
import { bareScan, runTimed } from "./processes.ts";
import { median } from "./table.ts";
import { inTurns } from "./turns.ts";

/**
 * The MAC of no machine. Frames to this MAC arrive at the far end, and its IP layer drops them at
 * once.
 */
export const NOBODY = "02:00:00:00:00:01";
/** The first target. */
export const FIRST = "10.0.0.0";
export const PORT = 19132;
const TENTH = 0.1;

/**
 * Runs a benchmark at the far end. The targets are behind the far end.
 *
 * @param script Its `import.meta.url`.
 * @param run The benchmark. Its argument is a folder that is removed at the end.
 */
export async function atFarEnd(script: string, run: (folder: string) => Promise<void>) {
  await beFarEnd(script);
  const folder = await Deno.makeTempDir({ prefix: "blocksweep-bench-" });
  try {
    await using _near = await joinNear("10.0.0.0/8", false);
    const neighbour = `ip neighbour add ${NEAR.gateway} lladdr ${NOBODY} dev ${NEAR.interface}`;
    await system(near(neighbour.split(" ")).join(" "));
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Number of datagrams that have arrived at the far end. */
function arrived(): number {
  const line = Deno.readTextFileSync("/proc/self/net/dev").split("\n")
    .find((one) => one.trim().startsWith("far0:"))!;
  return Number(line.split(":")[1].trim().split(/\s+/)[1]);
}

/** The result of one run. */
export interface Run {
  /** Datagrams per second. */
  readonly rate: number;
  /** User and system time of the whole process per datagram, start-up included, microseconds. */
  readonly cpu: number;
  /** Number of datagrams that arrived. */
  readonly arrived: number;
}

/** Runs a program at the near end. */
async function measure(command: readonly string[]): Promise<Run> {
  const before = arrived();
  const samples: [at: number, count: number][] = [];
  const timer = setInterval(() => samples.push([performance.now(), arrived() - before]), 10);
  const { cpu } = await runTimed(near(command));
  clearInterval(timer);
  const all = arrived() - before;
  const begin = samples.find(([, count]) => count >= TENTH * all)!;
  const end = samples.find(([, count]) => count >= (1 - TENTH) * all)!;
  const rate = (end[1] - begin[1]) / (end[0] - begin[0]) * 1000;
  return { rate, cpu: cpu / all * 1e6, arrived: all };
}

/** Medians of runs; `arrived` is the minimum. */
export interface Summary extends Run {
  /** The rates of all rounds. */
  readonly rates: readonly number[];
  /** The processor times of all rounds. */
  readonly cpus: readonly number[];
  /** The numbers of datagrams that arrived in all rounds. */
  readonly arrivals: readonly number[];
}

/**
 * Measures programs alternately.
 *
 * @param uncounted Number of runs of each program before those that are counted. Default: 1.
 */
export async function takeTurns(
  programs: ReadonlyMap<string, readonly string[]>,
  rounds: number,
  uncounted = 1,
): Promise<Map<string, Summary>> {
  const names = [...programs.keys()];
  const runs = await inTurns(names, rounds + uncounted, async (name, round) => {
    const run = await measure(programs.get(name)!);
    console.error(`round ${round - uncounted}: ${name} ${Math.round(run.rate)}/s`);
    return run;
  });
  return new Map([...runs].map(([name, all]) => [name, summaryOf(all.slice(uncounted))]));
}

function summaryOf(runs: readonly Run[]): Summary {
  const rates = runs.map(({ rate }) => rate);
  const cpus = runs.map(({ cpu }) => cpu);
  const arrivals = runs.map(({ arrived }) => arrived);
  return {
    rates,
    rate: median(rates),
    cpus,
    cpu: median(cpus),
    arrivals,
    arrived: Math.min(...arrivals),
  };
}

/** The rate of a program in each round, divided by that of the fastest of some programs. */
export function ratios(
  summaries: ReadonlyMap<string, Summary>,
  name: string,
  ...by: readonly string[]
): number[] {
  const fastest = (i: number) => Math.max(...by.map((one) => summaries.get(one)!.rates[i]));
  return summaries.get(name)!.rates.map((rate, i) => rate / fastest(i));
}

/** The median of these ratios. */
export function ratio(
  summaries: ReadonlyMap<string, Summary>,
  name: string,
  ...by: readonly string[]
): number {
  return median(ratios(summaries, name, ...by));
}

/** The command line of a complete scan without caps, with a rate that no machine reaches. */
export function scanWith(
  engine: string,
  threads: number,
  targets: number,
  { protocol = "raknet", port = PORT } = {},
): string[] {
  const range = `${FIRST}/${32 - Math.log2(targets)}`;
  const scan = { range, port, protocol, engine, threads, cooldown: "100ms" };
  return bareScan(scan, ["--format", "hostport"]);
}

/** An engine with a number of sender threads. */
export interface Entrant {
  readonly engine: string;
  readonly threads: number;
}

/** Engines with each number of sender threads; `portable` has no sender threads. */
export function overThreads(
  engines: readonly string[],
  numbers: readonly number[],
): Entrant[] {
  return engines.flatMap((engine) =>
    (engine === "portable" ? [0] : numbers).map((threads) => ({ engine, threads }))
  );
}

/** The name of a program, with its number of sender threads if it has any. */
export function titled(name: string, threads: number): string {
  return threads === 0 ? name : `${name}, ${threads} thread${threads === 1 ? "" : "s"}`;
}
