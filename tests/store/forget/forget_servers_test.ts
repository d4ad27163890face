/**
 * Forgotten servers: what is removed, and that no later write restores them.
 *
 * Covers src/store/forget/ and src/store/database/other_transactions.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { ATTACHMENTS, type RecordWithAttachments } from "../../../src/core/record.ts";
import type { Database } from "../../../src/store/database/database.ts";
import {
  readOptedOutServers,
  readSharingServers,
  removeServers,
  removeTombstones,
  type ServerToForget,
  writeTombstones,
} from "../../../src/store/forget/forget_servers.ts";
import { removeAllOrphanedIcons } from "../../../src/store/forget/orphaned_icons.ts";
import { writeImportedRecords } from "../../../src/store/writers/import_writer.ts";
import { identityOf } from "../../../src/store/rows/identity.ts";
import { createTables, TABLE_NAMES } from "../../../src/store/schema/create_tables.ts";
import { Store } from "../../../src/store/store.ts";
import { rollUp } from "../../../src/store/uptime/roll_up.ts";
import { writeSpans } from "../../../src/store/uptime/watch_spans.ts";
import { all, connect, onEngines, postgresTest, storedServers } from "../databases.ts";
import { writePolled } from "../polls.ts";
import { forgettable, record, scanId, watchId } from "../records.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

const quick = (database: Database) => new Store(database, () => Promise.resolve());
const pause = () => Promise.resolve();
const keys = async (database: Database) =>
  (await all(database, "select key from servers order by key")).map(({ key }) => key);
const KNOWN = { online: true, missed_scans: 0, first_seen: 1, probed_at: 9_000_000 };
const NAMED = { requested_as: "play.example.org", alias_of: "127.0.0.1:2" };
const START = 1_700_000_000_000;

/** A server with rows in every table that has servers. */
function rich(port: number, icon: string, rest = {}): RecordWithAttachments {
  return {
    ...record(port, { seen_at: START, scan_id: watchId(1), players: ["Ann"], favicon_hash: icon }),
    ...rest,
    [ATTACHMENTS]: { replies: { raknet: { size: 1, data: "AA==" } }, icon: "AAAA" },
  };
}

async function forget(database: Database, ...servers: ServerToForget[]): Promise<boolean> {
  await writeTombstones(database, servers, Date.now());
  return await removeServers(database, servers, pause);
}

/** A server of the database, as the command finds it. */
async function named(database: Database, key: string): Promise<ServerToForget> {
  const [{ id }] = await database.rows("select id from servers where key = ?", [key]);
  const stored = (await storedServers(database)).find((one) => identityOf(one)!.key === key)!;
  return forgettable(stored, Number(id));
}

/** Two servers with rows in all tables. */
async function fill(database: Database): Promise<void> {
  const store = quick(database);
  await store.begin({ id: watchId(1), kind: "watch", at: START, config: "{}" });
  await store.write([rich(1, "a", NAMED), rich(2, "b"), rich(3, "b"), rich(4, "c")]);
  for (const port of [1, 2]) {
    const seen = rich(port, port === 1 ? "a" : "b", port === 1 ? NAMED : {});
    const [identity, scanId] = [identityOf(seen)!, watchId(1)];
    const one = { ...seen, seen_at: START + 5, motd: "changed" };
    const state = { identity, at: START + 5, record: one };
    await writePolled(database, [state], [{ ...state, scanId }]);
  }
  await database.transaction(() =>
    writeSpans(database, watchId(1), [{ startedAt: START, endedAt: START + 9_000_000 }])
  );
  await rollUp(database, { now: START + 200_000_000, between: pause });
  await database.run(
    "insert into dirty_hours select at, server, 0, 1 from rollups where hours = 1",
  );
}

onEngines("a forgotten server has no row in any table, and neither has its icon", async (db) => {
  await fill(db);
  const named1 = await named(db, "play.example.org:1");
  const columns = { servers: "id", favicons: "'1'" } as Record<string, string>;
  const rowsOf = async (id: number) => {
    const found: string[] = [];
    for (const table of TABLE_NAMES) {
      const hasServer = table === "servers" || (await db.rows(`select * from ${table} limit 1`))
        .some((row) => "server" in row);
      if (!hasServer) continue;
      const column = columns[table] ?? "server";
      if ((await db.rows(`select 1 as one from ${table} where ${column} = ?`, [id])).length > 0) {
        found.push(table);
      }
    }
    return found;
  };
  const everywhere = await rowsOf(named1.id!);
  assert(everywhere.length >= 9, everywhere.join());
  assert(await forget(db, named1));
  assertEquals(await rowsOf(named1.id!), []);
  assertEquals(await keys(db), ["127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4"]);
  assertEquals(await all(db, "select hash from favicons order by hash"), [
    { hash: "b" },
    { hash: "c" },
  ]);
  assert(await forget(db, await named(db, "127.0.0.1:2"), await named(db, "127.0.0.1:4")));
  assertEquals(await all(db, "select hash from favicons"), [{ hash: "b" }]);
  const sizes = "select distinct length(hash) as hash, length(subject) as subject from forgotten";
  assertEquals(await all(db, sizes), [{ hash: 32, subject: 32 }]);
});

