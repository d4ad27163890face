/** Covers src/cli/term/scan_continuation.ts. */
import { systemClock } from "../../../src/net/clock.ts";
import { assertEquals } from "@std/assert";
import type { Continuable } from "../../../src/cli/term/scan_continuation.ts";
import { endLines, exitCode, summary } from "../../../src/cli/term/scan_summary.ts";
import type { ScanEnd } from "../../../src/scan/setup/scan_setup.ts";
import { scanStatus } from "../../../src/app/scan/scan_status.ts";
import { scanFamilies } from "../../../src/app/metrics/scan_metrics.ts";
import type { AdaptiveEnd } from "../../../src/scan/setup/adaptive_report.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";

const SCOPE = {
  outputs: [{ path: "rows.csv" }],
  databases: [],
  retries: 1,
  given: new Map(),
  clock: systemClock,
};
const DONE = {
  reason: "done",
  marks: { udp: { pass: 1, position: 0 }, tcp: { pass: 1, position: 0 } },
} as ScanEnd;

/** The state of a scan without problems. */
function usualState() {
  const state = { ...newState("", performance.now()), passes: 2, pass: 2, sent: 4000, written: 31 };
  Object.assign(state.tcp, { passes: 1, pass: 1, sent: 2000 });
  Object.assign(state.tcp.counts, { open: 15, valid: 12, invalid: 1, unresponsive: 2, refused: 5 });
  Object.assign(state.replies, { valid: 31, duplicate: 19, forged: 1, unsolicited: 1, canary: 40 });
  Object.assign(state.canaries, { sent: 40 });
  return state;
}

Deno.test("summary() has the important counts when nothing is wrong, and all of them with --verbose", () => {
  const [, ...usual] = summary(usualState(), DONE, SCOPE);
  assertEquals(usual, [
    "UDP: sent 4,000 probes; replies: 31 valid, 19 duplicate, 2 invalid",
    "TCP: sent 2,000 probes; replies: 15 open, 5 refused; " +
    "open ports: 12 valid, 1 invalid, 2 unresponsive",
    "packet loss: about 0 % (95 % confidence interval 0 to 8.8 %); " +
    "servers missed: about 0 of 43 (0 to 2)",
  ]);
  const [, udp, tcp, engine] = summary(usualState(), DONE, { ...SCOPE, verbose: true });
  assertEquals([udp, tcp, engine], [
    "UDP: sent 4,000 probes in 2 of 2 passes; replies: 31 valid, 19 duplicate, 40 canary, " +
    "0 unverified, 1 forged, 0 omitted, 0 malformed, 0 suppressing, 1 unsolicited",
    "TCP: sent 2,000 probes in 1 of 1 pass; replies: 15 open, 5 refused, 0 unreachable, " +
    "0 duplicate, 0 canary, 0 forged; open ports: 12 valid, 1 invalid, 0 closed without status, " +
    "2 unresponsive, 0 cancelled, 0 unqueried",
    "engine: portable",
  ]);
});

Deno.test("summary() counts connections that servers closed without a status", () => {
  const state = usualState();
  state.tcp.counts.closed = 3;
  const [, , tcp] = summary(state, DONE, SCOPE);
  assertEquals(
    tcp?.split("; ").at(-1),
    "open ports: 12 valid, 1 invalid, 3 closed without status, 2 unresponsive",
  );
});

Deno.test("summary() names the first networks that accepted connections and replied to no query", () => {
  const state = usualState();
  state.tcp.counts.unqueried = 5;
  const lines = () => summary(state, DONE, SCOPE).slice(2, 4);
  const { unresponsiveNetworks: networks } = state.tcp;
  networks.set("10.1.2.0/24", 256);
  assertEquals(lines(), [
    "TCP: sent 2,000 probes; replies: 15 open, 5 refused; " +
    "open ports: 12 valid, 1 invalid, 2 unresponsive, 5 unqueried",
    "TCP: 1 network or host accepted connections and replied to no query (10.1.2.0/24): " +
    "256 queries without a reply; their other open ports were queried last",
  ]);
  for (const name of ["10.1.3.0/24", "10.1.4.9", "2001:db8::/48"]) networks.set(name, 4000);
  assertEquals(
    lines()[1],
    "TCP: 4 networks or hosts accepted connections and replied to no query (10.1.2.0/24, " +
      "10.1.3.0/24, 10.1.4.9, …): 12,256 queries without a reply; their other open ports were " +
      "queried last",
  );
  assertEquals((scanStatus(state).tcp as Record<string, number>).unresponsive_networks, 4);
});

