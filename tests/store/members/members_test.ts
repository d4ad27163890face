/** Covers src/store/members/members.ts and src/store/writers/scan_events.ts. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { ServerRecord } from "../../../src/core/record.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import type { Database } from "../../../src/store/database/database.ts";
import {
  countMembers,
  MEMBER_BITS,
  MEMBER_KINDS,
  noteMembers,
  packMembers,
  readMembers,
} from "../../../src/store/members/members.ts";
import { beginCampaignScan, writeCampaignBatch } from "../../../src/store/parts/campaign_scan.ts";
import { finishScan } from "../../../src/store/parts/finish_scan.ts";
import { removeServers, writeTombstones } from "../../../src/store/forget/forget_servers.ts";
import { writeImportedRecords } from "../../../src/store/writers/import_writer.ts";
import { identityOf } from "../../../src/store/rows/identity.ts";
import { writeImportSummary } from "../../../src/store/writers/scan_events.ts";
import { type ScanEndRow, Store } from "../../../src/store/store.ts";
import { all, onEngines } from "../databases.ts";
import { writePolled } from "../polls.ts";
import { forgettable, record, scanId } from "../records.ts";

const HOUR = 3_600_000;
const counts = { probesSent: 1, replies: 1, found: 1 };
const whole = { ranges: [{ start: 0, end: 2 ** 32 }], includes: () => true };

/** A time in SQL. */
const timeOf = ({ engine }: Database, at: number) =>
  engine === "postgres" ? `to_timestamp(${at / 1000})` : `${at}`;

const storeOf = (db: Database) => new Store(db, () => Promise.resolve());

/** Runs a scan that gets replies of ports. It begins at `hour`, and ends half an hour later. */
async function scan(
  db: Database,
  hour: number,
  ports: readonly number[],
  end: Partial<ScanEndRow> = {},
  of: (port: number) => Partial<ServerRecord> = () => ({}),
): Promise<void> {
  const [store, id, at] = [storeOf(db), scanId(hour), hour * HOUR];
  await store.begin({ id, at, config: "{}" });
  await store.write(
    ports.map((port) => record(port, { seen_at: at + 1, scan_id: id, ...of(port) })),
  );
  await store.end({
    ...{ id, since: at, at: at + HOUR / 2, state: "finished", downAfter: 2, coverage: whole },
    ...counts,
    ...end,
  });
}

/** The ports of a scan's servers by kind, without kinds that have none. */
async function members(db: Database, hour: number): Promise<Record<string, number[]>> {
  const [{ id }] = await db.rows("select id from scans where uuid = ?", [scanId(hour)]);
  const ports = new Map(
    (await all(db, "select id, port from servers")).map(({ id, port }) => [id, Number(port)]),
  );
  const found: Record<string, number[]> = {};
  const counted = await countMembers(db, Number(id));
  for (const kind of MEMBER_KINDS) {
    const list = (await readMembers(db, Number(id), kind)).map((server) => ports.get(server) ?? -1);
    assertEquals(counted[kind], list.length, kind);
    if (list.length > 0) found[kind] = list.sort((a, b) => a - b);
  }
  return found;
}

/** The events of a scan: kinds with ports, in the order of kinds and ports. */
async function events(db: Database, hour: number): Promise<string[]> {
  const rows = await db.rows(
    "select e.kind, s.port from events e join scans c on c.id = e.scan " +
      "left join servers s on s.id = e.server where c.uuid = ? order by e.kind, s.port",
    [scanId(hour)],
  );
  return rows.map(({ kind, port }) => port === null ? `${kind}` : `${kind} ${port}`);
}

const summaries = async (db: Database) =>
  (await all(db, "select data from events where kind = 'scan_summary' order by tx, seq"))
    .map(({ data }) => JSON.parse(String(data)));