onEngines("a forgotten server leaves none of its earlier icons", async (db) => {
  await fill(db);
  await quick(db).write([rich(1, "later", { ...NAMED, seen_at: START + 10 })]);
  const icons = () => all(db, "select hash from favicons order by hash");
  const others = [{ hash: "b" }, { hash: "c" }];
  assertEquals(await icons(), [{ hash: "a" }, ...others, { hash: "later" }]);
  assert(await forget(db, await named(db, "play.example.org:1")));
  assertEquals(await icons(), others);
});

onEngines("no range of a scan shows the address of a forgotten server", async (db) => {
  const range = (last: number, length = 1) => {
    const start = 0x7f000000 + last;
    return { start, end: start + length };
  };
  const store = quick(db);
  await store.begin({
    ...{ id: scanId(1), at: START, config: "{}" },
    addresses: {
      requested: [range(1), range(4, 2), range(7), range(9), { start: 1n, end: 2n }],
      excluded: [range(4)],
    },
  });
  await store.write([record(1), record(2), record(4, { host: "::1" })]);
  const ranges = async () =>
    (await all(db, "select first, last from scan_ranges order by excluded, first"))
      .map(({ first, last }) => first === last ? first : [first, last]);
  const [wide, other] = [["127.0.0.4", "127.0.0.5"], "127.0.0.9"];
  const unknown = forgettable(record(7, { host: "127.0.0.7" }));
  const inWide = forgettable(record(5, { host: "127.0.0.5" }));
  await forget(db, await named(db, "127.0.0.1:1"), await named(db, "[::1]:4"), inWide);
  assertEquals(await ranges(), ["127.0.0.1", wide, "127.0.0.7", other, "127.0.0.4"]);
  await forget(db, unknown, forgettable(record(1, { host: "127.0.0.4" })));
  assertEquals(await ranges(), ["127.0.0.1", wide, other]); // the address has another server
  await forget(db, await named(db, "127.0.0.1:2"));
  assertEquals(await ranges(), [wide, other]);
});

onEngines("an alias of a forgotten server no longer names it", async (db) => {
  await quick(db).write([record(1), record(2, { alias_of: "127.0.0.1:1" })]);
  await forget(db, await named(db, "127.0.0.1:1"));
  assertEquals((await storedServers(db)).map((one) => one.alias_of), [null]);
});

onEngines("import, rescan, watch and a redelivered batch do not restore a server", async (db) => {
  await fill(db);
  await forget(db, await named(db, "play.example.org:1"), await named(db, "127.0.0.1:2"));
  const again = async () => {
    const store = quick(db);
    await store.write([rich(1, "a", NAMED), rich(2, "b"), rich(4, "c")]); // as of a spill file
    await store.write([record(1, { seen_at: START + 900, scan_id: scanId(2) })]); // by address
    await store.write([record(9, { host: "127.0.0.7", requested_as: "play.example.org" })]);
    const moved = { host: "127.0.0.8", port: 1, requested_as: "Play.Example.org" };
    await store.write([record(1, moved)]); // by name, at another address
    await writeImportedRecords(db, [
      { ...rich(1, "a", NAMED), ...KNOWN },
      { ...record(2, { protocol: "", protocols: [] }), ...KNOWN },
    ], PROTOCOLS);
    const seen = rich(2, "b");
    const state = { identity: identityOf(seen)!, at: START + 5, record: seen };
    await writePolled(db, [state], [{ ...state, scanId: watchId(1) }]);
  };
  await again();
  const others = ["127.0.0.1:3", "127.0.0.1:4", "play.example.org:9"];
  assertEquals(await keys(db), others);
  assertEquals(
    await all(
      db,
      "select count(*) as n from observations where server not in (select id from servers)",
    ),
    [{ n: 0 }],
  );
  for (const missing of [undefined, "play.example.org:1"]) {
    assertEquals(await removeTombstones(db, ["play.example.org:1"]), missing);
  }
  assertEquals(await removeTombstones(db, ["127.0.0.1:2", "127.0.0.1:1"]), "127.0.0.1:1");
  await again();
  assertEquals(await keys(db), ["127.0.0.1:1", ...others, "play.example.org:1"].sort());
});

