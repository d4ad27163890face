/** Covers src/cli/commands/forget.ts. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { main } from "../../../src/cli/mod.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { writeOptOuts } from "../../../src/store/writers/opt_outs.ts";
import { withMessages, withResults } from "../failing_streams.ts";
import { record } from "../../store/records.ts";

Deno.test("forgotten servers are listed, removed, and left out of imports until --undo", async () => {
  const folder = await Deno.makeTempDir();
  const [database, rows] = [`${folder}/a.db`, `${folder}/rows.ndjson`];
  const keys = async () => {
    const [, text] = await withResults(() =>
      main(["servers", database, "--format", "hostport", "-q", "--sort", "address"])
    );
    return text.trimEnd().split("\n");
  };
  const run = async (...args: string[]) => await withMessages(() => main(args));
  const forget = (...args: string[]) => run("forget", database, ...args);
  try {
    const lines = [1, 2, 3].map((port) => `${JSON.stringify(record(port))}\n`);
    await Deno.writeTextFile(rows, lines.join(""));
    const load = () => run("import", database, rows, "-q");
    await load();
    const [code, listed] = await withResults(() =>
      main(["forget", database, "127.0.0.1:1", "127.0.0.1:9", "--dry-run", "-q", "--json"])
    );
    assertEquals(code, 0);
    assertEquals(listed.trimEnd().split("\n").map((line) => JSON.parse(line)), [
      { server: "127.0.0.1:9", in_database: false, observations: 0 },
      { server: "127.0.0.1:1", in_database: true, observations: 1 },
    ]);
    const [[, unknown], line] = await withResults(() => forget("127.0.0.1:9", "--dry-run"));
    assertEquals(line, "127.0.0.1:9: no rows; no scan, watch or import may add it\n");
    const end = "1 server would be forgotten, 1 of them without rows";
    assertEquals(unknown, `"${database}": ${end}\n`);
    assertEquals(await keys(), ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]);
    assertEquals(await forget("127.0.0.1:1", "-q"), [0, ""]);
    await load();
    assertEquals(await keys(), ["127.0.0.1:2", "127.0.0.1:3"]);
    assertEquals(await forget("127.0.0.1:1", "--undo"), [
      0,
      `127.0.0.1:1 can be written to "${database}" again\n`,
    ]);
    await load();
    assertEquals((await keys()).length, 3);
    {
      await using stored = openSqlite(database);
      await writeOptOuts(stored, [{ address: 0x7f000001, at: 5 }]);
    }
    const [, summary] = await forget("--opted-out");
    assertStringIncludes(summary, `"${database}": 3 servers forgotten\n`);
    assertEquals(await keys(), [""]);
    for (
      const [args, message] of [
        [[], "name servers after the database, or use --opted-out"],
        [["127.0.0.5"], "name its port too to forget it nevertheless"],
        [["127.0.0.5:1", "--undo"], '"127.0.0.5:1" is not forgotten'],
        [["--opted-out", "--undo"], "Cannot use --undo with --opted-out"],
      ] as const
    ) {
      const [code, text] = await forget(...args);
      assertEquals(code, 2);
      assertStringIncludes(text, message);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
