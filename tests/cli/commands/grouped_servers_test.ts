/** Covers src/cli/commands/servers_and_export.ts: rows that certainly belong to one server are one row. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { fillGrouped } from "../../store/groups/grouped_servers.ts";
import { run } from "../program.ts";

const READ = ["--allow-read", "--allow-env=INIT_CWD"];

Deno.test("the table of servers has a row for each server, and other formats one for each endpoint", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const list = `${folder}/a.db`;
    {
      await using database = openSqlite(list);
      await createTables(database);
      await fillGrouped(database);
    }
    const show = async (options: readonly string[] = [], format = "table") => {
      const args = ["servers", list, "--sort", "address", "--format", format, ...options];
      const { code, stdout, stderr } = await run(args, { permissions: READ });
      assertEquals(code, 0, stderr);
      return { lines: stdout.trimEnd().split("\n"), stderr };
    };
    const { lines, stderr } = await show();
    const rows = lines.slice(1).map((line) => [line.split(" ")[0], / \[\+2\] Sky$/.test(line)]);
    assertEquals(rows, [
      ["192.0.2.1:25565", true],
      ["192.0.2.2:19132", false],
      ["192.0.2.2:25565", false],
      ["192.0.2.3:25565", false],
    ]);
    assertStringIncludes(
      stderr,
      "2 endpoints of the same servers are not listed ([+1]: Geyser: Bedrock and Java side of one " +
        "server; same address and port under another name); --no-group lists each endpoint",
    );
    assertStringIncludes(stderr, `4 servers of "${list}"`);
    const all = await show(["--no-group"]);
    assertEquals([all.lines.length, all.stderr.includes("not listed")], [7, false]);
    assertStringIncludes(all.stderr, `6 servers of "${list}"`);
    assertEquals((await show([], "csv")).lines.length, 7);
    const first = await show(["--limit", "1"]);
    assertStringIncludes(first.stderr, "the first 1 of 4 servers");
    assertEquals((await show(["--edition", "bedrock"])).lines.length, 3);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