onEngines("scans store what they saw of servers, and tell it once", async (db) => {
  await scan(db, 1, [1, 2, 3]);
  assertEquals(await members(db, 1), { found: [1, 2, 3], new: [1, 2, 3] });
  assertEquals(await events(db, 1), ["scan_summary"]); // the first scan of the database
  assertEquals(await summaries(db), [{ new: 3, back: 0, lost: 0, reported: 0, state: "finished" }]);
  const other = (port: number) => port === 2 ? { motd: "other" } : {};
  await scan(db, 2, [1, 2, 4], { packetLoss: 0.25 }, other);
  assertEquals(await members(db, 2), {
    ...{ found: [1, 2, 4], new: [4], changed: [2], missed: [3], lost: [3] },
  });
  assertEquals(await events(db, 2), ["changed 2", "lost 3", "new 4"]);
  const [{ data }] = await all(db, "select data from events where kind = 'lost'");
  assertEquals(JSON.parse(String(data)), { replied_at: HOUR + 1, packet_loss: 0.25 });
  await scan(db, 3, [1, 2, 4], {}, other);
  assertEquals(await members(db, 3), { found: [1, 2, 4], missed: [3] }); // it was lost before
  assertEquals(await events(db, 3), ["offline 3"]);
  await scan(db, 4, [1, 2, 3, 4], {}, other);
  assertEquals(await members(db, 4), { found: [1, 2, 3, 4], back: [3] });
  assertEquals(await events(db, 4), ["back 3"]); // and not online
  assertEquals((await summaries(db)).length, 1);
  assertEquals(await all(db, "select count(*) as n from scan_servers"), [{ n: 0 }]);
});

onEngines("a server that replies within an hour is online again, or nothing", async (db) => {
  const soon = (minute: number, downAfter: number): Partial<ScanEndRow> => ({
    ...{ downAfter, since: HOUR + minute * 60_000, at: HOUR + minute * 60_000 },
  });
  const times = (minute: number) => () => ({ seen_at: HOUR + minute * 60_000 });
  await scan(db, 1, [1, 2], soon(1, 2), times(1));
  await scan(db, 2, [1], soon(10, 1), times(10)); // port 2 is offline
  await scan(db, 3, [1, 2], soon(20, 2), times(20));
  assertEquals(await events(db, 3), ["online 2"]);
  assertEquals(await members(db, 3), { found: [1, 2] });
  await scan(db, 4, [1], soon(30, 2), times(30)); // port 2 is only missed
  await scan(db, 5, [1, 2], soon(40, 2), times(40));
  assertEquals(await events(db, 5), []);
  await scan(db, 6, [1], soon(50, 2), times(50));
  await scan(db, 7, [1, 2], soon(100, 2), times(100)); // exactly one hour after its last reply
  assertEquals(await events(db, 7), ["back 2"]);
});

onEngines("a scan tells of 100 servers at most, and counts the others", async (db) => {
  await scan(db, 1, [1, 2]);
  const ports = Array.from({ length: 100 }, (_, i) => 100 + i);
  await scan(db, 2, [1, 2, ...ports]);
  assertEquals((await events(db, 2)).length, 100);
  const more = ports.map((port) => port + 200);
  await scan(db, 3, [2, ...ports.slice(1), ...more]);
  const reported = await events(db, 3);
  assertEquals(reported.filter((event) => event.startsWith("new")).length, 100);
  assertEquals(reported.slice(100), ["scan_summary"]);
  assertEquals(await summaries(db), [
    { new: 2, back: 0, lost: 0, reported: 0, state: "finished" },
    { new: 100, back: 0, lost: 2, reported: 100, state: "finished" },
  ]);
  const [{ reported: number, members }] = await all(
    db,
    "select reported, members from scans where id = 3",
  );
  assertEquals([number, JSON.parse(String(members))], [100, {
    ...{ found: 200, new: 100, back: 0, changed: 0, missed: 2, lost: 2 },
  }]);
});

