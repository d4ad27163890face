import { assert, assertEquals } from "@std/assert";
import { newState } from "../../../src/scan/setup/scan_state.ts";
import { programName } from "../../../src/cli/term/console.ts";
import { omittedLines } from "../../../src/cli/term/omitted_lines.ts";

/**
 * The lines for hosts 127.0.0.0, 127.0.0.1 and so on, with the given numbers of omitted endpoints.
 */
function linesFor(counts: readonly number[]) {
  const state = newState("", 0);
  counts.forEach((count, host) => {
    for (let i = 0; i < count; i++) {
      const endpoint = { address: 0x7f000000 + host, port: 9000 + i };
      state.omittedAt.push({ endpoint, protocol: "sqp" });
    }
  });
  state.replies.omitted = state.omittedAt.length;
  return omittedLines(state, { given: new Map(), databases: [], isResumable: false });
}

/** The first line, and the line with the command. */
function expected(count: string, hosts: string, again: string, command: string): string[] {
  return [
    `results may be incomplete: ${count} omitted, because too many replies were unverified: ${hosts}`,
    `scan ${again} again with: ${programName()} scan ${command}`,
  ];
}

const LIST = "--metadata-file lists omitted endpoints as omitted_at, the first 1,024 at most";

Deno.test("omitted endpoints of one host are scanned again as ranges of ports", () => {
  assertEquals(linesFor([]), []);
  assertEquals(
    linesFor([1]),
    expected(
      "1 endpoint that replied was",
      "127.0.0.0 (1)",
      "it",
      "127.0.0.0 -p 9000 --protocol sqp",
    ),
  );
  const command = "127.0.0.0 -p 9000-9063 --protocol sqp";
  assertEquals(linesFor([136]), [
    ...expected("136 endpoints that replied were", "127.0.0.0 (136)", "64 of them", command),
    LIST,
  ]);
});

Deno.test("hosts with the fewest omitted endpoints come first, and share a command", () => {
  const command = "127.0.0.2:9000 127.0.0.4:9000 127.0.0.4:9001 --protocol sqp";
  assertEquals(linesFor([64, 63, 1, 64, 2]), [
    ...expected(
      "194 endpoints that replied were",
      "127.0.0.2 (1), 127.0.0.4 (2), 127.0.0.1 (63), 127.0.0.0 (64), 127.0.0.3 (64)",
      "3 of them",
      command,
    ),
    LIST,
  ]);
  const many = linesFor(Array.from({ length: 100 }, () => 1));
  assertEquals(many[1].split(" ").filter((word) => word.startsWith("127.")).length, 64);
  assert(many[0].endsWith(", and others"));
});

Deno.test("a resumed scan, which has only the number of omitted endpoints, names no host", () => {
  const state = newState("", 0);
  state.replies.omitted = 7;
  assertEquals(omittedLines(state, { given: new Map(), databases: [], isResumable: false }), [
    "results may be incomplete: 7 endpoints that replied were omitted, because too many replies " +
    "were unverified; scan again",
  ]);
});
