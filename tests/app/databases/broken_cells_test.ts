/** Covers src/app/databases/broken_cells.ts, src/store/rows/json_cells.ts and src/store/rows/stored_values.ts. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { brokenCellReporter } from "../../../src/app/databases/broken_cells.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { type BrokenCell, readJson } from "../../../src/store/rows/json_cells.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { Store } from "../../../src/store/store.ts";
import { deepJson } from "../../campaign/deep_json.ts";
import { all, onEngines, postgresTest } from "../../store/databases.ts";
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
  assertEquals(readJson(`{"a":${"[".repeat(300)}${"]".repeat(300)}}`, "facts"), undefined);
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

onEngines(
  "integers that are too large are reported with their key, and all other rows are read",
  async (db) => {
    await new Store(db, () => Promise.resolve()).write([1, 2, 3, 4].map((port) => record(port)));
    const large = "9223372036854775807";
    await db.script(`update servers set protocol_version = ${large} where port = 2`);
    await db.script(`update servers set mtu = -${large} where port = 4`);
    const broken: string[] = [];
    const onBroken = ({ key, column }: BrokenCell) => broken.push(`${key} ${column}`);
    const listed = await Array.fromAsync(selectServers(db, { sort: "address" }, onBroken));
    assertEquals(
      listed.map(({ port, protocol_version, mtu }) => [port, protocol_version, mtu]),
      [1, 2, 3, 4].map((port) => [port, port === 2 ? null : record(port).protocol_version, null]),
    );
    assertEquals(broken.toSorted(), ["127.0.0.1:2 protocol_version", "127.0.0.1:4 mtu"]);
    const [row] = await all(db, "select mtu from servers where port = 4");
    assertEquals(row.mtu, -(2 ** 63));
  },
);

Deno.test("times of another program that no date can have are reported and read as 0", async () => {
  await using db = openSqlite(":memory:");
  await createTables(db);
  await new Store(db, () => Promise.resolve()).write([record(1), record(2)]);
  await db.script("update servers set first_seen = 9223372036854775807 where port = 1");
  await db.script("update server_state set probed_at = 8640000000000001 where server = 2");
  const broken: string[] = [];
  const onBroken = ({ key, column }: BrokenCell) => broken.push(`${key} ${column}`);
  const listed = await Array.fromAsync(selectServers(db, { sort: "address" }, onBroken));
  assertEquals(listed.map(({ first_seen: first }) => first === 0), [true, false]);
  assertEquals(listed.map(({ probed_at: last }) => last === 0), [false, true]);
  assertEquals(broken, ["127.0.0.1:1 first_seen", "127.0.0.1:2 probed_at"]);
});

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
      await database.script("update servers set mtu = 9223372036854775807 where port = 1");
    }
    const report = `blocksweep: "${list}": cannot read protocols of "127.0.0.1:2", which another`;
    const address = `cannot read address of "127.0.0.1:3"`;
    const integer = `cannot read mtu of "127.0.0.1:1"`;
    for (
      const args of [
        ["servers", list, "--json"],
        ["export", list, "-o", "-", "--format", "csv"],
        ["scan", "--rescan", list, "--dry-run", "-p", "5"],
      ]
    ) {
      const { code, stderr, stdout } = await run(args);
      const reportsOfInteger = args[0] === "scan" ? 0 : 1; // a scan does not read the column
      assertEquals(
        [code, ...[report, address, integer].map((text) => stderr.split(text).length)],
        [0, 2, 2, 1 + reportsOfInteger],
        stderr,
      );
      assert(stdout !== "");
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a row without which a command cannot continue is named in one line", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const file = `${folder}/a.db`;
    const damages = [
      [
        "update servers set address = 'nowhere' where port = 2",
        ["copy", file, `${folder}/b.db`],
        'Cannot copy server "127.0.0.1:2": its address is "nowhere"; correct or delete it',
      ],
      [
        "delete from server_state where server = 1",
        ["import", file, `${folder}/rows.ndjson`],
        `Cannot write to "${file}": server "127.0.0.1:1" has no row in server_state`,
      ],
      [
        "delete from rollup_state",
        ["prune", file, "--observations", "30d"],
        `Cannot use "${file}": its table rollup_state is empty`,
      ],
    ] as const;
    {
      await using database = openSqlite(file);
      await createTables(database);
      await new Store(database, () => Promise.resolve()).write([record(1), record(2)]);
    }
    await Deno.writeTextFile(`${folder}/rows.ndjson`, JSON.stringify(record(1)));
    for (const [damage, args, line] of damages) {
      await using database = openSqlite(file);
      await database.script(damage);
      const { code, stderr } = await run(args);
      assertEquals([code, stderr], [1, `blocksweep: ${line}\n`]);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Imports rows whose `extras` are nested too deeply, and as deep as possible, and deep tags. */
async function importDeepRows(folder: string, location: string): Promise<void> {
  const values = [
    `"extras":${deepJson(200)}`,
    `"extras":${deepJson(199)}`,
    `"tags":${deepJson(9000)}`,
  ];
  const rows = values.map((value, i) =>
    `{"host":"127.0.0.1","port":${i + 1},"protocol":"slp",${value}}\n`
  );
  await Deno.writeTextFile(`${folder}/a.ndjson`, rows.join(""));
  const permissions = ["--allow-all"];
  const imported = await run(["import", location, `${folder}/a.ndjson`], { permissions });
  assertEquals([imported.code, imported.stderr.split("\n").slice(0, 2)], [0, [
    `${folder}/a.ndjson: 1 server, 1 of them new, or newer than their rows`,
    `${folder}/a.ndjson: ignored 2 lines that cannot be read, the first in line 1`,
  ]]);
  const exported = await run(["export", location, "-o", "-", "--format", "json"], { permissions });
  const { code, stdout, stderr } = exported;
  assertEquals([code, stderr.includes("cannot read")], [0, false], stderr);
  const depths = JSON.parse(stdout).map(({ extras }: { extras: object }) =>
    JSON.stringify(extras).split("{").length - 1
  );
  assertEquals(depths, [199]);
}

Deno.test("SQLite: imported rows of more than 200 levels are ignored, counted, and no others", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await importDeepRows(folder, `${folder}/a.db`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

postgresTest(
  "PostgreSQL: imported rows of more than 200 levels are ignored, and no others",
  async (url) => {
    const folder = await Deno.makeTempDir();
    try {
      await importDeepRows(folder, url);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);
