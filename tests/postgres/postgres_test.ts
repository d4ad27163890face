/**
 * Tests that apply only to PostgreSQL. `deno task postgres` runs them.
 *
 * Covers src/store/database/postgres.ts, src/store/database/postgres_connection.ts and
 * src/store/database/postgres_driver.ts.
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import { drawFleet } from "../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../src/fleet/simulate/open_fleet.ts";
import { readNdjson } from "../../src/fleet/judge/verify_rows.ts";
import { systemClock } from "../../src/net/clock.ts";
import { FIELDS, serverId, type ServerRecord } from "../../src/core/record.ts";
import { storable } from "../../src/store/rows/stored_values.ts";
import { checkVersion, createTables } from "../../src/store/schema/create_tables.ts";
import { readDatabaseIdentity, spilledRecords } from "../../src/store/spill_file.ts";
import { SpillingStore } from "../../src/store/spilling_store.ts";
import { StoreError } from "../../src/store/database/database.ts";
import { Store } from "../../src/store/store.ts";
import { CACHE, finish, PrintedText, run, start, until } from "../cli/program.ts";
import { all, connect, SEEN, storedServers, withPostgres } from "../store/databases.ts";
import { record, scanId } from "../store/records.ts";
import { PASSWORD, startPostgres } from "./server.ts";

const SERVER = Deno.env.get("BLOCKSWEEP_POSTGRES")!;
const RANGE = "127.35.0.0/25";
const PLAN = { servers: 60, hostile: 0, range: { start: 0x7f230000, end: 0x7f230080 }, seed: 9 };
const QUICK = ["--cooldown", "200ms", "--timeout", "2s"];
/** The permissions of the tasks. */
const GRANTS = [
  ...["--allow-net", "--allow-read", "--allow-write"],
  "--allow-env=INIT_CWD,HOME,XDG_CONFIG_HOME,APPDATA,USERPROFILE,PG*",
];

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function fieldsOf(one: ServerRecord): unknown[] {
  return FIELDS.map(({ name }) => {
    const value = one[name];
    return typeof value === "string" ? storable(value) : value;
  });
}

Deno.test("a database of another version or program is refused; tables of other programs are allowed", async () => {
  await withPostgres(SERVER, async (url) => {
    await using database = await connect(url);
    await database.script("create table songs (title text)");
    await assertRejects(() => checkVersion(database), InputError, "it has no tables of blocksweep");
    await createTables(database);
    await Promise.all([createTables(database)]);
    await database.run("update blocksweep_schema set version = 3");
    await assertRejects(() => createTables(database), InputError, "its tables have version 3");
  });
  await withPostgres(SERVER, async (url) => {
    await using database = await connect(url);
    await database.script("create table servers (name text)");
    await assertRejects(
      () => createTables(database),
      InputError,
      'another program made it; it contains a table "servers"',
    );
  });
});

Deno.test("two programs that start at the same time both find the schema", async () => {
  await withPostgres(SERVER, async (url) => {
    await Promise.all(Array.from({ length: 4 }, async () => {
      await using database = await connect(url);
      await createTables(database);
      await checkVersion(database);
    }));
  });
});

