import { assertEquals } from "@std/assert";
import { inspect } from "../../src/inspect/inspect.ts";
import { exclusiveLink } from "../../src/net/peer_link.ts";
import { Throttle } from "../../src/net/throttle.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";

/** The types of the Query messages that an inspection sends, if its sighting has a token of some age. */
async function sentTypes(ageMs: number): Promise<number[]> {
  const network = new FakeNetwork(3);
  network.record = true;
  const endpoint = { address: 0x7f110001, port: 25565 };
  network.host(endpoint, { respond: () => [] });
  const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: undefined });
  const known = { session: 1, token: 5, raw: false, fill: 0, flags: [] };
  const at = network.now() - ageMs;
  const sighting = { endpoint, protocol: "query", known, verified: true, at, socket: 0 };
  await network.run(
    inspect(sighting, {
      allProtocols: PROTOCOLS,
      protocols: PROTOCOLS.filter(({ name }) => name === "query"),
      follow: false,
      timeoutMs: 1000,
      retries: 0,
      nonce: () => 5n,
      clock: network,
      signal: new AbortController().signal,
      optsOut: () => false,
      links: { exclusive: () => exclusiveLink(endpoint, network.open(4), throttle, network) },
    }),
  );
  return network.sent.map(({ bytes }) => bytes[2]);
}

Deno.test("the token of a sighting is used for less than five seconds, and then requested again", async () => {
  const [STAT, HANDSHAKE] = [0, 9];
  assertEquals((await sentTypes(0))[0], STAT);
  assertEquals((await sentTypes(4999))[0], STAT);
  assertEquals((await sentTypes(5000))[0], HANDSHAKE);
  assertEquals((await sentTypes(60_000))[0], HANDSHAKE);
});