Deno.test("summary() counts only the rows that a database has, and not those in its spill file", () => {
  const first = (written: number, outputs: readonly { path: string; waiting?: number }[]) =>
    summary({ ...usualState(), written }, DONE, { ...SCOPE, outputs })[0].split(" s: ")[1];
  const database = { path: "a.db", waiting: 1047 };
  assertEquals(first(1060, [database]), "13 rows written to a.db");
  assertEquals(
    first(3060, [{ path: "-" }, { path: "b.db", waiting: 0 }, database]),
    "3,060 rows written to standard output, b.db; 2,013 to a.db",
  );
  assertEquals(first(1040, [database]), "0 rows written to a.db");
});

Deno.test("summary() has the last pass of a scan that ended early", () => {
  const [, udp] = summary({ ...usualState(), pass: 1 }, DONE, SCOPE);
  assertEquals(udp.split(";")[0], "UDP: sent 4,000 probes in 1 of 2 passes");
});

Deno.test("summary() counts alias rows, and servers that sent no status or opted out", () => {
  const line = (counts: object) =>
    summary({ ...usualState(), ...counts }, DONE, SCOPE).filter((one) => one.startsWith("servers"));
  assertEquals(line({}), []);
  assertEquals(line({ aliases: 1 }), ["servers: 1 alias row (alias_of)"]);
  assertEquals(line({ aliases: 1234, noStatus: 2, optedOut: 3 }), [
    "servers: 1,234 alias rows (alias_of), 2 without a full status, 3 opted out and not written",
  ]);
});

Deno.test("summary() names hosts that flooded, and reports incomplete results", () => {
  const lines = (hosts: number, disturbed: string[], verbose = false) => {
    const state = newState("", performance.now());
    const addresses = Array.from({ length: hosts }, (_, i) => `127.0.0.${i}`);
    Object.assign(state.floods, { hosts, datagrams: 12_345, addresses, disturbed });
    const scope = { ...SCOPE, verbose };
    return summary(state, DONE, scope).filter((line) => /flood|exclude/.test(line));
  };
  assertEquals(lines(0, []), []);
  const one =
    "floods: 1 host sent 12,345 more datagrams than expected (source addresses may be forged), " +
    "and got no retries or follow-ups";
  // The exclusion of a host does not help if its address is forged.
  assertEquals(lines(1, []), [one]);
  assertEquals(lines(1, [], true), [`${one}: 127.0.0.0`]);
  const [first, second] = lines(18, ["raknet", "query"]);
  assertEquals(
    first,
    "floods: 18 hosts sent 12,345 more datagrams than expected (source addresses may be forged), " +
      "and got no retries or follow-ups",
  );
  assertEquals(
    second,
    "results are incomplete: the floods disturbed every pass of raknet, query; scan again with " +
      "more --retries or a lower --rate, or leave these servers out with " +
      `--exclude ${Array.from({ length: 16 }, (_, i) => `127.0.0.${i}`).join(",")} (and 2 more)`,
  );
});

Deno.test("a scan whose every pass was disturbed by floods says so with --quiet, and ends with exit code 1", () => {
  const state = newState("", performance.now());
  const quietLines = () => {
    const job = {
      options: { quiet: true },
      resumable: true,
      outputs: [],
      databases: { locations: [] },
    };
    return endLines(job as unknown as Continuable, state, DONE, undefined, 0);
  };
  Object.assign(state.floods, { hosts: 1, addresses: ["127.0.0.1"] });
  assertEquals([exitCode("done", state), quietLines()], [0, []]);
  state.floods.disturbed = ["raknet"];
  assertEquals([exitCode("done", state), exitCode("interrupted", state)], [1, 130]);
  assertEquals(quietLines().map((line) => line.split(";")[0]), [
    "results are incomplete: the floods disturbed every pass of raknet",
  ]);
});

