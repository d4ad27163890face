/** Covers src/app/options/path_conflicts.ts, and fileKey() of src/sinks/file_identity.ts. */
import { assertEquals, assertThrows } from "@std/assert";
import { checkFilesApart } from "../../../src/app/options/path_conflicts.ts";
import { dashed } from "../../../src/app/options/option.ts";
import { InputError } from "../../../src/core/errors.ts";
import { main } from "../../../src/cli/mod.ts";
import { withMessages } from "../../cli/failing_streams.ts";

/** Runs a body in a folder with a list, links to it, and a folder with two paths. */
async function withLinks(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/list.txt`, "127.55.3.1:19132\n");
    await Deno.symlink("list.txt", `${folder}/symbolic.txt`);
    await Deno.link(`${folder}/list.txt`, `${folder}/hard.txt`);
    await Deno.symlink("new.csv", `${folder}/dangling.csv`);
    await Deno.mkdir(`${folder}/one`);
    await Deno.symlink("one", `${folder}/two`);
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("an output that is an input, by any path, is refused before anything is written", () =>
  withLinks(async (folder) => {
    const list = `${folder}/list.txt`;
    for (const name of ["list.txt", "one/../list.txt", "symbolic.txt", "hard.txt"]) {
      const path = `${folder}/${name}`;
      const commands = [
        ...["-iL", "--exclude-file", "--opt-out-file", "--config", "--rescan", "--resume"].map(
          (option) => ["scan", "127.55.3.1", option, list, "-oL", path],
        ),
        ["scan", "127.55.3.1", "--adaptive", "--known", list, "-o", path],
        ["scan", "-iL", list, "--status-file", path],
        ["scan", "-iL", list, "--metadata-file", path],
        ["scan", "-iL", list, "--checkpoint", path],
        ["scan", "-iL", list, "-o", `sqlite:${path}`],
        ["lan", "--opt-out-file", list, "-o", path],
        ["export", list, "-o", path],
        ["report", list, "-o", path],
        ["import", `sqlite:${path}`, list],
        ["copy", `sqlite:${list}`, `sqlite:${path}`],
        ["watch", list, "-o", `sqlite:${path}`],
        ["watch", "a.db", "--webhook-header", `X=@${list}`, "--webhook-outbox", path],
        ["crawl", list, "--budget", "1k/day", "--webhook-outbox", path],
        ["forget", list, "a", "--webhook-outbox", path],
      ];
      for (const args of commands) {
        const [code, message] = await withMessages(() => main(args));
        // the list is no file of options: it is refused before the outputs are known
        const isParsed = ["--config", "--resume"].some((option) => args.includes(option));
        const wanted = isParsed ? `"${list}` : "reads it";
        assertEquals([code, message.includes(wanted)], [2, true], `${args.join(" ")}: ${message}`);
        assertEquals(await Deno.readTextFile(list), "127.55.3.1:19132\n", args.join(" "));
      }
    }
  }));

Deno.test("standard input and output are the files that they are redirected to", () =>
  withLinks(async (folder) => {
    const command = [Deno.execPath(), "run", "-A", "main.ts", "scan"].join(" ");
    for (
      const [script, message] of [
        ["-iL - -o hard.txt < list.txt", '"F/hard.txt": -iL reads it, as standard input'],
        ["-iL list.txt -oL - >> list.txt", 'standard output: -iL reads it, as "F/list.txt"'],
      ]
    ) {
      const line = `${command} ${script}`.replaceAll(/\w+\.txt/g, `${folder}/$&`);
      const { code, stderr } = await new Deno.Command("sh", { args: ["-c", line] }).output();
      const text = new TextDecoder().decode(stderr).replaceAll(folder, "F");
      assertEquals([code, text], [2, `blocksweep: Cannot write to ${message}\n`]);
      assertEquals(await Deno.readTextFile(`${folder}/list.txt`), "127.55.3.1:19132\n");
    }
  }));

Deno.test("two outputs that are one file are refused, also a file that does not exist yet", () =>
  withLinks(async (folder) => {
    for (
      const [one, other] of [
        ["list.txt", "hard.txt"],
        ["new.csv", "dangling.csv"],
        ["one/a.csv", "two/a.csv"],
        ["a.csv", "a.csv.checkpoint"],
        ["a.csv", "a.csv.checkpoint.list"],
      ].map((names) => names.map((name) => `${folder}/${name}`))
    ) {
      const [code, message] = await withMessages(() =>
        main(["scan", "127.55.3.1", "-oD", one, "-oL", other])
      );
      assertEquals(code, 2);
      assertEquals(message.startsWith(`blocksweep: Cannot write two outputs to "${other}"`), true);
    }
    const fleet = ["fleet", "--manifest", `${folder}/a`, "--log", `${folder}/one/../a`];
    const [code, message] = await withMessages(() => main(fleet));
    const expected = `Cannot write two outputs to "${folder}/one/../a": it is the same file as`;
    assertEquals([code, message.includes(expected)], [2, true], message);
  }));

Deno.test("databases are updated in place, a resumed scan goes on with its checkpoint, and devices are shared", () => {
  const files = (command: "scan" | "watch" | "fleet", words: string[], given: object) =>
    checkFilesApart(command, {
      words,
      given: new Map(Object.entries(given)),
      nameOf: dashed,
    });
  files("scan", [], { rescan: ["/a.db"], output: ["sqlite:/a.db"] });
  files("scan", [], { known: ["/a.db"], output: ["/a.db"] });
  files("watch", ["/a.db"], { output: ["/a.db"] });
  files("scan", [], { resume: ["/a.checkpoint"], checkpoint: ["/a.checkpoint"] });
  files("fleet", [], { check: ["/a.csv"], manifest: ["/a.csv"] });
  files("scan", [], { "input-file": ["/dev/stdin"], output: ["/dev/stdout"] });
  const status = { resume: ["/a.checkpoint"], "status-file": ["/a.checkpoint"] };
  assertThrows(() => files("scan", [], status), InputError, "--resume reads it");
});
