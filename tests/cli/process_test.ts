import { assertEquals, assertRejects } from "@std/assert";
import { finish, start, until } from "./program.ts";

Deno.test("a wait for a program that ends too early fails, with what the program printed", async () => {
  const error = await assertRejects(() => until(start(["scn"]), () => false), Error);
  assertEquals(
    error.message,
    "The program ended too early: exit code 2\n" +
      'blocksweep: Unknown command "scn"; did you mean scan?\n',
  );
});

Deno.test("what a program brought about just before its end is seen", async () => {
  const child = start(["--version"]);
  await child.status;
  let calls = 0;
  await until(child, () => ++calls === 2);
  assertEquals((await finish(child)).code, 0);
});
