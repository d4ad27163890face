/** Uptime of a watch that is killed, and of one that ends. Covers src/app/databases/. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { formatEndpoint } from "../../../src/core/address.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { all } from "../../store/databases.ts";
import { finish, run, start, until } from "../program.ts";

Deno.test("a span ends with the last write of a watch that is killed, and with the end of another", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const range = { start: 0x7f720000, end: 0x7f720100 };
    const hosts = drawFleet({ servers: 3, range, seed: 2, software: ["pocketmine"] });
    await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
    const servers = hosts.map(({ endpoint }) => formatEndpoint(endpoint));
    const path = `${folder}/servers.db`;
    const permissions = [
      ...["--allow-net", `--allow-read=${folder}`, `--allow-write=${folder}`],
      "--allow-env=INIT_CWD,HOME,XDG_CONFIG_HOME,APPDATA,USERPROFILE,PG*",
    ];
    const read = async (sql: string) => {
      await using database = openSqlite(path, { readOnly: true });
      return await all(database, sql);
    };
    /** Watches until all servers are observed, and signals the process. */
    const watch = async (signal: "SIGKILL" | "SIGINT", number: number) => {
      const child = start([
        "watch",
        ...servers,
        "--interval",
        "5s",
        "-o",
        path,
        "--opt-out-file",
        `${folder}/out.txt`,
      ], { permissions });
      const sql = "select count(distinct o.server) as n from observations o join watch_spans w " +
        "on w.scan = o.scan and w.ended_at >= o.at and w.started_at <= o.at";
      await until(child, async () => {
        const [{ n }] = await read(`${sql} where o.scan = (select max(id) from scans)`);
        const spans = await read("select * from watch_spans");
        return n === 3 && spans.length === number;
      });
      const at = Date.now();
      child.kill(signal);
      await finish(child);
      return at;
    };
    const killedAt = await watch("SIGKILL", 1);
    const [killed] = await read("select * from watch_spans");
    assert(Number(killed.started_at) < Number(killed.ended_at));
    assert(Number(killed.ended_at) <= killedAt);
    assertEquals(await read("select state from scans"), [{ state: "running" }]);
    const endedAt = await watch("SIGINT", 2);
    const [first, second] = await read("select * from watch_spans order by started_at");
    assertEquals(first, killed);
    assert(Number(second.started_at) >= killedAt);
    assert(Number(second.ended_at) >= endedAt, "the span of a watch lasts until its end");
    const { stdout } = await run(["history", path, servers[0]], { permissions });
    assertMatch(stdout, /uptime: 100 % of the [\d.]+ % watched \(\d+ polls\) in 24h,/);
    const lines = (await run(["history", path, servers[0], "--json"], { permissions })).stdout;
    const last = JSON.parse(lines.trim().split("\n").at(-1)!);
    assertEquals(Object.keys(last), ["server", "uptime"]);
    const { "24h": recent } = last.uptime;
    assertEquals([recent.uptime, recent.online_s], [1, recent.watched_s]);
    assertEquals(last.uptime["30d"], recent);
    // Anyone can compute the figure again.
    const history = async (...more: string[]) =>
      (await run(["history", path, servers[0], "--uptime", ...more], { permissions })).stdout.trim()
        .split("\n");
    const [head, ...hours] = await history();
    assertEquals(
      head,
      "server,from,to,hours,state,watched_s,online_s,player_s,players_min,players_max,polls",
    );
    const cells = hours.map((line) => line.split(","));
    const sum = (column: number) => cells.reduce((all, row) => all + Number(row[column]), 0);
    const { watched_s, online_s, player_s, polls } = recent;
    assertEquals([5, 6, 7, 10].map(sum), [watched_s, online_s, player_s, polls]);
    assert(polls > 1, "a watch that ends counts its last polls");
    assert(sum(5) > 0);
    const objects = (await history("--json")).map((line) => JSON.parse(line));
    assertEquals(
      objects.map((one) => Object.values(one).map((value) => String(value ?? ""))),
      cells,
    );
    const both = await run(["history", path, servers[0], "--uptime", "--events"], { permissions });
    assertEquals(both.code, 2);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
