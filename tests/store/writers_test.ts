/**
 * Several writers of one database: order of times, repeated transactions, columns of the owner.
 *
 * Covers src/store/rows/ and src/store/writers/.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { BulkStatement, Database, Value } from "../../src/store/database/database.ts";
import { identityOf } from "../../src/store/rows/identity.ts";
import {
  INSERT_OBSERVATION,
  observationValues,
  writeObservations,
} from "../../src/store/writers/observation_rows.ts";
import { writeImportedRecords } from "../../src/store/writers/import_writer.ts";
import { versionOf } from "../../src/store/rows/known_servers.ts";
import { writeUnanswered } from "../../src/store/rows/server_state.ts";
import { createTables } from "../../src/store/schema/create_tables.ts";
import { Store } from "../../src/store/store.ts";
import { all, connect, onEngines, postgresTest, setClock, storedServers } from "./databases.ts";
import { writePolled } from "./polls.ts";
import { record, scanId, watchId } from "./records.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

const DAY = 86_400_000;
const now = Date.now();
const quick = (database: Database) => new Store(database, () => Promise.resolve());
const motdOf = async (database: Database) => (await storedServers(database))[0].motd;

onEngines(
  "a row that a program with a clock a day ahead wrote can be replaced, and an older import replaces nothing",
  async (db) => {
    const store = quick(db);
    await store.write([record(1, { seen_at: now + DAY, motd: "ahead" })]);
    await store.write([record(1, { seen_at: now, motd: "right", scan_id: scanId(2) })]);
    assertEquals(await motdOf(db), "right");
    await store.write([record(1, { seen_at: now - DAY, motd: "late", scan_id: scanId(3) })]);
    assertEquals(await motdOf(db), "right");
    const past = { online: false, missed_scans: 9, first_seen: 5, probed_at: now - 365 * DAY };
    const old = record(1, { seen_at: now - 365 * DAY, motd: "old", scan_id: scanId(4) });
    await writeImportedRecords(db, [{ ...old, ...past }], PROTOCOLS);
    const [row] = await storedServers(db);
    assertEquals([row.motd, row.online, row.missed_scans, row.first_seen], ["right", true, 0, 5]);
    const identity = identityOf(row)!;
    const failed = { identity, at: now + DAY };
    await writePolled(db, [failed]);
    await writePolled(db, [{ ...failed, at: now + 1 }]);
    assertEquals((await storedServers(db))[0].probed_at, now + 1);
  },
);

onEngines("the next reply replaces a time of a change that lies in the future", async (db) => {
  const store = quick(db);
  await store.write([record(1, { seen_at: 1000 }), record(2, { seen_at: 1000 })]);
  const far = db.engine === "postgres" ? "'infinity'" : "900000000000000";
  const soon = db.engine === "postgres" ? "now() + interval '1 day'" : `${now + DAY}`;
  await db.script(
    `update servers set changed_at = case when port = 1 then ${far} else ${soon} end`,
  );
  setClock(db, 2000);
  await store.write([record(1, { seen_at: 2000 }), record(2, { seen_at: 2000 })]);
  assertEquals((await storedServers(db)).map((row) => row.changed_at), [2000, 2000]);
});

onEngines(
  "an unchanged server's row is not written again, and names when the server publishes them",
  async (db) => {
    const store = quick(db);
    const write = (seen_at: number, rest = {}) => {
      setClock(db, seen_at);
      return store.write([
        record(1, { seen_at, players: ["Ann"], scan_id: scanId(seen_at), ...rest }),
      ]);
    };
    const times = async () => {
      const [row] = await all(
        db,
        "select s.changed_at, p.seen_at as named_at, t.probed_at from servers s " +
          "join server_state t on t.server = s.id join server_players p on p.server = s.id",
      );
      return Object.values(row);
    };
    await write(1000);
    await write(2000, { players_online: 7 });
    assertEquals(await times(), [1000, 2000, 2000]);
    await write(3000, { players: null });
    assertEquals(await times(), [1000, 2000, 3000]);
  },
);

onEngines(
  "names of players replace only older ones, and keep their time in an import",
  async (db) => {
    const named = async () => {
      const [row] = await all(db, "select names, seen_at from server_players");
      return [JSON.parse(String(row.names)), row.seen_at];
    };
    const state = { online: true, missed_scans: 0, first_seen: 1 };
    const imported = (at: number, name: string, players_at?: number) =>
      writeImportedRecords(db, [
        {
          ...record(1, { seen_at: at, players: [name], motd: name }),
          ...state,
          probed_at: at,
          players_at,
        },
      ], PROTOCOLS);
    setClock(db, 9000);
    await imported(2000, "Ann", 500);
    assertEquals(await named(), [["Ann"], 500]);
    await quick(db).write([record(1, { seen_at: 3000, players: ["Bob"] })]);
    assertEquals(await named(), [["Bob"], 3000]);
    await imported(4000, "Ann", 500);
    assertEquals([await motdOf(db), ...await named()], ["Ann", ["Bob"], 3000]);
    await imported(5000, "Cid", 3500);
    assertEquals(await named(), [["Cid"], 3500]);
    await imported(6000, "Dan");
    assertEquals(await named(), [["Dan"], 6000]);
    setClock(db, 5500); // the names were written by a program whose clock was ahead
    await imported(7000, "Eve", 5400);
    assertEquals(await named(), [["Eve"], 5400]);
  },
);

onEngines(
  "a scan observes a server at first sight, and again when something changed",
  async (db) => {
    const store = quick(db);
    const write = (seen_at: number, rest = {}) => store.write([record(1, { seen_at, ...rest })]);
    await write(1000);
    await write(1001); // work that was done twice
    await write(1002, { players_online: 9 });
    await write(1003, { players_online: 9 });
    await write(1004, { players_online: 9, motd: "new" });
    assertEquals((await all(db, "select at from observations order by at")).map(({ at }) => at), [
      ...[1000, 1002, 1004],
    ]);
    await write(2000, { players_online: 9, motd: "new", scan_id: scanId(2) });
    assertEquals(await all(db, "select count(*) as n from observations"), [{ n: 4 }]);
  },
);

onEngines("no scan, watch or import touches the owner's tags and notes", async (db) => {
  const store = quick(db);
  await store.write([record(1)]);
  await db.run("update servers set notes = ?", ["call Ann"]);
  await db.run("insert into server_tags select 'friends', id from servers");
  await store.write([record(1, { seen_at: 2000, motd: "new" })]);
  const polled = record(1, { seen_at: 3000, motd: "newer", scan_id: watchId(1) });
  await writePolled(db, [{ identity: identityOf(polled)!, at: 3000, record: polled }]);
  const known = { online: true, missed_scans: 0, first_seen: 1, probed_at: 4000 };
  await writeImportedRecords(
    db,
    [{ ...record(1, { seen_at: 4000, motd: "newest" }), ...known }],
    PROTOCOLS,
  );
  assertEquals(
    await all(
      db,
      "select g.tag, s.notes, s.motd from servers s left join server_tags g on g.server = s.id",
    ),
    [
      { tag: "friends", notes: "call Ann", motd: "newest" },
    ],
  );
});

/** Registers a test of PostgreSQL with several connections. */
function onConnections(
  name: string,
  count: number,
  work: (databases: readonly Database[]) => Promise<void>,
): void {
  postgresTest(name, async (url) => {
    await using stack = new AsyncDisposableStack();
    const databases: Database[] = [];
    for (let i = 0; i < count; i++) databases.push(stack.use(await connect(url)));
    await createTables(databases[0]);
    await work(databases);
  });
}

