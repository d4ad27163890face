import { programName } from "../../../src/cli/term/console.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Continuable } from "../../../src/cli/term/scan_continuation.ts";
import { endLines, exitCode, summary } from "../../../src/cli/term/scan_summary.ts";
import type { ScanEnd } from "../../../src/scan/scan_options.ts";
import { statusOf } from "../../../src/cli/term/scan_progress.ts";
import { scanFamilies } from "../../../src/app/metrics/scan_metrics.ts";
import { Settings } from "../../../src/app/settings/option_values.ts";
import { newState } from "../../../src/scan/scan_state.ts";

Deno.test("summary() says how many rows are aliases, if some are", () => {
  const lines = (aliases: number) => {
    const state = { ...newState("", performance.now()), written: 5, aliases };
    const mark = { pass: 1, position: 0 };
    return summary(state, { reason: "done", marks: { udp: mark, tcp: mark } } as ScanEnd, [], 1)
      .filter((
        line,
      ) => line.includes("alias"));
  };
  assertEquals(lines(0), []);
  assertEquals(lines(1), ["1 row of servers that another row describes (alias_of)"]);
  assertEquals(lines(1234), ["1,234 rows of servers that another row describes (alias_of)"]);
});

const START = { pass: 1, position: 0 };
const END = { reason: "done", marks: { udp: START, tcp: START } } as ScanEnd;

Deno.test("summary() names the hosts of omitted endpoints, and a command for the first ones", () => {
  const lines = (hosts: number, ports: number) => {
    const state = newState("", performance.now());
    state.replies.omitted = hosts * ports;
    for (let i = 0; i < hosts * ports; i++) {
      const endpoint = { address: 0x7f000000 + i % hosts, port: 9000 + Math.floor(i / hosts) };
      state.omittedAt.push({ endpoint, protocol: "sqp" });
    }
    return summary(state, END, [], 1).filter((line) =>
      /omitted/.test(line) && !/received/.test(line)
    );
  };
  const why = "omitted, because too many replies were unverified";
  const again = "scan omitted endpoints again, at most 64 of a host at a time: " +
    `${programName()} scan 127.0.0.0 --protocol sqp -p`;
  assertEquals(lines(0, 0), []);
  const resumed = newState("", performance.now());
  resumed.replies.omitted = 7;
  assertStringIncludes(
    summary(resumed, END, [], 1).join("\n"),
    `7 endpoints that replied were ${why}; scan again`,
  );
  assertEquals(lines(1, 1), [
    `results may be incomplete: 1 endpoint that replied was ${why}: 127.0.0.0 (1)`,
    `${again} 9000`,
  ]);
  const named = Array.from({ length: 16 }, (_, i) => `127.0.0.${i} (70)`).join(", ");
  assertEquals(lines(17, 70), [
    `results may be incomplete: 1,190 endpoints that replied were ${why}: ${named}, and others`,
    `${again} 9000-9063`,
  ]);
});

Deno.test("summary() names hosts that flooded, and says whether results are incomplete", () => {
  const lines = (hosts: number, disturbed: string[]) => {
    const state = newState("", performance.now());
    const addresses = Array.from({ length: hosts }, (_, i) => `127.0.0.${i}`);
    Object.assign(state.floods, { hosts, datagrams: 12_345, addresses, disturbed });
    const mark = { pass: 1, position: 0 };
    const end = { reason: "done", marks: { udp: mark, tcp: mark } } as ScanEnd;
    return summary(state, end, [], 1).filter((line) => /flood|exclude/.test(line));
  };
  assertEquals(lines(0, []), []);
  assertEquals(lines(1, []), [
    "1 host flooded, or datagrams were forged in its name: left out of retries and follow-ups; " +
    "12,345 more datagrams",
    "flooding host: 127.0.0.0", // to exclude a host in whose name others flood is no remedy
  ]);
  const [first, second] = lines(18, ["raknet", "query"]);
  assertEquals(
    first,
    "18 hosts flooded, or datagrams were forged in their name: left out of retries and " +
      "follow-ups; 12,345 more datagrams",
  );
  assertEquals(
    second,
    "results are incomplete: the flood disturbed every pass of raknet, query; scan again with " +
      "more --retries, or at a lower --rate, or, which leaves their servers out, with " +
      `--exclude ${Array.from({ length: 16 }, (_, i) => `127.0.0.${i}`).join(",")} (and 2 more)`,
  );
});

