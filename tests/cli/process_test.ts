import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { finish, PrintedText, start, until } from "./program.ts";

Deno.test("a wait for a program that ends too early fails, with the output of the program", async () => {
  const error = await assertRejects(() => until(start(["scn"]), () => false), Error);
  assertEquals(
    error.message,
    "The program ended too early: exit code 2\n" +
      'blocksweep: Unknown command "scn"; did you mean scan?\n',
  );
});

Deno.test("a condition that becomes true just before a program ends is noticed", async () => {
  const child = start(["--version"]);
  await child.status;
  let calls = 0;
  await until(child, () => ++calls === 2);
  assertEquals((await finish(child)).code, 0);
});

Deno.test("a wait for words that a program does not print fails, with the output of the program", async () => {
  const ending = start(["--version"]);
  const printed = new PrintedText(ending, ending.stdout);
  const ended = await assertRejects(() => printed.until("no such words"), Error);
  assertEquals(ended.message, `The program did not print "no such words", but: ${printed.text}`);
  assertMatch(printed.text, /^blocksweep \d/);
  await Promise.all([ending.stderr.cancel(), ending.status]);

  const running = start(["scan", "127.0.0.1:1", "--cooldown", "1h", "-v", "-o", "-"]);
  const waiting = new PrintedText(running);
  await waiting.until("pass 1");
  const late = await assertRejects(() => waiting.until("no such words", 0), Error);
  assertEquals(late.message, `The program did not print "no such words", but: ${waiting.text}`);
  assertEquals((await running.status).signal, "SIGKILL");
  await running.stdout.cancel();
});
