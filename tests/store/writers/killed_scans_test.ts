/** Covers src/store/writers/killed_scans.ts and src/store/writers/scan_events.ts: summaries of scans that do not finish. */
import { assertEquals } from "@std/assert";
import { type Database, timeParameter } from "../../../src/store/database/database.ts";
import { HEARTBEAT_TIMEOUT_MS } from "../../../src/store/scans/scan_progress.ts";
import { type ScanEndRow, Store } from "../../../src/store/store.ts";
import { endKilledScans } from "../../../src/store/writers/killed_scans.ts";
import { all, onEngines } from "../databases.ts";
import { record, scanId } from "../records.ts";

const AT = Date.UTC(2026, 0, 5);
const NUMBERS = { probesSent: 9, replies: 3, found: 3 };
const id = scanId(1);

/** Begins or resumes the first scan of the database, and writes servers. */
async function run(database: Database, ports: readonly number[]): Promise<Store> {
  const store = new Store(database, () => Promise.resolve());
  await store.begin({ id, at: AT, runAt: database.now(), config: "{}" });
  await store.write(ports.map((port) => record(port, { seen_at: AT + port, scan_id: id })));
  return store;
}

const end = (store: Store, state: ScanEndRow["state"]) =>
  store.end({ ...{ id, since: AT, at: AT + 1000, state, downAfter: 2 }, ...NUMBERS });

/** Sets the last heartbeat of the scan. Returns its time. */
async function setHeartbeat(database: Database, ageMs: number): Promise<number> {
  const at = database.now() - ageMs;
  const sql = `update scans set heartbeat_at = ${timeParameter(database)} where uuid = ?`;
  await database.run(sql, [at, id]);
  return at;
}

const kill = (database: Database) => setHeartbeat(database, HEARTBEAT_TIMEOUT_MS + 1000);

/** The summaries: the number of new servers, and the state. */
async function summaries(database: Database): Promise<unknown[]> {
  const rows = await all(
    database,
    "select data from events where kind = 'scan_summary' order by tx, seq",
  );
  return rows.map(({ data }) => JSON.parse(String(data))).map((data) => [data.new, data.state]);
}

/** The state of the scan, and its end. */
async function endOf(database: Database): Promise<unknown[]> {
  const [row] = await database.rows("select state, finished_at from scans where uuid = ?", [id]);
  return [row.state, row.finished_at === null ? null : Number(row.finished_at)];
}

onEngines(
  "a scan that is interrupted writes its summary, and when it is resumed the whole one",
  async (database) => {
    await end(await run(database, [1, 2]), "interrupted");
    assertEquals(await summaries(database), [[2, "interrupted"]]);
    assertEquals(await all(database, "select members from scans"), [{ members: null }]);
    await end(await run(database, [3]), "finished");
    assertEquals(await summaries(database), [[2, "interrupted"], [3, "finished"]]);
  },
);

onEngines("a resumed scan that finds nothing more writes no second summary", async (database) => {
  await end(await run(database, [1, 2]), "interrupted");
  await end(await run(database, []), "interrupted");
  await end(await run(database, [2]), "finished");
  assertEquals(await summaries(database), [[2, "interrupted"]]);
  const [{ members }] = await all(database, "select members from scans");
  assertEquals(JSON.parse(String(members)).new, 2);
});

onEngines("a killed scan ends as interrupted at its last heartbeat, once", async (database) => {
  await run(database, [1, 2]);
  await endKilledScans(database);
  assertEquals([await summaries(database), await endOf(database)], [[], ["running", null]]);
  const at = await kill(database);
  await endKilledScans(database);
  await endKilledScans(database);
  assertEquals(await summaries(database), [[2, "interrupted"]]);
  assertEquals(await endOf(database), ["interrupted", at]);
  await end(await run(database, [3]), "finished");
  assertEquals(await summaries(database), [[2, "interrupted"], [3, "finished"]]);
});

onEngines("a killed scan ends when the next scan begins", async (database) => {
  await run(database, [1, 2]);
  await kill(database);
  const next = new Store(database, () => Promise.resolve());
  await next.begin({ id: scanId(2), at: database.now(), config: "{}" });
  assertEquals(await summaries(database), [[2, "interrupted"]]);
  const states = await all(database, "select state from scans order by id");
  assertEquals(states.map(({ state }) => state), ["interrupted", "running"]);
});

onEngines("a killed scan that is resumed has one summary: the whole one", async (database) => {
  await run(database, [1, 2]);
  await kill(database);
  await end(await run(database, [3]), "finished");
  assertEquals(await summaries(database), [[3, "finished"]]);
});

onEngines("a scan that was ended while it ran is running again", async (database) => {
  const store = await run(database, [1, 2]);
  await kill(database);
  await endKilledScans(database);
  await store.progress({ id, ...NUMBERS });
  assertEquals(await endOf(database), ["running", null]);
  await end(store, "finished");
  assertEquals(await summaries(database), [[2, "interrupted"]]);
});

onEngines("a scan does not end itself if the database gets its start late", async (database) => {
  const store = new Store(database, () => Promise.resolve());
  await store.begin({ id, at: AT, config: "{}" }); // the database was unavailable
  assertEquals(await endOf(database), ["running", null]);
});

onEngines("watches and campaigns without a heartbeat are not ended", async (database) => {
  await run(database, [1, 2]);
  await kill(database);
  await database.run("update scans set kind = 'watch'");
  await endKilledScans(database);
  await database.run("update scans set kind = 'sweep', parts = 2");
  await endKilledScans(database);
  assertEquals([await summaries(database), await endOf(database)], [[], ["running", null]]);
});
