import { assertEquals, assertRejects } from "@std/assert";
import { replaceFile, systemDisk } from "../../src/sinks/file_operations.ts";
import { FakeDisk } from "../fakes/disk.ts";

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
  name:
    "a closed file is unlocked, also while a starting process has a copy of its descriptor (Linux only)",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const folder = await Deno.realPath(await Deno.makeTempDir());
    const path = `${folder}/a`;
    const libc = Deno.dlopen("libc.so.6", {
      dup: { parameters: ["i32"], result: "i32" },
      close: { parameters: ["i32"], result: "i32" },
      readlink: { parameters: ["buffer", "buffer", "usize"], result: "isize" }, // Deno.readLink() of /proc needs --allow-all
    });
    try {
      const first = await systemDisk.open(path, "make");
      assertEquals(await first.lock(), true);
      const target = new Uint8Array(4096);
      const number = Array.from({ length: 1024 }, (_, i) => i).find((i) => {
        const link = new TextEncoder().encode(`/proc/self/fd/${i}\0`);
        const size = Number(libc.symbols.readlink(link, target, BigInt(target.length)));
        return size > 0 && new TextDecoder().decode(target.subarray(0, size)) === path;
      });
      const copy = libc.symbols.dup(number!);
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

Deno.test("a file that cannot be replaced keeps its content, and leaves no other file", async () => {
  for (const kind of ["make", "write", "sync", "rename"]) {
    const disk = new FakeDisk();
    disk.put("a", "old");
    disk.fault = (operation) => operation.kind === kind ? new Error("full") : undefined;
    await assertRejects(() => replaceFile(disk, "a", Uint8Array.of(1)), Error, "full");
    assertEquals([disk.text("a"), disk.bytes("a.part")], ["old", undefined], kind);
  }
});

Deno.test("a file that is replaced has the new content, and leaves no other file", async () => {
  const disk = new FakeDisk();
  disk.put("a", "old");
  disk.put("a.part", "left by a program that was killed");
  await replaceFile(disk, "a", new TextEncoder().encode("new"));
  assertEquals([disk.text("a"), disk.bytes("a.part")], ["new", undefined]);
});

Deno.test("a file is written at the given positions, in any order, also after it was read", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await using file = await systemDisk.open(`${folder}/a`, "make");
    const write = (at: number, text: string) => file.write(at, new TextEncoder().encode(text));
    await write(0, "abc");
    await write(3, "def");
    await write(1, "X");
    await write(2, "Y");
    assertEquals(new TextDecoder().decode(await file.read()), "aXYdef");
    await write(3, "Z");
    await file.truncate(4);
    await write(4, "!");
    assertEquals(await Deno.readTextFile(`${folder}/a`), "aXYZ!");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
