/**
 * The status line as a function of a scan's state over time.
 *
 * Covers src/app/scan/progress_meter.ts.
 */
import { assert, assertAlmostEquals, assertEquals, assertMatch } from "@std/assert";
import {
  adaptiveWork,
  ProgressMeter,
  type ScanProgress,
  type ScanWork,
  scanWork,
} from "../../../src/app/scan/progress_meter.ts";
import { statusLine } from "../../../src/cli/term/status_line.ts";
import { newState, type ScanState } from "../../../src/scan/setup/scan_state.ts";

/** A simulated scan. Its speeds, pauses and cooldown are known, and so is the time of its end. */
interface Paper {
  readonly udp: readonly number[];
  readonly tcp?: readonly number[];
  /** Positions per second. */
  readonly rate: number;
  readonly tcpRate?: number;
  readonly cooldown?: number;
  readonly from?: { readonly pass: number; readonly position: number };
  readonly maxRuntime?: number;
}

const START = { pass: 1, position: 0 };
const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

function workOf({ udp, tcp = [], cooldown = 5, from = START, maxRuntime = Infinity }: Paper) {
  const passes = {
    udp: { sizes: udp, protocols: [] },
    tcp: { sizes: tcp, protocols: [] },
  };
  const times = { cooldown, connect: 3, maxRuntime };
  return scanWork({ passes, detectionPasses: [] }, { udp: from, tcp: START }, times);
}

/** When the passes over UDP end, and the state in the second `t` of this run. */
function at(paper: Paper, t: number): { state: ScanState; sent: number } {
  const { udp, tcp = [], rate, tcpRate = rate, from = START } = paper;
  const state = newState("x", 0);
  let [position, pass, left] = [from.position, from.pass, t];
  while (pass <= udp.length) {
    const seconds = (udp[pass - 1] - position) / rate;
    if (left < seconds) {
      position += Math.floor(left * rate);
      break;
    }
    left -= seconds;
    if (left < 1 || pass === udp.length) {
      position = udp[pass - 1]; // the scan is in a pause or in the cooldown
      break;
    }
    left--;
    [position, pass] = [0, pass + 1];
  }
  const earlier = sum(udp.slice(0, from.pass - 1)) + from.position;
  const visited = sum(udp.slice(0, pass - 1)) + position;
  const tcpVisited = Math.min(sum(tcp), Math.floor(t * tcpRate));
  Object.assign(state, {
    ...{ pass, passes: udp.length, position, size: udp[pass - 1] ?? 0, sent: visited },
    ...{ total: sum([...udp, ...tcp]), visited: visited + tcpVisited },
  });
  Object.assign(state.tcp, {
    ...{ pass: tcp.length > 0 ? 1 : 0, passes: tcp.length, position: tcpVisited },
  });
  return { state, sent: visited - earlier };
}

/** The speeds at every half second up to a time. */
function progressOf(paper: Paper, until: number, work: ScanWork = workOf(paper)): ScanProgress[] {
  const { from = START, udp } = paper;
  const before = newState("x", 0); // a resumed scan continues the counters of its earlier run
  before.sent = sum(udp.slice(0, from.pass - 1)) + from.position;
  const meter = new ProgressMeter(work, before, 0);
  const all: ScanProgress[] = [];
  for (let t = 0.5; t <= until; t += 0.5) all.push(meter.read(at(paper, t).state, t));
  return all;
}

Deno.test("the first line has a rate and the time left; in later lines the time decreases", () => {
  const paper: Paper = { udp: [10_000, 10_000], rate: 1000 };
  const end = 10 + 1 + 10 + 5;
  for (const [i, { rate, left, elapsed }] of progressOf(paper, 20).entries()) {
    const t = (i + 1) / 2;
    assertEquals(elapsed, t);
    assertAlmostEquals(left, end - t, 1.1, `after ${t} s`);
    if (t < 10) assertEquals(rate, 1000);
  }
});

