import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import { query } from "../../src/library/query.ts";
import { scan } from "../../src/library/scan.ts";
import { SimulatedNetwork } from "../../src/testing/simulated_network.ts";

const LOBBY = { host: "10.0.0.7", software: "paper" };

/** The first record of a host. */
async function first(network: SimulatedNetwork, host: string) {
  const [server] = await network.run(query(host, { network }));
  return server;
}

Deno.test("a simulated server publishes the status that it is given", async () => {
  const network = new SimulatedNetwork();
  const status = { name: "Lobby", version: "1.21.4", players: ["Ann", "Bob"], players_max: 9 };
  network.addServer({ ...LOBBY, status: { ...status, map: "hub" } });
  const { name, version, players, players_online, players_max, map } = await first(
    network,
    "10.0.0.7",
  );
  assertEquals({ name, version, players, players_max }, status);
  assertEquals([players_online, map], [2, "hub"]);
});

Deno.test("a server that is added again takes the place of the first, until it is removed", async () => {
  const network = new SimulatedNetwork();
  network.addServer({ ...LOBBY, status: { name: "Old" } });
  const entry = network.addServer({ ...LOBBY, status: { name: "New" } });
  assertEquals((await first(network, "10.0.0.7")).name, "New");
  network.removeServer(entry);
  assertEquals(await first(network, "10.0.0.7"), undefined);
});

Deno.test("the same seed simulates the same network", async () => {
  const hosts = async (seed: number) => {
    const network = new SimulatedNetwork({
      seed,
      faults: { loss: 0.3, duplication: 0, delay: 20, jitter: 9 },
    });
    network.addFleet({ range: "10.0.0.0/26", servers: 30, seed });
    const options = { network, seed: 1, retries: 0, noFollow: true };
    const found = await network.run(Array.fromAsync(scan(["10.0.0.0/26"], options)));
    return found.map(({ host }) => host).toSorted();
  };
  const [once, again, other] = [await hosts(1), await hosts(1), await hosts(2)];
  assertEquals(once, again);
  assertEquals(once.join() === other.join(), false);
});

Deno.test("a simulated network names what it cannot place", async () => {
  const network = new SimulatedNetwork();
  const refuses = (act: () => unknown, message: string) => assertThrows(act, InputError, message);
  refuses(() => network.addServer({ ...LOBBY, host: "lobby" }), 'Cannot place a server on "lobby"');
  refuses(() => network.addServer({ ...LOBBY, software: "quake" }), 'Cannot simulate "quake"');
  refuses(() => network.addFleet({ range: "lobby.lan" }), 'Cannot place servers in "lobby.lan"');
  refuses(() => network.addFleet({ range: "10.0.0.0/30" }), "the range has 4 addresses");
  refuses(() => new SimulatedNetwork({ local: "10.0.0.1" }), 'Cannot use local "10.0.0.1"');
  await assertRejects(() => network.resolve("lobby.lan"), InputError, "there is no such name");
});

Deno.test("a simulated network fails when nothing can settle a promise", async () => {
  const network = new SimulatedNetwork();
  network.datagrams.idleWaits = 10;
  const pending = network.run(new Promise<void>(() => {}));
  await assertRejects(() => pending, Error, "the network is idle, but an operation is pending");
});