/** The state of a scan that was short of descriptors. */
function shortState(unprobed: number, uninspected: number, inspectedInPart: number) {
  const state = { ...newState("", performance.now()), passes: 2, uninspected, inspectedInPart };
  state.tcp.unprobed = unprobed;
  return state;
}

const MARK = { pass: 1, position: 7 };
const INCOMPLETE = { reason: "incomplete", marks: { udp: MARK, tcp: MARK } } as ScanEnd;

Deno.test("summary() says what was left out for lack of descriptors", () => {
  const lines = (...counts: [number, number, number]) =>
    summary(shortState(...counts), INCOMPLETE, [], 1).filter((line) =>
      line.includes("descriptors")
    );
  assertEquals(lines(0, 0, 0), []);
  assertEquals(lines(1, 1, 1), [
    "results are incomplete: 1 TCP target was not probed for lack of descriptors; raise the limit " +
    "(ulimit -n), or lower --concurrency",
    "results are incomplete: 1 server was not inspected for lack of descriptors; raise the limit " +
    "(ulimit -n), or lower --concurrency",
    "1 server was inspected in part for lack of descriptors (flag cutShort); raise the limit " +
    "(ulimit -n), or lower --concurrency",
  ]);
  const [first] = summary(shortState(1234, 2, 3), INCOMPLETE, [], 1);
  assertEquals(first.replace(/[\d.]+ s/, "1 s"), "incomplete in 1 s: 0 rows written to ");
  assertEquals(lines(1234, 2, 3).map((line) => line.split(" for lack")[0]), [
    "results are incomplete: 1,234 TCP targets were not probed",
    "results are incomplete: 2 servers were not inspected",
    "3 servers were inspected in part",
  ]);
});

Deno.test("the status file and the metrics count what was left out for lack of descriptors", () => {
  const state = shortState(3, 4, 5);
  const { tcp, uninspected, inspected_in_part } = statusOf(state);
  assertEquals((tcp as Record<string, number>).unprobed, 3);
  assertEquals([uninspected, inspected_in_part], [4, 5]);
  const metric = (name: string) =>
    scanFamilies(state).find((family) => family.name === `blocksweep_${name}`)?.samples[0].value;
  assertEquals([metric("targets_unprobed"), metric("servers_uninspected")], [3, 4]);
});

Deno.test("an incomplete scan ends with exit code 1, and its resume command is printed", () => {
  assertEquals(exitCode("incomplete"), 1);
  assertEquals((["done", "max-runtime", "interrupted", "failed"] as const).map(exitCode), [
    ...[0, 0, 130, 1],
  ]);
  const settings = new Settings({ words: ["127.0.0.1"], given: new Map() });
  const scan = {
    settings,
    chosen: { protocols: [], seed: 5 },
    ...{ outputs: [], stores: { places: [] }, resumable: true },
  } as unknown as Continuable;
  const [line] = endLines(scan, shortState(1, 0, 0), INCOMPLETE, "rows.csv.checkpoint");
  assertEquals(
    line.replace(/: .* scan/, ": blocksweep scan"),
    [
      "with more descriptors, go on with: blocksweep scan --resume rows.csv.checkpoint",
    ].join(),
  );
  const given = new Map([["quiet", ["true"]]]);
  const quiet = { ...scan, settings: new Settings({ words: ["127.0.0.1"], given }) };
  assertEquals(endLines(quiet, shortState(1, 0, 0), INCOMPLETE, "rows.csv.checkpoint"), [
    "results are incomplete: 1 TCP target was not probed for lack of descriptors; raise the limit " +
    "(ulimit -n), or lower --concurrency",
    line,
  ]);
  const [without] = endLines(scan, shortState(1, 0, 0), INCOMPLETE, undefined);
  assertEquals(without.includes(" --from"), true, without);
});
