/** Events of all kinds, after which each table has rows. */
import { ATTACHMENTS, type RecordWithAttachments } from "../../src/core/record.ts";
import type { BulkStatement, Database } from "../../src/store/database/database.ts";
import { writeImportedRecords } from "../../src/store/writers/import_writer.ts";
import { writeTombstones } from "../../src/store/forget/forget_servers.ts";
import { identityOf } from "../../src/store/rows/identity.ts";
import { writeEvents } from "../../src/store/events/write_events.ts";
import { rollUp } from "../../src/store/uptime/roll_up.ts";
import { sealHours } from "../../src/store/uptime/seal_hours.ts";
import { writeSpans } from "../../src/store/uptime/watch_spans.ts";
import { Store } from "../../src/store/store.ts";
import { outageAt, writePolled } from "./polls.ts";
import { forgettable, NASTY, record, scanId, watchId } from "./records.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

const NOW = 1_700_000_000_000;
const HOSTS = ["127.0.0.1", "255.255.255.255", "::1", "::102:304", "::ffff:1.2.3.4", "2001:db8::1"];

/** Servers with hostile values in every column that takes them. */
function hostile(at: number, scan: string): RecordWithAttachments[] {
  return NASTY.map((text, i) => ({
    ...record(100 + i, { host: HOSTS[i % HOSTS.length], seen_at: at, scan_id: scan }),
    motd: text,
    motd_plain: text,
    name: text,
    version: text,
    software: text,
    favicon_hash: text.slice(0, 100),
    players: [text],
    plugins: [{ name: text, version: null }],
    flags: [text.slice(0, 100)],
    extras: { query: { values: { [text]: text, ["__proto__"]: "x", b: "2", a: "1" } } },
    players_online: [2 ** 52, -1, 2 ** 31 - 1, null][i % 4],
    latency_ms: [0.1, 1e-300, 12.345678901234567, null][i % 4],
    [ATTACHMENTS]: { replies: { raknet: { size: 1, data: "AA==" } }, icon: "AAAA" },
  }));
}

/** Gives both databases the same salt. */
const SET_SALT: BulkStatement = {
  types: ["bytea"],
  sqlite: "update blocksweep_salt set salt = ?",
  postgres: "update blocksweep_salt set salt = ($1::bytea[])[1]",
};

/** A scan, a resumed one, a watch, an import and the end of a scan. */
export async function happen(database: Database): Promise<void> {
  await database.bulk(SET_SALT, [["00ff"]]);
  await database.run("update blocksweep_schema set identity = '00ff', collector = '00ff'");
  const store = new Store(database, () => Promise.resolve());
  const config = JSON.stringify({ b: ["x"], a: 1 });
  const whole = { start: 0, end: 2 ** 32 };
  const excluded = [{ start: 5, end: 7 }, { start: 9n, end: 10n }, { start: 6, end: 9 }];
  const addresses = { requested: [whole, { start: 0n, end: 1n << 128n }], excluded };
  await store.begin({ id: scanId(1), at: NOW, config, addresses });
  const rate = { rate: 1234.5, reason: "loss" };
  const numbers = { position: 2 ** 48, total: 2 ** 48, packetLoss: 0.1, rowsLost: 1, rate };
  const progress = { probesSent: 1, replies: 2, found: 3, ...numbers };
  await store.progress({ id: scanId(1), ...progress, endsAt: NOW + 0.5 });
  const named = { requested_as: "Play.Example.org" };
  const service = { requested_as: "bücher.example SRV mc.example.org:7" };
  await store.write([...hostile(NOW, scanId(1)), record(1, { ...named, seen_at: NOW })]);
  await store.write([record(7, { ...service, seen_at: NOW, joinable: true, players: ["Ann"] })]);
  await store.write(hostile(NOW + 5, scanId(1))); // as after a resumption
  const moved = record(1, { ...named, host: "127.0.0.9", seen_at: NOW + 10, scan_id: scanId(2) });
  await store.write([moved]);
  const identity = identityOf(moved)!;
  await store.begin({ id: watchId(1), kind: "watch", at: NOW, config: "{}" });
  const state = { identity, at: NOW + 20 };
  const polled = { ...moved, seen_at: NOW + 20, scan_id: watchId(1), players_online: 3 };
  const seen = { identity, scanId: watchId(1), at: NOW + 20, record: polled };
  const optOuts = [{ address: 5n, at: NOW }];
  await writePolled(database, [{ ...state, record: polled }], [seen], { optOuts });
  const failed = { ...state, at: NOW + 30, outage: outageAt(NOW + 30) };
  await writePolled(database, [failed], [{ ...seen, at: NOW + 30, record: undefined }]);
  const known = { online: true, missed_scans: 0, first_seen: NOW - 9, probed_at: NOW - 5 };
  await writeImportedRecords(
    database,
    [
      { ...record(7, { ...service, seen_at: NOW - 5 }), ...known },
      { ...record(8, { seen_at: NOW - 5, scan_id: "scan of others" }), ...known },
      { ...record(9, { seen_at: NOW - 5, scan_id: scanId(5) }), ...known, first_seen: -5 },
      { ...record(10, { protocol: "", protocols: [], scan_id: null }), ...known, online: false },
    ],
    PROTOCOLS,
    ["b", "é", "🎮"],
  );
  const data = { changes: Object.fromEntries(NASTY.map((text) => [text, [text, null]])) };
  await writeEvents(database, [{
    id: scanId(9),
    at: NOW,
    server: 1,
    scan: 1,
    kind: "changed",
    data,
  }]);
  const ranges = [whole, { start: 0n, end: 1n << 128n }];
  const counts = { probesSent: 1, replies: 2, found: 3, downAfter: 1, isComplete: true };
  await store.end({
    ...{ id: scanId(1), since: NOW + 100, at: NOW + 200, state: "finished", ...counts },
    ...{
      coverage: { ranges, includes: (_, port) => port < 103 },
      optOuts: [{ address: 9, at: 1 }],
    },
  });
  const time = database.engine === "postgres" ? "to_timestamp(0)" : "0";
  await database.script(
    "insert into webhook_positions (webhook, kinds, tx, seq, held_until) " +
      `values ('00', 'online', '0', 5, ${time})`,
  );
  await watchUptime(database);
  await writeTombstones(database, [forgettable(record(9))], NOW);
}

/** Uptime of the watch, and a row that comes late. */
async function watchUptime(database: Database): Promise<void> {
  const spans = [{ startedAt: NOW, endedAt: NOW + 9_000_000 }];
  await database.transaction(() => writeSpans(database, watchId(1), spans));
  const now = NOW + 90_000_000;
  await rollUp(database, { now, between: () => Promise.resolve() });
  await sealHours(database, NOW - 18_000_000);
  const seen = record(7, { seen_at: NOW + 100, scan_id: watchId(1), players_online: 3 });
  const identity = identityOf(seen)!;
  const late = { identity, scanId: watchId(1), at: NOW + 100, record: seen };
  await writePolled(database, [{ identity, at: NOW + 100, record: seen }], [late]);
}
