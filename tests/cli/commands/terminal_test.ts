/** The program on a pseudo-terminal, which `script` of util-linux opens: 80 columns, 24 rows. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { FakeTerminal } from "../term/live/fake_terminal.ts";
import { inFolder } from "../../app/resume/stopped_programs.ts";
import { HAS_SCRIPT, interrupted, startOnTerminal } from "../pseudo_terminal.ts";
import { QUICK, smallFleet, withFleet } from "../fleet.ts";
import { finish, programWords, run, SCAN, taskWords } from "../program.ts";

const PERMISSIONS = SCAN.map((one) => one.replace("=INIT_CWD", "=TERM,INIT_CWD"));

/** Runs the program on a pseudo-terminal; returns what it writes. */
async function onTerminal(args: readonly string[], term?: string): Promise<string> {
  const child = startOnTerminal(programWords(args, PERMISSIONS), term);
  await child.stdin.close();
  return (await finish(child)).stdout;
}

Deno.test({
  name:
    "a scan draws a block on a terminal, and leaves only rows and the summary there (script of util-linux)",
  ignore: !HAS_SCRIPT,
  fn: () =>
    withFleet(smallFleet(0x7f6d0000), async () => {
      const options = ["--rate", "500", "--retries", "0", "--opt-out-file", "/dev/null"];
      const scan = ["scan", "127.109.0.0/24", ...QUICK, ...options];
      const [drawn, ...lines] = await Promise.all([
        onTerminal(scan),
        onTerminal([...scan, "--plain"]),
        onTerminal(scan, "dumb"),
      ]);
      assertStringIncludes(drawn, "\x1b[2Kprogress  [");
      const terminal = new FakeTerminal(80, 24);
      terminal.draw(drawn);
      const left = terminal.rows.filter((row) => row !== "");
      assertEquals(left.filter((row) => row.startsWith("SERVER ")).length, 1, drawn);
      assert(left.some((row) => /^done in .* rows written to standard output$/.test(row)), drawn);
      assert(!left.some((row) => /^(progress|rate|hits|losses|found) /.test(row)), left.join("\n"));
      for (const text of lines) {
        assertStringIncludes(text, "%  ETA ");
        assert(!text.includes("\x1b"), text);
      }
    }),
});

Deno.test({
  name:
    "a watch draws a table on a terminal until Ctrl-C, and its last state stays there (script of util-linux)",
  ignore: !HAS_SCRIPT,
  fn: async () => {
    const watch = ["watch", "127.109.1.9:19132", "--opt-out-file", "/dev/null"];
    const terminal = new FakeTerminal(80, 24);
    terminal.draw(await interrupted(programWords(watch, PERMISSIONS), "Ctrl-C to end"));
    const left = terminal.rows.filter((row) => row !== "");
    assertEquals(left[0], "watching 1 endpoint, polled every 60 s");
    assertEquals(left.slice(-3).map((row) => row.split(/[ ;]/)[0]), [
      "SERVER",
      "127.109.1.9:19132",
      "0",
    ]);
    assert(!left.some((row) => row.includes("Ctrl-C to end")), left.join("\n"));
  },
});

Deno.test({
  name: "a query without a reply prints what it waits for (script of util-linux)",
  ignore: !HAS_SCRIPT,
  fn: async () => {
    const query = ["query", "127.109.1.9", "--protocol", "raknet", "--timeout", "2s"];
    const text = await interrupted(
      programWords(query, PERMISSIONS),
      "waiting for replies in raknet",
    );
    assertEquals(text.match(/waiting for/g)?.length, 1, text);
  },
});

/**
 * How often the tests press Ctrl-C: in about half of the runs, `deno task` sends the program a
 * second SIGINT.
 */
const PRESSES = 4;

/** No file of opt-outs. */
const NO_FILE = ["--opt-out-file", "/dev/null"];

Deno.test({
  name: "one Ctrl-C in deno task scan ends the scan in good order (script of util-linux)",
  ignore: !HAS_SCRIPT,
  fn: () =>
    inFolder(async (folder) => {
      for (let i = 0; i < PRESSES; i++) {
        const options = [
          ...QUICK,
          "--rate",
          "50",
          "--plain",
          "-o",
          `${folder}/${i}.csv`,
          ...NO_FILE,
        ];
        const words = taskWords("scan", ["127.109.2.0/24", ...options]);
        const text = await interrupted(words, "ETA");
        assertMatch(text, /^interrupted in .*: 0 rows written/m);
        assertMatch(text, /^continue with: deno task scan --resume /m);
      }
    }),
});

Deno.test({
  name: "one Ctrl-C in deno task watch ends the watch in good order (script of util-linux)",
  ignore: !HAS_SCRIPT,
  fn: () =>
    inFolder(async (folder) => {
      const database = `${folder}/servers.db`;
      for (let i = 0; i < PRESSES; i++) {
        const options = ["-o", database, ...NO_FILE];
        const words = taskWords("watch", ["127.109.1.9:19132", ...options]);
        const text = await interrupted(words, "Ctrl-C to end");
        assertMatch(text, /0 of 1 endpoint online; \d polls?, 0 with a reply; /);
      }
      const scans = await run(["scans", database, "--json"]);
      const states = scans.stdout.trim().split("\n").map((line) => JSON.parse(line).state);
      assertEquals(states, new Array(PRESSES).fill("finished"), scans.stderr);
    }),
});
