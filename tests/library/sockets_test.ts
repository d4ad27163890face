/**
 * The functions of the library over real sockets. They must close all sockets.
 *
 * Covers src/app/network/system_network.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { drawFleet } from "../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../src/net/clock.ts";
import { query } from "../../src/library/query.ts";
import { scan } from "../../src/library/scan.ts";
import { watch } from "../../src/library/watch.ts";
import { serverId, type ServerRecord } from "../../src/core/record.ts";
import { longTest } from "../long.ts";

const RANGE = { start: 0x7f230000, end: 0x7f230040 };
const ONE = { start: 0x7f230101, end: 0x7f230102 };
const QUICK = { cooldownMs: 1000, retries: 0, timeoutMs: 5000 };

Deno.test("scan() yields every server of a range once", async () => {
  const hosts = drawFleet({ servers: 20, range: RANGE, seed: 2, software: ["bds", "paper"] });
  await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  const found = await Array.fromAsync(scan(["127.35.0.0/26"], QUICK));
  const expected = hosts.map(({ entry }) => serverId(entry));
  assertEquals(found.map(serverId).toSorted(), expected.toSorted());
});

Deno.test("leaving the loop ends the scan", async () => {
  const hosts = drawFleet({ servers: 20, range: RANGE, seed: 2, software: ["bds"] });
  await using fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  const found: ServerRecord[] = [];
  for await (
    const server of scan(["127.35.0.0/26"], { ...QUICK, rate: 50, protocol: ["raknet"] })
  ) {
    found.push(server);
    if (found.length === 2) break;
  }
  assertEquals(found.length, 2);
  assert(fleet.received < 20, `${fleet.received} servers were queried`);
});

Deno.test("a signal ends the loop", async () => {
  const range = { start: 0x7f3a0000, end: 0x7f3a0400 };
  const hosts = drawFleet({ servers: 60, range, seed: 2, software: ["bds"] });
  await using fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  const ended = new AbortController();
  const { signal } = ended;
  const options = { ...QUICK, rate: 100, protocol: ["raknet"], signal };
  let found = 0;
  for await (const _server of scan(["127.58.0.0/22"], options)) {
    if (++found === 1) ended.abort();
  }
  assert(found > 0 && fleet.received < 60, `${found} found, ${fleet.received} queried`);
});

longTest("leaving the loops of query() and watch() closes their sockets", async () => {
  const hosts = drawFleet({ servers: 1, range: ONE, seed: 2, software: ["paper"] });
  await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  for await (const { event } of watch(["127.35.1.1:25565"])) {
    assertEquals(event, "online");
    break;
  }
  const [server] = await query("127.35.1.1:25565");
  assertEquals(server.protocols, ["slp", "query"]);
});
