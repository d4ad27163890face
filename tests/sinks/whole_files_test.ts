import { assertEquals } from "@std/assert";
import { beginWholeFile, writeWholeText } from "../../src/sinks/whole_files.ts";

/** Runs a test in a folder of its own. */
function test(name: string, fn: (folder: string) => Promise<void>, ignore = false): void {
  Deno.test({
    name,
    ignore,
    fn: async () => {
      const folder = await Deno.makeTempDir();
      try {
        await fn(folder);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

test("a whole file replaces the old content when it is complete", async (folder) => {
  const path = `${folder}/a.csv`;
  for (const old of [undefined, "old"]) {
    if (old !== undefined) await Deno.writeTextFile(path, old);
    const whole = (await beginWholeFile(path))!;
    await Deno.writeTextFile(whole.partialPath, "half");
    assertEquals(namesIn(folder), old === undefined ? ["a.csv.part"] : ["a.csv", "a.csv.part"]);
    if (old !== undefined) assertEquals(await Deno.readTextFile(path), old);
    await whole.discard();
    assertEquals(namesIn(folder), old === undefined ? [] : ["a.csv"]);
  }
  await Deno.writeTextFile(`${path}.part`, "of a program that was killed");
  await writeWholeText(path, "new");
  assertEquals([namesIn(folder), await Deno.readTextFile(path)], [["a.csv"], "new"]);
});

test(
  "links and modes stay, and other files are opened themselves (not on Windows)",
  async (folder) => {
    const path = `${folder}/a.csv`;
    await Deno.writeTextFile(path, "old", { mode: 0o640 });
    await Deno.chmod(path, 0o640);
    await Deno.symlink(path, `${folder}/link`);
    await writeWholeText(`${folder}/link`, "new");
    assertEquals(await Deno.readTextFile(path), "new");
    assertEquals([
      (await Deno.lstat(`${folder}/link`)).isSymlink,
      (await Deno.stat(path)).mode! & 0o777,
    ], [
      ...[true, 0o640],
    ]);
    await Deno.link(path, `${folder}/hard`);
    await Deno.symlink(`${folder}/none`, `${folder}/dangling`);
    for (const other of ["hard", "dangling", "none/a.csv", "."]) {
      assertEquals(await beginWholeFile(`${folder}/${other}`), undefined, other);
    }
    assertEquals(await beginWholeFile("/dev/null"), undefined);
    await writeWholeText(`${folder}/hard`, "both");
    assertEquals(await Deno.readTextFile(path), "both");
  },
  Deno.build.os === "windows",
);
