/** SQLite and PostgreSQL hold the same after the same events. */
import { assert, assertEquals } from "@std/assert";
import { ATTACHMENTS, type RecordWithAttachments } from "../../src/core/record.ts";
import { formatAddress } from "../../src/core/address.ts";
import { canonicalHost } from "../../src/store/rows/addresses.ts";
import type { BulkStatement, Database, Row } from "../../src/store/database/database.ts";
import { writeImportedRecords } from "../../src/store/import_writer.ts";
import { writeTombstones } from "../../src/store/forget/forget_servers.ts";
import { identityOf } from "../../src/store/rows/identity.ts";
import { writeEvents } from "../../src/store/events/write_events.ts";
import { createTables, TABLE_NAMES } from "../../src/store/schema/create_tables.ts";
import { rollUp } from "../../src/store/uptime/roll_up.ts";
import { sealHours } from "../../src/store/uptime/seal_hours.ts";
import { writeSpans } from "../../src/store/uptime/watch_spans.ts";
import { Store } from "../../src/store/store.ts";
import { openSqlite } from "../../src/store/database/sqlite.ts";
import { connect, SERVER, withPostgres } from "./databases.ts";
import { outageAt, writePolled } from "./polls.ts";
import { NASTY, record, scanId, watchId } from "./records.ts";

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
  sqlite: "update blocksweep_schema set salt = unhex(?)",
  postgres: "update blocksweep_schema set salt = ($1::bytea[])[1]",
};

/** A scan, a resumed one, a watch, an import and the end of a scan. */
async function happen(database: Database): Promise<void> {
  await database.bulk(SET_SALT, [["00ff"]]);
  const store = new Store(database, () => Promise.resolve());
  const config = JSON.stringify({ b: ["x"], a: 1 });
  const whole = { start: 0, end: 2 ** 32 };
  const excluded = [{ start: 5, end: 7 }, { start: 9n, end: 10n }, { start: 6, end: 9 }];
  const addresses = { asked: [whole, { start: 0n, end: 1n << 128n }], excluded };
  await store.begin({ id: scanId(1), at: NOW, shards: 2, config, addresses });
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
  await store.begin({ id: watchId(1), kind: "watch", at: NOW, shards: 1, config: "{}" });
  const state = { identity, at: NOW + 20 };
  const polled = { ...moved, seen_at: NOW + 20, scan_id: watchId(1), players_online: 3 };
  const seen = { identity, scanId: watchId(1), at: NOW + 20, record: polled };
  const optOuts = [{ address: 5n, at: NOW }];
  await writePolled(database, [{ ...state, record: polled }], [seen], { optOuts });
  const failed = { ...state, at: NOW + 30, outage: outageAt(NOW + 30) };
  await writePolled(database, [failed], [{ ...seen, at: NOW + 30, record: undefined }]);
  const known = { online: true, missed_scans: 0, first_seen: NOW - 9, last_seen: NOW - 5 };
  await writeImportedRecords(database, [
    { ...record(7, { ...service, seen_at: NOW - 5 }), ...known },
    { ...record(8, { seen_at: NOW - 5, scan_id: "scan of others" }), ...known },
    { ...record(9, { seen_at: NOW - 5, scan_id: scanId(5) }), ...known, first_seen: -5 },
    { ...record(10, { protocol: "", protocols: [], scan_id: null }), ...known, online: false },
  ]);
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
  const counts = { probesSent: 1, replies: 2, found: 3, downAfter: 1, shard: 1 };
  await store.end({
    ...{ id: scanId(1), since: NOW + 100, at: NOW + 200, state: "finished", ...counts },
    ...{
      coverage: { ranges, includes: (_, port) => port < 103 },
      optOuts: [{ address: 9, at: 1 }],
    },
  });
  await watchUptime(database);
  const forgotten = { ...identityOf(record(9))!, id: undefined };
  await writeTombstones(database, [forgotten], NOW);
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

/** Columns that only one engine has, or whose values are random or the engine's own. */
const IN_ONE_ENGINE = new Set([
  "servers.address_sort",
  "events.tx",
  "events.seq",
  "events.id",
  "scans.heartbeat_at",
]);

/** All rows of a table, each value in one form for both engines. */
async function contentOf(database: Database, table: string): Promise<Row[]> {
  const rows = await database.rows(`select * from ${table}`);
  const values = rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).filter(([name]) => !IN_ONE_ENGINE.has(`${table}.${name}`)).sort()
        .map(([name, value]) => [name, inOneForm(table, name, value)]),
    )
  );
  return values.sort((a, b) => JSON.stringify(a) < JSON.stringify(b) ? -1 : 1) as Row[];
}

const JSON_COLUMNS = new Set([
  "config",
  "protocols",
  "plugins",
  "flags",
  "extras",
  "tags",
  "names",
  "players",
]);

function inOneForm(table: string, name: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return value.toHex();
  if (typeof value !== "string") return value;
  if (["address", "first", "last"].includes(name)) return canonicalHost(value);
  const isJson = JSON_COLUMNS.has(name) || table === "events" && name === "data";
  return isJson ? JSON.parse(value) : value;
}

Deno.test("every table has rows after the events of the test, and all JSON in them can be read", async () => {
  await using database = openSqlite(":memory:");
  await createTables(database);
  await happen(database);
  for (const table of [...TABLE_NAMES, "server_list"]) {
    const rows = await contentOf(database, table);
    assert(rows.length > 0, table);
  }
  for (const [column, table] of [["extras", "servers"], ["names", "server_players"]]) {
    const sql = `select count(*) as n from ${table}, json_tree(${column})`;
    assert(Number((await database.rows(sql))[0].n) > 0);
  }
});

Deno.test({
  name: "SQLite and PostgreSQL hold the same after the same events",
  ignore: SERVER === undefined,
  fn: () =>
    withPostgres(SERVER!, async (url) => {
      await using postgres = await connect(url);
      await using sqlite = openSqlite(":memory:");
      for (const database of [postgres, sqlite]) {
        await createTables(database);
        await happen(database);
      }
      for (const table of [...TABLE_NAMES, "server_list"]) {
        assertEquals(await contentOf(postgres, table), await contentOf(sqlite, table), table);
      }
      const paths = "select count(*) as n from servers, jsonb_path_query(extras, '$.**') as node";
      assert(Number((await postgres.rows(paths))[0].n) > 0);
    }),
});

Deno.test({
  name: "PostgreSQL's forms of addresses are read in the canonical form",
  ignore: SERVER === undefined,
  fn: () =>
    withPostgres(SERVER!, async (url) => {
      await using database = await connect(url);
      const groups = [0n, 1n, 0xffffn, 0x1020n];
      for (let i = 0; i < 4096; i++) {
        let address = 0n;
        for (let at = 0; at < 8; at++) address = address << 16n | groups[(i >> at * 1.5) & 3];
        const text = formatAddress(address);
        const [row] = await database.rows("select ?::inet as address", [text]);
        assertEquals(canonicalHost(String(row.address)), text);
      }
    }),
});