onEngines(
  "a server without a row can be forgotten, and the command undone by its address",
  async (db) => {
    assert(await forget(db, forgettable(record(1))));
    await quick(db).write([record(1, NAMED), record(2)]);
    assertEquals(await keys(db), ["127.0.0.1:2"]);
    assertEquals(await removeTombstones(db, ["127.0.0.1:1"]), undefined);
    await quick(db).write([record(1, NAMED)]);
    assertEquals(await keys(db), ["127.0.0.1:2", "play.example.org:1"]);
  },
);

onEngines("servers with one endpoint are written again after each of their names", async (db) => {
  const names = ["aa.example.org", "bb.example.org"];
  const scan = async () => {
    for (const name of names) await quick(db).write([record(1, { requested_as: name })]);
    return await keys(db);
  };
  const both = names.map((name) => `${name}:1`);
  for (const undone of [[both[0]], [both[1]], both, ["127.0.0.1:1"]]) {
    assertEquals(await scan(), both);
    const { id } = await named(db, both[1]);
    assert(await forget(db, ...await readSharingServers(db, [id!])));
    assertEquals(await scan(), []);
    assertEquals(await removeTombstones(db, undone), undefined);
  }
});

onEngines("the servers of opted-out addresses are found", async (db) => {
  await quick(db).write([record(1), record(2, { host: "::1" })]);
  await writePolled(db, [], [], { optOuts: [{ address: 1n, at: 5 }] });
  assertEquals((await readOptedOutServers(db)).map(({ key }) => key), ["[::1]:2"]);
});

onEngines("all servers of an endpoint are found by one of them", async (db) => {
  const other = record(1, { requested_as: "other.example.org" });
  await quick(db).write([record(1), record(2)]);
  await quick(db).write([record(1, NAMED), record(3)]);
  await quick(db).write([other]);
  const { id } = await named(db, "play.example.org:1");
  const found = await readSharingServers(db, [id!]);
  assertEquals(found.map(({ key }) => key), [
    "127.0.0.1:1",
    "play.example.org:1",
    "other.example.org:1",
  ]);
});

onEngines(
  "a link-local address in two zones is two endpoints, which are forgotten separately",
  async (db) => {
    const inZone = (zone: string, rest = {}) => record(1, { host: `fe80::1%${zone}`, ...rest });
    for (const written of [inZone("eth0"), inZone("eth1"), inZone("eth0", NAMED)]) {
      await quick(db).write([written]);
    }
    const { id } = await named(db, "[fe80::1%eth0]:1");
    const sharing = await readSharingServers(db, [id!]);
    const shared = ["[fe80::1%eth0]:1", "play.example.org:1"];
    assertEquals(sharing.map(({ key }) => key), shared);
    assert(await forget(db, ...sharing));
    assertEquals(await keys(db), ["[fe80::1%eth1]:1"]);
  },
);

onEngines("icons without a server are removed, and those of servers stay", async (db) => {
  await fill(db);
  await db.run("update servers set favicon_hash = null where key = '127.0.0.1:4'");
  assertEquals(await removeAllOrphanedIcons(db, pause), 1);
  assertEquals(await all(db, "select hash from favicons order by hash"), [
    { hash: "a" },
    { hash: "b" },
  ]);
});

postgresTest(
  "a server is forgotten although another program writes it at that moment",
  async (url) => {
    await using writer = await connect(url);
    await using remover = await connect(url);
    await createTables(writer);
    await quick(writer).write([record(1), record(2)]);
    const old = await named(writer, "127.0.0.1:1");
    const servers = [old, forgettable(record(3))];
    const looked = Promise.withResolvers<void>();
    let removing: Promise<boolean> | undefined;
    await writer.transaction(async () => {
      await writer.rows("select count(*) as n from forgotten"); // the writer has seen no mark
      await writeTombstones(remover, servers, Date.now());
      removing = removeServers(remover, servers, () => {
        looked.resolve();
        return new Promise<void>((resolve) => setTimeout(resolve));
      });
      await looked.promise;
      await writer.run(
        "insert into observations (at, server, scan, online) values (now(), ?, 1, false)",
        [old.id!],
      );
    });
    assertEquals(await removing, true);
    assertEquals(await all(writer, "select server from observations"), [{ server: 2 }]);
    assertEquals(await keys(writer), ["127.0.0.1:2"]);
    await quick(writer).write([record(1), record(3)]);
    assertEquals(await keys(writer), ["127.0.0.1:2"]);
  },
);