onEngines(
  "a server whose address opted out is neither new nor back if a scan writes it again",
  async (db) => {
    await scan(db, 1, [1, 2]);
    await scan(db, 2, [1, 2], { optOuts: [{ address: 0x7f000001, at: 2 * HOUR }] });
    const before = (await summaries(db)).length;
    await scan(db, 9, [1, 2, 3], {}, () => ({ motd: "other" }));
    assertEquals(await events(db, 9), []);
    assertEquals(await members(db, 9), { found: [1, 2, 3] });
    assertEquals((await summaries(db)).length, before);
  },
);

onEngines("a server that a scan did not ask is in none of its sets", async (db) => {
  await scan(db, 1, [1, 2, 3, 4]);
  const asked: (readonly [string, readonly string[]])[] = [];
  const coverage = {
    ranges: whole.ranges,
    includes: (_: unknown, port: number, protocols: readonly string[]) => {
      asked.push([`${port}`, protocols]);
      return port === 2;
    },
  };
  await scan(db, 2, [1], { coverage });
  assertEquals(await members(db, 2), { found: [1], missed: [2], lost: [2] });
  assertEquals(asked.map(([port]) => port), ["2", "3", "4"]);
  assertEquals(asked[0][1], ["raknet", "query"]);
  const elsewhere = { ranges: [{ start: 5, end: 9 }], includes: () => true };
  await scan(db, 3, [1], { coverage: elsewhere });
  assertEquals(await members(db, 3), { found: [1] });
  await scan(db, 4, [1], { coverage: undefined, state: "interrupted" }); // an early end
  assertEquals(await members(db, 4), { found: [1] });
  const optOuts = [{ address: 0x7f000001, at: 5 * HOUR }];
  await scan(db, 5, [1], { optOuts });
  assertEquals(await members(db, 5), { found: [1] });
  assertEquals((await events(db, 5)).filter((event) => !event.startsWith("opted_out")), []);
});

onEngines(
  "a scan misses servers that others polled meanwhile, and counts no failure",
  async (db) => {
    await scan(db, 1, [1, 2]);
    await storeOf(db).write([record(2, { seen_at: 2 * HOUR + 5, scan_id: scanId(9) })]);
    await scan(db, 2, [1]);
    assertEquals(await members(db, 2), { found: [1], missed: [2] });
    assertEquals(await events(db, 2), []);
    assertEquals(await all(db, "select sum(missed_scans) as n from server_state"), [{ n: 0 }]);
  },
);

onEngines("a scan counts a server that a watch polled in vain meanwhile", async (db) => {
  await scan(db, 1, [1, 2]);
  const identity = identityOf(record(2))!;
  await writePolled(db, [{ identity, at: 2.5 * HOUR }]);
  await scan(db, 2, [1]);
  assertEquals(await members(db, 2), { found: [1], missed: [2], lost: [2] });
  assertEquals(await events(db, 2), ["lost 2"]);
  assertEquals(await all(db, "select sum(missed_scans) as n from server_state"), [{ n: 1 }]);
});

onEngines("the end of a scan that is written twice counts each server once", async (db) => {
  await scan(db, 1, [1, 2, 3]);
  await scan(db, 1, [1, 2, 3]);
  await scan(db, 2, [1], { state: "interrupted" }); // killed before its state was finished
  await scan(db, 2, [1]);
  await scan(db, 2, [1]); // killed before its checkpoint was removed
  assertEquals(await members(db, 2), { found: [1], missed: [2, 3], lost: [2, 3] });
  assertEquals(await events(db, 2), ["lost 2", "lost 3"]);
  assertEquals(await all(db, "select sum(missed_scans) as n from server_state"), [{ n: 2 }]);
  assertEquals(await summaries(db), [{ new: 3, back: 0, lost: 0, reported: 0, state: "finished" }]);
});

