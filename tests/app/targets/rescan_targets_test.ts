import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { formatEndpoint } from "../../../src/core/address.ts";
import { audit } from "../../../src/fleet/judge/audit.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { WitnessLog } from "../../../src/fleet/witness_log.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { all, STATES } from "../../store/databases.ts";
import { run } from "../../cli/program.ts";
import { longTest } from "../../long.ts";

const RANGE = "127.38.0.0/26";
const FLEET = { servers: 12, hostile: 0, range: { start: 0x7f260000, end: 0x7f260040 }, seed: 8 };
const QUICK = ["--cooldown", "200ms", "--timeout", "2s"];
const RAKNET = ["--protocol", "raknet"];

async function withList(work: (list: string, folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await using _fleet = await openFleet(drawFleet({ ...FLEET, software: ["bds"] }), {
      clock: systemClock,
      seed: 1,
    });
    const list = `${folder}/a.db`;
    const { code, stderr } = await run(["scan", RANGE, ...RAKNET, ...QUICK, "-q", "-o", list]);
    assertEquals([code, stderr], [0, ""]);
    await work(list, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The rows of a query. */
async function query(path: string, sql: string) {
  await using database = openSqlite(path);
  return await all(database, sql);
}

Deno.test("--rescan probes known servers the most overdue first, before or instead of other targets", () =>
  withList(async (list) => {
    const known = (await query(list, "select key from servers order by id desc")).map(({ key }) =>
      key
    );
    const listed = async (...args: string[]) =>
      (await run([
        "scan",
        "--rescan",
        list,
        ...RAKNET,
        "-sL",
        ...(args.includes("--seed") ? [] : ["--seed", "1"]),
        ...args,
      ])).stdout
        .trim().split("\n")
        .map((line) => line.split(" ")[0]);
    // Among servers of one age, those that were probed longest ago are the most overdue.
    await using database = openSqlite(list);
    await database.run(
      "update server_state set probed_at = probed_at - 100000000 * (server + 1) * (server + 1)",
    );
    await database.run("update servers set first_seen = 0 where id > 6");
    await database.run("delete from events");
    const order = await listed();
    assertEquals(order.toSorted(), known.map(String).toSorted());
    const [young, old] = [known.slice(6).map(String), known.slice(0, 6).map(String)];
    const among = (some: string[]) => order.filter((id) => some.includes(id));
    assertEquals([among(young), among(old)], [young, old]);
    assertEquals(await listed("--seed", "2"), order);
    const both = await listed("127.38.0.0/28", "127.38.1.0/28");
    assertEquals(both.slice(0, 12), order);
    assertEquals(new Set(both).size, both.length);
    const inside = known.filter((id) => Number(String(id).split(/[.:]/)[3]) < 16).length;
    assertEquals(both.length, 12 + 32 - inside);
    assertEquals(await listed("--max-targets", "5"), order.slice(0, 5));
    const [host] = String(order[0]).split(":");
    assertEquals((await listed("--exclude", host)).toSorted(), order.slice(1).toSorted());
    const plan = await run(["scan", "--rescan", list, ...RAKNET, "--dry-run"]);
    assertStringIncludes(plan.stdout, "12 known servers first");

    const again = await run(["scan", "--rescan", list, ...RAKNET, ...QUICK, "-o", list]);
    assertEquals([again.code, again.stdout], [0, ""]);
    assertStringIncludes(again.stderr, "12 rows written");
    assertEquals(
      await query(list, "select count(*) as n, count(distinct scan) as scans from observations"),
      [{ n: 24, scans: 2 }],
    );
  }));

Deno.test("permission rules, and the ranges that are never probed, apply to known servers", () =>
  withList(async (list, folder) => {
    const scan = (...args: string[]) =>
      run(["scan", "--rescan", list, ...RAKNET, ...QUICK, ...args]);
    await Deno.writeTextFile(`${folder}/more.txt`, "224.0.0.1:19132\n");
    assertEquals((await run(["import", list, `${folder}/more.txt`])).code, 0);
    const never = await scan("--dry-run");
    assertStringIncludes(never.stdout, "1 never probed");
    assertEquals((await scan("-sL")).stdout.includes("224."), false);
    await Deno.writeTextFile(`${folder}/out.txt`, "127.38.0.0/24\n");
    const shy = await scan("-o", list, "--opt-out-file", `${folder}/out.txt`);
    assertEquals([shy.code, shy.stderr.split("\n")[0]], [
      2,
      "blocksweep: Cannot scan: no target is left (excluded, or opted out)",
    ]);
    await Deno.writeTextFile(`${folder}/more.txt`, "8.8.8.8:19132\n");
    assertEquals((await run(["import", list, `${folder}/more.txt`])).code, 0);
    const open = await scan("-o", list);
    assertEquals(open.code, 2);
    assertStringIncludes(open.stderr, "Cannot scan 1 public address without --i-have-permission");
  }));

Deno.test("databases that cannot be used for a rescan are refused in one line", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const refused = async (...args: string[]) => {
      const { code, stderr } = await run(["scan", ...args]);
      assertEquals([code, stderr.trimEnd().split("\n").length], [2, 1], stderr);
      return stderr.trimEnd();
    };
    await Deno.writeTextFile(`${folder}/none.txt`, "# nobody\n");
    const empty = `${folder}/empty.db`;
    await run(["import", empty, `${folder}/none.txt`]);
    assertEquals(
      await refused("--rescan", empty),
      `blocksweep: Cannot rescan ${empty}: there is no server in it`,
    );
    assertStringIncludes(await refused("--rescan", `${folder}/no.db`), "no.db");
    assertStringIncludes(await refused("--rescan", "rows.csv"), "name a database");
    assertStringIncludes(
      await refused("--rescan", empty, "--shard", "1/2", "--seed", "1"),
      "Cannot use --rescan with --shard",
    );
    const secret = await refused("--rescan", "postgres://me:hidden@127.0.0.1:1/x");
    assert(!secret.includes("hidden"), secret);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

longTest(
  "a resumed rescan probes each server once, even if the database has changed",
  () =>
    withList(async (list, folder) => {
      const dead = "127.38.9.9:19132";
      await Deno.writeTextFile(`${folder}/more.txt`, `${dead}\n`);
      await run(["import", list, `${folder}/more.txt`]);
      await query(list, "update server_state set probed_at = 1000 + server");
      await query(
        list,
        "update server_state set probed_at = 1 where server = " +
          `(select id from servers where key = '${dead}')`,
      );
      const checkpoint = `${folder}/c`;
      const first = await run([
        ...["scan", "--rescan", list, "-o", list, "--checkpoint", checkpoint, ...RAKNET, ...QUICK],
        ...["--rate", "4", "--max-runtime", "2500ms", "--retries", "0"],
      ]);
      assertStringIncludes(first.stderr, "scan --resume");
      const [{ n }] = await query(list, "select count(*) as n from observations where at > 1");
      assert(Number(n) > 12 && Number(n) < 24, String(n));
      const queried = await query(list, `select missed_scans from ${STATES} where id = '${dead}'`);
      assertEquals(queried, [{ missed_scans: 0 }]);

      const second = await run(["scan", "--resume", checkpoint, "--rate", "1000"]);
      assertEquals(second.code, 0, second.stderr);
      assertStringIncludes(second.stderr, "1 known server did not reply");
      assertEquals(
        await query(list, "select missed_scans, count(*) as n from server_state group by 1"),
        [
          { missed_scans: 0, n: 12 },
          { missed_scans: 1, n: 1 },
        ],
      );
      const twice = "select online, count(*) as n from observations " +
        "where scan = (select max(scan) from observations) group by 1";
      assertEquals(await query(list, twice), [{ online: 0, n: 1 }, { online: 1, n: 12 }]);
    }),
);

longTest(
  "a rescan sends SQP to servers known for it, counts unresponsive ones, and keeps columns that it does not query",
  async () => {
    const folder = await Deno.makeTempDir();
    const range = { start: 0x7f560000, end: 0x7f560010 };
    const hosts = drawFleet({
      servers: 8,
      range,
      seed: 2,
      software: ["sqpFull", "sqpInfo", "bds"],
    });
    const unity = hosts.filter(({ entry }) => "sqp" in entry.truth);
    const list = `${folder}/a.db`;
    const [log, out] = [`${folder}/log.ndjson`, ["--opt-out-file", `${folder}/out.txt`]];
    try {
      {
        await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
        const ports = ["-p", "9000,19132", "--protocol", "raknet,sqp", "--verify"];
        const { code } = await run([
          "scan",
          "127.86.0.0/28",
          ...ports,
          ...QUICK,
          ...out,
          "-o",
          list,
        ]);
        assertEquals(code, 0);
      }
      const joinable = "select count(*) as n from servers where joinable is not null";
      const [{ n: doors }] = await query(list, joinable);
      assert(unity.length > 1 && unity.length < 8 && Number(doors) > 0);
      const [dead, ...alive] = unity;
      {
        const up = hosts.filter((host) => host !== dead);
        using witness = new WitnessLog(log);
        await using _fleet = await openFleet(up, { clock: systemClock, seed: 1, witness });
        const args = ["scan", "--rescan", list, ...QUICK, ...out];
        const files = ["-o", list, "-o", `${folder}/rows.ndjson`];
        const { code, stderr } = await run([...args, ...files]);
        assertEquals(code, 0, stderr);
        assertStringIncludes(stderr, "1 known server did not reply");
      }
      const id = ({ endpoint }: typeof dead) => formatEndpoint(endpoint);
      assertEquals(await query(list, `select id from ${STATES} where missed_scans = 1`), [{
        id: id(dead),
      }]);
      assertEquals(await query(list, joinable), [{ n: doors }]);
      const rows = (await Deno.readTextFile(`${folder}/rows.ndjson`)).trim().split("\n")
        .map((line) => JSON.parse(line));
      assertEquals(rows.length, 7);
      assert(rows.every((row) => row.joinable === null));
      const lines = (await Deno.readTextFile(log)).trim().split("\n").map((line) =>
        JSON.parse(line)
      );
      const knownForSqp = new Set(unity.map(id));
      assertEquals(audit(lines, { hostRate: undefined, knownForSqp }), []);
      assert(alive.every((host) => lines.some((line) => line.host === id(host))));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);

Deno.test("scans leave out addresses that a database marks as opted out, and mark those that opt out", async () => {
  const folder = await Deno.makeTempDir();
  const range = { start: 0x7f570000, end: 0x7f570010 };
  const hosts = drawFleet({ servers: 3, range, seed: 2, software: ["bds"] });
  const [shy] = drawFleet({ servers: 1, range, seed: 2, software: ["bdsOptedOut"] });
  const list = `${folder}/a.db`;
  const args = [...RAKNET, ...QUICK, "--opt-out-file", `${folder}/out.txt`, "-o", list];
  try {
    {
      await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
      assertEquals((await run(["scan", "127.87.0.0/28", ...args])).code, 0);
    }
    const [{ endpoint }, ...others] = hosts;
    const changed = [{ ...shy, endpoint }, ...others];
    await using _fleet = await openFleet(changed, { clock: systemClock, seed: 1 });
    const second = await run(["scan", "--rescan", list, ...args]);
    assertStringIncludes(second.stderr, "2 rows written");
    const [host] = formatEndpoint(endpoint).split(":");
    assertEquals(await query(list, "select address from opt_outs"), [{ address: host }]);
    const third = await run(["scan", "--rescan", list, ...args, "--dry-run"]);
    assertStringIncludes(third.stdout, "2 known servers");
    const fourth = await run(["scan", "127.87.0.0/28", ...args]);
    assertStringIncludes(fourth.stderr, "2 rows written");
    assert(!fourth.stderr.includes("opted out and"), "the marked server was probed");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
