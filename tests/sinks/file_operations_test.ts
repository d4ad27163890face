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
