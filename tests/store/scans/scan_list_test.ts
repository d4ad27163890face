/** Covers src/store/scans/scan_list.ts. */
import { assertEquals } from "@std/assert";
import { timeParameter } from "../../../src/store/database/database.ts";
import { countScans, newestScans, runningScans } from "../../../src/store/scans/scan_list.ts";
import { Store } from "../../../src/store/store.ts";
import { onEngines } from "../databases.ts";
import { record, scanId, watchId } from "../records.ts";

onEngines(
  "scans are read newest first, and a run without a heartbeat for a minute is stale",
  async (db) => {
    const store = new Store(db, () => Promise.resolve());
    await store.write([record(1, { scan_id: scanId(7) })]); // a scan of an imported file
    const now = db.now();
    const start = { config: "{}" };
    const requested = [{ start: 10, end: 20 }, { start: 1n << 64n, end: (1n << 64n) + 1n }];
    const addresses = { requested, excluded: [{ start: 12, end: 13 }] };
    await store.begin({ ...start, id: watchId(2), kind: "watch", at: now - 50_000 });
    const numbers = { probesSent: 5, replies: 4, found: 3, position: 1, total: 9, packetLoss: 0.5 };
    await store.begin({ ...start, id: scanId(3), at: now - 200_000 });
    await store.progress({ id: scanId(3), ...numbers, endsAt: now + 1000 });
    // The last one: the beginning of another scan would end it.
    await store.begin({ ...start, id: scanId(1), at: now - 100_000, addresses });
    const states = async () =>
      (await newestScans(db, 9)).map(({ scan_id, state }) => [scan_id, state]);
    assertEquals(await states(), [
      [watchId(2), "running"],
      [scanId(1), "stale"],
      [scanId(3), "running"],
      [scanId(7), "finished"],
    ]);
    const ago = (ms: number) =>
      db.run(`update scans set heartbeat_at = ${timeParameter(db)}`, [db.now() - ms]);
    await ago(59_000);
    assertEquals((await states()).map(([, state]) => state).slice(0, 3), Array(3).fill("running"));
    await ago(60_500);
    assertEquals((await states()).map(([, state]) => state).slice(0, 3), Array(3).fill("stale"));
    const running = async (ids: readonly string[], limit: number) =>
      (await runningScans(db, ids, limit)).map(({ scan_id }) => scan_id);
    assertEquals(await running([], 9), [watchId(2), scanId(1), scanId(3)]);
    assertEquals(await running([scanId(7), "no identity"], 9), [
      ...[watchId(2), scanId(1), scanId(3), scanId(7)],
    ]);
    assertEquals(await running([], 1), [watchId(2)]);
    assertEquals([await countScans(db), (await newestScans(db, 2)).length], [4, 2]);
    const [, first, third] = await newestScans(db, 3);
    assertEquals([first.ranges, first.excluded], [
      ["0.0.0.10-0.0.0.19", "0:0:0:1::"],
      ["0.0.0.12"],
    ]);
    const { position, total, probes_sent, replies, found, packet_loss, ends_at, runs } = third;
    assertEquals(
      { position, total, probes_sent, replies, found, packet_loss, ends_at, runs },
      {
        ...{ position: 1, total: 9, probes_sent: 5, replies: 4, found: 3, packet_loss: 0.5 },
        ...{ ends_at: now + 1000, runs: 1 },
      },
    );
  },
);
