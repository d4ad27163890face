/** Covers src/store/remove_old_rows.ts: rows of more servers than one transaction removes. */
import { assertEquals } from "@std/assert";
import { systemClock } from "../../src/net/clock.ts";
import { type Database, timeParameter } from "../../src/store/database/database.ts";
import {
  packAbandonedScans,
  removePlayers,
  removeReplies,
} from "../../src/store/remove_old_rows.ts";
import { Store } from "../../src/store/store.ts";
import { all, onEngines } from "./databases.ts";
import { scanId } from "./records.ts";

const DAY = 86_400_000;
/** Number of servers: as many as two transactions remove. */
const SERVERS = 10_000;

/** SQL of a table with the numbers of all servers. */
const NUMBERS =
  `(with recursive n (id) as (select 1 union all select id + 1 from n where id < ${SERVERS}) ` +
  "select id from n) n";

/** How rows are removed, and how often `between` was called. `cancelsAt`: the call that cancels the rest. */
function removing(cancelsAt = Infinity) {
  const controller = new AbortController();
  const how = {
    pauses: 0,
    signal: controller.signal,
    async between() {
      await systemClock.yieldToEvents(); // pauses that are not awaited are not counted
      if (++how.pauses === cancelsAt) controller.abort();
    },
  };
  return how;
}

const count = async (database: Database, table: string) =>
  Number((await all(database, `select count(*) as n from ${table}`))[0].n);

onEngines(
  "servers of scans that are unfinished and wrote nothing for 30 days are packed",
  async (db) => {
    const store = new Store(db, () => Promise.resolve());
    for (const n of [1, 2, 3]) await store.begin({ id: scanId(n), at: 1000, config: "{}" });
    const now = 100 * DAY;
    const heartbeat = `update scans set heartbeat_at = ${timeParameter(db)} where id = ?`;
    await db.run(heartbeat, [now - 30 * DAY - 1, 1]);
    await db.run(heartbeat, [now - 30 * DAY, 2]);
    await db.run("update scans set heartbeat_at = null where id = ?", [3]); // started at 1000
    for (const scan of [1, 2, 3]) {
      await db.script(
        `insert into scan_servers (scan, server, what) select ${scan}, n.id, 1 from ${NUMBERS} where n.id % ${scan} = 0`,
      );
    }
    const left = async () =>
      (await all(db, "select scan, count(*) as n from scan_servers group by scan order by scan"))
        .map(({ scan, n }) => [scan, Number(n)]);
    assertEquals(await packAbandonedScans(db, now, removing(1)), 5000);
    assertEquals((await left())[0], [1, SERVERS - 5000]);
    assertEquals(await packAbandonedScans(db, now, removing()), 5000 + Math.floor(SERVERS / 3));
    assertEquals(await left(), [[2, SERVERS / 2]]);
    assertEquals(await packAbandonedScans(db, now, removing()), 0);
  },
);

onEngines(
  "old replies and names of players are removed in several transactions, or until the cancellation",
  async (db) => {
    const time = (at: number) =>
      db.engine === "postgres" ? `to_timestamp(${at} / 1000.0)` : `${at}`;
    const seenAt = `case when n.id % 2 = 0 then ${time(1000)} else ${time(2000)} end`;
    const noBytes = db.engine === "postgres" ? "''" : "x''";
    const fill = () =>
      db.script(
        "delete from replies; delete from server_players; " +
          "insert into replies (server, protocol, seen_at, size, data) " +
          `select n.id, 'query', ${seenAt}, 1, ${noBytes} from ${NUMBERS}; ` +
          "insert into server_players (server, names, seen_at, same_since) " +
          `select n.id, '[]', ${seenAt}, ${seenAt} from ${NUMBERS}`,
      );
    for (
      const [remove, table] of [[removeReplies, "replies"], [
        removePlayers,
        "server_players",
      ]] as const
    ) {
      await fill();
      const how = removing();
      assertEquals(await remove(db, 1000, how), 0);
      assertEquals(await remove(db, 1001, how), SERVERS / 2);
      assertEquals(how.pauses, 2 * 2);
      assertEquals(await all(db, `select distinct server % 2 as rest from ${table}`), [{
        rest: 1,
      }]);
      await fill();
      assertEquals(await remove(db, 2001, removing(1)), 5000);
      assertEquals(await count(db, table), SERVERS - 5000);
      assertEquals(await remove(db, 2001, removing()), SERVERS - 5000);
      assertEquals(await remove(db, 2001, removing()), 0); // of an empty table
    }
  },
);
