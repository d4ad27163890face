/** Covers src/store/scans/scan_progress.ts, src/store/scans/scan_list.ts and src/store/store.ts. */
import { assert, assertEquals } from "@std/assert";
import { newestScans, scanWithId } from "../../../src/store/scans/scan_list.ts";
import { Store } from "../../../src/store/store.ts";
import { all, onEngines } from "../databases.ts";
import { scanId } from "../records.ts";

const START = { id: scanId(1), at: 1000, config: "{}" };
const COUNTS = { probesSent: 9, replies: 3, found: 2 };

onEngines(
  "a running scan stores its numbers and a heartbeat, and an ended one expects no end",
  async (db) => {
    const store = new Store(db, () => Promise.resolve());
    await store.begin(START);
    const before = Date.now();
    const numbers = { ...COUNTS, position: 40, total: 100, packetLoss: 0.25, rowsLost: 1 };
    const rate = { rate: 999.6, reason: "loss" };
    const counters = { lost: 3, replies: { forged: 4 } };
    await store.progress({ id: scanId(1), ...numbers, endsAt: 5000, rate, counters });
    assertEquals((await scanWithId(db, scanId(1)))?.counters, counters);
    const [row] = await all(db, "select * from scans");
    const heartbeat = Number(row.heartbeat_at);
    assert(heartbeat >= before - 1000 && heartbeat <= Date.now() + 1000, `${heartbeat}`);
    const shown = ["state", "probes_sent", "replies", "found", "position", "total", "ends_at"];
    assertEquals(shown.map((name) => row[name]), ["running", 9, 3, 2, 40, 100, 5000]);
    const rest = ["packet_loss", "rows_lost", "rate", "rate_reason", "finished_at"];
    assertEquals(rest.map((name) => row[name]), [0.25, 1, 1000, "loss", null]);
    await store.end({
      ...{ id: scanId(1), since: 1000, at: 6000, state: "finished", downAfter: 3 },
      ...{ ...COUNTS, position: 100, total: 100 },
    });
    assertEquals((await scanWithId(db, scanId(1)))?.counters, null);
    const [ended] = await all(db, "select state, position, ends_at, finished_at from scans");
    assertEquals(Object.values(ended), ["finished", 100, null, 6000]);
  },
);

onEngines("each further run of a scan counts, and a repeated start does not", async (db) => {
  const store = new Store(db, () => Promise.resolve());
  await store.begin(START);
  await store.begin(START);
  const runs = async () => (await all(db, "select runs from scans"))[0].runs;
  assertEquals(await runs(), 1);
  await store.begin({ ...START, runAt: 9000 });
  await store.begin({ ...START, runAt: 9000 });
  assertEquals(await runs(), 2);
});

onEngines("a heartbeat waits for the end of a stream on the same connection", async (db) => {
  const store = new Store(db, () => Promise.resolve());
  await store.begin(START);
  let progress: Promise<void> | undefined;
  for await (const _ of db.stream("select id from scans")) {
    progress = store.progress({ id: scanId(1), ...COUNTS, position: 40, total: 100 });
    await Promise.race([progress, Promise.resolve()]);
    await db.rows("select 1");
  }
  await progress;
  assertEquals((await all(db, "select position from scans"))[0].position, 40);
});

onEngines("a scan whose clock was set back ends when it started", async (db) => {
  const store = new Store(db, () => Promise.resolve());
  const [id, start] = [scanId(1), db.now()];
  await store.begin({ id, at: start, config: "{}" });
  for (const [at, end] of [[start - 60_000, start], [start + 5, start + 5]]) {
    await store.end({
      ...{ id, since: start, at, state: "finished", downAfter: 1 },
      ...{ found: 0, probesSent: 0, replies: 0 },
    });
    const [{ started_at, finished_at }] = await newestScans(db, 1);
    assertEquals([started_at, finished_at], [start, end]);
  }
});
