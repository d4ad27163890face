/** The client of raknet-node queries the fleet. The text of each pong must be exact. */
import { assertEquals } from "@std/assert";
import { serverId } from "../../src/core/record.ts";
import { advertisementOf, ADVERTISERS, serversOf, startFleet, where } from "./fleet.ts";
import { peerScript, run } from "./processes.ts";

Deno.test("the client of raknet-node reads the advertisements of the fleet", async () => {
  const { fleet, entries } = await startFleet();
  await using _fleet = fleet;
  const servers = serversOf(entries, ...ADVERTISERS, "raknetNode", "pocket2012");
  const printed = await run(peerScript("raknet_node_ping.ts", ...servers.map(serverId)));
  for (const [i, text] of JSON.parse(printed).entries()) {
    assertEquals(text, advertisementOf(servers[i]), where(servers[i]));
  }
});
