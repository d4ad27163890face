import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { OptOutList } from "../../src/cli/opt_out_list.ts";
import { InputError } from "../../src/errors.ts";
import { parseTarget } from "../../src/targets/parse.ts";

Deno.test("the opt-out list is read, added to once an address, and made where it is missing", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/deep/opt-out.txt`;
  try {
    const list = new OptOutList(path);
    assertEquals(await list.read(), []);
    for (const text of ["10.0.0.1", "10.0.0.1", "fc00::1", "127.0.0.1"]) {
      const target = parseTarget(text);
      if ("range" in target) list.note(target.range.start);
    }
    assertEquals(
      (await Deno.readTextFile(path)).split("\n").length,
      3,
      "two lines, none for loopback",
    );
    const ranges = await new OptOutList(path).read();
    assertEquals(ranges.map(({ start }) => start), [0x0a000001, 0xfc00n << 112n | 1n]);
    await Deno.writeTextFile(path, "192.168.0.0/24  asked by mail\n", { append: true });
    assertEquals((await list.read()).length, 3);
    assertStringIncludes(await Deno.readTextFile(path), "10.0.0.1  marker in its MOTD");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a last line without its end keeps to itself when an address is noted", async () => {
  const path = await Deno.makeTempFile();
  try {
    for (const last of ["", "10.0.0.1  asked by mail", "10.0.0.1  asked by mail\r\n"]) {
      await Deno.writeTextFile(path, last);
      const list = new OptOutList(path);
      for (const address of [0x0a000002, 0x0a000003]) list.note(address);
      const starts = (await list.read()).map(({ start }) => start);
      assertEquals(starts, [...last === "" ? [] : [0x0a000001], 0x0a000002, 0x0a000003]);
    }
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("an opt-out list that cannot be read is refused by name, and line", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await assertRejects(() => new OptOutList(folder).read(), InputError, `Cannot read "${folder}"`);
    const path = `${folder}/list.txt`;
    await Deno.writeTextFile(path, "10.0.0.1\n10.0.0.0/99  typo\n");
    await assertRejects(() => new OptOutList(path).read(), InputError, `${path}:2: Cannot parse`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
