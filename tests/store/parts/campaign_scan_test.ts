/**
 * Covers src/store/parts/campaign_scan.ts, src/store/parts/scan_parts.ts, src/store/parts/part_list.ts
 * and src/store/scans/scan_list.ts.
 */
import { assertEquals } from "@std/assert";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { newestScans } from "../../../src/store/scans/scan_list.ts";
import { beginCampaignScan, writeCampaignBatch } from "../../../src/store/parts/campaign_scan.ts";
import { listedParts } from "../../../src/store/parts/part_list.ts";
import type { PartUpdate } from "../../../src/store/parts/scan_parts.ts";
import { all, onEngines, setClock } from "../databases.ts";
import { record, scanId } from "../records.ts";

const ID = scanId(1);
const SCOPE = {
  ...{ allProtocols: PROTOCOLS, protocols: ["raknet", "query"], follow: true, verify: false },
};
const addresses = { requested: [{ start: 0x7f000001, end: 0x7f000005 }], excluded: [] };

const begin = (db: Database, parts = 3) =>
  beginCampaignScan(db, { id: ID, at: 1000, parts, config: '{"a":1}', addresses });
const write = (db: Database, parts: readonly PartUpdate[], records = [record(1)].slice(1)) =>
  writeCampaignBatch(db, { id: ID, records, parts }, SCOPE);

/** News of a part that runs. */
function running(part: number, at: number, more: Partial<PartUpdate> = {}): PartUpdate {
  const numbers = { probesSent: 10, replies: 2, found: 1, position: 10, total: 100 };
  return { part, state: "running", at, worker: "w1", tries: 1, numbers, ...more };
}

const states = async (db: Database) =>
  (await all(db, "select part, state from scan_parts order by part"))
    .map(({ part, state }) => `${part} ${state}`);

onEngines(
  "the start of a campaign's scan is written once, with its parts and ranges",
  async (db) => {
    await begin(db);
    await begin(db);
    await writeCampaignBatch(db, { id: ID, records: [record(1)], parts: [] }, SCOPE);
    const [scan, ...others] = await newestScans(db, 9);
    assertEquals(others, []);
    const { kind, state, started_at, runs, parts, ranges } = scan;
    assertEquals({ kind, state, started_at, runs, parts, ranges }, {
      ...{ kind: "sweep", state: "running", started_at: 1000, runs: 1, parts: 3 },
      ranges: ["127.0.0.1-127.0.0.4"],
    });
  },
);

onEngines("the options of a scan name its campaign or its shard", async (db) => {
  await begin(db);
  const named = async () => {
    const [{ campaign, shard }] = await newestScans(db, 1);
    return [campaign, shard];
  };
  assertEquals(await named(), [null, null]);
  const configs: [string, unknown[]][] = [
    ['{"campaign":"lab","rate":"1k"}', ["lab", null]],
    ['{"shard":"2/4"}', [null, "2/4"]],
    ['{"campaign":5,"shard":["2/4"]}', [null, null]],
    ["[]", [null, null]],
  ];
  for (const [config, names] of configs) {
    await db.run("update scans set config = ?", [config]);
    assertEquals(await named(), names, config);
  }
});

onEngines("a scan of which only records were known gets its start", async (db) => {
  await writeCampaignBatch(db, { id: ID, records: [record(1)], parts: [] }, SCOPE);
  assertEquals((await newestScans(db, 1))[0].kind, "import");
  await begin(db, 2);
  const [{ kind, state, parts, started_at }] = await newestScans(db, 1);
  assertEquals([kind, state, parts, started_at], ["sweep", "running", 2, 1000]);
});

onEngines("the numbers of a scan are the sums over its parts, also while they run", async (db) => {
  await begin(db);
  setClock(db, 2200);
  const loss = { packetLoss: 0.5, rowsLost: 2 };
  await write(db, [
    running(1, 2000),
    running(2, 2000, {
      worker: "w2",
      numbers: { probesSent: 30, replies: 3, found: 2, position: 30, total: 110, ...loss },
    }),
  ]);
  const sums = async () => {
    const [{ probes_sent, replies, found, position, total, packet_loss, rows_lost }] =
      await newestScans(db, 1);
    return [probes_sent, replies, found, position, total, packet_loss, rows_lost];
  };
  // The third part has not begun: it counts as the mean of the others.
  assertEquals(await sums(), [40, 5, 3, 40, 315, 0.5, 2]);
  await write(db, [
    running(2, 2100, {
      numbers: { probesSent: 90, replies: 4, found: 2, position: 100, total: 110 },
    }),
    running(3, 2100, { numbers: { ...running(3, 0).numbers!, packetLoss: 0.25 } }),
  ]);
  assertEquals(await sums(), [110, 8, 4, 120, 310, 0.25, 0]);
  const [{ parts, parts_running, parts_done }] = await newestScans(db, 1);
  assertEquals([parts, parts_running, parts_done], [3, 3, 0]);
  const { running_parts, poisoned_parts } = await listedParts(db, ID);
  assertEquals(running_parts.map(({ worker, part }) => `${worker} ${part}`), [
    "w1 1",
    "w1 2",
    "w1 3",
  ]);
  assertEquals(poisoned_parts, []);
});

