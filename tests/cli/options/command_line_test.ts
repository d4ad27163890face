/** Covers src/cli/options/command_line.ts: the values that a command gets for its options. */
import { assertEquals } from "@std/assert";
import { camelCase } from "../../../src/app/options/option.ts";
import { optionsOf } from "../../../src/app/options/option_table.ts";
import { readCommandLine } from "../command_line.ts";
import { scanChoice, scanInterviews } from "../../../src/app/scan/scan_choice.ts";
import { scanLimits } from "../../../src/app/engines/scan_rates.ts";
import { compose } from "../../../src/targets/compose.ts";
import { COMMAND_NAMES } from "../../../src/app/options/commands.ts";

Deno.test("a command gets typed values: numbers, lists, and whether a flag was given", () => {
  const { words, options } = readCommandLine("scan", ["10.0.0.1", "-o", "a", "-o", "b", "-q"]);
  const retries: number = options.retries;
  const runtime: number | undefined = options.maxRuntime;
  const output: readonly string[] = options.output;
  const quiet: boolean = options.quiet;
  assertEquals([words, retries, runtime, output, quiet], [
    ["10.0.0.1"],
    1,
    undefined,
    ["a", "b"],
    true,
  ]);
  assertEquals(options.protocol, undefined);
  const { protocol } = readCommandLine("query", ["--protocol", "query,raknet"]).options;
  assertEquals(protocol?.map(({ name }) => name), ["raknet", "query"]);
});

Deno.test("a misspelled option, and an option of another command, do not compile", () => {
  const { options } = readCommandLine("query", []);
  // @ts-expect-error: there is no such option
  assertEquals(options.retrys, undefined);
  // @ts-expect-error: a query has no rate
  assertEquals(options.rate, undefined);
  // @ts-expect-error: a time without a default may be undefined
  const timeout: number = options.timeout;
  assertEquals(timeout, undefined);
});

Deno.test("functions that choose, limit and permit a scan take the options of campaign submit", () => {
  const { options } = readCommandLine("campaign submit", ["10.0.0.0/24", "--rate", "50"]);
  const whole = { index: 1, count: 1 };
  const from = { udp: { pass: 1, position: 0 }, tcp: { pass: 1, position: 0 } };
  const choice = scanChoice({ ...options, shard: whole, from }, () => 7);
  assertEquals(choice.order.seed, 7);
  const interviews = scanInterviews(options);
  assertEquals([interviews.follow, interviews.players], [true, true]);
  const range = { start: 0x0a000000, end: 0x0a000100 };
  const targets = compose([{ range, port: undefined }], { never: [], private: [], chosen: [] });
  const limits = scanLimits(options, targets, choice);
  assertEquals(limits.rates.rate, 50);
  assertEquals(options.parts, undefined);
  assertEquals(options.resultsLimit, 2 ** 30);
  const worker = readCommandLine("campaign work", ["--slots", "3", "--exclude", "a"]).options;
  assertEquals([worker.slots, worker.exclude], [3, ["a"]]);
  const { output, once } = readCommandLine("campaign collect", ["-o", "a.db", "--once"]).options;
  assertEquals([output, once], ["a.db", true]);
});

Deno.test("each command has a value for each of its options, and no other", () => {
  for (const command of COMMAND_NAMES) {
    const names = optionsOf(command).map(({ name }) => camelCase(name));
    assertEquals(Object.keys(readCommandLine(command, []).options), [...names, "allProtocols"]);
  }
});