/** The state of a scan that lacked descriptors. */
function shortState(uninspected: number, inspectedInPart: number) {
  return { ...newState("", performance.now()), passes: 2, uninspected, inspectedInPart };
}

const MARK = { pass: 1, position: 7 };
const INCOMPLETE = { reason: "incomplete", marks: { udp: MARK, tcp: MARK } } as ScanEnd;

Deno.test("summary() reports servers left out for lack of descriptors", () => {
  const lines = (...counts: [number, number]) =>
    summary(shortState(...counts), INCOMPLETE, SCOPE).filter((line) =>
      line.includes("descriptors")
    );
  assertEquals(lines(0, 0), []);
  assertEquals(lines(1, 1), [
    "results are incomplete: 1 server was not inspected for lack of descriptors; raise the limit " +
    "(ulimit -n), or lower --concurrency",
    "1 server was inspected in part for lack of descriptors (flag cutShort); raise the limit " +
    "(ulimit -n), or lower --concurrency",
  ]);
  const [first] = summary(shortState(1234, 3), INCOMPLETE, SCOPE);
  assertEquals(first.replace(/[\d.]+ s/, "1 s"), "incomplete in 1 s: 0 rows written to rows.csv");
  assertEquals(lines(1234, 3).map((line) => line.split(" for lack")[0]), [
    "results are incomplete: 1,234 servers were not inspected",
    "3 servers were inspected in part",
  ]);
});

Deno.test("summary() and the last lines report a scan whose probes the system refused", () => {
  const errors = { ENETUNREACH: 9, EPERM: 1 };
  const state = { ...shortState(0, 0), refused: 10, errors };
  const line = "results are incomplete: the system refused every probe over UDP (ENETUNREACH): " +
    "there is no route to the targets; the command `ip route` lists the routes";
  const reported = (lines: readonly string[]) =>
    lines.filter((one) => one.includes("refused every"));
  assertEquals(reported(summary(state, INCOMPLETE, SCOPE)), [line]);
  assertEquals(reported(summary({ ...state, sent: 1 }, INCOMPLETE, SCOPE)), []);
  const lines = (quiet: boolean) => {
    const job = { options: { quiet }, resumable: true, outputs: [], databases: { locations: [] } };
    return endLines(job as unknown as Continuable, state, INCOMPLETE, "rows.csv.checkpoint", 0);
  };
  assertEquals(reported(lines(true)), [line]);
  assertEquals(reported(lines(false)), []);
  assertEquals(lines(false)[0].split(":")[0], "when the system sends probes, continue with");
});

Deno.test("the status file and the metrics count servers left out for lack of descriptors", () => {
  const state = shortState(4, 5);
  const { uninspected, inspected_in_part } = scanStatus(state);
  assertEquals([uninspected, inspected_in_part], [4, 5]);
  const metric = (name: string) =>
    scanFamilies(state).find((family) => family.name === `blocksweep_${name}`)?.samples[0].value;
  assertEquals(metric("servers_uninspected"), 4);
});

/** The state of an adaptive scan that has ended. */
function adaptiveState() {
  const skipped = [0x0a100000, 0x0a200000];
  const estimate = { found: 3912, total: 4600.2, low: 4000, high: 5299.6, skipped };
  return {
    ...usualState(),
    adaptive: {
      ...{ spent: 8e6, budget: 8e6, evenSweep: 16e6, found: 5100, recentYield: 37.2, level: 9 },
      ...{ endedHosts: 17, endedNetworks: 1 },
      estimates: [{ protocol: "raknet", estimate }],
      ended: "budget" as const,
    },
  };
}