Deno.test("a resumed scan does not count its earlier work as that of the last second", () => {
  const paper: Paper = { udp: [100_000, 100_000], rate: 1000, from: { pass: 1, position: 90_000 } };
  const end = 10 + 1 + 100 + 5;
  const all = progressOf(paper, 100);
  assertEquals([all[0].rate, all[0].elapsed], [1000, 0.5]);
  assertAlmostEquals(all[0].share, 90_500 / 200_000, 1e-9);
  for (const [i, { left }] of all.entries()) {
    assertAlmostEquals(left, end - (i + 1) / 2, 1.1, `after ${(i + 1) / 2} s`);
  }
});

Deno.test("resumed after the last UDP pass, the time left is that of TCP", () => {
  const from = { pass: 3, position: 0 };
  const paper: Paper = { udp: [500, 500], tcp: [3000], rate: 100, from };
  const [first] = progressOf(paper, 0.5);
  assertAlmostEquals(first.left, 29.5 + 3, 1);
  // the simulated scan sends nothing over UDP, and counts no connections
  assertEquals(first.rate, 0);
});

Deno.test("in the cooldown the time left is that of the cooldown, until it is over", () => {
  const paper: Paper = { udp: [1000], rate: 1000, cooldown: 5 };
  const all = progressOf(paper, 8);
  const left = (t: number) => all[2 * t - 1].left;
  assertEquals([left(1), left(2), left(5.5)], [5, 4, 0.5]);
  assertEquals(left(7), Infinity); // unknown, because the last inspections may take some time
  assertEquals(all.at(-1)!.share, 1);
});

Deno.test("while only interviews are left, the time left is that of the interviews", () => {
  const paper: Paper = { udp: [1000], rate: 1000, cooldown: 5 };
  const meter = new ProgressMeter(workOf(paper), newState("x", 0), 0);
  const read = (t: number, inspecting: number) => {
    const state = Object.assign(at(paper, t).state, { inspecting });
    const progress = meter.read(state, t);
    return { left: progress.left, line: statusLine(state, progress, "rate") };
  };
  assertEquals(read(1, 64).left, Infinity, "nothing is known of their speed");
  assertEquals(read(2, 64).left, Infinity, "none has ended");
  const later = read(11, 44);
  assertEquals(later.left, 22, "20 ended in 10 s");
  assertMatch(later.line, /ETA 0:22 .* 44 interviews pending/);
  assertMatch(read(60, 1).line, /ETA 0:02 .* 1 interview pending/);
  assertEquals(read(90, 0).left, Infinity);
});

Deno.test("with UDP and TCP passes, the transport that ends last determines the time left", () => {
  const slow: Paper = { udp: [1000], rate: 1000, tcp: [1000], tcpRate: 10 };
  assertAlmostEquals(progressOf(slow, 10).at(-1)!.left, 90 + 3, 1);
  // After TCP has ended, UDP gets the whole rate: 300 s and 100 s alone are 200 s together.
  const shared: Paper = { udp: [150_000], rate: 500, tcp: [50_000], tcpRate: 500 };
  assertAlmostEquals(progressOf(shared, 10).at(-1)!.left, 190 + 5, 1);
});

Deno.test("a pause between passes slows nothing down; --max-runtime bounds what is left", () => {
  const small: Paper = { udp: [400, 400, 400, 400], rate: 200, cooldown: 1 };
  for (const [i, { left }] of progressOf(small, 10).entries()) {
    assertAlmostEquals(left, 12 - (i + 1) / 2, 1.6, `after ${(i + 1) / 2} s`);
  }
  const bounded: Paper = { udp: [1e6], rate: 100, maxRuntime: 60 };
  assertEquals(progressOf(bounded, 10).at(-1)!.left, 50);
});

Deno.test("without progress the time left is unknown", () => {
  const work = workOf({ udp: [1000], rate: 1 });
  const meter = new ProgressMeter(work, newState("x", 0), 0);
  const progress = meter.read(newState("x", 0), 0.5);
  assertEquals(progress, {
    ...{ elapsed: 0.5, left: Infinity, share: 0, rate: 0, replyRate: 0, hitRate: undefined },
  });
  const text = statusLine(newState("x", 0), progress, "rate");
  assertEquals(text, "0:01  0.0%  ETA ?  0 sent  0/s  0 found (0/s)  0 rows written");
});