onConnections(
  "a transaction that a deadlock ends runs again, as a whole",
  2,
  async ([one, two]) => {
    await one.script("create table turns (id integer primary key, n integer)");
    await one.script("insert into turns values (1, 0), (2, 0)");
    const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let runs = 0;
    const add = (database: Database, i: number) =>
      database.transaction(async () => {
        runs++;
        await database.run("update turns set n = n + 1 where id = ?", [1 + i]);
        both[i].resolve();
        await both[1 - i].promise;
        await database.run("update turns set n = n + 1 where id = ?", [2 - i]);
      });
    await Promise.all([add(one, 0), add(two, 1)]);
    assertEquals(await all(one, "select n from turns"), [{ n: 2 }, { n: 2 }]);
    assert(runs > 2, "there was no deadlock");
  },
);

onConnections(
  "a transaction is not repeated after an error that no other writer caused",
  1,
  async ([database]) => {
    let runs = 0;
    await assertRejects(
      () =>
        database.transaction(async () => {
          runs++;
          await database.run("select 1 / ?::integer", [0]);
        }),
      Error,
      "division by zero",
    );
    assertEquals(runs, 1);
  },
);

onConnections(
  "eight writers of the same servers end without an error, with each server once",
  8,
  async (databases) => {
    const ports = Array.from({ length: 300 }, (_, i) => i + 1);
    const shuffled = (seed: number) =>
      ports.toSorted((a, b) => (a * seed) % 311 - (b * seed) % 311);
    await Promise.all(databases.map(async (database, writer) => {
      const store = quick(database);
      for (let round = 1; round <= 6; round++) {
        const at = now + 100 * round + writer;
        const id = scanId(10 * writer + round);
        const records = shuffled(7 + 2 * writer + round).map((port) =>
          record(port, {
            seen_at: at,
            scan_id: id,
            motd: `of ${id}`,
            players: [id],
            players_online: round,
          })
        );
        if (writer % 2 === 0) await store.write(records);
        else {
          const polled = records.map((one) => {
            const identity = identityOf(one)!;
            return { identity, record: one, at, scanId: id };
          });
          await writePolled(database, polled, polled);
        }
      }
    }));
    const [database] = databases;
    const rows = await storedServers(database);
    assertEquals(rows.length, ports.length);
    // Each row is one writer's whole reply: the newest.
    const newest = scanId(76);
    for (const row of rows) {
      assertEquals([row.motd, row.scan_id, row.players], [`of ${newest}`, newest, [newest]]);
    }
    const counts =
      "select count(*) as n, count(distinct (server, scan)) as pairs from observations";
    assertEquals(await all(database, counts), [{ n: 8 * 6 * 300, pairs: 8 * 6 * 300 }]);
  },
);

