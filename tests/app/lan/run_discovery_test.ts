/** A LAN discovery that writes into databases and files. Covers src/app/scan/scan_rows.ts. */
import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import { StoreError } from "../../../src/store/database/database.ts";
import { parseDatabaseLocation } from "../../../src/store/database_location.ts";
import { openExisting } from "../../../src/store/mod.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { SimulatedNetwork } from "../../../src/testing/simulated_network.ts";
import { run } from "../../cli/program.ts";
import { all, postgresTest } from "../../store/databases.ts";
import { home, JAVA, lan, ROOM } from "./lan_runs.ts";
import { inFolder } from "../resume/stopped_programs.ts";

const SCANS = "select kind, state, found, probes_sent, replies, finished_at from scans";
const SERVERS = "select key, name, players_online as players, online, missed_scans as missed " +
  "from servers join server_state on server = id order by key";

async function read(path: string, sql: string) {
  await using database = openSqlite(path, { readOnly: true });
  return await all(database, sql);
}

/** Checks what a discovery wrote into an empty database. */
async function checkFirst(database: Database): Promise<void> {
  const [{ finished_at: finishedAt, probes_sent: sent, replies, ...scan }, ...others] = await all(
    database,
    SCANS,
  );
  assertEquals(scan, { kind: "lan", state: "finished", found: 2 });
  assertEquals(others, []);
  assert(Number(sent) > 500 && Number(replies) >= 2 && finishedAt !== null);
  const servers = await all(database, SERVERS);
  assertEquals(servers.map(({ key, name, missed }) => [key, name, missed]), [
    [`${JAVA}:25565`, servers[0].name, 0],
    [`${ROOM}:19132`, "Room", 0],
  ]);
  const tags = await all(database, "select tag from server_tags order by server");
  assertEquals(tags, [{ tag: "party" }, { tag: "party" }]);
  const protocols = await all(database, "select distinct protocol from replies order by protocol");
  assertEquals(protocols.map(({ protocol }) => protocol), ["query", "raknet", "slp"]);
}

Deno.test("lan writes a scan, its servers and its end to databases, and rows to files", () =>
  inFolder(async (folder) => {
    const files = ["a.db", "b.db", "a.csv", "a.ndjson", "a.json"].map((name) =>
      `${folder}/${name}`
    );
    const args = [...files.flatMap((path) => ["-o", path]), "--tag", "party"];
    const { found } = await lan(home(), args);
    assertEquals(found, 2);
    for (const path of files.slice(0, 2)) {
      await using database = openSqlite(path, { readOnly: true });
      await checkFirst(database);
    }
    const [csv, ndjson, json] = await Promise.all(files.slice(2).map((p) => Deno.readTextFile(p)));
    assertEquals(csv.trim().split("\r\n").length, 3);
    const hosts = (rows: { host: string }[]) => rows.map(({ host }) => host).toSorted();
    assertEquals(hosts(ndjson.trim().split("\n").map((line) => JSON.parse(line))), [JAVA, ROOM]);
    assertEquals(hosts(JSON.parse(json)), [JAVA, ROOM]);
  }));

postgresTest("lan writes a scan, its servers and its end to PostgreSQL", async (url) => {
  await lan(home(), ["-o", url, "--tag", "party"]);
  const context = { resolve: (path: string) => path, password: () => Promise.resolve(undefined) };
  await using database = await openExisting(parseDatabaseLocation(url)!, context, {});
  await checkFirst(database);
});

Deno.test("a server that a later discovery does not find is neither missed nor offline", () =>
  inFolder(async (folder) => {
    const path = `${folder}/a.db`;
    const network = home();
    await lan(network, ["-o", path]);
    network.removeServer({ host: ROOM, port: 19132 });
    network.removeServer({ host: JAVA, port: 25565 });
    assertEquals((await lan(network, ["-o", path])).found, 0);
    assertEquals((await read(path, SERVERS)).map(({ online, missed }) => [online, missed]), [
      [1, 0],
      [1, 0],
    ]);
    assertEquals((await read(path, SCANS)).map(({ found }) => found), [2, 0]);
  }));

Deno.test("a continuous discovery writes changes and returns into the database, and ends as finished", () =>
  inFolder(async (folder) => {
    const [path, rows] = [`${folder}/a.db`, `${folder}/a.ndjson`];
    const network = home();
    const room = (name: string) => () =>
      void network.addServer({ host: ROOM, software: "bds", status: { name, players_online: 5 } });
    const { found } = await lan(network, ["-o", path, "-o", rows, "--no-sweep"], {
      at: [
        [10_000, room("Renamed")],
        [30_000, () => network.removeServer({ host: ROOM, port: 19132 })],
        [90_000, room("Back")],
      ],
      endAt: 120_000,
    });
    assertEquals(found, 1);
    const [{ name, players }] = await read(path, SERVERS);
    assertEquals([name, players], ["Back", 5]);
    const [{ state, found: stored }] = await read(path, SCANS);
    assertEquals([state, stored], ["finished", 1]);
    const names = (await Deno.readTextFile(rows)).trim().split("\n").map((line) =>
      JSON.parse(line).name
    );
    assertEquals(names, ["Room", "Back"]); // files get each server when it is found
  }));

Deno.test("the database has a world that is open to LAN, by its announced port", () =>
  inFolder(async (folder) => {
    const path = `${folder}/a.db`;
    const network = new SimulatedNetwork({ local: "192.168.1.2/24" });
    const { openGroup } = network.local;
    const announced = async (...given: Parameters<typeof openGroup>) => {
      const socket = await openGroup(...given);
      const bytes = new TextEncoder().encode("[MOTD]Ann's world[/MOTD][AD]51234[/AD]");
      network.datagrams.inject({ address: 0xc0a80114, port: 4000 }, socket, bytes, 100);
      return socket;
    };
    Object.assign(network.local, { openGroup: announced });
    await lan(network, ["-o", path, "--no-sweep"]);
    const [{ key, name }] = await read(path, SERVERS);
    assertEquals([key, name], ["192.168.1.20:51234", "Ann's world"]);
  }));

Deno.test("Ctrl-C before the time limit ends a discovery as interrupted, with all that it found", () =>
  inFolder(async (folder) => {
    const path = `${folder}/a.db`;
    const network = home();
    await lan(network, ["-o", path, "--no-sweep", "--once", "60"], { endAt: 5000 });
    const [{ state, found }] = await read(path, SCANS);
    assertEquals([state, found], ["interrupted", 1]);
    assertEquals((await read(path, SERVERS)).map(({ key }) => key), [`${ROOM}:19132`]);
  }));

Deno.test("rows for a database that another program locks are in the spill file, which import reads", () =>
  inFolder(async (folder) => {
    const path = `${folder}/a.db`;
    const lines: string[] = [];
    const network = home();
    await lan(network, ["-o", path]);
    const other = new DatabaseSync(path);
    const at = [[1, () => other.exec("begin immediate")]] as const;
    await assertRejects(
      () => lan(network, ["-o", path], { at, endAt: 5000, lines }),
      StoreError,
      "2 rows are in",
    );
    other.exec("commit");
    other.close();
    assertEquals(lines.some((line) => line.includes("rows are kept in")), true);
    const [spill] = [...Deno.readDirSync(folder)].filter(({ name }) => name.startsWith("spill-"));
    const imported = await run(["import", path, `${folder}/${spill.name}`]);
    assertEquals(imported.code, 0, imported.stderr);
    const observed = await read(path, "select distinct scan from observations");
    assertEquals(observed.length, 2); // of both discoveries
  }));
