/**
 * A scan of hostile servers and eight programs that start at once, into both engines. Covers
 * src/store/schema/ and src/store/rows/stored_values.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { openSqlite } from "../../src/store/database/sqlite.ts";
import type { Database } from "../../src/store/database/database.ts";
import { TABLE_COLUMNS } from "../../src/store/schema/table_columns.ts";
import { run, SCAN } from "../cli/program.ts";
import { hostileFleet, PORT } from "./hostile_fleet.ts";
import { all, connect, SERVER, withPostgres } from "./databases.ts";
import { longTest } from "../long.ts";

const HOSTS = Array.from({ length: 6 }, (_, i) => `127.66.0.${i + 1}`);

/** Texts that break JSON columns, keys of objects, or queries, as JSON escapes. */
const TEXTS = [
  ...["\\u0000", "a\\u0000b", "\\ud800", "\\udc00x\\ud83d", "__proto__", "constructor"],
  ...["'; drop table servers; --", "{1,NULL}", "\\\\u0000", "$1", "?"],
];

/** A Server List Ping status with hostile keys and values everywhere. */
function hostileStatus(i: number): string {
  const text = `"${TEXTS[i % TEXTS.length]}"`;
  const keys = TEXTS.map((key) => `"${key}": ${text}, "x${key}": {"${key}": [${text}]}`).join(", ");
  return `{"version": {"name": ${text}, "protocol": 1e308, ${keys}}, ${keys},
    "players": {"online": 1e300, "max": -1e300, "sample": [{"name": ${text}, "id": ${text}}]},
    "description": {"text": ${text}, "extra": [${text}, {"text": ${text}, ${keys}}]},
    "modinfo": {"type": ${text}, "modList": [{"modid": ${text}, "version": ${text}}]},
    "forgeData": {"channels": [], "mods": [{"modId": ${text}, "modmarker": ${text}}], ${keys}},
    "favicon": ${text}, "previewsChat": true}`;
}

/** A status with long texts, which differ in each reply. */
function changingStatus(reply: number): string {
  const text = JSON.stringify(`${reply} ${"§kx\u0001界".repeat(800)}`);
  const mods = Array.from({ length: 50 }, () => `{"modId": ${text}, "modmarker": ${text}}`);
  return `{"version": {"name": ${text}, "protocol": ${reply}}, "players": {"online": 1, "max": ${reply}},
    "description": {"text": ${text}}, "forgeData": {"channels": [], "mods": [${mods}]}}`;
}

/** The JSON columns of all tables. */
const JSON_COLUMNS = TABLE_COLUMNS.flatMap(({ name, columns }) =>
  columns.filter(({ type }) => type === "jsonb").map((column) => [name, column.name] as const)
);

/** Reads each key and value in all JSON columns, in SQL and here. */
async function readAllJson(database: Database): Promise<number> {
  let values = 0;
  for (const [table, column] of JSON_COLUMNS) {
    for (const row of await all(database, `select ${column} as json from ${table}`)) {
      if (row.json !== null) JSON.parse(String(row.json));
    }
    const nodes = database.engine === "postgres"
      ? `select node #>> '{}' as text, pairs.key from ${table}, ` +
        `jsonb_path_query(${column}, '$.**') as node left join lateral ` +
        "jsonb_each_text(case when jsonb_typeof(node) = 'object' then node end) as pairs on true"
      : `select atom as text, tree.key from ${table}, json_tree(${column}) as tree`;
    values += (await all(database, nodes)).length;
  }
  return values;
}

/** Runs `work` with a new database of each engine that there is. */
async function onEach(work: (location: string, open: () => Promise<Database>) => Promise<void>) {
  const folder = await Deno.makeTempDir();
  try {
    await work(`${folder}/a.db`, () => Promise.resolve(openSqlite(`${folder}/a.db`)));
    if (SERVER !== undefined) {
      await withPostgres(SERVER, (url) => work(url, () => connect(url)));
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const PERMISSIONS = [...SCAN.filter((one) => !one.startsWith("--allow-env")), "--allow-env"];

Deno.test("the rows of hostile servers can be read from every JSON column, key by key", () =>
  onEach(async (location, open) => {
    await using _fleet = hostileFleet(HOSTS, hostileStatus);
    const args = [
      "scan",
      "127.66.0.0/29",
      "-p",
      String(PORT),
      "--protocol",
      "slp",
      "-o",
      location,
    ];
    for (let i = 0; i < 2; i++) {
      const { code, stderr } = await run([...args, "--cooldown", "200ms"], {
        permissions: PERMISSIONS,
      });
      assertEquals(code, 0, stderr);
    }
    const shown = await run(["servers", location, "--json"], { permissions: PERMISSIONS });
    assertEquals([shown.code, shown.stdout.trim().split("\n").length], [0, HOSTS.length]);
    await using database = await open();
    assert(await readAllJson(database) > 100);
    assertEquals((await all(database, "select id from servers")).length, HOSTS.length);
  }));

longTest(
  "a server that publishes other long texts to each scan adds at most 12 events an hour",
  async () => {
    const folder = await Deno.makeTempDir();
    try {
      let replies = 0;
      await using _fleet = hostileFleet(["127.120.0.1"], () => changingStatus(++replies));
      const location = `${folder}/a.db`;
      const scan = ["scan", "127.120.0.1", "-p", String(PORT), "--protocol", "slp", "-o", location];
      for (let i = 0; i < 15; i++) {
        const { code, stderr } = await run([...scan, "--cooldown", "0s", "-q"], {
          permissions: PERMISSIONS,
        });
        assertEquals(code, 0, stderr);
      }
      await using database = openSqlite(location);
      const rows = await all(database, "select data from events where kind = 'changed'");
      assertEquals(rows.length, 12);
      for (const { data } of rows) {
        const size = new TextEncoder().encode(String(data)).length;
        assert(size < 5000, `${size} bytes`);
      }
      const { stdout, code } = await run(["history", location, "--events"], {
        permissions: PERMISSIONS,
      });
      assertEquals([code, stdout.includes("(limit reached)")], [0, true], stdout);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);

Deno.test("eight programs that start at once create a database once, and each writes its rows", () =>
  onEach(async (location, open) => {
    const imports = Array.from({ length: 8 }, (_, i) =>
      run(["import", location, "-", "-q"], {
        permissions: PERMISSIONS,
        stdin: `127.66.1.${i + 1}:${PORT}\n`,
      }));
    const ended = await Promise.all(imports);
    assertEquals(ended.map(({ code, stderr }) => [code, stderr]), Array(8).fill([0, ""]));
    await using database = await open();
    assertEquals((await all(database, "select version from blocksweep_schema")).length, 1);
    assertEquals((await all(database, "select id from servers")).length, 8);
  }));
