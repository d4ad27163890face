/** The library's loop, over real sockets. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import { drawFleet } from "../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../src/net/clock.ts";
import { find } from "../../src/scan/find_servers.ts";
import { serverId, type ServerRecord } from "../../src/core/record.ts";

const RANGE = { start: 0x7f230000, end: 0x7f230040 };
const QUICK = { cooldownMs: 100, retries: 0, timeoutMs: 500 };

Deno.test("find() yields every server of a range once", async () => {
  const hosts = drawFleet({ servers: 20, range: RANGE, seed: 2, software: ["bds", "paper"] });
  await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  const found = await Array.fromAsync(find(["127.35.0.0/26"], QUICK));
  const expected = hosts.map(({ entry }) => serverId(entry));
  assertEquals(found.map(serverId).toSorted(), expected.toSorted());
});

Deno.test("leaving the loop ends the scan", async () => {
  const hosts = drawFleet({ servers: 20, range: RANGE, seed: 2, software: ["bds"] });
  await using fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  const found: ServerRecord[] = [];
  for await (
    const server of find(["127.35.0.0/26"], { ...QUICK, rate: 50, protocols: ["raknet"] })
  ) {
    found.push(server);
    if (found.length === 2) break;
  }
  assertEquals(found.length, 2);
  assert(fleet.received < 20, `${fleet.received} servers were asked`);
});

Deno.test("a signal ends the loop", async () => {
  const started = performance.now();
  const signal = AbortSignal.timeout(200);
  const found = await Array.fromAsync(find(["127.36.0.0/16"], { ...QUICK, rate: 100, signal }));
  assertEquals(found, []);
  assert(performance.now() - started < 10_000, "65,536 targets would take eleven minutes");
});

Deno.test("find() refuses what a scan refuses", async () => {
  const refused = (targets: string[], message: string, options = {}) =>
    assertRejects(() => Array.fromAsync(find(targets, options)), InputError, message);
  await refused(["8.8.8.8"], "without the option iHavePermission");
  await refused(["10.0.0.0/33"], "the prefix must be 0 to 32");
  await refused(["play.example.org"], "look names up first");
  await refused(["127.0.0.1"], 'protocol "nonsense"', { protocols: ["nonsense"] });
  await refused(["127.0.0.1"], "without a port: it has no usual one", { protocols: ["sqp"] });
  await refused(["127.0.0.1"], 'Cannot parse port "0"', { ports: "0" });
});
