/**
 * The retention of each table.
 *
 * Covers src/app/databases/prune.ts, src/store/remove_old_rows.ts and src/store/writers/killed_scans.ts.
 */
import { assertEquals } from "@std/assert";
import { prunedLine, pruneOnce, type Retention } from "../../../src/app/databases/prune.ts";
import { ATTACHMENTS, type RecordWithAttachments } from "../../../src/core/record.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { parseDatabaseLocation } from "../../../src/store/database_location.ts";
import { openStore } from "../../../src/store/open_store.ts";
import { writeObservations } from "../../../src/store/writers/observation_rows.ts";
import { periodStart } from "../../../src/store/uptime/rollup_hours.ts";
import { writeSpans } from "../../../src/store/uptime/watch_spans.ts";
import { Store } from "../../../src/store/store.ts";
import { connectionEnvironment } from "../../../src/app/options/connection_environment.ts";
import { all, postgresTest } from "../../store/databases.ts";
import { record, scanId, watchId } from "../../store/records.ts";

const DAY = 86_400_000;
const NOW = Date.now();
const environment = connectionEnvironment(() => {});

/** Registers a test for each engine, with the path or URL of an empty database. */
function onEngines(name: string, work: (location: string) => Promise<void>): void {
  Deno.test(`SQLite: ${name}`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      await work(`${folder}/a.db`);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
  postgresTest(`PostgreSQL: ${name}`, work);
}

/** Three servers that replied 1, 40 and 400 days ago, with rows in all tables. */
async function fill(database: Database): Promise<void> {
  const store = new Store(database, () => Promise.resolve());
  for (const [i, days] of [1, 40, 400].entries()) {
    const at = NOW - days * DAY;
    await store.begin({ id: scanId(i), at, config: "{}" });
    for (const [version, later] of [["1", 0], ["2", 1000]] as const) {
      const reply: RecordWithAttachments = {
        ...record(i + 1, { seen_at: at + later, scan_id: scanId(i), players: ["Ann"], version }),
        favicon_hash: `icon ${i} ${version}`,
        [ATTACHMENTS]: { replies: { raknet: { size: 1, data: "AA==" } }, icon: "AAAA" },
      };
      await store.write([reply]);
    }
    await database.run("update scans set state = 'interrupted'"); // without a summary
  }
  await database.run("update servers set notes = ?", ["mine"]);
  await database.run("insert into server_tags select 'a', id from servers");
}

onEngines("each table has its own retention, and the owner's columns stay", async (path) => {
  const location = parseDatabaseLocation(path)!;
  await using database = await openStore(location, environment);
  await fill(database);
  const prune = async (retention: Retention) => {
    const { name: _, ...counts } = await pruneOnce(location, retention, environment, () => {});
    return counts;
  };
  const rows = async (table: string) => (await all(database, `select * from ${table}`)).length;
  const kept = {
    observations: undefined,
    events: undefined,
    replies: undefined,
    players: undefined,
  };
  assertEquals([await rows("events"), await rows("observations")], [3, 6]); // changes
  assertEquals([await rows("scan_servers"), await rows("favicons")], [3, 6]);
  assertEquals(await prune({ events: 365 * DAY }), { ...kept, events: 1, icons: 3 });
  assertEquals([await rows("scan_servers"), await rows("favicons")], [1, 3]); // 30 days
  assertEquals(await prune({ observations: 30 * DAY }), { ...kept, observations: 2, icons: 0 });
  assertEquals(await prune({ replies: 30 * DAY }), { ...kept, replies: 2, icons: 0 });
  assertEquals(await prune({ players: 365 * DAY }), { ...kept, players: 1, icons: 0 });
  assertEquals(await prune({ players: 0, events: 0, replies: 0 }), {
    ...{ observations: undefined, events: 2, replies: 1, players: 2, icons: 0 },
  });
  const left = ["events", "observations", "replies", "server_players", "favicons", "servers"];
  assertEquals(await Promise.all(left.map(rows)), [0, 4, 0, 0, 3, 3]);
  const owned = await all(
    database,
    "select g.tag, s.notes from servers s left join server_tags g on g.server = s.id",
  );
  assertEquals(owned, Array.from({ length: 3 }, () => ({ tag: "a", notes: "mine" })));
});

onEngines("a run for any table computes the uptime that is missing", async (path) => {
  const location = parseDatabaseLocation(path)!;
  await using database = await openStore(location, environment);
  const store = new Store(database, () => Promise.resolve());
  await store.write([record(1)]);
  const ages: Retention[] = [{ events: DAY }, { replies: DAY }, { players: DAY }];
  for (const [i, retention] of [...ages, { observations: 90 * DAY }].entries()) {
    const startedAt = periodStart(NOW, DAY) - (20 - i) * DAY;
    await store.begin({ id: watchId(i), kind: "watch", at: startedAt, config: "{}" });
    const [{ id }] = await all(database, "select max(id) as id from scans");
    await database.transaction(async () => {
      await writeSpans(database, watchId(i), [{ startedAt, endedAt: startedAt + 7_200_000 }]);
      await writeObservations(database, [[1, startedAt, id, 1, 5, null, null, null, 1]]);
    });
    await pruneOnce(location, retention, environment, () => {});
    const days = await all(database, "select watched_s from rollups where hours = 24 order by at");
    assertEquals(days.map(({ watched_s }) => watched_s), Array(i + 1).fill(7200));
  }
});

onEngines("a scan that was killed ends, and its summary is written", async (path) => {
  const location = parseDatabaseLocation(path)!;
  await using database = await openStore(location, environment);
  const store = new Store(database, () => Promise.resolve());
  await store.begin({ id: scanId(1), at: NOW - DAY, config: "{}" });
  await store.write([record(1, { seen_at: NOW - DAY, scan_id: scanId(1) })]);
  for (let run = 0; run < 2; run++) {
    await pruneOnce(location, { events: 90 * DAY }, environment, () => {});
  }
  const summaries = await all(database, "select data from events where kind = 'scan_summary'");
  assertEquals(summaries.map(({ data }) => JSON.parse(String(data)).state), ["interrupted"]);
  assertEquals(await all(database, "select state from scans"), [{ state: "interrupted" }]);
});

Deno.test("the line of a pruned database names the tables that have a retention", () => {
  const none = { events: undefined, replies: undefined, players: undefined };
  assertEquals(
    prunedLine({ name: '"a.db"', observations: 0, ...none, icons: 0 }),
    '"a.db": 0 observations pruned',
  );
  assertEquals(
    prunedLine({
      name: '"a.db"',
      observations: undefined,
      events: 1,
      replies: 2,
      players: 3,
      icons: 1,
    }),
    '"a.db": 1 event, 2 replies, 3 lists of players, 1 icon pruned',
  );
});
