import { assertEquals } from "@std/assert";
import { summary } from "../../src/cli/summary.ts";
import type { ScanEnd } from "../../src/scan/options.ts";
import { newState } from "../../src/scan/state.ts";

Deno.test("summary() says how many rows are aliases, if some are", () => {
  const lines = (aliases: number) => {
    const state = { ...newState("", performance.now()), written: 5, aliases };
    const mark = { pass: 1, position: 0 };
    return summary(state, { reason: "done", mark, tcpMark: mark } as ScanEnd, [], 1).filter((
      line,
    ) => line.includes("alias"));
  };
  assertEquals(lines(0), []);
  assertEquals(lines(1), ["1 row of servers that another row describes (alias_of)"]);
  assertEquals(lines(1234), ["1,234 rows of servers that another row describes (alias_of)"]);
});

Deno.test("summary() names hosts that flooded, and says whether results are incomplete", () => {
  const lines = (hosts: number, disturbed: string[]) => {
    const state = newState("", performance.now());
    const addresses = Array.from({ length: hosts }, (_, i) => `127.0.0.${i}`);
    Object.assign(state.floods, { hosts, datagrams: 12_345, addresses, disturbed });
    const mark = { pass: 1, position: 0 };
    const end = { reason: "done", mark, tcpMark: mark } as ScanEnd;
    return summary(state, end, [], 1).filter((line) => /flood|exclude/.test(line));
  };
  assertEquals(lines(0, []), []);
  assertEquals(lines(1, []), [
    "1 host flooded, or datagrams were forged in its name: left out of retries and follow-ups; " +
    "12,345 more datagrams",
    "to scan without the flood: --exclude 127.0.0.0",
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
      `--exclude ${Array.from({ length: 16 }, (_, i) => `127.0.0.${i}`).join(",")} (and 2 more), ` +
      "with more --retries, or at a lower --rate",
  );
});
