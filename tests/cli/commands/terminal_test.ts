/** The program on a pseudo-terminal, which `script` of util-linux opens: 80 columns, 24 rows. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FakeTerminal } from "../term/live/fake_terminal.ts";
import { QUICK, smallFleet, withFleet } from "../fleet.ts";
import { ENVIRONMENT, finish, PrintedText, programWords, SCAN } from "../program.ts";

/** Whether `script` of util-linux is installed. */
const HAS_SCRIPT = Deno.build.os === "linux" &&
  new Deno.Command("sh", {
    args: ["-c", "script --version"],
    stdout: "null",
    stderr: "null",
  }).outputSync().success;

const PERMISSIONS = SCAN.map((one) => one.replace("=INIT_CWD", "=TERM,INIT_CWD"));

/** Starts the program on a pseudo-terminal, whose keyboard is its standard input. */
function startOnTerminal(args: readonly string[], term = "xterm"): Deno.ChildProcess {
  const words = programWords(args, PERMISSIONS).map((word) => `'${word}'`).join(" ");
  const script = 'script --quiet --return --command "$0" /dev/null';
  return new Deno.Command("sh", {
    args: ["-c", script, `stty cols 80 rows 24; ${words}`],
    env: { ...ENVIRONMENT, TERM: term },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Runs the program on a pseudo-terminal; returns what it writes. */
async function onTerminal(args: readonly string[], term?: string): Promise<string> {
  const child = startOnTerminal(args, term);
  await child.stdin.close();
  return (await finish(child)).stdout;
}

Deno.test({
  name: "a scan draws a block on a terminal, and leaves only rows and the summary there",
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
  name: "a watch draws a table on a terminal until Ctrl-C, and its last state stays there",
  ignore: !HAS_SCRIPT,
  fn: async () => {
    const child = startOnTerminal(["watch", "127.109.1.9:19132", "--opt-out-file", "/dev/null"]);
    const printed = new PrintedText(child, child.stdout);
    await printed.until("Ctrl-C to end");
    const keyboard = child.stdin.getWriter();
    await keyboard.write(new TextEncoder().encode("\x03"));
    const terminal = new FakeTerminal(80, 24);
    terminal.draw(await printed.rest());
    await keyboard.close();
    await child.stderr.cancel();
    await child.status;
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
