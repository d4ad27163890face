/** Covers src/store/parts/finish_scan.ts. */
import { assertEquals } from "@std/assert";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { beginCampaignScan, writeCampaignBatch } from "../../../src/store/parts/campaign_scan.ts";
import { type FinishOptions, finishScan } from "../../../src/store/parts/finish_scan.ts";
import type { PartUpdate } from "../../../src/store/parts/scan_parts.ts";
import { writeScanRecords } from "../../../src/store/writers/scan_writer.ts";
import { newestScans } from "../../../src/store/scans/scan_list.ts";
import { all, onEngines, STATES } from "../databases.ts";
import { record, scanId } from "../records.ts";

const ID = scanId(2);
const SCOPE = {
  ...{ allProtocols: PROTOCOLS, protocols: ["raknet", "query"], follow: true, verify: false },
};
const addresses = { requested: [], excluded: [] };
const numbers = { probesSent: 1, replies: 1, found: 1, position: 1, total: 1 };

/** Begins a scan after four servers were known: odd ports belong to part 1, even ones to part 2. */
async function begin(db: Database): Promise<void> {
  await writeScanRecords(db, [1, 2, 3, 4].map((port) => record(port)));
  await beginCampaignScan(db, { id: ID, at: 5000, parts: 2, config: "{}", addresses });
}

const end = (part: number, state: PartUpdate["state"], at: number): PartUpdate => ({
  ...{ part, state, at, tries: state === "poisoned" ? 5 : 1, numbers, worker: "w" },
});

const write = (db: Database, parts: readonly PartUpdate[], ports: readonly number[] = []) => {
  const records = ports.map((port) => record(port, { scan_id: ID, seen_at: 6000 }));
  return writeCampaignBatch(db, { id: ID, records, parts }, SCOPE);
};

/** Ends the scan; the parts whose coverage was wanted. */
async function finish(db: Database, more: Partial<FinishOptions> = {}) {
  const decided: number[] = [];
  const ended = await finishScan(db, {
    ...{ id: ID, since: 5000, at: 9000, downAfter: 1 },
    coverage: (parts) => {
      decided.push(...parts.map(({ part }) => part));
      return {
        ranges: [{ start: 0x7f000001, end: 0x7f000002 }],
        includes: (_, port) => parts.some(({ part }) => part % 2 === port % 2),
      };
    },
    ...more,
  });
  return { ended, decided };
}

const offline = async (db: Database) =>
  (await all(db, `select port from ${STATES} where missed_scans > 0 order by port`))
    .map(({ port }) => port);

onEngines("a scan ends once, when all its parts have ended", async (db) => {
  await begin(db);
  await write(db, [end(1, "done", 7000)], [1, 2]);
  assertEquals(await finish(db), { ended: undefined, decided: [] });
  await write(db, [end(2, "done", 7000)]);
  assertEquals(await finish(db), { ended: { state: "finished", missing: 2 }, decided: [1, 2] });
  assertEquals(await finish(db), { ended: undefined, decided: [] });
  const [{ state, finished_at, parts_done }] = await newestScans(db, 1);
  assertEquals([state, finished_at, parts_done], ["finished", 9000, 2]);
  assertEquals(await offline(db), [3, 4]);
  assertEquals(
    await all(
      db,
      `select 1 from scan_servers e join scans c on c.id = e.scan where ` +
        `c.uuid = '${ID}'`,
    ),
    [],
  );
});

onEngines(
  "a retried part makes a scan run and end again, and decided servers are not missing",
  async (db) => {
    await begin(db);
    await write(db, [end(1, "done", 7000), end(2, "poisoned", 7000)], [1, 2]);
    assertEquals(await finish(db), { ended: { state: "interrupted", missing: 1 }, decided: [1] });
    assertEquals(await offline(db), [3]);
    await write(db, [end(1, "done", 7000), end(2, "poisoned", 7000)], [1, 2]); // repeated
    assertEquals((await newestScans(db, 1))[0].state, "interrupted");
    await write(db, [{ ...end(2, "running", 9500), tries: 1 }]);
    const [{ state, runs, finished_at }] = await newestScans(db, 1);
    assertEquals([state, runs, finished_at], ["running", 2, null]);
    assertEquals((await finish(db, { at: 10_000 })).ended, undefined);
    await write(db, [end(2, "done", 9900)]);
    assertEquals(await finish(db, { at: 10_000 }), {
      ended: { state: "finished", missing: 1 },
      decided: [2],
    });
    assertEquals(await offline(db), [3, 4]);
    const misses = await all(db, `select missed_scans from ${STATES} where port = 3`);
    assertEquals(misses, [{ missed_scans: 1 }]);
  },
);

onEngines(
  "a scan whose parts were all cancelled is interrupted, and no server is missing",
  async (db) => {
    await begin(db);
    await write(db, [end(1, "cancelled", 7000), end(2, "cancelled", 7000)]);
    assertEquals(await finish(db), { ended: { state: "interrupted", missing: 0 }, decided: [] });
    assertEquals(await offline(db), []);
  },
);

onEngines(
  "a program that another one overtakes while it counts servers counts no more",
  async (db) => {
    const known = Array.from({ length: 1002 }, (_, i) => record(i + 1));
    await writeScanRecords(db, known);
    await begin(db);
    // The clock of the worker that found the last server is behind: only scan_servers has its reply.
    const records = [record(1002, { scan_id: ID, seen_at: 4999 })];
    await writeCampaignBatch(db, { id: ID, records, parts: [] }, SCOPE);
    await write(db, [end(1, "done", 7000), end(2, "done", 7000)]);
    const transaction = db.transaction.bind(db);
    let [calls, other] = [0, {} as Awaited<ReturnType<typeof finish>>];
    db.transaction = async (work) => {
      if (++calls === 2) other = await finish(db); // the first page has been read
      return await transaction(work);
    };
    const { ended } = await finish(db);
    assertEquals(ended, undefined);
    assertEquals(other.ended, { state: "finished", missing: 1001 });
    assertEquals((await offline(db)).length, 1001);
  },
);
