import { assertEquals } from "@std/assert";
import type { Database } from "../../src/store/database/database.ts";
import { serversWithRow } from "../../src/store/scan_rows.ts";
import { writePolls } from "../../src/store/poll_writer.ts";
import { downsampleObservations } from "../../src/store/downsample.ts";
import { writeScanRecords } from "../../src/store/record_writer.ts";
import { all, onEngines } from "./databases.ts";
import { record } from "./records.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const DAWN = 20_000 * DAY;
const SINCE = DAWN + 12 * HOUR;
const IDS = Array.from({ length: 1200 }, (_, i) => `127.0.0.1:${i + 1}`);
const RUNNING = { id: "scan-1", since: SINCE, savedAt: SINCE + 1000, now: SINCE + 5000 };

/** The ports of servers that have a row of the scan. */
async function held(database: Database, scan: typeof RUNNING): Promise<number[]> {
  const ids = await serversWithRow(database, scan, IDS);
  return [...ids].map((id) => Number(id.split(":")[1])).toSorted((a, b) => a - b);
}

function write(database: Database, ports: readonly number[], at: number, scan = "scan-1") {
  const rows = ports.map((port) => record(port, { scan_id: scan, seen_at: at }));
  return writeScanRecords(database, rows);
}

onEngines(
  "a row of a scan is found after a later scan or a watch has overwritten the server",
  async (database) => {
    const ports = IDS.map((_, i) => i + 1);
    await write(database, [1, 2, 3], SINCE - DAY, "scan-0");
    await write(database, [7, 8], SINCE, "scan-2");
    assertEquals(await held(database, RUNNING), []);
    await write(database, ports.slice(2), SINCE + 100);
    assertEquals(await held(database, RUNNING), ports.slice(2));
    await write(database, [3], SINCE + 200, "scan-2");
    const state = { id: "127.0.0.1:4", online: false, failures: 3, at: SINCE + 300 };
    await writePolls(database, [{ ...state, record: undefined }], []);
    assertEquals(await held(database, RUNNING), ports.slice(2));
    // An offline observation is no row of the scan.
    const missed = { scanId: "scan-1", id: "127.0.0.1:1", round: 0, at: SINCE, record: undefined };
    await writePolls(database, [], [missed]);
    assertEquals(await held(database, RUNNING), ports.slice(2));
  },
);

onEngines("a row whose observation was pruned is found, and others are not", async (database) => {
  await write(database, [1, 2, 3], SINCE + 100);
  await write(database, [1], SINCE + 200, "scan-2");
  await write(database, [4], SINCE + 200, "scan-2");
  await write(database, [5], SINCE + DAY, "scan-2");
  await write(database, [2], SINCE + DAY, "scan-2");
  const cut = SINCE + 2 * DAY;
  assertEquals(
    await downsampleObservations(database, { hourly: cut, daily: cut }, () => Promise.resolve()),
    1,
  );
  const left = "select server_id from observations where scan_id = 'scan-1' order by server_id";
  assertEquals((await all(database, left)).map((row) => row.server_id), [
    "127.0.0.1:2",
    "127.0.0.1:3",
  ]);
  // Nothing can have been pruned within the hour, so a missing observation was lost.
  assertEquals(await held(database, RUNNING), [2, 3]);
  // Later, observations may have been pruned for servers that were seen again on the same day.
  assertEquals(await held(database, { ...RUNNING, now: cut + 2 * HOUR }), [1, 2, 3, 4]);
});
