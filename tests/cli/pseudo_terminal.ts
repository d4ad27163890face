/** The program `script` of util-linux, which opens a pseudo-terminal. */
import { assertEquals } from "@std/assert";
import { ENVIRONMENT, PrintedText } from "./program.ts";

/** Whether it is installed. */
export const HAS_SCRIPT = Deno.build.os === "linux" &&
  new Deno.Command("sh", {
    args: ["-c", "script --version"],
    stdout: "null",
    stderr: "null",
  }).outputSync().success;

if (!HAS_SCRIPT) {
  const note = "script of util-linux is not installed: tests on a pseudo-terminal are skipped\n";
  Deno.stderr.writeSync(new TextEncoder().encode(note));
}

/** Starts a program on a pseudo-terminal, whose keyboard is its standard input. */
export function startOnTerminal(
  words: readonly string[],
  term = "xterm",
  cwd?: string,
): Deno.ChildProcess {
  const quoted = words.map((word) => `'${word}'`).join(" ");
  const script = 'script --quiet --return --command "$0" /dev/null';
  return new Deno.Command("sh", {
    args: ["-c", script, `stty cols 80 rows 24; ${quoted}`],
    env: { ...ENVIRONMENT, TERM: term },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    cwd,
  }).spawn();
}

/** Presses Ctrl-C once, when a program has written some words; returns all that it writes. */
export async function interrupted(
  words: readonly string[],
  expected: string,
  cwd?: string,
): Promise<string> {
  const child = startOnTerminal(words, undefined, cwd);
  const printed = new PrintedText(child, child.stdout);
  await printed.until(expected);
  const keyboard = child.stdin.getWriter();
  await keyboard.write(new TextEncoder().encode("\x03"));
  const text = await printed.rest();
  await keyboard.close();
  await child.stderr.cancel();
  assertEquals((await child.status).code, 130, text);
  return text;
}
