/** Two watches and a rescan of one database: each change is reported by one of them, and stored once. */
import { assert, assertEquals } from "@std/assert";
import { formatEndpoint } from "../../src/core/address.ts";
import { drawFleet, type FleetHost } from "../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../src/net/clock.ts";
import { finish, run, start, until } from "../cli/program.ts";
import { all } from "../store/databases.ts";
import { onEngines, type TestedDatabase } from "./tested_databases.ts";

const simulate = (hosts: readonly FleetHost[]) => openFleet(hosts, { clock: systemClock, seed: 1 });

/** An event of a watch's output. */
interface Reported {
  readonly id: string;
  readonly event: string;
  readonly host: string;
}

/** Scans a fleet, and watches it twice while it stops, and starts again with other servers. */
async function watchTwice({ first, folder, database: path, open }: TestedDatabase): Promise<void> {
  const range = { start: first, end: first + 256 };
  const before = drawFleet({ servers: 6, range, seed: 2, software: ["pocketmine"] });
  const others = drawFleet({ servers: 6, range, seed: 9, software: ["pocketmine"] });
  const after = before.map(({ endpoint }, i) => ({ ...others[i], endpoint }));
  const permissions = ["--allow-net", "--allow-read", "--allow-write", "--allow-env"];
  const optOuts = ["--opt-out-file", `${folder}/out.txt`];
  const targets = before.map(({ endpoint }) => formatEndpoint(endpoint));
  // All programs query the same protocols: otherwise the second one to see a server adds a protocol.
  const scan = ["--protocol", "raknet,query", "--cooldown", "200ms", "-q", ...optOuts];
  const count = async (kind: string) => {
    await using database = await open();
    const sql = `select count(*) as n from events where kind = '${kind}'`;
    return Number((await all(database, sql))[0].n);
  };
  const fleet = await simulate(before);
  const found = await run(["scan", ...targets, ...scan, "-o", path], { permissions });
  // The first scan of a database has one event for all its servers.
  assertEquals([found.code, await count("scan_summary")], [0, 1], found.stderr);
  const options = ["--interval", "5s", "--timeout", "1s", "--down-after", "1", ...optOuts];
  const watches = [1, 2].map(() => start(["watch", path, ...options], { permissions }));
  await using probes = await open();
  // A server that a watch has not polled yet would be no change for that watch.
  const polled =
    "select count(*) as n from (select distinct o.scan, o.server from observations o " +
    "join scans c on c.id = o.scan where c.kind = 'watch') polled";
  await until(watches[0], async () => Number((await all(probes, polled))[0].n) === 12);
  await fleet[Symbol.asyncDispose]();
  await until(watches[0], async () => await count("offline") === 6);
  await using _again = await simulate(after);
  const rescan = ["scan", "--rescan", path, "-o", path, "--cooldown", "200ms", "-q", ...optOuts];
  const [rescanned] = await Promise.all([
    run(rescan, { permissions }),
    until(watches[0], async () => await count("online") === 6),
  ]);
  assertEquals(rescanned.code, 0, rescanned.stderr);
  for (const watch of watches) watch.kill("SIGINT");
  const ended = await Promise.all(watches.map(finish));
  const lines = ended.flatMap(({ stdout }) =>
    stdout.trim().split("\n").filter((one) => one !== "")
  );
  const reported: Reported[] = lines.map((line) => JSON.parse(line));
  const rows = await all(
    probes,
    "select e.id, e.kind, s.address, c.kind as writer from events e " +
      "join servers s on s.id = e.server join scans c on c.id = e.scan",
  );
  const of = (kind: string) =>
    rows.filter((row) => row.kind === kind).map(({ address }) => address);
  for (const kind of ["offline", "online", "changed"]) {
    assertEquals(of(kind).length, 6, kind);
    assertEquals(new Set(of(kind)).size, 6, kind);
  }
  // What the watches printed is what they wrote: the scans print no events.
  const byWatches = rows.filter(({ writer }) => writer === "watch").map(({ id }) => id);
  const printed = reported.filter(({ event }) => event !== "players").map(({ id }) => id);
  assertEquals(printed.toSorted(), byWatches.toSorted());
  assertEquals(reported.filter(({ event }) => event === "offline").length, 6);
  const players = reported.filter(({ event }) => event === "players").map(({ host }) => host);
  assertEquals(new Set(players).size, players.length);
  assert(ended.every(({ code }) => code === 130));
}

onEngines(
  "two watches and a rescan of one database report each change once",
  { sqlite: 0x7f310000, postgres: 0x7f320000 },
  watchTwice,
);
