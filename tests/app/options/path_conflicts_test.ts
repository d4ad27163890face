/**
 * Covers src/app/outputs/open_outputs.ts, src/app/outputs/plan_outputs.ts and
 * src/app/outputs/output_formats.ts.
 */
import { assertEquals, assertThrows } from "@std/assert";
import { readCommandLine } from "../../cli/command_line.ts";
import { namesFile, refuseFiles } from "../../../src/app/options/path_conflicts.ts";
import { chooseCheckpoint } from "../../../src/app/resume/open_with_checkpoint.ts";
import { main } from "../../../src/cli/mod.ts";
import { outputPaths, planOutputs } from "../../../src/app/outputs/plan_outputs.ts";
import { InputError } from "../../../src/core/errors.ts";
import { withMessages } from "../../cli/failing_streams.ts";

const THIS = new URL(import.meta.url).pathname;

Deno.test("a target that is a file is refused, with the option that reads it", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [list, database] = [`${folder}/my targets.txt`, `${folder}/servers.db`];
    for (const path of [list, database]) await Deno.writeTextFile(path, "");
    assertThrows(
      () => refuseFiles(["127.0.0.1", list]),
      InputError,
      `Cannot scan "${list}": it is a file; -iL '${list}' reads targets from a file (--rescan`,
    );
    assertThrows(() => refuseFiles([database]), InputError, `--rescan ${database} probes`);
    refuseFiles([folder, "example.org"]); // not files: they are checked as targets later
    const missing = `Cannot scan "${folder}/none": there is no such file`;
    assertThrows(() => refuseFiles([`${folder}/none`]), InputError, missing);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a folder instead of a file of rows is refused in one line, and creates no database", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/rows.csv`;
    await Deno.mkdir(path);
    for (const args of [["import", `${folder}/new.db`, path], ["watch", path]]) {
      assertEquals(await withMessages(() => main(args)), [
        2,
        `blocksweep: Cannot read "${path}": it is a folder, not a file\n`,
      ], args[0]);
    }
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["rows.csv"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("an unwritable checkpoint leaves no new list file, and an older list file unchanged", async () => {
  const list = "rows.csv.checkpoint.list";
  for (const [blocked, older] of [["checkpoint"], ["checkpoint.part"], ["checkpoint", "older"]]) {
    const folder = await Deno.makeTempDir();
    try {
      const output = `${folder}/rows.csv`;
      await Deno.mkdir(`${output}.${blocked}`);
      if (older !== undefined) await Deno.writeTextFile(`${folder}/${list}`, older);
      const args = ["scan", "127.55.0.3", "--protocol", "raknet", "--cooldown", "200ms"];
      const [code, text] = await withMessages(() => main([...args, "-o", output]));
      assertEquals([code, text.includes("cannot keep a checkpoint")], [0, true], text);
      const names = [...Deno.readDirSync(folder)].map(({ name }) => name).toSorted();
      const kept = older === undefined ? [] : [list];
      assertEquals(names, ["rows.csv", `rows.csv.${blocked}`, ...kept]);
      if (older !== undefined) assertEquals(await Deno.readTextFile(`${folder}/${list}`), older);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }
});

Deno.test("a checkpoint is beside the first file of -o, otherwise beside the file of a short option", () => {
  const placeOf = (...args: string[]) => {
    const { options } = readCommandLine("scan", ["127.0.0.1", ...args]);
    const paths = outputPaths(options, planOutputs(options, undefined));
    return chooseCheckpoint(options.checkpoint, paths)?.path;
  };
  const paths = [
    placeOf("-o", "a.db", "-o", "b.ndjson"),
    placeOf("-o", "-", "-o", "b.ndjson", "-o", "sqlite:a"),
    placeOf("-oD", "b.ndjson", "-o", "postgres://me@127.0.0.1/games", "-oL", "c.txt"),
    placeOf("-oL", "c.txt", "-o", "a.db"),
    placeOf(),
    placeOf("-o", "a.db", "--checkpoint", "d"),
  ];
  const expected = ["a.db", "b.ndjson", "b.ndjson", "a.db"].map((path) => `${path}.checkpoint`);
  assertEquals(paths, [...expected, undefined, "d"]);
});

Deno.test({
  name: "without read permission no target is mistaken for a file, and Deno does not prompt",
  permissions: { read: false },
  fn: () => refuseFiles([THIS, "example.org"]),
});

Deno.test("a word names a file if there is one, but addresses never do", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/rows`, "");
    assertEquals([`${folder}/rows`, `${folder}/none`, folder].map(namesFile), [true, false, false]);
    assertEquals(namesFile("127.0.0.1"), false);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a file beside an output is refused as an input, and stays", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const pairs = [["st.part", "--status-file", "st"], ["s.db-wal", "-o", "s.db"]];
    for (const [name, option, output] of [...pairs, ["s.db-journal", "-o", "s.db"]]) {
      const list = `${folder}/${name}`;
      await Deno.writeTextFile(list, "127.55.0.3\n");
      const args = ["scan", "-iL", list, option, `${folder}/${output}`];
      const [code, text] = await withMessages(() => main(args));
      assertEquals([code, text.includes(`Cannot write to "${list}"`)], [2, true], text);
      assertEquals(await Deno.readTextFile(list), "127.55.0.3\n");
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