const PROGRESS: ScanProgress = {
  ...{ elapsed: 83, left: 3725, share: 0.1234, rate: 1000, replyRate: 3.14, hitRate: 0.0042 },
};

/** A state whose line is long. */
function busy(): ScanState {
  const state = newState("x", 0);
  Object.assign(state, {
    pass: 1,
    passes: 4,
    sent: 1_234_567,
    written: 5000,
    noStatus: 3,
    lost: 12,
  });
  Object.assign(state.replies, { valid: 5100 });
  Object.assign(state.tcp, { pass: 1, passes: 2 });
  return state;
}

Deno.test("a wide status line has all parts", () => {
  assertEquals(
    statusLine(busy(), PROGRESS, "net-rate"),
    "1:23  12.3%  ETA 1:02:05  pass 1/4  TCP 1/2  1,234,567 sent  1,000/s  (limited by --net-rate)  " +
      "5,100 found (3.1/s)  hit rate 0.42%  5,000 rows written  3 without status  12 lost",
  );
});

/** An adaptive scan after some passes. */
function adaptiveState(): ScanState {
  const estimate = (found: number, total: number) => ({
    ...{ found, total, low: total - 100, high: total + 100, skipped: [] },
  });
  return {
    ...busy(),
    adaptive: {
      ...{ spent: 4e6, budget: 8e6, evenSweep: 16e6, found: 5100, recentYield: 37.2, level: 9 },
      ...{ endedHosts: 0, endedNetworks: 0 },
      estimates: [
        { protocol: "raknet", estimate: estimate(3000, 3600.4) },
        { protocol: "slp", estimate: estimate(912, 1000) },
      ],
    },
  };
}

Deno.test("the status line of an adaptive scan has its yield, its budget and its estimate", () => {
  const line = (state: ScanState) => statusLine(state, PROGRESS, "rate");
  assertEquals(
    line(adaptiveState()),
    "1:23  12.3% of budget  ETA 1:02:05  pass 1  1,234,567 sent  1,000/s  5,100 found (3.1/s)  " +
      "37 per million probes now  3,912 on default ports of about 4,600  5,000 rows written  " +
      "3 without status  12 lost",
  );
  const { adaptive } = adaptiveState();
  const first = line({ ...busy(), adaptive: { ...adaptive!, spent: 0, estimates: [] } });
  assert(!/million|default ports|hit rate/.test(first), first);
});

Deno.test("the share and the time left of an adaptive scan are those of its budget", () => {
  const state = adaptiveState();
  Object.assign(state, { total: 8e6, visited: 0, pass: 1, position: 0, size: 1e6 });
  const work = adaptiveWork({ budget: 8e6 }, { cooldown: 5, connect: 3, maxRuntime: Infinity });
  const meter = new ProgressMeter(work, state, 0);
  for (let t = 1; t <= 20; t++) {
    // positions over TCP count for the same budget, and begin again in each pass
    state.visited = 100_000 * t;
    state.tcp.position = 30_000 * (t % 10);
    const { share, left } = meter.read(state, t);
    assertAlmostEquals(share, t / 80, 1e-9);
    assertAlmostEquals(left, 80 - t + 5, 1);
  }
});

Deno.test("a narrow status line keeps its most important parts, uncut", () => {
  const whole = statusLine(busy(), PROGRESS, "net-rate").split("  ");
  for (let columns = 18; columns <= 200; columns++) {
    const text = statusLine(busy(), PROGRESS, "net-rate", columns);
    assert(text.length <= columns, `${columns}: ${text}`);
    assert(text.split("  ").every((part) => whole.includes(part)), `${columns}: ${text}`);
    assertMatch(text, /12\.3% {2}ETA 1:02:05/);
  }
  assertEquals(
    statusLine(busy(), PROGRESS, "net-rate", 79),
    "1:23  12.3%  ETA 1:02:05  1,000/s  5,100 found (3.1/s)  hit rate 0.42%  12 lost",
  );
  assertEquals(
    statusLine(busy(), PROGRESS, "net-rate", 59),
    "12.3%  ETA 1:02:05  1,000/s  5,100 found (3.1/s)  12 lost",
  );
  assertEquals(statusLine(busy(), PROGRESS, "net-rate", 3), "12.");
});