onEngines("a resumed scan, and rows that come late, add to what the scan saw", async (db) => {
  await scan(db, 1, [1, 2, 3]);
  await scan(db, 2, [1], { state: "interrupted", coverage: undefined });
  assertEquals(await members(db, 2), { found: [1] });
  await scan(db, 2, [1, 2]);
  assertEquals(await members(db, 2), { found: [1, 2], missed: [3], lost: [3] });
  const late = record(3, { seen_at: 2 * HOUR + 9, scan_id: scanId(2) });
  await storeOf(db).write([late]); // from a spill file
  assertEquals(await members(db, 2), { found: [1, 2, 3] });
  assert(await packMembers(db, 2) > 0);
  assertEquals(await members(db, 2), { found: [1, 2, 3] });
  // An end that is written twice misses no server that was found.
  const again = { id: scanId(2), since: 2 * HOUR, at: 2.5 * HOUR, state: "finished" as const };
  await storeOf(db).end({ ...again, downAfter: 2, coverage: whole, ...counts });
  assertEquals(await members(db, 2), { found: [1, 2, 3] });
});

onEngines("a server that a retried part of a campaign finds is not missed", async (db) => {
  await scan(db, 1, [1, 2, 3, 4]);
  const id = scanId(2);
  const addresses = { requested: [], excluded: [] };
  await beginCampaignScan(db, { id, at: 2 * HOUR, parts: 2, config: "{}", addresses });
  const scope = {
    ...{ allProtocols: PROTOCOLS, protocols: ["raknet", "query"], follow: true, verify: false },
  };
  const part = (part: number, state: "done" | "poisoned" | "running", tries = 1, at = 1) => ({
    ...{ part, state, tries, worker: "w", at: 2 * HOUR + at },
    numbers: { ...counts, position: 1, total: 1, packetLoss: 0.5 },
  });
  const found = (port: number) => record(port, { seen_at: 2 * HOUR + 5, scan_id: id });
  const finish = () =>
    finishScan(db, {
      ...{ id, since: 2 * HOUR, at: 2.5 * HOUR, downAfter: 2 },
      coverage: (parts) => ({
        ranges: whole.ranges,
        includes: (_, port) => port < 4 && parts.some(({ part }) => part === 1),
      }),
    });
  const parts = [part(1, "done"), part(2, "poisoned", 5)];
  await writeCampaignBatch(db, { id, records: [found(1)], parts }, scope);
  assertEquals((await finish())?.state, "interrupted");
  assertEquals(await members(db, 2), { found: [1], missed: [2, 3], lost: [2, 3] });
  assertEquals(await events(db, 2), ["lost 2", "lost 3"]);
  const [{ data }] = await all(db, "select data from events where kind = 'lost'");
  assertEquals(JSON.parse(String(data)).packet_loss, 0.5);
  await writeCampaignBatch(
    db,
    { id, records: [found(3)], parts: [part(2, "running", 1, 7)] },
    scope,
  );
  await writeCampaignBatch(db, { id, records: [], parts: [part(2, "done", 1, 8)] }, scope);
  assertEquals((await finish())?.state, "finished");
  const { missed, lost, found: seen } = await members(db, 2);
  assertEquals([seen, missed, lost], [[1, 3], [2], [2]]); // 4 was not asked
});

onEngines(
  "a forgotten server is in no set, nor is another one that gets its number",
  async (db) => {
    await scan(db, 1, [1, 2, 3]);
    await scan(db, 2, [1]);
    const [{ id }] = await all(db, "select id from servers where port = 3");
    const forgotten = [forgettable(record(3), Number(id))];
    await writeTombstones(db, forgotten, 3 * HOUR);
    assert(await removeServers(db, forgotten, () => Promise.resolve()));
    assertEquals(await members(db, 1), { found: [1, 2], new: [1, 2] });
    assertEquals(await members(db, 2), { found: [1], missed: [2], lost: [2] });
    await scan(db, 3, [1, 3]); // 3 is still forgotten
    assertEquals(await members(db, 3), { found: [1], missed: [2] });
    assertEquals(await events(db, 3), ["offline 2"]);
    await scan(db, 4, [1, 4]);
    // PostgreSQL gives no number twice.
    if (db.engine === "sqlite") await db.run("update servers set id = ? where port = 4", [id]);
    assertEquals(await members(db, 1), { found: [1, 2], new: [1, 2] });
  },
);

