/**
 * query() of the library, on a simulated network.
 *
 * Covers src/app/query/query_endpoints.ts, src/app/system_random.ts and src/net/network.ts.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import { query } from "../../src/library/query.ts";
import type { QueryOptions } from "../../src/library/query_host.ts";
import { SimulatedNetwork } from "../../src/testing/simulated_network.ts";

/**
 * A network with a name that resolves to a Bedrock server, and whose SRV record leads to a Java
 * server.
 */
function lobbies(): SimulatedNetwork {
  const network = new SimulatedNetwork();
  const status = { name: "Lobby", players: ["Ann", "Bob"], players_max: 20 };
  network.addServer({ host: "1.2.3.1", software: "bds", status });
  network.addServer({ host: "5.6.7.9", software: "vanilla", status });
  network.addName("play.example.org", ["1.2.3.1"], { host: "mc.example.org", port: 25565 });
  network.addName("mc.example.org", ["5.6.7.9"]);
  return network;
}

function sendQuery(network: SimulatedNetwork, host: string, options: QueryOptions = {}) {
  return network.run(query(host, { network, ...options }));
}

Deno.test("query() returns a record for each endpoint of a name that replies", async () => {
  const servers = await sendQuery(lobbies(), "play.example.org");
  assertEquals(servers.map(({ host, port, name }) => `${host}:${port} ${name}`), [
    "1.2.3.1:19132 Lobby",
    "5.6.7.9:25565 Lobby",
  ]);
  const [bedrock, java] = servers;
  assertEquals([bedrock.players_online, java.players_online], [2, 2]);
  assertEquals(java.requested_as, "play.example.org SRV mc.example.org:25565");
});

Deno.test("query() sends to a given port only, and returns nothing without a reply", async () => {
  const network = lobbies();
  network.datagrams.record = true;
  assertEquals(await sendQuery(network, "play.example.org:19133"), []);
  const ports = network.datagrams.sent.map(({ to }) => to.port);
  assertEquals([...new Set([...ports, ...network.streams.begun.map(({ to }) => to.port)])], [
    19133,
  ]);
});

Deno.test("query() leaves players out with noPlayers", async () => {
  const network = lobbies();
  const [named] = await sendQuery(network, "5.6.7.9", { protocol: ["slp"] });
  const [bare] = await sendQuery(network, "5.6.7.9", { protocol: ["slp"], noPlayers: true });
  assertEquals([named.players, bare.players], [["Ann", "Bob"], null]);
});

Deno.test("query() sends nothing to a private address from the records of a public name", async () => {
  const network = lobbies();
  network.addServer({ host: "192.168.1.5", software: "bds" });
  network.addName("trap.example.org", ["192.168.1.5"]);
  const refused = () => sendQuery(network, "trap.example.org");
  await assertRejects(refused, InputError, "trap.example.org A 192.168.1.5");
  assertEquals(network.datagrams.count, 0);
  const [server] = await sendQuery(network, "trap.example.org", { allowPrivate: true });
  assertEquals(server.host, "192.168.1.5");
});

Deno.test("query() names a host or an option that it cannot use", async () => {
  const refuses = (host: string, options: QueryOptions, message: string) =>
    assertRejects(() => sendQuery(lobbies(), host, options), InputError, message);
  await refuses("none.example.org", {}, 'Cannot find host "none.example.org"');
  await refuses("10.0.0.0/24", {}, 'Cannot query "10.0.0.0/24": it is a range');
  await refuses("224.0.0.1", {}, 'Cannot query "224.0.0.1": never probed: multicast');
  await refuses(
    "1.2.3.1",
    { protocol: ["sqp"] },
    'Cannot use protocol "sqp" without a port',
  );
  await refuses("1.2.3.1", { protocol: ["ranket"] }, "did you mean raknet?");
  await refuses(
    "1.2.3.1",
    { retries: 4 },
    'Cannot use retries "4": expected a whole number from 0 to 3',
  );
  await refuses(
    "1.2.3.1",
    { timeoutMs: 0 },
    'Cannot use timeoutMs "0ms": it must be at least 1 ms',
  );
});

Deno.test("query() rejects with the signal's reason, and closes its sockets", async () => {
  const network = lobbies();
  const controller = new AbortController();
  network.clock.after(500, () => controller.abort(new Error("the user left")));
  const { signal } = controller;
  await assertRejects(() => sendQuery(network, "1.2.3.200", { signal }), Error, "the user left");
  assertEquals([network.datagrams.ports, network.streams.open], [[], 0]);
  assert(network.clock.now() < 3000, "the query ends at once");
});
