import { assert, assertEquals } from "@std/assert";
import type { FleetHost } from "../../src/fleet/simulate/draw_fleet.ts";
import { drawFleet } from "../../src/fleet/simulate/draw_fleet.ts";
import { runKnownInterview, runSideBySide } from "../../src/inspect/known_interview.ts";
import { exclusiveLink } from "../../src/net/peer_link.ts";
import { STREAM_LIMITS, StreamLink } from "../../src/net/stream_link.ts";
import { Throttle } from "../../src/net/throttle.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { FakeStreams } from "../../src/testing/fake_streams.ts";

const RANGE = { start: 0x7f110000, end: 0x7f120000 };
const TIMEOUT_MS = 1000;

const hostOf = (software: string): FleetHost =>
  drawFleet({ servers: 1, range: RANGE, seed: 4, software: [software] })[0];

/** Interviews a host that is known to speak protocols. Without `software` it does not respond. */
async function interview(
  run: typeof runKnownInterview,
  known: readonly string[],
  { software, followUps = [], retries = 0 }: {
    software?: string;
    followUps?: readonly string[];
    retries?: number;
  } = {},
) {
  const network = new FakeNetwork(3);
  network.record = true;
  const streams = new FakeStreams(network, 1);
  const { endpoint, responder, streams: door } = hostOf(software ?? "vanilla");
  const isUp = software !== undefined;
  network.host(endpoint, isUp && responder ? responder : { respond: () => [] });
  streams.host(endpoint, isUp && door ? door : "timeout");
  const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: undefined });
  const { signal } = new AbortController();
  const started = network.now();
  const named = (names: readonly string[]) => PROTOCOLS.filter(({ name }) => names.includes(name));
  const plan = {
    protocols: named(known),
    allProtocols: PROTOCOLS,
    followUps: named(followUps),
    known,
    timeoutMs: TIMEOUT_MS,
  };
  const found = await network.run(run(plan, {
    endpoint,
    retries,
    nonce: () => 5n,
    clock: network,
    signal,
    statusOnly: true,
    links: {
      exclusive: () => exclusiveLink(endpoint, network.open(4), throttle, network),
      stream: (_, connectMs = STREAM_LIMITS.connectMs) => {
        const limits = { ...STREAM_LIMITS, connectMs };
        return new StreamLink(endpoint, {
          dialer: streams,
          throttle,
          clock: network,
          limits,
          signal,
        });
      },
    },
  }));
  return {
    ...found,
    names: found.replies.map(({ protocol }) => protocol),
    pings: network.sent.filter(({ bytes }) => bytes.length === 33).map(({ at }) => at - started),
    handshakes: network.sent.filter(({ bytes }) => bytes[0] === 0xfe && bytes[2] === 9)
      .map(({ at }) => at - started),
    connections: streams.begun.map(({ at }) => at - started),
    tookMs: network.now() - started,
  };
}

Deno.test("a server that does not reply in its first protocol is queried in the others at the same time", async () => {
  const { names, pings, handshakes, connections, ended, tookMs } = await interview(
    runKnownInterview,
    ["raknet", "slp", "query"],
  );
  assertEquals([names, ended, pings], [[], undefined, [0]]);
  assertEquals(connections[0], TIMEOUT_MS); // TCP needs no gap after the ping
  assertEquals(handshakes[0], TIMEOUT_MS);
  assert(tookMs <= TIMEOUT_MS + STREAM_LIMITS.connectMs, String(tookMs));
});

Deno.test("the other protocols may have fewer retries", async () => {
  const sentWith = async (run: typeof runKnownInterview) => {
    const { pings, handshakes } = await interview(run, ["raknet", "query"], { retries: 2 });
    return [pings.length, handshakes.length];
  };
  assertEquals(await sentWith(runKnownInterview), [3, 3]);
  assertEquals(await sentWith((plan, options) => runKnownInterview(plan, options, 0)), [3, 1]);
});

Deno.test("a second passes after an unanswered datagram of an earlier interview", async () => {
  const { handshakes } = await interview(
    (plan, options) => runSideBySide(plan, options, 1000 + 700),
    ["query"],
  );
  assertEquals(handshakes[0], 1700);
});

Deno.test("a server is found by any of its known protocols", async () => {
  const { names, latencyMs, ended } = await interview(runKnownInterview, ["raknet", "slp"], {
    software: "vanilla",
  });
  assertEquals([names, ended, latencyMs !== null], [["slp"], undefined, true]);
});

Deno.test("follow-ups come after a reply in any protocol, and never before one", async () => {
  const followUps = ["query", "slp"];
  const dead = await interview(runKnownInterview, ["raknet"], { followUps });
  assertEquals([dead.connections, dead.handshakes, dead.pings.length], [[], [], 1]);
  const java = await interview(runKnownInterview, ["raknet", "slp"], {
    software: "vanilla",
    followUps,
  });
  assertEquals([java.names, java.connections.length, java.pings.length], [["slp", "query"], 1, 1]);
  const bedrock = await interview(runKnownInterview, ["raknet"], {
    software: "pocketmine",
    followUps,
  });
  assertEquals([bedrock.names, bedrock.pings.length], [["raknet", "query"], 1]);
});

Deno.test("siblings are used only without a reply in the first protocol", async () => {
  const withSiblings: typeof runKnownInterview = (plan, options) => {
    const siblings = PROTOCOLS.filter(({ name }) => name === "slp");
    return runKnownInterview({ ...plan, siblings }, options, 0);
  };
  const silent = await interview(withSiblings, ["raknet"], { software: "vanilla" });
  assertEquals([silent.names, silent.connections.length], [["slp"], 1]);
  assertEquals(silent.pings.length, 2); // again after the reply in the sibling
  const speaking = await interview(withSiblings, ["raknet"], { software: "pocketmine" });
  assertEquals([speaking.names, speaking.connections], [["raknet"], []]);
});

Deno.test("a first protocol over TCP is not used again after a reply in a sibling", async () => {
  const found = await interview(
    (plan, options) => {
      const siblings = PROTOCOLS.filter(({ name }) => name === "raknet");
      return runKnownInterview({ ...plan, siblings }, options, 0);
    },
    ["slp"],
    { software: "bds" },
  );
  assertEquals([found.names, found.connections.length, found.pings.length], [["raknet"], 1, 1]);
});
