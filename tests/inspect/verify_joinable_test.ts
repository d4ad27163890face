import { NO_USUAL_PORTS } from "../../src/protocols/usual_ports.ts";
import { assertEquals } from "@std/assert";
import { Malformed } from "../../src/core/bytes.ts";
import { followUpTimeout } from "../../src/inspect/interview.ts";
import { verifyServer } from "../../src/inspect/verify_joinable.ts";
import { exclusiveLink } from "../../src/net/peer_link.ts";
import { Throttle } from "../../src/net/throttle.ts";
import {
  type Exchange,
  NoReply,
  type Protocol,
  request,
  type Statement,
} from "../../src/protocols/protocol.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";

const PEER = { address: 0x7f000002, port: 1 };
const FREE = { rate: undefined, netRate: undefined, hostRate: undefined };
const SAID = { columns: { name: "A", mtu: 1 }, flags: ["odd"], facts: { a: "1" } };

/** A protocol whose servers reply 2 to a 1 if clients can join; 99 is a malformed reply. */
const protocol: Protocol<string> = {
  name: "test",
  ...{ finds: "toys", probeText: "toys" },
  ports: NO_USUAL_PORTS,
  playerFacts: [],
  transport: "udp",
  *exchange() {
    return yield* request(Uint8Array.of(0), () => "status", { resend: true });
  },
  record: () => SAID,
  verify: {
    ...{ help: "knock", plan: "a knock", columns: [], summary: () => [] },
    exchange: (status) => status === "dead" ? undefined : knock(),
  },
};

function* knock(): Exchange<Statement> {
  try {
    const response = yield* request(Uint8Array.of(1), ([first]) => first, { resend: true });
    if (response === 99) throw new Malformed("ninety-nine", 0);
    return { columns: { mtu: 2, joinable: true }, flags: ["open"], facts: { b: "2" } };
  } catch (error) {
    if (!(error instanceof NoReply)) throw error;
    return { columns: { joinable: false }, flags: ["shut"], facts: {} };
  }
}

/** Verifies a server that sends these replies. Returns the result and the times of requests. */
async function run(
  response: number | undefined,
  {
    latencyMs = 10 as number | null,
    status = "alive",
    signal = new AbortController().signal,
    short = 0,
  } = {},
) {
  const network = new FakeNetwork(1);
  network.record = true;
  network.host(PEER, { respond: () => response === undefined ? [] : [Uint8Array.of(response)] });
  const result = await network.run(verifyServer(
    protocol as Protocol,
    { protocol: "test", statement: SAID },
    status,
    {
      endpoint: PEER,
      link: () => {
        if (short-- > 0) throw Object.assign(new Error("too many"), { code: "EMFILE" });
        return exclusiveLink(PEER, network.open(4), new Throttle(FREE), network);
      },
      timeoutMs: latencyMs === null ? 700 : followUpTimeout(latencyMs),
    },
    { retries: 1, clock: network, signal, nonce: () => 5n },
  ));
  return {
    ...result,
    queried: network.sent.map(({ at }) => at - 1000),
    took: network.now() - 1000,
  };
}

Deno.test("verifyServer() replaces columns by verified values", async () => {
  const { reply, isCutShort, queried } = await run(2);
  assertEquals([isCutShort, queried], [false, [0]]);
  assertEquals(reply, {
    protocol: "test",
    statement: {
      columns: { name: "A", mtu: 2, joinable: true },
      flags: ["odd", "open"],
      facts: { a: "1", b: "2" },
    },
  });
});

Deno.test("verifyServer() derives its timeout from a known round-trip time", async () => {
  const quick = await run(undefined);
  assertEquals([quick.reply.statement.flags, quick.queried, quick.took], [
    ["odd", "shut"],
    [0, 250],
    500,
  ]);
  assertEquals((await run(undefined, { latencyMs: 100 })).queried, [0, 400]);
  assertEquals((await run(undefined, { latencyMs: null })).queried, [0, 700]);
});

Deno.test("verifyServer() leaves a statement unchanged without a result or without time", async () => {
  const dead = await run(2, { status: "dead" });
  assertEquals([dead.reply.statement, dead.queried, dead.isCutShort], [SAID, [], false]);
  const late = await run(undefined, { signal: AbortSignal.abort() });
  assertEquals([late.reply.statement, late.isCutShort], [SAID, true]);
});

Deno.test("verifyServer() reports a malformed reply", async () => {
  const { statement } = (await run(99)).reply;
  assertEquals([statement.columns, statement.flags], [SAID.columns, ["odd", "verifyMalformed"]]);
});

Deno.test("verifyServer() waits for a descriptor, and reports no result without one", async () => {
  const late = await run(2, { short: 10 });
  assertEquals([late.reply.statement.flags, late.isCutShort, late.queried], [
    ["odd", "open"],
    false,
    [
      1000,
    ],
  ]);
  const none = await run(2, { short: Infinity });
  assertEquals([none.reply.statement, none.isCutShort, none.took], [SAID, true, 15_000]);
});
