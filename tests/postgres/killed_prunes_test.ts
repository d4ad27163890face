/** Two prunes of one database at once, which are killed again and again: what is left is the same as after one. */
import { assertEquals } from "@std/assert";
import { DAY_MS, HOUR_MS } from "../../src/core/quantities.ts";
import type { Database } from "../../src/store/database/database.ts";
import { openSqlite } from "../../src/store/database/sqlite.ts";
import { writeObservations } from "../../src/store/writers/observation_rows.ts";
import { createTables } from "../../src/store/schema/create_tables.ts";
import { Store } from "../../src/store/store.ts";
import { periodStart } from "../../src/store/uptime/rollup_hours.ts";
import { writeSpans } from "../../src/store/uptime/watch_spans.ts";
import { finish, run, start, until } from "../cli/program.ts";
import { all, connect, postgresTest, SERVER, withPostgres } from "../store/databases.ts";
import { record, watchId } from "../store/records.ts";

const DAYS = 4;
/** The end of the watch: its observations are reduced to one per day, but for the last three hours. */
const END = periodStart(Date.now(), DAY_MS) - 2 * DAY_MS;
const SERVERS = [1, 2, 3];
const TABLES = ["rollups", "rollup_totals", "server_uptime", "observations", "dirty_hours"];
const permissions = ["--allow-net", "--allow-read", "--allow-write", "--allow-env"];

/** Writes an observation of each server every half an hour, and the span of their watch. */
async function fill(database: Database): Promise<void> {
  await createTables(database);
  const store = new Store(database, () => Promise.resolve());
  const from = END - DAYS * DAY_MS;
  await store.write(SERVERS.map((port) => record(port, { seen_at: from - DAY_MS })));
  await store.begin({ id: watchId(2), kind: "watch", at: from, config: "{}" });
  const times = Array.from({ length: 48 * DAYS }, (_, i) => from + i * HOUR_MS / 2);
  const rows = SERVERS.flatMap((server) =>
    times.map((at, i) => [server, at, 2, (i + server) % 5 > 0 ? 1 : 0, i, null, null, null, 2])
  );
  await database.transaction(() => writeObservations(database, rows));
  const span = { startedAt: from, endedAt: END };
  await database.transaction(() => writeSpans(database, watchId(2), [span]));
  await store.begin({ id: watchId(3), kind: "sweep", at: Date.now(), config: "{}" });
}

/** Prunes one database without interruption, and the other one with many; compares their rows. */
async function compare(
  [whole, killed]: readonly string[],
  open: (path: string) => Promise<Database>,
): Promise<void> {
  await using one = await open(whole);
  await using other = await open(killed);
  for (const database of [one, other]) await fill(database);
  const words = (path: string) => ["prune", path, "--observations", "1h", "--quiet"];
  const pruned = await run(words(whole), { permissions });
  assertEquals([pruned.code, pruned.stderr], [0, ""]);
  for (const rollups of [20, 100, 180, 260]) {
    const children = [1, 2].map(() => start(words(killed), { permissions }));
    await until(children[0], async () => {
      const [{ n }] = await other.rows("select count(*) as n from rollups where hours = 1");
      return Number(n) >= rollups;
    });
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(children.map(finish));
  }
  const last = await Promise.all([1, 2].map(() => run(words(killed), { permissions })));
  assertEquals(last.map(({ code, stderr }) => [code, stderr]), [[0, ""], [0, ""]]);
  for (const table of TABLES) {
    const rows = (database: Database) =>
      all(database, `select * from ${table} order by 1, 2, 3, 4`);
    assertEquals(await rows(other), await rows(one), table);
  }
  const [{ n }] = await one.rows("select count(*) as n from observations");
  // One a day; all six of the last three hours in which the watch ran, one of which is the day's last.
  assertEquals(n, SERVERS.length * (DAYS + 1 + 5));
}

Deno.test("SQLite: two prunes that are killed again and again leave the same rows as one prune", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const paths = ["whole", "killed"].map((name) => `${folder}/${name}.db`);
    await compare(paths, (path) => Promise.resolve(openSqlite(path)));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

postgresTest(
  "PostgreSQL: two prunes that are killed again and again leave the same rows as one prune",
  (whole) => withPostgres(SERVER!, (killed) => compare([whole, killed], connect)),
);
