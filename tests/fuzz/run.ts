// deno-lint-ignore-file no-console
/**
 * Fuzzes every decoder and reader of bytes that others have written: `deno task fuzz`.
 *
 *     --minutes N   how long; default: 1
 *     --inputs N    ends after this many inputs of all subjects together
 *     --seed N      equal seeds give each subject the same sequence of inputs; default: 1
 *     --only NAME   only the subjects whose names begin so
 *
 * Subjects get turns of 0.1 s, and fast ones of 0.5 s, so fast ones get more inputs. A crash is made shorter
 * and written to tests/fuzz/corpus. At the end a table is printed. The exit code is 1 after a crash.
 */
import { parseArgs } from "@std/cli";
import { writeCrash } from "./corpus.ts";
import { Hammer } from "./hammer.ts";
import { SUBJECTS } from "./subjects/mod.ts";

/** Time of one subject in a round, milliseconds. */
const SLICE_MS = 100;
/** Subjects with more inputs per millisecond get more time. */
const [FAST, FAST_SHARE] = [15, 5];
/** Time between two lines of progress, milliseconds. */
const REPORT_MS = 60_000;

const NAMES = ["minutes", "inputs", "seed", "only"] as const;
const { _, ...given } = parseArgs(Deno.args, {
  string: NAMES,
  unknown: (word) => fail(`Unknown word "${word}": expected --minutes, --inputs, --seed, --only`),
});
const { minutes = "1", inputs = "Infinity", seed = "1", only = "" } = given as Partial<
  Record<typeof NAMES[number], string>
>;

function fail(message: string): never {
  console.error(message);
  Deno.exit(2);
}

function number(name: string, text: string): number {
  const value = Number(text);
  return value > 0 ? value : fail(`Cannot use --${name} ${text}: expected a number above 0`);
}

const chosen = SUBJECTS.filter(({ name }) => name.startsWith(only));
if (chosen.length === 0) {
  fail(`No decoder "${only}": known are ${SUBJECTS.map(({ name }) => name).join(", ")}`);
}
const hammers = chosen.map((subject) => new Hammer(subject, number("seed", seed)));
const most = number("inputs", inputs);
const start = performance.now();
const end = start + number("minutes", minutes) * 60_000;
const total = () => hammers.reduce((sum, { tally }) => sum + tally.inputs, 0);

/** The files of crashes that are written, by hammer. */
const written = new Map(hammers.map((hammer) => [hammer, 0]));

/** The share of each subject in the next round. */
const shares = new Map<Hammer, number>();
let reported = start;
while (performance.now() < end && total() < most) {
  for (const hammer of hammers) {
    const slice = (shares.get(hammer) ?? 1) * SLICE_MS;
    const before = hammer.tally.inputs;
    await hammer.runFor(Math.min(slice, end - performance.now()), most - total());
    shares.set(hammer, hammer.tally.inputs - before > FAST * slice ? FAST_SHARE : 1);
    for (const crash of hammer.crashes.slice(written.get(hammer))) {
      console.log(`${crash.subject.name}: ${crash.error}\n  ${await writeCrash(crash)}`);
    }
    written.set(hammer, hammer.crashes.length);
  }
  if (performance.now() - reported < REPORT_MS) continue;
  reported = performance.now();
  console.log(`${Math.round((reported - start) / 1000)} s: ${total().toLocaleString("en")} inputs`);
}

const cells = hammers.map(({ subject, tally, verdicts }) => [
  subject.name,
  subject.from,
  ...[tally.inputs, tally.accepted, tally.refused, verdicts.size, tally.crashes].map((count) =>
    count.toLocaleString("en")
  ),
  `${tally.worstMs.toFixed(1)} ms`,
  `${(tally.worstBytes / 2 ** 20).toFixed(1)} MiB`,
]);
const HEAD = ["decoder", "bytes of", "inputs", "accepted", "refused", "results", "crashes"];
const table = [
  [...HEAD, "worst time", "worst memory"],
  HEAD.concat("", "").map(() => "---"),
  ...cells,
];
for (const row of table) console.log(`| ${row.join(" | ")} |`);
const crashes = hammers.reduce((sum, { tally }) => sum + tally.crashes, 0);
const seconds = Math.round((performance.now() - start) / 1000);
console.log(
  `\n${total().toLocaleString("en")} inputs in ${seconds} s, ${crashes} crashes, seed ${seed}`,
);
if (crashes > 0) Deno.exitCode = 1;
