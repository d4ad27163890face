/** Covers src/cli/commands/copy.ts. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { createTables, SCHEMA_VERSION } from "../../../src/store/schema/create_tables.ts";
import { Store } from "../../../src/store/store.ts";
import { record } from "../../store/records.ts";
import { run, start } from "../program.ts";
import { longTest } from "../../long.ts";

const permissions = ["--allow-read", "--allow-write", "--allow-env=INIT_CWD,HOME"];

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a database is copied, compared and used", async () => {
  await inFolder(async (folder) => {
    const [old, now] = [`${folder}/old.db`, `${folder}/now.db`];
    {
      await using database = openSqlite(old);
      await createTables(database);
      await new Store(database, () => Promise.resolve()).write([record(7)]);
    }
    const copied = await run(["copy", old, now], { permissions });
    assertEquals([copied.code, copied.stderr], [0, ""]);
    assertStringIncludes(copied.stdout, "TABLE             ROWS         LEFT OUT  COPIED");
    assert(/^observations +1 +0 +1 +[0-9a-f]{32} +yes$/m.test(copied.stdout), copied.stdout);
    const history = await run(["history", now, "127.0.0.1:7"], { permissions });
    assertStringIncludes(history.stdout, "replied in 1 of 1 observation");
    const again = await run(["copy", old, now], { permissions });
    assertEquals([again.code, again.stderr], [
      2,
      `blocksweep: Cannot copy into "${now}": it has tables, perhaps of a complete copy; name an empty one\n`,
    ]);
  });
});

longTest(
  "a copy that is killed is continued, although the source is named differently",
  async () => {
    await inFolder(async (folder) => {
      const [from, to] = [`${folder}/from.db`, `${folder}/to.db`];
      {
        await using database = openSqlite(from);
        await createTables(database);
        const records = Array.from({ length: 20_000 }, (_, i) => record(1 + i));
        await new Store(database, () => Promise.resolve()).write(records);
      }
      const copy = start(["copy", from, to], { permissions });
      await written(to);
      copy.kill("SIGKILL");
      await copy.output();
      const refused = await run(["servers", to], { permissions });
      assertStringIncludes(refused.stderr, "a copy into it is unfinished");
      const other = `${folder}/link.db`;
      await Deno.symlink(from, other);
      const again = await run(["copy", other, to, "--json"], { permissions });
      assertEquals([again.code, again.stderr], [0, `"${to}": continuing the copy of "${other}"\n`]);
      const tables = again.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
      assertEquals(tables.find(({ table }) => table === "observations").copied, 20_000);
      assert(tables.every(({ equal }) => equal));
    });
  },
);

/** Waits until a copy has written its first rows. */
async function written(path: string): Promise<void> {
  for (;;) {
    try {
      await using database = openSqlite(path, { readOnly: true });
      const [{ progress }] = await database.rows("select progress from unfinished_copy");
      if (String(progress).includes('"after"')) return;
    } catch (error) {
      if (!(error instanceof Error)) throw error; // the file or the table is not there yet
    }
    await new Promise((resolve) => setTimeout(resolve));
  }
}

Deno.test("a source of another version is refused, and leaves no target", async () => {
  await inFolder(async (folder) => {
    const [old, to] = [`${folder}/old.db`, `${folder}/to.db`];
    {
      await using database = openSqlite(old);
      await createTables(database);
      await database.script("update blocksweep_schema set version = 7");
    }
    const { code, stderr } = await run(["copy", old, to], { permissions });
    assertEquals([code, stderr], [
      2,
      `blocksweep: Cannot use "${old}": its tables have version 7, and this program uses version ${SCHEMA_VERSION}; ` +
      "export its servers with the program that wrote it, and import them into a new database\n",
    ]);
    await assertRejects(() => Deno.lstat(to), Deno.errors.NotFound);
  });
});

Deno.test("a source that cannot be read leaves no target", async () => {
  await inFolder(async (folder) => {
    const { code, stderr } = await run(["copy", `${folder}/no.db`, `${folder}/to.db`], {
      permissions,
    });
    assertEquals(code, 2);
    assertEquals(stderr, `blocksweep: Cannot open "${folder}/no.db": there is no such file\n`);
    assertEquals([...Deno.readDirSync(folder)], []);
    const one = await run(["copy", `${folder}/no.db`], { permissions });
    assertStringIncludes(one.stderr, "name two databases");
  });
});