Deno.test("the password comes from the URL, the environment or a file, and is never shown", async () => {
  await inFolder(async (folder) => {
    await withPostgres(SERVER, async (url) => {
      await using _fleet = await openFleet(drawFleet(PLAN), { clock: systemClock, seed: 1 });
      const [bare, name] = [url.replace(/:[^:@]*@/, "@"), url.replace(/.*\//, "")];
      const files = ["--metadata-file", `${folder}/m.json`, "--status-file", `${folder}/s.json`];
      const scan = (where: string, env: Record<string, string>) =>
        run(["scan", RANGE, ...QUICK, ...files, "-v", "-o", where, "-o", `${folder}/a.ndjson`], {
          permissions: GRANTS,
          env: { HOME: folder, DENO_DIR: CACHE, ...env },
        });
      const reported: string[] = [];
      const first = await scan(url, {});
      assertEquals(first.code, 0, first.stderr);
      reported.push(first.stderr);
      const rows = readNdjson(await Deno.readTextFile(`${folder}/a.ndjson`));
      {
        await using database = await connect(url);
        const stored = await storedServers(database);
        const inOrder = (records: readonly ServerRecord[]) =>
          records.toSorted((a, b) => serverId(a) < serverId(b) ? -1 : 1).map(fieldsOf);
        assertEquals(rows.length, 60);
        assertEquals(inOrder(stored), inOrder(rows));
        reported.push(JSON.stringify(await all(database, "select * from scans")));
      }
      const second = await scan(bare, { PGPASSWORD: PASSWORD });
      assertEquals(second.code, 0, second.stderr);
      const port = new URL(url).port;
      const escaped = PASSWORD.replaceAll(":", "\\:");
      await Deno.writeTextFile(
        `${folder}/.pgpass`,
        `# ours\n*:1:*:*:no\n*:${port}:*:lists:${escaped}\n`,
      );
      const open = await scan(bare, {});
      assertStringIncludes(open.stderr, "other users can read it");
      assertEquals(open.code, 2);
      await Deno.chmod(`${folder}/.pgpass`, 0o600);
      const third = await scan(bare, {});
      assertEquals(third.code, 0, third.stderr);
      const wrong = await scan(url.replace("s3cret", "wr0ng"), {});
      assertEquals(wrong.code, 2);
      assertStringIncludes(wrong.stderr, `Cannot open ${bare}: password authentication failed`);
      const echo = await run(["scan", RANGE, "--echo-config", "-o", url], { permissions: GRANTS });
      assertStringIncludes(echo.stdout, name);
      reported.push(second.stderr, open.stderr, third.stderr, wrong.stderr, echo.stdout);
      for (const file of ["m.json", "s.json"]) {
        reported.push(await Deno.readTextFile(`${folder}/${file}`));
      }
      for (const text of reported) assert(!/s3cret|wr0ng/.test(text), text);
    });
  });
});

Deno.test("an unreachable database server ends a scan before its first probe", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/a.csv`, "precious");
    const { code, stderr } = await run(
      ["scan", RANGE, "-o", `${folder}/a.csv`, "-o", "postgres://lists:s3cret@127.0.0.1:1/x"],
      { permissions: GRANTS },
    );
    assertEquals([code, await Deno.readTextFile(`${folder}/a.csv`)], [2, "precious"]);
    assertStringIncludes(stderr, "Cannot open postgres://lists@127.0.0.1:1/x: ");
    assert(!stderr.includes("s3cret"));
  });
});

Deno.test("a PostgreSQL database is shown, exported and imported like a SQLite file", async () => {
  await inFolder(async (folder) => {
    await withPostgres(SERVER, async (url) => {
      const program = async (...args: string[]) => {
        const result = await run(args, { permissions: GRANTS });
        assertEquals(result.code, 0, result.stderr);
        return result.stdout;
      };
      const rows = [1, 2].map((port) => record(port, { name: `s${port}`, players_online: port }));
      const text = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
      await Deno.writeTextFile(`${folder}/a.ndjson`, text);
      await program("import", url, `${folder}/a.ndjson`);
      assertEquals(
        await program("servers", url, "--format", "hostport"),
        "127.0.0.1:2\n127.0.0.1:1\n",
      );
      await program("import", `${folder}/a.db`, `${folder}/a.ndjson`);
      // changed_at is when each database recorded its rows.
      const [inPostgres, inSqlite] = [
        await program("export", url, "--format", "ndjson"),
        await program("export", `${folder}/a.db`, "--format", "ndjson"),
      ].map((text) => text.replaceAll(/"changed_at":[1-9]\d*/g, '"changed_at":0'));
      assertEquals(inPostgres, inSqlite);
      assertStringIncludes(inPostgres, '"changed_at":0');
      assertStringIncludes(
        await program("history", url, "127.0.0.1:2"),
        "replied in 1 of 1 observation",
      );
    });
  });
});

Deno.test("rows wait while the database server is down, and are all written when it is back", async () => {
  await inFolder(async (folder) => {
    await using server = await startPostgres();
    const url = `${server.url}postgres`;
    const database = await connect(url);
    await createTables(database);
    let time = 0;
    const clock = { ...systemClock, now: () => time };
    const reported: string[] = [];
    const path = `${folder}/spill.ndjson`;
    const inner = new Store(database, () => Promise.resolve());
    await using store = new SpillingStore(inner, {
      path,
      identity: await readDatabaseIdentity(inner.database),
      maxBytes: 3000,
      maxWaitMs: 0,
      clock,
      report: (line) => reported.push(line),
    });
    const end = {
      ...{
        id: scanId(1),
        since: 0,
        at: 5000,
        state: "finished",
        isComplete: true,
        downAfter: 3,
      } as const,
      ...{ probesSent: 9, replies: 8, found: 7 },
    };
    await store.begin({ id: scanId(1), at: 0, config: "{}" });
    await store.write([record(1)]);
    await server.stop();
    await store.write([record(2)]);
    await store.write([record(3)]);
    const spilled = async () => (await Array.fromAsync(spilledRecords(path))).length;
    assertEquals(await spilled(), 2);
    await assertRejects(
      () => store.write([record(4, { motd: "x".repeat(3000) })]),
      StoreError,
      "is full",
    );
    const error = await assertRejects(() => store.end(end), StoreError);
    assertStringIncludes(error.message, `2 rows are in "${path}"; import this file`);
    await server.start();
    await store.write([record(5)]); // waits before the next check
    assertEquals(await spilled(), 3);
    time += 1000;
    await store.write([record(6)]);
    await assertRejects(() => Deno.stat(path), Deno.errors.NotFound);
    assertEquals(await store.end(end), 0);
    assertEquals(
      (await all(database, "select port from servers order by port")).map(({ port }) => port),
      [
        ...[1, 2, 3, 5, 6],
      ],
    );
    assertEquals(reported.map((line) => line.replace(/\(.*\)/, "(…)")), [
      `the test's server is unavailable (…): rows are kept in "${path}"`,
      "the test's server is available again: 3 kept rows were written",
    ]);
  });
});

