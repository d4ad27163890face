/** Covers src/app/databases/broken_cells.ts and src/store/rows/json_cells.ts. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { brokenCellReporter } from "../../../src/app/databases/broken_cells.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { readJson } from "../../../src/store/rows/json_cells.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { Store } from "../../../src/store/store.ts";
import { all, onEngines } from "../../store/databases.ts";
import { record, scanId } from "../../store/records.ts";
import { selectServers } from "../../../src/store/server_queries.ts";
import { run } from "../../cli/program.ts";

Deno.test("a JSON cell is read only if it has the form of its column", () => {
  for (const text of ["", "{", "x", "null", "1", '"a"', '["a", 1]', "[null]", "{}"]) {
    assertEquals(readJson(text, "names"), undefined, text);
  }
  for (const text of ['["a"]', '[{"name": 1, "version": null}]', '[{"name": "a"}]', "{}"]) {
    assertEquals(readJson(text, "plugins"), undefined, text);
  }
  for (const text of ["[]", "null", "1", "{"]) assertEquals(readJson(text, "facts"), undefined);
  assertEquals(readJson('["a"]', "names"), ["a"]);
  assertEquals(readJson('{"b": 1, "a": 2}', "facts"), { a: 2, b: 1 });
});

Deno.test("each broken cell is one line with its key, and at most 20 are reported", () => {
  const lines: string[] = [];
  const onBroken = brokenCellReporter('"a.db"', (line) => lines.push(line));
  for (let i = 0; i < 50; i++) onBroken({ key: `k${i}\u001b[2J`, column: "flags" });
  assertEquals(lines.length, 20);
  assertEquals(
    lines[0],
    'blocksweep: "a.db": cannot read flags of "k0\\u001b[2J", which another program wrote: it counts as empty',
  );
  assertStringIncludes(lines[19], "further ones are not reported");
});

onEngines(
  "cells of another program in a wrong form are reported and read as empty, and overwritten",
  async (db) => {
    const store = new Store(db, () => Promise.resolve());
    const whole = { players: ["Ann"], plugins: [{ name: "a", version: null }], flags: ["f"] };
    await store.write([record(1, whole), record(2, whole)]);
    const [json, text] = db.engine === "postgres" ? ["?::jsonb", "?::jsonb"] : ["?", "?"];
    await db.run(
      `update servers set protocols = ${json}, plugins = ${json}, flags = ${json}, extras = ${text} ` +
        "where port = 1",
      ['"raknet"', '{"a": 1}', "7", "[]"],
    );
    await db.run(`update server_players set names = ${json} where server = 1`, ["[1]"]);
    const broken: string[] = [];
    const read = () =>
      Array.fromAsync(
        selectServers(
          db,
          { sort: "address" },
          ({ key, column }) => broken.push(`${key} ${column}`),
        ),
      );
    const [one, other] = await read();
    const { protocols, plugins, flags, extras, players } = one;
    assertEquals({ protocols, plugins, flags, extras, players }, {
      ...{ protocols: [], plugins: null, flags: [], extras: null, players: null },
    });
    assertEquals(other.flags, ["f"]);
    const columns = ["players", "plugins", "protocols", "flags", "extras"];
    assertEquals(broken.toSorted(), columns.map((name) => `127.0.0.1:1 ${name}`).toSorted());
    const counts = { downAfter: 1, probesSent: 1, replies: 1, found: 1 };
    const ranges = [{ start: 0, end: 2 ** 32 }];
    await store.end({
      ...{ id: scanId(2), since: 2000, at: 3000, state: "finished", ...counts },
      coverage: { ranges, includes: () => true },
    });
    await store.write([record(1, { ...whole, motd: "new", seen_at: db.now() })]);
    broken.length = 0;
    assertEquals([(await read())[0].flags, broken], [["f"], []]);
    assertEquals((await all(db, "select flag from server_flags where server = 1")).length, 1);
  },
);

Deno.test("commands report a broken cell once with its key, and continue", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const list = `${folder}/a.db`;
    {
      await using database = openSqlite(list);
      await createTables(database);
      await new Store(database, () => Promise.resolve()).write([record(1), record(2), record(3)]);
      await database.run("update servers set protocols = '{' where port = 2");
      await database.run("update servers set address = 'nowhere' where port = 3");
    }
    const report = `blocksweep: "${list}": cannot read protocols of "127.0.0.1:2", which another`;
    const address = `cannot read address of "127.0.0.1:3"`;
    for (
      const args of [
        ["servers", list, "--json"],
        ["export", list, "-o", "-", "--format", "csv"],
        ["scan", "--rescan", list, "--dry-run", "-p", "5"],
      ]
    ) {
      const { code, stderr, stdout } = await run(args);
      assertEquals(
        [code, stderr.split(report).length, stderr.split(address).length],
        [0, 2, 2],
        stderr,
      );
      assert(stdout !== "");
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
