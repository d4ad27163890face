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