Deno.test("a transaction that loses its connection is rolled back, and nothing is written twice", async () => {
  await withPostgres(SERVER, async (url) => {
    await using database = await connect(url);
    await using other = await connect(url);
    await createTables(database);
    await assertRejects(() =>
      database.transaction(async () => {
        await database.run("insert into favicons_or_not values (1)").catch(() => {});
        await other.script(
          "select pg_terminate_backend(pid) from pg_stat_activity " +
            "where datname = current_database() and pid <> pg_backend_pid()",
        );
        // until the program has detected the failure
        await new Promise((resolve) => setTimeout(resolve, 100));
        await database.run("delete from blocksweep_schema");
      }), Error);
    await checkVersion(database);
  });
});

Deno.test("a scan whose database server restarts loses no row", async () => {
  await inFolder(async (folder) => {
    await using server = await startPostgres();
    await using _fleet = await openFleet(drawFleet(PLAN), { clock: systemClock, seed: 1 });
    const file = `${folder}/a.ndjson`;
    const child = start(
      ["scan", RANGE, ...QUICK, "--rate", "150", "-o", `${server.url}postgres`, "-o", file],
      { permissions: GRANTS },
    );
    const lines = async () =>
      (await Deno.readTextFile(file).catch(() => "")).split("\n").length - 1;
    await until(child, async () => await lines() >= 5);
    await server.stop();
    const before = await lines();
    await until(child, async () => await lines() >= before + 10);
    await server.start();
    const { code, stderr } = await finish(child);
    assertEquals(code, 0, stderr);
    assertStringIncludes(stderr, "is available again: ");
    await using database = await connect(`${server.url}postgres`);
    const stored = await all(database, "select key as id from servers order by key");
    const rows = readNdjson(await Deno.readTextFile(file)).map(serverId).toSorted();
    assertEquals(stored.map(({ id }) => id).toSorted(), rows);
    assertEquals(rows.length, 60);
    assertEquals(await all(database, "select count(*) as n from observations"), [{ n: 60 }]);
    const left = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
    assertEquals(left, ["a.ndjson"]);
  });
});

Deno.test("a watch continues while its database is down, and writes its results later", async () => {
  await using server = await startPostgres();
  await using _fleet = await openFleet(drawFleet({ ...PLAN, servers: 6 }), {
    ...{ clock: systemClock, seed: 1 },
  });
  const list = `${server.url}postgres`;
  const permissions = GRANTS;
  const scan = await run(["scan", RANGE, ...QUICK, "-q", "-o", list], { permissions });
  assertEquals(scan.code, 0, scan.stderr);
  const child = start(["watch", list, "--interval", "5s"], { permissions });
  const drained = child.stdout.cancel();
  const printed = new PrintedText(child);
  await printed.until("watching 6 endpoints");
  await server.stop();
  await printed.until("the watch continues");
  await server.start();
  await printed.until("written again");
  child.kill("SIGINT");
  const stderr = await printed.rest();
  const [{ code }] = await Promise.all([child.status, drained]);
  assertEquals(code, 130, stderr);
  assert(!stderr.includes("lost"), stderr);
  assert(!stderr.includes(PASSWORD) && !stderr.includes(encodeURIComponent(PASSWORD)), stderr);
  await using database = await connect(list);
  const [{ state, config }] = await all(
    database,
    "select state, config from scans where kind = 'watch'",
  );
  assertEquals(state, "finished");
  assert(!String(config).includes(encodeURIComponent(PASSWORD)), String(config));
  const [{ n }] = await all(
    database,
    `select count(*) as n from ${SEEN} where kind = 'watch'`,
  );
  // A poll of a server that supports only Query takes longer, and may not have ended by then.
  const [, replied] = /(\d+) with a reply/.exec(stderr) ?? [];
  assert(Number(replied) >= 5, stderr);
  assertEquals(n, Number(replied));
});
