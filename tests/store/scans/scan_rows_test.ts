/** Covers src/store/scans/scan_rows.ts and src/store/writers/scan_writer.ts. */
import { assertEquals } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import { serversWithRow } from "../../../src/store/scans/scan_rows.ts";
import { identityOf } from "../../../src/store/rows/identity.ts";
import { Store } from "../../../src/store/store.ts";
import { downsampleObservations } from "../../../src/store/downsample.ts";
import { writeScanRecords } from "../../../src/store/writers/scan_writer.ts";
import { all, onEngines, SEEN } from "../databases.ts";
import { outageAt, writePolled } from "../polls.ts";
import { record, scanId } from "../records.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const DAWN = 20_000 * DAY;
const SINCE = DAWN + 12 * HOUR;
const IDS = Array.from({ length: 1200 }, (_, i) => `127.0.0.1:${i + 1}`);

/** The ports of servers that have a row of the scan. */
async function held(database: Database, scan = scanId(1)): Promise<number[]> {
  const ids = await serversWithRow(database, scan, IDS);
  return [...ids].map((id) => Number(id.split(":")[1])).toSorted((a, b) => a - b);
}

function write(database: Database, ports: readonly number[], at: number, scan = scanId(1)) {
  const rows = ports.map((port) => record(port, { scan_id: scan, seen_at: at }));
  return writeScanRecords(database, rows);
}

onEngines(
  "a row of a scan is found after a later scan or a watch has overwritten the server",
  async (database) => {
    const ports = IDS.map((_, i) => i + 1);
    await write(database, [1, 2, 3], SINCE - DAY, scanId(0));
    await write(database, [7, 8], SINCE, scanId(2));
    assertEquals(await held(database), []);
    await write(database, ports.slice(2), SINCE + 100);
    assertEquals(await held(database), ports.slice(2));
    await write(database, [3], SINCE + 200, scanId(2));
    const [at, unresponsive] = [SINCE + 300, [4, 1].map((port) => identityOf(record(port))!)];
    const polled = unresponsive.map((identity) => ({ identity, at, outage: outageAt(at) }));
    await writePolled(database, polled);
    assertEquals(await held(database), ports.slice(2));
    // An offline observation is not a row of the scan.
    const missed = {
      scanId: scanId(1),
      identity: identityOf(record(1))!,
      at: SINCE,
      record: undefined,
    };
    await writePolled(database, [], [missed]);
    assertEquals(await held(database), ports.slice(2));
  },
);

onEngines("a row whose observation was pruned is found, and others are not", async (database) => {
  await write(database, [1, 2, 3], SINCE + 100);
  await write(database, [1], SINCE + 200, scanId(2));
  await write(database, [4], SINCE + 200, scanId(2));
  await write(database, [5], SINCE + DAY, scanId(2));
  await write(database, [2], SINCE + DAY, scanId(2));
  const cut = SINCE + 2 * DAY;
  assertEquals(
    await downsampleObservations(database, { hourly: cut, daily: cut }, () => Promise.resolve()),
    1,
  );
  const left = `select server_id from ${SEEN} where scan_id = '${scanId(1)}' order by server_id`;
  assertEquals((await all(database, left)).map((row) => row.server_id), [
    "127.0.0.1:2",
    "127.0.0.1:3",
  ]);
  assertEquals(await held(database), [1, 2, 3]);
  // When the scan finishes, its servers are forgotten: it is not resumed any more.
  const end = { id: scanId(1), since: SINCE, at: cut, state: "finished" } as const;
  const counts = { downAfter: 3, probesSent: 0, replies: 0, found: 0 };
  await new Store(database).end({ ...end, ...counts });
  assertEquals(await all(database, "select * from scan_servers where scan = 1"), []);
});
