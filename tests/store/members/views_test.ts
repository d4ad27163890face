/** Covers src/store/members/views.ts. */
import { assertEquals } from "@std/assert";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { countMembers } from "../../../src/store/members/members.ts";
import { readViews } from "../../../src/store/members/views.ts";
import { beginCampaignScan, writeCampaignBatch } from "../../../src/store/parts/campaign_scan.ts";
import { finishScan } from "../../../src/store/parts/finish_scan.ts";
import type { ServerRecord } from "../../../src/core/record.ts";
import { newestScans } from "../../../src/store/scans/scan_list.ts";
import { all, onEngines } from "../databases.ts";
import { record, scanId } from "../records.ts";

const ID = scanId(2);
const SCOPE = {
  ...{ allProtocols: PROTOCOLS, protocols: ["raknet", "query"], follow: true, verify: false },
};
const numbers = { probesSent: 1, replies: 1, found: 1, position: 1, total: 1 };

onEngines("servers that only some vantages saw are counted by vantage and network", async (db) => {
  const addresses = { requested: [], excluded: [] };
  await beginCampaignScan(db, { id: ID, at: 5000, parts: 2, config: "{}", addresses });
  const at = (host: string, port: number, more: Partial<ServerRecord> = {}) =>
    record(port, { host, scan_id: ID, seen_at: 6000, ...more });
  const [one, two] = [at("10.1.0.1", 1), at("10.1.0.2", 1)];
  const [far, six] = [at("10.2.0.1", 2), at("2001:db8:1::1", 2)];
  const write = (vantage: string, records: readonly ServerRecord[]) =>
    writeCampaignBatch(db, { id: ID, vantage, records, parts: [] }, SCOPE);
  assertEquals(await readViews(db, ID), undefined);
  await write("lon", [one, two, far]);
  await write("fra", [one]);
  await write("fra", [{ ...one, seen_at: 6500 }]);
  await write("nyc", [six]);
  // A running scan has servers that were seen, and its members are counted as those of other scans.
  const [{ id: scan }] = await all(db, "select id from scans");
  assertEquals((await countMembers(db, Number(scan))).found, 4);
  const none = { only: 0, unseen: 0 };
  assertEquals(await readViews(db, ID), {
    vantages: [
      { ...none, vantage: "fra", seen: 1 },
      { ...none, vantage: "lon", seen: 3 },
      { ...none, vantage: "nyc", seen: 1 },
    ],
    networks: [],
  });
  const parts = [1, 2].map((part) => ({
    ...{ part, state: "done" as const, at: 7000, tries: 1, numbers, worker: "w" },
  }));
  await writeCampaignBatch(db, { id: ID, records: [], parts }, SCOPE);
  // Port 1 is part 1, which lon and fra have scanned; port 2 is part 2, of lon and nyc.
  const finish = () =>
    finishScan(db, {
      ...{ id: ID, since: 5000, at: 9000, downAfter: 1 },
      coverage: () => ({ ranges: [], includes: () => false }),
      views: () => ({ port }) => port === 1 ? ["lon", "fra"] : ["lon", "nyc"],
    });
  assertEquals((await finish())?.state, "finished");
  const ended = {
    vantages: [
      { vantage: "fra", seen: 1, only: 0, unseen: 1 },
      { vantage: "lon", seen: 3, only: 2, unseen: 1 },
      { vantage: "nyc", seen: 1, only: 1, unseen: 1 },
    ],
    networks: [
      { network: "10.1.0.0/16", vantage: "fra", seen: 1, only: 0, unseen: 1 },
      { network: "10.2.0.0/16", vantage: "nyc", seen: 0, only: 0, unseen: 1 },
      { network: "2001:db8::/32", vantage: "lon", seen: 0, only: 0, unseen: 1 },
    ],
  };
  assertEquals(await readViews(db, ID), ended);
  const [{ members }] = await newestScans(db, 1);
  assertEquals(members, { found: 4, new: 4, back: 0, changed: 0, missed: 0, lost: 0 });
  assertEquals(await countMembers(db, Number(scan)), members);
});
