/** Covers src/app/engines/scan_rates.ts. */
import { assertEquals } from "@std/assert";
import { readCommandLine } from "../../cli/command_line.ts";
import { pendingProbes, wireSize } from "../../../src/app/engines/scan_rates.ts";
import { scanChoice } from "../../../src/app/scan/scan_choice.ts";
import { scanLimits } from "../../../src/app/engines/scan_rates.ts";
import { compose } from "../../../src/targets/compose.ts";
import { parseTarget } from "../../../src/targets/parse.ts";
import type { EngineName } from "../../../src/app/settings/engine_names.ts";

/** The limits that result from options. */
function limitsOf(target: string, ...args: string[]) {
  const { options } = readCommandLine("scan", args);
  const parsed = parseTarget(target);
  if (!("range" in parsed)) throw new Error(`${target} is not a range`);
  const targets = compose([parsed], { never: [], private: [], chosen: [] });
  return scanLimits(options, targets, scanChoice(options, () => 1));
}

/** The rate, rounded. */
function rate(target: string, ...args: string[]): number {
  return Math.floor(limitsOf(target, ...args).rates.rate ?? Infinity);
}

Deno.test("a bandwidth is converted to a rate by the size of the largest probe", () => {
  // 14,880 of the shortest Ethernet frames per second fill 10 Mbit/s; the number is well known.
  const query = ["--protocol", "query"];
  assertEquals(rate("10.0.0.0/24", "--bandwidth", "10M", ...query), 14_880);
  assertEquals(rate("10.0.0.0/24", "--bandwidth", "1G", ...query), 1_488_095);
  // 33 bytes with UDP, IPv4 and Ethernet headers and the gap between frames are 99 bytes.
  assertEquals(rate("10.0.0.0/24", "--bandwidth", "99k", "--protocol", "raknet"), 125);
  assertEquals(rate("10.0.0.0/24", "--bandwidth", "99k"), 125);
  assertEquals(rate("fd00::/120", "--bandwidth", "119k", "--protocol", "raknet"), 125);
  // A RakNet ping precedes SQP. A connection begins with a packet of 98 bytes.
  assertEquals(rate("10.0.0.0/24", "--bandwidth", "99k", "--protocol", "sqp"), 125);
  assertEquals(rate("10.0.0.0/24", "--bandwidth", "98k", "--protocol", "slp"), 125);
  assertEquals([wireSize(0, 4), wireSize(18, 4), wireSize(19, 4)], [84, 84, 85]);
});

Deno.test("if a rate and a bandwidth are given, the lower one applies; either replaces the default", () => {
  assertEquals(rate("10.0.0.0/24"), 1000);
  assertEquals(rate("10.0.0.0/24", "--rate", "500", "--bandwidth", "1G"), 500);
  assertEquals(rate("10.0.0.0/24", "--rate", "1M", "--bandwidth", "99k"), 125);
  assertEquals(rate("127.0.0.0/24", "--bandwidth", "99k"), 125);
});

Deno.test("a rate search starts at a low rate, and has an upper limit", () => {
  const auto = (...args: [string, ...string[]]) => {
    const { rates: { rate, netRate, hostRate }, autoRate } = limitsOf(...args);
    return [rate, Math.floor(autoRate?.most ?? NaN), netRate, hostRate];
  };
  assertEquals(auto("10.0.0.0/24", "--rate", "auto"), [1000, 100_000, 50, 5]);
  assertEquals(auto("8.8.8.0/24", "--rate", "auto"), [1000, 100_000, 50, 5]);
  assertEquals(auto("10.0.0.0/24", "--rate", "auto:2M"), [1000, 2_000_000, 50, 5]);
  assertEquals(auto("10.0.0.0/24", "--rate", "auto:300"), [300, 300, 50, 5]);
  const query = ["--bandwidth", "10M", "--protocol", "query"];
  assertEquals(auto("10.0.0.0/24", "--rate", "auto", ...query), [1000, 14_880, 50, 5]);
  assertEquals(auto("10.0.0.0/24", "--rate", "auto:9k", ...query), [1000, 9000, 50, 5]);
  const [first, most] = auto("127.0.0.0/24", "--rate", "auto");
  assertEquals([first, most! >= 1e6], [1000, true]);
  assertEquals(limitsOf("10.0.0.0/24", "--rate", "500").autoRate, undefined);
});

Deno.test("the limits of time and number have defaults, and options replace them", () => {
  const of = (...args: [string, ...string[]]) => {
    const { timeoutMs, cooldownMs, maxResults, maxRuntimeMs, streamLimits } = limitsOf(...args);
    const { connectMs, firstByteMs, totalMs } = streamLimits;
    return [timeoutMs, cooldownMs, maxResults, maxRuntimeMs, connectMs, firstByteMs, totalMs];
  };
  const usual = [1500, 5000, Infinity, Infinity, 3000, 5000, 10_000]; // as docs/reference.md says
  assertEquals(of("10.0.0.0/24"), usual);
  const times = ["--timeout", "700ms", "--cooldown", "2s", "--max-runtime", "1m"];
  assertEquals(
    of("10.0.0.0/24", ...times, "--max-results", "9"),
    [700, 2000, 9, 60_000, 700, 700, 1400],
  );
});

Deno.test("as many probes over TCP are pending as the rate needs", () => {
  const of = (rate: number | undefined, engine: EngineName = "portable", more = {}) =>
    pendingProbes({
      portWaitMs: 900,
      rates: { rate, netRate: undefined, hostRate: undefined },
      ...more,
    }, engine);
  assertEquals(of(1000), 1080); // each waits 0.9 s, and a fifth is spare
  assertEquals(of(undefined), 1024);
  assertEquals([of(1e6), of(1e6, "udp"), of(1e6, "packet")], [32_768, 60_000, 1024]);
  assertEquals(of(1000, "udp", { autoRate: { most: 5000 } }), 5400);
  assertEquals(of(1000, "udp", { portWaitMs: 500 }), 600);
  const waits = [[], ["--timeout", "3s"], ["--timeout", "500ms"]];
  const times = waits.map((args) => limitsOf("10.0.0.0/24", ...args).portWaitMs);
  assertEquals(times, [900, 900, 500]);
});
