// deno-lint-ignore-file no-console
/**
 * Compares what the engines send with the same calls in a small C program (bench/c/send.c): every
 * target once, nobody answers.
 *
 *     deno run -A bench/engines.ts [--targets 1048576] [--rounds 3] [--threads 0,1,2]
 *       [--engines udp,portable,packet,xdp]
 *
 * It needs Linux, root, iproute2 and a C compiler; see bench/shared/link.ts for where and how it counts.
 * Ours is the whole program doing its whole job: `scan` with permutation, exclusion, tokens and the
 * receiver at work. C only sends. With threads, an engine is held against the same calls in C on as
 * many; without, against C on one; `portable` against what `udp` calls.
 *
 * `by that of C` is the middle of the ratios of the rounds; `arrived` is the least of all rounds, to
 * be held against the targets; other numbers are medians.
 */
import {
  atFarEnd,
  FIRST,
  NOBODY,
  PORT,
  ratio,
  scanWith,
  takeTurns,
  titled,
} from "./shared/link.ts";
import { NEAR, system } from "./shared/namespaces.ts";
import { readOptions } from "./shared/options.ts";
import { table } from "./shared/table.ts";

const options = readOptions({
  targets: String(2 ** 20),
  rounds: "3",
  engines: "udp,portable,packet,xdp",
  threads: "0,1,2",
});

async function compare(folder: string): Promise<void> {
  await system(
    `cc -O2 -pthread -o ${folder}/send ${new URL("c/send.c", import.meta.url).pathname}`,
  );
  const programs = new Map<string, string[]>();
  /** Which C a program is held against. */
  const yardsticks = new Map<string, string>();
  const add = (name: string, yardstick: string, command: string[]) => {
    programs.set(name, command);
    yardsticks.set(name, yardstick);
  };
  for (const engine of options.engines.split(",")) {
    const numbers = engine === "portable" ? [0] : options.threads.split(",").map(Number);
    for (const threads of numbers) {
      const calls = engine === "portable" ? "udp" : engine;
      const inC = Math.max(1, threads);
      const yardstick = titled(`C ${calls}`, inC);
      const way = calls === "udp" ? [] : [NEAR.interface, NEAR.address, NOBODY];
      const send = [calls, FIRST, options.targets, String(PORT), String(inC), ...way];
      add(yardstick, yardstick, [`${folder}/send`, ...send]);
      add(titled(engine, threads), yardstick, scanWith(engine, threads, Number(options.targets)));
    }
  }
  const summaries = await takeTurns(programs, Number(options.rounds));
  console.log(table(
    ["sender", "datagrams/s", "by that of C", "CPU us", "arrived", "of"],
    [...summaries].map(([name, { rate, cpu, arrived }]) => [
      ...[name, Math.round(rate), ratio(summaries, name, yardsticks.get(name)!)],
      ...[cpu, arrived, Number(options.targets)],
    ]),
  ));
}

await atFarEnd(import.meta.url, compare);
