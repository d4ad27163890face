/**
 * Prunes by a program with a clock that is ahead, in SQLite: src/store/uptime/seal_hours.ts and
 * src/store/downsample.ts.
 */
import { assertEquals } from "@std/assert";
import { pruneOnce } from "../../../src/app/databases/prune.ts";
import { connectionEnvironment } from "../../../src/app/options/connection_environment.ts";
import { DAY_MS, HOUR_MS } from "../../../src/core/quantities.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { parseDatabaseLocation } from "../../../src/store/database_location.ts";
import { writeObservations } from "../../../src/store/writers/observation_rows.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { Store } from "../../../src/store/store.ts";
import { periodStart } from "../../../src/store/uptime/rollup_hours.ts";
import { rollUp } from "../../../src/store/uptime/roll_up.ts";
import { writeSpans } from "../../../src/store/uptime/watch_spans.ts";
import { all } from "../databases.ts";
import { record, scanId, watchId } from "../records.ts";

const START = periodStart(1_700_000_000_000, DAY_MS);
/** A watch ends in the middle of an hour, and the next one begins ten minutes later. */
const END = START + 2.5 * DAY_MS + 30 * 60_000;
const between = () => Promise.resolve();

/** A machine with one database, and a clock that the test sets. */
class Machine {
  constructor(readonly path: string, readonly database: Database) {}

  /** Runs a watch that polls a server every 20 minutes. */
  async watch(n: number, from: number, to: number): Promise<void> {
    const { database } = this;
    for (let at = from; at < to; at += HOUR_MS / 3) {
      setTime(at);
      const online = at / (HOUR_MS / 3) % 3 < 1 ? 0 : 1;
      await database.transaction(() =>
        writeObservations(database, [[1, at, n, online, online * n, null, null, null, 1]])
      );
    }
    setTime(to);
    const spans = [{ startedAt: from, endedAt: to }];
    await database.transaction(() => writeSpans(database, watchId(n), spans));
  }

  /** Scans and prunes while the clock is ahead, as `scan --keep` does. */
  async pruneAhead(aheadMs: number, keepMs: number): Promise<void> {
    const at = END + 5 * 60_000 + aheadMs;
    setTime(at);
    await new Store(this.database, between).begin({ id: scanId(9), at, config: "{}" });
    const location = parseDatabaseLocation(this.path)!;
    const environment = connectionEnvironment(() => {});
    await pruneOnce(location, { observations: keepMs }, environment, () => {});
  }

  /** The rollups of the last day, and of its hours from the last one of the first watch on. */
  async rollups(): Promise<unknown> {
    return await all(
      this.database,
      `select * from rollups where at >= ${periodStart(END, HOUR_MS)} or ` +
        `hours = 24 and at >= ${periodStart(END, DAY_MS)} order by hours, at`,
    );
  }
}

const { now: machineTime } = Date;

function setTime(at: number): void {
  Date.now = () => at;
}

/** The rollups after two watches. */
async function rollupsAfter(pruneAhead?: (machine: Machine) => Promise<void>): Promise<unknown> {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/a.db`;
    await using database = openSqlite(path);
    await createTables(database);
    const store = new Store(database, between);
    setTime(START);
    await store.write([record(1)]);
    for (const n of [2, 3]) {
      await store.begin({ id: watchId(n), kind: "watch", at: START, config: "{}" });
    }
    const machine = new Machine(path, database);
    await machine.watch(2, START, END);
    await pruneAhead?.(machine);
    const again = END + 10 * 60_000;
    setTime(again);
    await rollUp(database, { between });
    await machine.watch(3, again, again + 6 * HOUR_MS);
    setTime(END + 2 * DAY_MS);
    await rollUp(database, { between });
    return await machine.rollups();
  } finally {
    Date.now = machineTime;
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a scan and a prune with a clock ahead change no uptime of the day in which a watch ended", async () => {
  const expected = await rollupsAfter();
  for (
    const [aheadMs, keepMs] of [
      [5 * HOUR_MS, HOUR_MS],
      [3 * DAY_MS, 12 * HOUR_MS],
      [365 * DAY_MS, 90 * DAY_MS],
    ]
  ) {
    const found = await rollupsAfter((machine) => machine.pruneAhead(aheadMs, keepMs));
    assertEquals(found, expected, `${aheadMs / HOUR_MS} h ahead`);
  }
});
