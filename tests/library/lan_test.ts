/**
 * lan() of the library, on a simulated network.
 *
 * Covers src/app/lan/.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import { lan, type LanOptions } from "../../src/library/lan.ts";
import { SimulatedNetwork } from "../../src/testing/simulated_network.ts";

/** A local network with a Bedrock and a Java server. */
function home(): SimulatedNetwork {
  const network = new SimulatedNetwork({ local: "192.168.1.2/24" });
  const status = { players: ["Ann"] };
  network.addServer({ host: "192.168.1.9", software: "pocketmine", status });
  network.addServer({ host: "192.168.1.10", software: "vanilla", status });
  return network;
}

/** The hosts and players of the discovered servers, in order. */
async function discovered(network: SimulatedNetwork, options: LanOptions = {}) {
  const servers = await network.run(Array.fromAsync(lan({ network, ...options })));
  return servers.map(({ host, players }) => `${host} ${players}`).toSorted();
}

Deno.test("lan() yields servers that reply to a broadcast, and Java servers of a sweep", async () => {
  assertEquals(await discovered(home()), ["192.168.1.10 Ann", "192.168.1.9 Ann"]);
  assertEquals(await discovered(home(), { noSweep: true }), ["192.168.1.9 Ann"]);
  assertEquals(await discovered(home(), { noSweep: true, noPlayers: true }), ["192.168.1.9 null"]);
  assertEquals(await discovered(home(), { noSweep: true, ports: "19133" }), []);
});

Deno.test("lan() ends after its sweep, or reports the hosts that a shorter time left out", async () => {
  const network = new SimulatedNetwork({ local: "192.168.1.2/22" });
  network.streams.absent = "timeout"; // the sweep takes longer than the shortest listening time
  for (const host of ["192.168.0.250", "192.168.3.250"]) {
    network.addServer({ host, software: "vanilla", status: { players: ["Ann"] } });
  }
  const all = ["192.168.0.250 Ann", "192.168.3.250 Ann"];
  assertEquals(await discovered(network), all);
  const notes: string[] = [];
  const onNote = (line: string) => notes.push(line);
  await discovered(network, { onceMs: 100, onNote });
  assertEquals(notes.map((note) => note.replace(/[\d,]+/, "N")), [
    "N connections of the sweep not made: the time of onceMs was over",
  ]);
  await discovered(network, { onNote });
  assertEquals(notes.length, 1);
});

Deno.test("lan() yields nothing of an address that opted out", async () => {
  const network = home();
  network.optedOut.push(0xc0a80109, 0xc0a8010a);
  assertEquals(await discovered(network), []);
});

Deno.test("leaving the loop of lan() closes its sockets, whatever the listening time", async () => {
  const network = home();
  const first = async () => {
    for await (const { host } of lan({ network, onceMs: Infinity, noSweep: true })) return host;
  };
  assertEquals(await network.run(first()), "192.168.1.9");
  assertEquals([network.datagrams.ports, network.streams.open], [[], 0]);
});

Deno.test("a signal ends lan() without an error", async () => {
  const network = home();
  const controller = new AbortController();
  network.clock.after(60_000, () => controller.abort());
  const { signal } = controller;
  const found = await discovered(network, { onceMs: Infinity, noSweep: true, signal });
  assertEquals(found, ["192.168.1.9 Ann"]);
  assert(network.clock.now() < 65_000);
  assertEquals(network.datagrams.ports, []);
});

Deno.test("lan() names the option that it cannot use", async () => {
  const refuses = (network: SimulatedNetwork, options: LanOptions, message: string) =>
    assertRejects(() => discovered(network, options), InputError, message);
  await refuses(home(), { onceMs: 0 }, 'Cannot use onceMs "0ms": it must be at least 1 ms');
  await refuses(home(), { ports: "x" }, 'Cannot parse port "x"');
  await refuses(new SimulatedNetwork(), {}, "this machine has no network");
});
