/** Covers src/store/schema/partitions.ts. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import type { Database } from "../../src/store/database/database.ts";
import { downsampleObservations } from "../../src/store/downsample.ts";
import { createTables } from "../../src/store/schema/create_tables.ts";
import { addMonths, checkPartitions, replaceMonths } from "../../src/store/schema/partitions.ts";
import { Store } from "../../src/store/store.ts";
import { all, connect, SERVER, withPostgres } from "./databases.ts";
import { record, scanId } from "./records.ts";

const HOUR = 3_600_000;
const MARCH = Date.UTC(2026, 2, 1);
const between = () => Promise.resolve();

/** Runs a test with a PostgreSQL database without tables. */
function onPostgres(name: string, work: (database: Database) => Promise<void>): void {
  Deno.test({
    name: `PostgreSQL: ${name}${SERVER === undefined ? " (skipped: deno task postgres)" : ""}`,
    ignore: SERVER === undefined,
    fn: () =>
      withPostgres(SERVER!, async (url) => {
        await using database = await connect(url);
        await work(database);
      }),
  });
}

/** Writes an observation of each of two servers every two hours from a time on. */
async function fill(database: Database, from: number, count: number): Promise<void> {
  const store = new Store(database, () => Promise.resolve());
  for (let i = 0; i < count; i++) {
    const rest = { seen_at: from + 2 * HOUR * i, scan_id: scanId(1), players_online: i };
    await store.write([record(1, rest), record(2, rest)]);
  }
}

const partitions = (database: Database) =>
  all(
    database,
    "select inhrelid::regclass::text as name from pg_inherits where " +
      "inhparent = 'observations'::regclass order by 1",
  );
const seen = (database: Database) =>
  all(database, "select server, at, scan, players_online from observations order by 1, 2, 3");

onPostgres("observations are stored in the partition of their month", async (database) => {
  await createTables(database, { partitionByMonth: true });
  await createTables(database); // does nothing
  await checkPartitions(database);
  await fill(database, MARCH - 6 * HOUR, 5);
  const where =
    "select tableoid::regclass::text as name, count(*) as n from observations group by 1";
  assertEquals(await all(database, where), [{ name: "observations_other", n: 10 }]);
  const before = await seen(database);
  await addMonths(database, MARCH);
  await addMonths(database, MARCH);
  assertEquals((await partitions(database)).length, 13);
  assertEquals(await seen(database), before);
  assertEquals(await all(database, `${where} order by 1`), [
    { name: "observations_2026_03", n: 4 },
    { name: "observations_other", n: 6 },
  ]);
  await fill(database, MARCH, 1); // written again
  await addMonths(database, MARCH + 31 * 24 * HOUR);
  assertEquals((await partitions(database)).length, 14);
  assertEquals(await seen(database), before);
});

onPostgres(
  "a replaced month has the observations that downsampling would keep",
  async (database) => {
    const forms: unknown[] = [];
    for (const partitionByMonth of [true, false]) {
      await database.script("drop schema public cascade; create schema public");
      await createTables(database, { partitionByMonth });
      await addMonths(database, MARCH);
      await fill(database, MARCH, 40);
      await fill(database, MARCH + 31 * 24 * HOUR, 30);
      const daily = MARCH + 32 * 24 * HOUR;
      const replaced = await replaceMonths(database, daily, between);
      assertEquals(replaced, partitionByMonth ? 72 : 0);
      assertEquals(await replaceMonths(database, daily, between), 0);
      const cuts = { hourly: daily, daily };
      const deleted = await downsampleObservations(database, cuts, between);
      forms.push([replaced + deleted, await seen(database)]);
      await fill(database, MARCH, 3); // late rows
      await downsampleObservations(database, cuts, between);
      forms.push(await seen(database));
    }
    assertEquals(forms.slice(0, 2), forms.slice(2));
  },
);

onPostgres("a role that does not own the tables adds and replaces no months", async (database) => {
  const role = `writer_${crypto.randomUUID().slice(0, 8)}`;
  await createTables(database, { partitionByMonth: true });
  await database.script(
    `create role ${role}; grant select, insert, update, delete on all tables in schema public to ${role}`,
  );
  try {
    await database.script(`set role ${role}`);
    await addMonths(database, MARCH);
    await fill(database, MARCH, 2);
    assertEquals(await replaceMonths(database, MARCH + 1e10, between), 0);
    await database.script("reset role");
    assertEquals((await partitions(database)).length, 1);
    await addMonths(database, MARCH);
    await database.script(`set role ${role}`);
    await fill(database, MARCH + 10 * HOUR, 2);
    assertEquals((await seen(database)).length, 8);
  } finally {
    await database.script(`reset role; drop owned by ${role}; drop role ${role}`);
  }
});

onPostgres("programs that write while months are added lose no observation", async (database) => {
  const [{ name }] = await database.rows("select current_database() as name");
  const url = `${SERVER}${name}`;
  await createTables(database, { partitionByMonth: true });
  const connections = await Promise.all([1, 2, 3].map(() => connect(url)));
  try {
    await Promise.all([
      ...connections.slice(0, 2).map(async (one, writer) => {
        const store = new Store(one, () => Promise.resolve());
        for (let i = 0; i < 50; i++) {
          const seen_at = MARCH + i * 12 * HOUR;
          await store.write([
            record(writer + 1, { seen_at, players_online: i, scan_id: scanId(1) }),
          ]);
        }
      }),
      addMonths(connections[2], MARCH),
      addMonths(database, MARCH),
    ]);
    assertEquals((await seen(database)).length, 100);
  } finally {
    for (const one of connections) await one[Symbol.asyncDispose]();
  }
});

onPostgres(
  "each unique key of observations contains the time, as TimescaleDB requires",
  async (database) => {
    const keys =
      "select (select string_agg(a.attname, ', ' order by a.attnum) from pg_attribute a " +
      "where a.attrelid = i.indexrelid) as columns from pg_index i " +
      "where i.indrelid = 'observations'::regclass and (i.indisunique or i.indisexclusion)";
    const references =
      "select conname from pg_constraint where confrelid = 'observations'::regclass " +
      "and conparentid = 0";
    for (const partitionByMonth of [false, true]) {
      if (partitionByMonth) {
        await database.script("drop schema public cascade; create schema public");
      }
      await createTables(database, { partitionByMonth });
      assertEquals(await all(database, keys), [{ columns: "server, at, scan" }]);
      assertEquals(await all(database, references), []);
    }
  },
);

onPostgres("tables without partitions are refused for partitioning", async (database) => {
  await createTables(database);
  await assertRejects(() => checkPartitions(database), InputError, "exist without partitions");
  await addMonths(database, MARCH);
  assertEquals(await partitions(database), []);
  assert(await replaceMonths(database, MARCH, between) === 0);
});