onEngines("an import counts what it changes in one event", async (db) => {
  await scan(db, 1, [1, 2, 3]);
  await scan(db, 2, [1, 3]);
  const at = 5 * HOUR;
  const row = (port: number, online: boolean) => ({
    ...record(port, { seen_at: at, scan_id: null, motd: "other" }),
    ...{ online, missed_scans: online ? 0 : 3, first_seen: at, probed_at: at },
  });
  const rows = [row(1, true), row(2, true), row(3, false), row(4, true)];
  const counted = await writeImportedRecords(db, rows, PROTOCOLS);
  assertEquals(counted, { changed: 4, new: 1, back: 1, lost: 1 });
  const events = "select kind, server, scan, data from events where at > ? order by tx, seq";
  const later = async () => (await all(db, events.replace("?", timeOf(db, 4 * HOUR))));
  assertEquals(await later(), []);
  await writeImportSummary(db, counted);
  const [{ data, ...summary }] = await later();
  assertEquals(summary, { kind: "scan_summary", server: null, scan: null });
  assertEquals(JSON.parse(String(data)), { new: 1, back: 1, lost: 1, reported: 0 });
  await writeImportSummary(db, await writeImportedRecords(db, rows, PROTOCOLS)); // nothing changes
  assertEquals((await later()).length, 1);
});

/** Notes servers of many blocks for scan 1. */
async function noteMany(db: Database): Promise<number[]> {
  await storeOf(db).begin({ id: scanId(1), at: 1, config: "{}" });
  const servers = Array.from({ length: 12_000 }, (_, i) => 3 * i + 1);
  const rows = servers.map((server) => ({ server, what: MEMBER_BITS.found }));
  await db.transaction(() => noteMembers(db, 1, rows));
  return servers;
}

onEngines(
  "packing that ends after any page goes on later, and readers see no difference",
  async (db) => {
    const servers = await noteMany(db);
    const { found } = MEMBER_BITS;
    const stop = (pages: number) => async () => {
      assertEquals(await readMembers(db, 1, "found"), servers);
      if (--pages === 0) throw new Error("killed");
    };
    for (const pages of [1, 1]) {
      await assertRejects(() => packMembers(db, 1, stop(pages)), Error, "killed");
      assertEquals(await readMembers(db, 1, "found"), servers);
      assertEquals((await countMembers(db, 1)).found, servers.length);
    }
    const [{ n }] = await all(db, "select count(*) as n from scan_servers");
    assertEquals(n, 2000);
    assertEquals(await packMembers(db, 1), 2000);
    assertEquals(await readMembers(db, 1, "found"), servers);
    await db.transaction(() => noteMembers(db, 1, [{ server: 2, what: found }])); // a late row
    assertEquals((await readMembers(db, 1, "found")).slice(0, 3), [1, 2, 4]);
    assertEquals(await packMembers(db, 1), 1);
    assertEquals((await readMembers(db, 1, "found")).slice(0, 3), [1, 2, 4]);
  },
);

onEngines("a damaged set is an error that names the table", async (db) => {
  await noteMany(db);
  await packMembers(db, 1);
  await db.run(
    db.engine === "postgres"
      ? "update scan_sets set servers = '\\x0900' where block = 1"
      : "update scan_sets set servers = x'0900' where block = 1",
    [],
  );
  await assertRejects(() => readMembers(db, 1, "found"), Error, "scan_sets");
});
