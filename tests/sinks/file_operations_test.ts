import { assertEquals, assertRejects } from "@std/assert";
import { systemDisk } from "../../src/sinks/file_operations.ts";

Deno.test("remove() removes a file, ignores a missing one, and refuses a folder", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [file, empty] = [`${folder}/a`, `${folder}/b`];
    await Deno.writeTextFile(file, "");
    await Deno.mkdir(empty);
    await systemDisk.remove(file);
    await systemDisk.remove(file);
    await assertRejects(() => systemDisk.remove(empty), Deno.errors.IsADirectory, "Is a directory");
    assertEquals((await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name), ["b"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test({
  name: "a closed file is unlocked, also while a starting process has a copy of its descriptor",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const folder = await Deno.realPath(await Deno.makeTempDir());
    const path = `${folder}/a`;
    const libc = Deno.dlopen("libc.so.6", {
      dup: { parameters: ["i32"], result: "i32" },
      close: { parameters: ["i32"], result: "i32" },
    });
    try {
      const first = await systemDisk.open(path, "make");
      assertEquals(await first.lock(), true);
      const number = [...Deno.readDirSync("/proc/self/fd")].map(({ name }) => name)
        .find((name) => linkOf(name) === path);
      const copy = libc.symbols.dup(Number(number));
      await first[Symbol.asyncDispose]();
      await using second = await systemDisk.open(path, "edit");
      assertEquals([copy > 2, await second.lock()], [true, true]);
      libc.symbols.close(copy);
    } finally {
      libc.close();
      await Deno.remove(folder, { recursive: true });
    }
  },
});

/** The file of a descriptor; `undefined` where it was closed meanwhile. */
function linkOf(descriptor: string): string | undefined {
  try {
    return Deno.readLinkSync(`/proc/self/fd/${descriptor}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
