// deno-lint-ignore-file no-console
/**
 * Measures how evenly probes are sent: when they arrive at the far end of a veth pair, by the
 * kernel's clock (bench/c/arrivals.c).
 *
 * `thousand` and `second` are the lowest and the highest rate over any 1,000 successive probes and
 * over any second, divided by the requested rate. The next columns are the numbers of probes in
 * each period of 100 ms, divided by the expected number: the minimum, the 10th, 50th and 90th
 * percentile, and the maximum. `in 2 ms` is the largest number of probes in any 2 ms. Compare it
 * with the expected number in 2 ms and with a batch of 256.
 */
import { joinNear, near } from "../shared/namespaces.ts";
import { bareScan, runTimed } from "../shared/processes.ts";
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
  purpose: "how evenly probes are sent, at several rates",
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
        const times = await arrivals(program, bareScan(scan, more), probes);
        lines.push(measured(engine, rate, times));
        console.error(lines.at(-1)!.join("  "));
      }
    }
    console.log(table(HEAD, lines));
    return true;
  },
};

/** Times at which probes arrived, milliseconds since the first probe. */
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

/** The lowest and the highest rate over a number of successive probes, probes per second. */
function overRows(times: Float64Array, count: number): [number, number] {
  let [least, most] = [Infinity, 0];
  for (let i = 0; i + count < times.length; i++) {
    const rate = count / (times[i + count] - times[i]) * 1000;
    [least, most] = [Math.min(least, rate), Math.max(most, rate)];
  }
  return [least, most];
}

/**
 * The minimum and maximum number of probes in any period of this length between the first and the
 * last probe.
 */
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