onConnections(
  "each transaction may use another connection, as behind a pooler",
  1,
  async ([database]) => {
    const store = quick(database);
    await store.write([record(1)]);
    await database.script("discard all"); // what a pooler may do between two transactions
    await store.write([record(1, { seen_at: 2000 }), record(2)]);
    assertEquals((await storedServers(database)).length, 2);
    const kept = await all(database, "select count(*) as n from pg_prepared_statements");
    assertEquals(kept, [{ n: 0 }]);
  },
);

onEngines("all writers insert observations in the order of servers and times", async (db) => {
  await quick(db).write([1, 2, 3].map((port) => record(port)));
  const inserted: unknown[] = [];
  const { bulk } = db;
  Object.assign(db, {
    bulk(statement: BulkStatement, rows: readonly Value[][]) {
      if (statement === INSERT_OBSERVATION) {
        inserted.push(...rows.map(([server, at]) => [server, at]));
      }
      return bulk.call(db, statement, rows);
    },
  });
  const keys = [[3, 7], [1, 9], [2, 5], [1, 4], [2, 8], [1, 6]];
  await writeObservations(
    db,
    keys.map(([server, at]) => observationValues({ server, at, scan: 1 }, 1)),
  );
  assertEquals(inserted.splice(0), [[1, 4], [1, 6], [1, 9], [2, 5], [2, 8], [3, 7]]);
  // Neither a reply to an unknown scan nor a server that never replied is observed.
  await quick(db).write([record(4, { scan_id: "no identity" })]);
  const state = { online: false, missed_scans: 0, first_seen: 5, probed_at: 9 };
  const silent = { ...record(5, { protocol: "", protocols: [], scan_id: scanId(2) }), ...state };
  await writeImportedRecords(db, [silent], PROTOCOLS);
  assertEquals([inserted, (await storedServers(db)).length], [[], 5]);
});

onEngines(
  "failures of servers are written in the order of servers, and not for a server that is gone",
  async (db) => {
    await quick(db).write([1, 2, 3].map((port) => record(port)));
    const [{ version }] = await all(db, `select ${versionOf(db)} as version from server_state t`);
    const written: unknown[] = [];
    const { bulk } = db;
    Object.assign(db, {
      bulk(statement: BulkStatement, rows: readonly Value[][]) {
        written.push(...rows.map((row) => row[3]));
        return bulk.call(db, statement, rows);
      },
    });
    const failed = (id: number, missedScans: number, at: number) => (
      { id, online: missedScans < 3, missedScans, at, version: String(version) }
    );
    const servers = [failed(3, 4, 8000), failed(1, 2, 7000), failed(2, 3, NaN)];
    await db.transaction(() => writeUnanswered(db, servers));
    assertEquals(written, [1, 2, 3]);
    const states = await all(
      db,
      "select server, online, missed_scans, probed_at from server_state order by server",
    );
    assertEquals(states.map((row) => Object.values(row)), [
      ...[[1, 1, 2, 7000], [2, 0, 3, 0], [3, 0, 4, 8000]],
    ]);
    await assertRejects(
      () => writeUnanswered(db, [failed(9, 1, 9000)]),
      Error,
      "keep changing the same servers",
    );
  },
);