onEngines(
  "a part whose worker has not reported for 60 s is stale, and runs no more",
  async (db) => {
    await begin(db);
    await write(db, [running(1, 10_000), running(2, 20_000)]);
    const shown = async (now: number) => {
      setClock(db, now);
      const [{ parts_running, parts_stale }] = await newestScans(db, 1);
      const { running_parts } = await listedParts(db, ID);
      return [parts_running, parts_stale, ...running_parts.map(({ state }) => state)];
    };
    assertEquals(await shown(70_000), [2, 0, "running", "running"]);
    assertEquals(await shown(70_001), [1, 1, "stale", "running"]);
    assertEquals(await shown(80_001), [0, 2, "stale", "stale"]);
  },
);

onEngines(
  "reports that newer ones have overtaken change nothing, and a done part stays done",
  async (db) => {
    await begin(db);
    await write(db, [running(1, 2000), running(1, 1000, { worker: "old" })]);
    const [{ worker }] = (await listedParts(db, ID)).running_parts;
    assertEquals(worker, "w1");
    // The end of a part is reported by another way than its progress: an earlier stamp is no repetition.
    const done = {
      part: 1,
      state: "done",
      at: 1900,
      tries: 1,
      floods: { addresses: ["10.0.0.1"] },
    };
    await write(db, [{ ...done, state: "done" }, running(1, 5000), running(2, 2000)]);
    await write(db, [{ part: 1, state: "cancelled", at: 9000, tries: 9 }]);
    assertEquals(await states(db), ["1 done", "2 running"]);
    const rows = await all(
      db,
      "select worker, found, floods, done_at from scan_parts where part = 1",
    );
    assertEquals([rows[0].worker, rows[0].found, rows[0].done_at], ["w1", 1, 1900]);
    assertEquals(JSON.parse(String(rows[0].floods)), { addresses: ["10.0.0.1"] });
    const poisoned = { part: 2, state: "poisoned", at: 3000, tries: 5, why: "no route" } as const;
    await write(db, [{ ...poisoned }, running(2, 3500, { tries: 5 })]);
    assertEquals(await states(db), ["1 done", "2 poisoned"]);
    const [{ why, tries }] = (await listedParts(db, ID)).poisoned_parts;
    assertEquals([why, tries], ["no route", 5]);
    // A retry counts tries from 1, and a repeated message about the end of the tries before is old.
    await write(db, [running(2, 4000, { tries: 1 }), poisoned]);
    assertEquals(await states(db), ["1 done", "2 running"]);
  },
);

onEngines("repeated records of a scan add no observation, no event and no server", async (db) => {
  await write(db, [], [record(9, { seen_at: 1, scan_id: scanId(9) })]); // so the next scan tells
  await begin(db);
  const counts = async () => {
    const tables = ["servers", "observations", "events", "scan_servers"];
    const rows = await Promise.all(tables.map((t) => all(db, `select count(*) as n from ${t}`)));
    return rows.map(([{ n }]) => n);
  };
  const first = record(1, { players_online: 1 });
  const changed = record(1, { players_online: 2, motd: "other", seen_at: 1500 });
  await write(db, [running(1, 2000)], [first, record(2)]);
  assertEquals(await counts(), [3, 3, 3, 3]);
  await write(db, [running(1, 2000)], [first, record(2)]);
  assertEquals(await counts(), [3, 3, 3, 3]);
  await write(db, [], [changed]);
  const after = await counts();
  await write(db, [], [first, record(2)]); // older than what is stored
  await write(db, [], [changed, changed]);
  assertEquals(await counts(), after);
});

onEngines("records and states of parts are committed together or not at all", async (db) => {
  await begin(db);
  await db.script("alter table scan_parts rename to hidden");
  const failed = await write(db, [running(1, 2000)], [record(1)]).then(() => false, () => true);
  await db.script("alter table hidden rename to scan_parts");
  assertEquals(failed, true);
  assertEquals(await all(db, "select count(*) as n from servers"), [{ n: 0 }]);
  await write(db, [running(1, 2000)], [record(1)]);
  assertEquals(await all(db, "select count(*) as n from servers"), [{ n: 1 }]);
});

onEngines("hostile names of workers and reasons are stored harmlessly", async (db) => {
  await begin(db);
  await write(db, [running(1, 2000, { worker: "a\0\ud800'; drop table scans; --" })]);
  await write(db, [{ part: 2, state: "poisoned", at: 1, tries: 5, why: "\0\udfff" }]);
  const { running_parts: [{ worker }], poisoned_parts: [{ why }] } = await listedParts(db, ID);
  assertEquals([worker, why], ["a␀�'; drop table scans; --", "␀�"]);
  assertEquals(await listedParts(db, "no identity"), { running_parts: [], poisoned_parts: [] });
});
