/** Covers src/cli/commands/scans.ts, src/app/scan/scan_heartbeat.ts and src/store/scans/. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { scanLines, viewLines } from "../../../src/cli/commands/scans.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import type { StoredScan } from "../../../src/store/scans/scan_list.ts";
import { all } from "../../store/databases.ts";
import { inFolder, kill } from "../../app/resume/stopped_programs.ts";
import { finish, run, start, until } from "../program.ts";
import { longTest } from "../../long.ts";

const SCAN: StoredScan = {
  ...{ scan_id: "x", kind: "sweep", state: "running", started_at: 0, finished_at: null },
  ...{
    heartbeat_at: 5000,
    ends_at: 65_000,
    runs: 2,
    ...{ campaign: null, shard: null, parts: 1 },
    parts_done: 0,
    parts_running: 0,
    parts_stale: 0,
    parts_poisoned: 0,
    parts_cancelled: 0,
    position: 1,
  },
  ...{ total: 8, probes_sent: 1234, replies: 5, found: 4, packet_loss: 0.015, rows_lost: 0 },
  ...{ rate: 5000, rate_reason: "loss", widened: false, sampled: false, excluded: ["10.0.0.7"] },
  counters: null,
  members: null,
  retries: null,
  ranges: ["10.0.0.0-10.0.0.255", "10.0.2.0", "10.0.4.0", "10.0.6.0"],
};

Deno.test("a running scan is shown with its share, its ETA and its ranges, and a stale one without an ETA", () => {
  const stale = { ...SCAN, state: "stale", widened: true, sampled: true, ranges: [], excluded: [] };
  assertEquals(scanLines([SCAN, stale], 5000, Infinity).map((line) => line.replace(/ +/g, " ")), [
    "STARTED (UTC) KIND STATE DONE ETA SENT REPLIES FOUND LOSS RATE ID RUNS RANGES",
    "1970-01-01 00:00:00 sweep running 12.5% 00:01:00 1,234 5 4 1.5% 5,000 x 2 " +
    "10.0.0.0-10.0.0.255, 10.0.2.0, 10.0.4.0 and 1 more, 1 range excluded",
    "1970-01-01 00:00:00 sweep stale 12.5% 1,234 5 4 1.5% 5,000 x 2 (widened) (sampled)",
  ]);
  assertEquals(scanLines([], 0, 80), ["no scans"]);
  const named = [{ ...SCAN, campaign: "lab" }, { ...SCAN, shard: "2/4" }];
  const [, campaign, shard] = scanLines(named, 5000, Infinity);
  assertStringIncludes(campaign, " campaign lab: 10.0.0.0-10.0.0.255, ");
  assertStringIncludes(shard, " shard 2/4: 10.0.0.0-10.0.0.255, ");
});

Deno.test("views are shown by vantage, and by the networks that some of them did not see", () => {
  const scan = { ...SCAN, campaign: "lab\u001b[2J", state: "finished" };
  const vantages = [
    { vantage: "berlin", seen: 1200, only: 7, unseen: 3 },
    { vantage: "oslo", seen: 1196, only: 3, unseen: 7 },
  ];
  const shown = (networks: Parameters<typeof viewLines>[1]["networks"]) =>
    viewLines(scan, { vantages, networks }, Infinity).map((line) => line.replace(/ +/g, " "));
  const lines = [
    "campaign lab␛[2J, scan x of 1970-01-01 00:00:00 UTC, finished",
    "VANTAGE SEEN ONLY IT SAW UNSEEN",
    "berlin 1,200 7 3",
    "oslo 1,196 3 7",
  ];
  const network = { ...vantages[1], network: "10.1.0.0/16" };
  assertEquals(shown([network]), [
    ...lines,
    "NETWORK VANTAGE SEEN ONLY IT SAW UNSEEN",
    "10.1.0.0/16 oslo 1,196 3 7",
    "",
  ]);
  assertEquals(shown([]), [...lines, "no network has servers that some vantages did not see", ""]);
  assertEquals(shown(Array(22).fill(network)).slice(-2), ["and 2 more; --json prints all", ""]);
});

longTest(
  "a scan that is killed shows as running with its progress, as stale later, and as finished after a resumption",
  () =>
    inFolder(async (folder) => {
      const list = `${folder}/a.db`;
      const scan = start([
        ...["scan", "127.115.0.0/22", "-p", "25565", "--rate", "100", "--cooldown", "100ms", "-q"],
        ...["--exclude", "127.115.1.0/24", "--retries", "0", "-o", list],
        ...["--checkpoint", `${folder}/a.checkpoint`],
      ]);
      const shown = async (): Promise<StoredScan> => {
        const { stdout } = await run(["scans", list, "--json"]);
        return JSON.parse(stdout || "{}");
      };
      const reader = () => openSqlite(list, { readOnly: true });
      const hasScan = async (database: Database, condition: string) =>
        (await all(database, `select 1 from scans where ${condition}`)).length > 0;
      await until(scan, async () => {
        await using database = reader();
        return await hasScan(database, "true");
      });
      {
        await using database = reader(); // kept open: the first progress is written after 10 seconds
        await until(scan, () => hasScan(database, "position > 0"));
      }
      const seen = await shown();
      await kill(scan);
      assertEquals([seen.kind, seen.state, seen.runs], ["sweep", "running", 1]);
      assert(seen.total > seen.position && seen.probes_sent > 0, JSON.stringify(seen));
      assert(seen.ends_at! > seen.heartbeat_at! && seen.ends_at! < seen.heartbeat_at! + 60_000);
      assertEquals(seen.ranges, ["127.115.0.0-127.115.3.255"]);
      assertEquals(seen.excluded, ["127.115.1.0-127.115.1.255"]);
      {
        await using database = openSqlite(list);
        await database.run("update scans set heartbeat_at = heartbeat_at - 61000");
        assertEquals((await all(database, "select state from scans"))[0].state, "running");
      }
      assertEquals((await shown()).state, "stale");
      assertStringIncludes((await run(["scans", list])).stdout, "stale");
      const resumed = start([
        "scan",
        "--resume",
        `${folder}/a.checkpoint`,
        "-q",
        "--rate",
        "100000",
      ]);
      assertEquals((await finish(resumed)).code, 0);
      const ended = await shown();
      assertEquals([ended.state, ended.runs, ended.ends_at], ["finished", 2, null]);
      assertEquals([ended.position, ended.parts, ended.parts_done], [ended.total, 1, 1]);
      assertEquals(Object.entries(ended).slice(-2), [["running_parts", []], [
        "poisoned_parts",
        [],
      ]]);
    }),
);

Deno.test("scans refuses surplus words and files that are not databases", async () => {
  const surplus = await run(["scans", "a.db", "b"]);
  assertEquals([surplus.code, surplus.stdout], [2, ""]);
  const missing = await run(["scans", "missing.db"]);
  assertEquals(missing.code, 2);
});
