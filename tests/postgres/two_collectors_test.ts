/** Programs that write one scan in parts at the same time (src/store/parts/campaign_scan.ts). */
import { assertEquals } from "@std/assert";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import type { Database } from "../../src/store/database/database.ts";
import { beginCampaignScan, writeCampaignBatch } from "../../src/store/parts/campaign_scan.ts";
import { finishScan } from "../../src/store/parts/finish_scan.ts";
import type { PartUpdate } from "../../src/store/parts/scan_parts.ts";
import { writeScanRecords } from "../../src/store/writers/scan_writer.ts";
import { newestScans } from "../../src/store/scans/scan_list.ts";
import { createTables } from "../../src/store/schema/create_tables.ts";
import { all } from "../store/databases.ts";
import { record, scanId } from "../store/records.ts";
import { onEngines, type TestedDatabase } from "./tested_databases.ts";

const ID = scanId(2);
const SCOPE = {
  ...{ allProtocols: PROTOCOLS, protocols: ["raknet", "query"], follow: true, verify: false },
};
const [PARTS, PER_PART] = [8, 100];

/** A part's end, and its records. Every second server was known; every third one replied. */
function partOf(part: number) {
  const ports = Array.from({ length: PER_PART }, (_, i) => part * PER_PART + i);
  const records = ports.filter((port) => port % 3 === 0)
    .map((port) => record(port, { scan_id: ID, seen_at: 6000 }));
  const numbers = { probesSent: PER_PART, replies: 1, found: records.length };
  const done: PartUpdate = { part, state: "done", at: 7000, tries: 1, worker: `w${part}`, numbers };
  return { records, done };
}

/** Writes all parts, each in two batches, and tries to end the scan after each. */
async function collect(database: Database): Promise<number> {
  const config = { id: ID, at: 5000, parts: PARTS, config: "{}" };
  await beginCampaignScan(database, { ...config, addresses: { requested: [], excluded: [] } });
  let ends = 0;
  for (let part = 1; part <= PARTS; part++) {
    const { records, done } = partOf(part);
    const running = { ...done, state: "running", at: 6500 } as const;
    await writeCampaignBatch(database, { id: ID, records, parts: [running] }, SCOPE);
    await writeCampaignBatch(database, { id: ID, records, parts: [done] }, SCOPE);
    const ended = await finishScan(database, {
      ...{ id: ID, since: 5000, at: 9000, downAfter: 1 },
      coverage: (parts) => ({
        ranges: [{ start: 0x7f000001, end: 0x7f000002 }],
        includes: (_, port) => parts.some((one) => one.part === Math.floor(port / PER_PART)),
      }),
    });
    if (ended !== undefined) ends++;
  }
  return ends;
}

async function collectTwice({ open }: TestedDatabase): Promise<void> {
  await using first = await open();
  await createTables(first);
  await using second = await open();
  const ports = Array.from({ length: PARTS * PER_PART }, (_, i) => PER_PART + i);
  const known = ports.filter((port) => port % 2 === 0);
  await writeScanRecords(first, known.map((port) => record(port)));
  const ends = await Promise.all([collect(first), collect(second)]);
  assertEquals(ends.toSorted(), [0, 1]);
  const replied = ports.filter((port) => port % 3 === 0);
  const missing = known.filter((port) => port % 3 !== 0);
  const [scan] = await newestScans(first, 1);
  assertEquals([scan.state, scan.runs, scan.parts_done], ["finished", 1, PARTS]);
  assertEquals([scan.probes_sent, scan.found], [PARTS * PER_PART, replied.length]);
  const counted = await all(
    first,
    "select s.port from servers s join server_state t on t.server = s.id " +
      "where t.missed_scans = 1 order by s.port",
  );
  assertEquals(counted.map(({ port }) => port), missing);
  const observed = await all(
    first,
    "select o.online, count(*) as n, count(distinct o.server) as servers from observations o " +
      `join scans c on c.id = o.scan where c.uuid = '${ID}' group by o.online order by o.online`,
  );
  assertEquals(observed, [
    { online: 0, n: missing.length, servers: missing.length },
    { online: 1, n: replied.length, servers: replied.length },
  ]);
}

onEngines(
  "two programs write and end one scan in parts at the same time, and each server counts once",
  { sqlite: 0x7f440000, postgres: 0x7f440100 },
  collectTwice,
);