Deno.test("summary() has the estimate of an adaptive scan, and why it ended", () => {
  const state = adaptiveState();
  const lines = (ended?: AdaptiveEnd) =>
    summary({ ...state, adaptive: { ...state.adaptive, ended } }, DONE, SCOPE).slice(3);
  assertEquals(lines("budget"), [
    "adaptive: 8,000,000 probes in complete passes (50% of one for each address), " +
    "37 servers per million probes at the end (water level 9), ended because the budget was spent",
    "raknet: found 3,912 on default ports of about 4,600 (4,000 to 5,300), " +
    "with smaller samples in 10.16.0.0/12, 10.32.0.0/12",
    "17 hosts and 1 /24 not probed further, because of one server on 8 ports or more",
    "packet loss: about 0 % (95 % confidence interval 0 to 8.8 %)",
  ]);
  const end = (ended?: AdaptiveEnd) => lines(ended)[0].split(", ").slice(2).join(", ");
  assertEquals(end("stop-below"), "ended by --stop-below");
  assertEquals(
    end("nothing-left"),
    "ended because nothing was left to probe within the budget of each /24",
  );
  assertEquals(end(undefined), "");
});

Deno.test("the status file and the metrics have the progress of an adaptive scan", () => {
  assertEquals(scanStatus(usualState()).adaptive, null);
  const state = adaptiveState();
  assertEquals(scanStatus(state).adaptive, {
    spent: 8e6,
    budget: 8e6,
    even_sweep: 16e6,
    found: 5100,
    servers_per_million: 37.2,
    water_level: 9,
    estimates: [{
      ...{ protocol: "raknet", found: 3912, total: 4600.2, low: 4000, high: 5299.6 },
      skipped: ["10.16.0.0/12", "10.32.0.0/12"],
    }],
    ended_hosts: 17,
    ended_networks: 1,
    ended: "budget",
  });
  const samples = (families: ReturnType<typeof scanFamilies>) =>
    families.filter(({ name }) => name.includes("adaptive"))
      .map(({ name, samples }) => [name.replace("blocksweep_adaptive_", ""), samples[0].value]);
  assertEquals(samples(scanFamilies(usualState())), []);
  assertEquals(samples(scanFamilies(state)), [
    ["probes", 8e6],
    ["budget_probes", 8e6],
    ["servers_per_million", 37.2],
    ["servers_found", 3912],
    ["servers_estimated", 4600.2],
    ["servers_estimated_low", 4000],
    ["servers_estimated_high", 5299.6],
  ]);
});

Deno.test("an adaptive scan without a checkpoint prints no command that continues it", () => {
  const job = {
    options: { quiet: false, rescan: undefined },
    ...{ resumable: true, outputs: [], databases: { locations: [] } },
  } as unknown as Continuable;
  const end = { ...DONE, reason: "interrupted" } as ScanEnd;
  assertEquals(endLines(job, adaptiveState(), end, undefined, 0), [
    "it cannot be continued: an adaptive scan needs a file of rows (-o) or a --checkpoint",
  ]);
  const [line] = endLines(job, adaptiveState(), end, "rows.csv.checkpoint", 0);
  assertEquals(line.endsWith("scan --resume rows.csv.checkpoint"), true);
});

Deno.test("an incomplete scan ends with exit code 1, and its resume command is printed", () => {
  const state = newState("", performance.now());
  const reasons = ["incomplete", "done", "max-runtime", "interrupted", "failed"] as const;
  assertEquals(reasons.map((reason) => exitCode(reason, state)), [1, 0, 0, 130, 1]);
  const options = { quiet: false, rescan: undefined };
  const scan = {
    options,
    given: { words: ["127.0.0.1"], given: new Map() },
    choice: { protocols: [], order: { seed: 5 } },
    ...{ outputs: [], databases: { locations: [] }, resumable: true },
  } as unknown as Continuable;
  const [line] = endLines(scan, shortState(1, 0), INCOMPLETE, "rows.csv.checkpoint", 0);
  assertEquals(
    line.replace(/: .* scan/, ": blocksweep scan"),
    [
      "with more descriptors, continue with: blocksweep scan --resume rows.csv.checkpoint",
    ].join(),
  );
  const quiet = { ...scan, options: { ...options, quiet: true } };
  assertEquals(endLines(quiet, shortState(1, 0), INCOMPLETE, "rows.csv.checkpoint", 0), [
    "results are incomplete: 1 server was not inspected for lack of descriptors; raise the limit " +
    "(ulimit -n), or lower --concurrency",
    line,
  ]);
  const [without] = endLines(scan, shortState(1, 0), INCOMPLETE, undefined, 0);
  assertEquals(without.includes(" --from"), true, without);
});
