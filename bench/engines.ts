// deno-lint-ignore-file no-console
/**
 * Compares the speed at which the engines send with that of a small C program that uses the same
 * system calls (bench/c/send.c), or with masscan and zmap. All programs send the same datagram to
 * the same targets over the same link, and no host replies.
 *
 *     deno run -A bench/engines.ts [--targets 1048576] [--rounds 3] [--threads 0,1,2]
 *       [--engines udp,portable,packet,xdp] [--against c] [--transport tcp]
 *
 * It needs Linux, root, iproute2 and a C compiler. `--against scanners` needs masscan and zmap
 * (Debian's packages). bench/shared/link.ts describes the link and how datagrams are counted.
 * blocksweep runs a complete `scan` with permutation, exclusions, tokens and receiver. The C
 * program only sends. An engine with sender threads is compared with the C program on the same
 * number of threads, and an engine without them with the C program on one thread. `portable` is
 * compared with the calls of `udp`. masscan has one sender thread, and zmap a configurable number.
 * Each engine is compared with zmap on the same number of threads.
 *
 * Ratios are the medians of the ratios of all rounds. `arrived` is the minimum of all rounds;
 * compare it with `of`, the number of targets. Other numbers are medians.
 *
 * With `--transport tcp` the programs send SYN packets. `xdp` and `packet` are compared with the
 * faster of masscan and zmap, which have one sender thread each; `udp` with a C program that uses
 * its sockets again and again as the engine does (bench/c/connect.c; `C, plain loop` opens and
 * closes one for each target); `portable` with a loop of `Deno.connect` (bench/peers/connect.ts).
 * Connections wait 0.9 s. `--targets` is the number of targets of programs that write packets,
 * `--connects` that of `udp` and C, `--sockets` that of `portable` and its loop. `SYN a target` is
 * the number of packets that arrived, divided by that of targets; it has to be 1. `targets/s` and
 * `CPU us` count targets, because a packet that the system repeats finds nothing. `--rates` are the rates of scans with the default options, in which `portable` sends two
 * SYN packets to each of 16,384 silent targets. Numbers in brackets, and after `range`, are the
 * least and the greatest of all rounds.
 */
import { compareTcp } from "./engines/tcp.ts";
import {
  atFarEnd,
  type Entrant,
  FIRST,
  NOBODY,
  overThreads,
  PORT,
  ratio,
  scanWith,
  type Summary,
  takeTurns,
  titled,
} from "./shared/link.ts";
import { murmur, NEAR, system } from "./shared/namespaces.ts";
import { readOptions } from "./shared/options.ts";
import { masscan, zmap } from "./shared/scanners.ts";
import { table } from "./shared/table.ts";

const options = readOptions(
  "datagrams per second of each engine, compared with C or other scanners",
  {
    targets: String(2 ** 20),
    rounds: "3",
    engines: "udp,portable,packet,xdp",
    threads: "0,1,2",
    against: "c",
    transport: "udp",
    connects: String(2 ** 18),
    sockets: String(2 ** 16),
    rates: "1000,2000",
  },
);
const TARGETS = Number(options.targets);

/**
 * The programs to run alternately. `ratios` has, for each column of ratios, the program with which
 * each one is compared.
 */
interface Contest {
  readonly programs: Map<string, readonly string[]>;
  readonly ratios: Readonly<Record<string, Map<string, string>>>;
}

/** The engines of blocksweep with each number of threads. */
function engines(): Entrant[] {
  return overThreads(options.engines.split(","), options.threads.split(",").map(Number));
}

async function againstC(folder: string): Promise<Contest> {
  const source = new URL("c/send.c", import.meta.url).pathname;
  await system(`cc -O2 -pthread -o ${folder}/send ${source}`);
  const programs = new Map<string, readonly string[]>();
  const yardsticks = new Map<string, string>();
  for (const { engine, threads } of engines()) {
    const calls = engine === "portable" ? "udp" : engine;
    const inC = Math.max(1, threads);
    const yardstick = titled(`C ${calls}`, inC);
    const link = calls === "udp" ? [] : [NEAR.interface, NEAR.address, NOBODY];
    const send = [calls, FIRST, options.targets, String(PORT), String(inC), ...link];
    programs.set(yardstick, [`${folder}/send`, ...send]);
    programs.set(titled(engine, threads), scanWith(engine, threads, TARGETS));
    yardsticks.set(yardstick, yardstick).set(titled(engine, threads), yardstick);
  }
  return { programs, ratios: { "by that of C": yardsticks } };
}

async function againstScanners(folder: string): Promise<Contest> {
  const range = `${FIRST}/${32 - Math.log2(TARGETS)}`;
  const sweep = { range, port: PORT, gateway: NOBODY, folder };
  const programs = new Map([
    ["masscan", await masscan({ ...sweep, output: `${folder}/masscan.list` })],
  ]);
  const zmaps = new Map([["masscan", titled("zmap", 1)]]);
  for (const { engine, threads } of [{ engine: "zmap", threads: 1 }, ...engines()]) {
    const sending = Math.max(1, threads);
    const yardstick = titled("zmap", sending);
    programs.set(yardstick, await zmap({ ...sweep, output: `${folder}/zmap.csv` }, sending));
    zmaps.set(yardstick, yardstick);
    if (engine === "zmap") continue;
    programs.set(titled(engine, threads), scanWith(engine, threads, TARGETS));
    zmaps.set(titled(engine, threads), yardstick);
  }
  const masscans = new Map([...programs.keys()].map((name) => [name, "masscan"]));
  return { programs, ratios: { "by masscan": masscans, "by zmap": zmaps } };
}

function print(summaries: ReadonlyMap<string, Summary>, { ratios }: Contest): void {
  const columns = Object.entries(ratios);
  const lines = [...summaries].map(([name, { rate, cpu, arrived }]) => {
    const held = columns.map(([, against]) => ratio(summaries, name, against.get(name)!));
    return [name, Math.round(rate), ...held, cpu, arrived, TARGETS];
  });
  const titles = columns.map(([title]) => title);
  console.log(table(["sender", "datagrams/s", ...titles, "CPU us", "arrived", "of"], lines));
}

await atFarEnd(import.meta.url, async (folder) => {
  if (options.transport === "tcp") {
    using _ = murmur();
    return await compareTcp(options, folder);
  }
  const inC = options.against === "c";
  const contest = inC ? await againstC(folder) : await againstScanners(folder);
  using _ = inC ? undefined : murmur();
  print(await takeTurns(contest.programs, Number(options.rounds)), contest);
});
