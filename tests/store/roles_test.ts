/**
 * The permissions that docs/database.md grants to roles of PostgreSQL, and writers with wrong
 * clocks.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Database } from "../../src/store/database/database.ts";
import { removeServers, writeTombstones } from "../../src/store/forget/forget_servers.ts";
import { identityOf } from "../../src/store/rows/identity.ts";
import { selectServers } from "../../src/store/server_queries.ts";
import { createTables } from "../../src/store/schema/create_tables.ts";
import { Store } from "../../src/store/store.ts";
import { rollUp } from "../../src/store/uptime/roll_up.ts";
import { removeHours, sealHours } from "../../src/store/uptime/seal_hours.ts";
import { writeSpans } from "../../src/store/uptime/watch_spans.ts";
import { isOptedOut } from "../../src/web/data/named_servers.ts";
import { all, connect, postgresTest } from "./databases.ts";
import { writePolled } from "./polls.ts";
import { forgettable, record, scanId } from "./records.ts";
import { withRoles } from "./roles.ts";

postgresTest(
  "each role has the permissions in docs/database.md, and none of another role",
  async (url) => {
    await using owner = await connect(url);
    await createTables(owner);
    await withRoles(owner, async ({ writer, reader }) => {
      await as(owner, writer, async () => {
        await createTables(owner); // as each command that writes does
        const store = new Store(owner, () => Promise.resolve());
        const addresses = { requested: [{ start: 5, end: 7 }], excluded: [{ start: 5, end: 6 }] };
        await store.begin({ id: scanId(1), at: 1, config: "{}", addresses });
        await store.progress({ id: scanId(1), probesSent: 1, replies: 1, found: 1 });
        await store.write([record(1, { players: ["Ann"], flags: ["a"] })]);
        await store.write([record(1, { motd: "new", seen_at: 2000, players: null })]);
        const seen = record(1, { seen_at: 3000 });
        const polled = { identity: identityOf(seen)!, record: seen, at: 3000 };
        await writePolled(owner, [polled], [], { optOuts: [{ address: 5, at: 1 }] });
        const spans = [{ startedAt: 1, endedAt: 3_600_000 }];
        await owner.transaction(() => writeSpans(owner, scanId(1), spans));
        const between = () => Promise.resolve();
        await rollUp(owner, { between });
        await removeHours(owner, await sealHours(owner, 3_600_000), between);
        const forgotten = forgettable(record(2), 2);
        await store.write([record(2, { favicon_hash: "a" })]);
        await writeTombstones(owner, [forgotten], 1);
        assert(await removeServers(owner, [forgotten], between));
        const counts = { downAfter: 3, probesSent: 1, replies: 1, found: 1 };
        await store.end({
          id: scanId(1),
          since: 1,
          at: 2,
          state: "finished",
          isComplete: true,
          ...counts,
        });
        await assertRejects(() => owner.script("drop table servers"), Error, "must be owner");
        const version = "delete from blocksweep_schema";
        await assertRejects(() => owner.script(version), Error, "permission denied");
      });
      await as(owner, reader, async () => {
        const servers = await Array.fromAsync(selectServers(owner, { sort: "players" }));
        assertEquals(servers.length, 1);
        assertEquals(await isOptedOut(owner, "0.0.0.5"), true);
        await owner.run("update servers set notes = ?", ["b"]);
        await owner.script("insert into server_tags select 'a', id from servers");
        await owner.script("delete from server_tags");
        for (
          const sql of [
            "select salt from blocksweep_salt",
            "select hash from forgotten",
            "select data from replies",
            "select webhook from webhook_positions",
            "update servers set motd = 'x'",
            "delete from observations",
            "insert into opt_outs values ('127.0.0.1', now())",
          ]
        ) await assertRejects(() => owner.script(sql), Error, "permission denied");
      });
    });
  },
);

async function as(database: Database, role: string, work: () => Promise<void>): Promise<void> {
  await database.script(`set role ${role}`);
  try {
    await work();
  } finally {
    await database.script("reset role");
  }
}

postgresTest(
  "a writer whose clock is wrong by a day uses the time of the PostgreSQL server",
  async (url) => {
    const DAY = 86_400_000;
    const now = Date.now;
    const near = (at: unknown, time: number) => Math.abs(Number(at) - time) < 10_000;
    try {
      for (const ahead of [DAY, -DAY, 30_000]) {
        Date.now = () => now() + ahead;
        await using database = await connect(url);
        await createTables(database);
        const isCorrected = Math.abs(ahead) === DAY;
        assert(near(database.clockOffsetMs, isCorrected ? -ahead : 0), String(ahead));
        const store = new Store(database, () => Promise.resolve());
        await store.begin({ id: scanId(1), at: Date.now(), config: "{}" });
        await store.write([record(1, { seen_at: Date.now(), motd: String(ahead) })]);
        const expected = now() + (isCorrected ? 0 : ahead);
        const [row] = await all(
          database,
          "select s.motd, t.probed_at from servers s join server_state t on t.server = s.id",
        );
        assertEquals(row.motd, String(ahead));
        assert(near(row.probed_at, expected), `${row.probed_at} is not near ${expected}`);
      }
    } finally {
      Date.now = now;
    }
  },
);

postgresTest(
  "a clock that is set while a writer is connected is noticed with the next transaction",
  async (url) => {
    const DAY = 86_400_000;
    const now = Date.now;
    try {
      Date.now = () => now() + DAY;
      await using database = await connect(url);
      await createTables(database);
      for (
        const [ahead, corrected] of [[0, 0], [-DAY, DAY], [50_000 - DAY, DAY], [30_000, 0]]
      ) {
        Date.now = () => now() + ahead;
        await database.transaction(() => database.rows("select 1"));
        const wrong = database.clockOffsetMs - corrected;
        assert(Math.abs(wrong) < 10_000, `${ahead}: wrong by ${wrong} ms`);
      }
    } finally {
      Date.now = now;
    }
  },
);
