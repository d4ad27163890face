// deno-lint-ignore-file no-console
/**
 * How evenly probes leave: what arrives at the far end of a veth pair, by the kernel's clock
 * (bench/c/arrivals.c).
 *
 * `thousand` and `second` are the lowest and the highest rate over any 1,000 probes in a row, and over
 * any second, by the requested rate; then the counts of every 100 ms, from the first probe on,
 * by what is due: the least, the tenth, middle and nine tenths of them, and the most; `in 2 ms` is the
 * largest burst, in probes, to be held against what is due in 2 ms and a batch of 256.
 */
import { joinNear, near } from "../shared/namespaces.ts";
import { pingScan, runTimed } from "../shared/processes.ts";
import { build } from "../shared/responders.ts";
import { table } from "../shared/table.ts";
import type { Case } from "./case.ts";

const OPTIONS = {
  rates: "100,10000,100000",
  seconds: "10",
  engines: "udp,portable",
  threads: "0",
};
const RANGE = "10.80.0.0/12";
const PORT = 19132;
const BIN_MS = 100;
const BURST_MS = 2;
const ROW = 1000;
const HEAD = [
  "engine",
  "rate",
  "probes",
  "thousand",
  "second",
  "least",
  "10 %",
  "50 %",
  "90 %",
  "most",
  "in 2 ms",
];

export const pace: Case = {
  purpose: "how evenly probes leave, at each of some rates",
  options: OPTIONS,
  async run({ rates, seconds, engines, threads }, folder) {
    const program = await build("arrivals", folder);
    await using _ = await joinNear(RANGE, true);
    const lines: (string | number)[][] = [];
    for (const rate of rates.split(",").map(Number)) {
      for (const engine of engines.split(",")) {
        const probes = Math.max(rate * Number(seconds), 2 * ROW);
        const scan = { range: RANGE, port: PORT, engine, threads, rate, cooldown: "100ms" };
        const more = ["--max-targets", `${probes}`, "--format", "hostport"];
        const times = await arrivals(program, pingScan(scan, more), probes);
        lines.push(measured(engine, rate, times));
        console.error(lines.at(-1)!.join("  "));
      }
    }
    console.log(table(HEAD, lines));
    return true;
  },
};

/** When probes arrived, milliseconds since the first. */
async function arrivals(
  program: string,
  scan: readonly string[],
  probes: number,
): Promise<Float64Array> {
  const child = new Deno.Command(program, {
    args: [`${PORT}`, `${2 * probes}`],
    stdout: "piped",
  }).spawn();
  const output = child.stdout.getReader();
  const { value } = await output.read();
  if (new TextDecoder().decode(value) !== "ready\n") throw new Error("the receiver is not ready");
  await runTimed(near(scan));
  child.kill("SIGTERM");
  const chunks: Uint8Array[] = [];
  for (let part = await output.read(); !part.done; part = await output.read()) {
    chunks.push(part.value);
  }
  const bytes = new Uint8Array(await new Blob(chunks as Uint8Array<ArrayBuffer>[]).arrayBuffer());
  return Float64Array.from(new BigInt64Array(bytes.buffer), (time) => Number(time) / 1e6);
}

/** The lowest and the highest rate over so many probes in a row, a second. */
function overRows(times: Float64Array, count: number): [number, number] {
  let [least, most] = [Infinity, 0];
  for (let i = 0; i + count < times.length; i++) {
    const rate = count / (times[i + count] - times[i]) * 1000;
    [least, most] = [Math.min(least, rate), Math.max(most, rate)];
  }
  return [least, most];
}

/** The fewest and the most probes in any time so long, within the first and the last. */
function within(times: Float64Array, ms: number): [number, number] {
  let [least, most] = [Infinity, 0];
  for (let i = 0, end = 0; i < times.length && times[i] + ms <= times.at(-1)!; i++) {
    while (times[end] < times[i] + ms) end++;
    [least, most] = [Math.min(least, end - i), Math.max(most, end - i)];
  }
  return [least, most];
}

function measured(engine: string, rate: number, times: Float64Array): (string | number)[] {
  const bins = new Float64Array(Math.floor(times.at(-1)! / BIN_MS));
  for (const time of times) if (time < bins.length * BIN_MS) bins[Math.floor(time / BIN_MS)]++;
  bins.sort();
  const due = rate * BIN_MS / 1000;
  const share = (part: number) => (bins[Math.round(part * (bins.length - 1))] / due).toFixed(3);
  const range = (pair: readonly number[]) => pair.map((one) => (one / rate).toFixed(3)).join(" ");
  return [
    engine,
    rate,
    times.length,
    range(overRows(times, ROW)),
    range(within(times, 1000)),
    ...[0, 0.1, 0.5, 0.9, 1].map(share),
    within(times, BURST_MS)[1],
  ];
}
