/** Covers src/store/schema/partitions.ts. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import type { Database } from "../../src/store/database/database.ts";
import { downsampleObservations } from "../../src/store/downsample.ts";
import { createTables } from "../../src/store/schema/create_tables.ts";
import { addMonths, checkPartitions, compactMonths } from "../../src/store/schema/partitions.ts";
import { Store } from "../../src/store/store.ts";
import { all, connect, postgresTest, SERVER } from "./databases.ts";
import { record, scanId } from "./records.ts";

const HOUR = 3_600_000;
const MARCH = Date.UTC(2026, 2, 1);
const between = () => Promise.resolve();

/** Runs a test with a PostgreSQL database without tables. */
function onPostgres(name: string, work: (database: Database) => Promise<void>): void {
  postgresTest(`PostgreSQL: ${name}`, async (url) => {
    await using database = await connect(url);
    await work(database);
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

/** Tables with partitions, and a month of observations that has been downsampled. */
async function downsampledMonth(database: Database, partitionByMonth = true): Promise<number> {
  await createTables(database, { partitionByMonth });
  await addMonths(database, MARCH);
  await fill(database, MARCH, 300);
  const daily = MARCH + 32 * 24 * HOUR;
  await downsampleObservations(database, { hourly: daily, daily }, between);
  return daily;
}

const size = async (database: Database) =>
  Number((await all(database, "select pg_relation_size('observations_2026_03') as n"))[0].n);

onPostgres("a compacted month has the same rows in less space", async (database) => {
  const daily = await downsampledMonth(database);
  const [rows, full] = [await seen(database), await size(database)];
  assertEquals(rows.length, 50);
  assertEquals(await compactMonths(database, daily, between), []);
  const compacted = await size(database);
  assert(compacted < full / 2, `${compacted} of ${full}`);
  assertEquals(await seen(database), rows);
  await database.script("delete from observations");
  await compactMonths(database, daily, between); // it has been compacted
  assertEquals(await size(database), compacted);
});

onPostgres("a month is compacted while a snapshot contains its old rows", async (database) => {
  const [{ name }] = await database.rows("select current_database() as name");
  await using reader = await connect(`${SERVER}${name}`);
  await using lateReader = await connect(`${SERVER}${name}`);
  await createTables(database, { partitionByMonth: true });
  await addMonths(database, MARCH);
  await fill(database, MARCH, 300);
  const daily = MARCH + 32 * 24 * HOUR;
  await reader.snapshot(async () => {
    await reader.rows("select 1"); // takes the snapshot, and locks nothing
    await downsampleObservations(database, { hourly: daily, daily }, between);
    await lateReader.snapshot(async () => {
      await lateReader.rows("select 1");
      assertEquals(await compactMonths(database, daily, between), []);
      assertEquals((await seen(reader)).length, 600);
      assertEquals((await seen(lateReader)).length, 50);
    });
  });
  const full = await size(database);
  await compactMonths(database, daily, between); // no snapshot contains the deleted rows now
  const compacted = await size(database);
  assert(compacted < full, `${compacted} of ${full}`);
});

onPostgres("a transaction that reads delays no program that writes", async (database) => {
  const [{ name }] = await database.rows("select current_database() as name");
  await using reader = await connect(`${SERVER}${name}`);
  await using writer = await connect(`${SERVER}${name}`);
  const daily = await downsampledMonth(database);
  await database.script("drop table observations_2026_12");
  await reader.snapshot(async () => {
    const before = await seen(reader);
    const [{ pid }] = await reader.rows("select pg_backend_pid() as pid");
    const used = await compactMonths(database, daily, between);
    assertEquals(used, [`observations_2026_03 is used by PID ${pid}`]);
    await addMonths(database, MARCH);
    await fill(writer, MARCH, 1);
    assertEquals(await seen(reader), before);
  });
  assertEquals((await partitions(database)).length, 12);
  assertEquals(await compactMonths(database, daily, between), []);
  await addMonths(database, MARCH);
  assertEquals((await partitions(database)).length, 13);
});

onPostgres("tables without partitions are not compacted", async (database) => {
  assertEquals(
    await compactMonths(database, await downsampledMonth(database, false), between),
    [],
  );
});

onPostgres("a role that does not own the tables adds and compacts no months", async (database) => {
  const role = `writer_${crypto.randomUUID().slice(0, 8)}`;
  await createTables(database, { partitionByMonth: true });
  await database.script(
    `create role ${role}; grant select, insert, update, delete on all tables in schema public to ${role}`,
  );
  try {
    await database.script(`set role ${role}`);
    await addMonths(database, MARCH);
    await fill(database, MARCH, 2);
    assertEquals(await compactMonths(database, MARCH + 1e10, between), []);
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
  assertEquals(await compactMonths(database, MARCH, between), []);
});
