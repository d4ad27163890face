import { assert, assertEquals, assertThrows } from "@std/assert";
import { Truncated } from "../../../src/core/bytes.ts";
import * as raknet from "../../../src/protocols/raknet/mod.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import type { Responder } from "../../../src/fleet/simulate/responder.ts";
import { type ExchangeContext, NoReply, type Statement } from "../../../src/protocols/protocol.ts";
import { raknetProtocol, type RaknetStatus } from "../../../src/protocols/raknet/mod.ts";

const ENDPOINT = { address: 0x7f000001, port: 19132 };
const US = { address: 0x7f000001, port: 40000 };
const CONTEXT: ExchangeContext = {
  endpoint: ENDPOINT,
  nonce: 0x0123456789abcdefn,
  exclusive: true,
  lastAttempt: true,
};
const GUID = 0x4a0c2b7d9e3f1160n;

/** A pong, as the sweep decoded it. */
const pong = (guid = GUID, text?: string): RaknetStatus =>
  raknetProtocol.probe!.content!(raknet.encodePong({
    advertise: false,
    time: 1n,
    guid,
    text: text === undefined ? undefined : new TextEncoder().encode(text),
  })).status!;

/** A request 1 as text; any other datagram fails the test. */
function queried(question: Uint8Array): string {
  const first = raknet.decodeOpenRequest1(question);
  assert(first !== undefined, `sent ${question.toHex()}`);
  assert(question.subarray(18).every((byte) => byte === 0), "padding that is not zero");
  return `protocol ${first.protocol}, ${question.length}`;
}

/** Runs the check against a simulated peer. */
function verify(
  respond: (question: Uint8Array, number: number) => readonly Uint8Array[],
  status = pong(),
) {
  const exchange = raknetProtocol.verify!.exchange(status, CONTEXT)!;
  const questions: string[] = [];
  let step = exchange.next();
  while (!step.done) {
    const { bytes, resend } = step.value!;
    assert(resend);
    const replies = respond(bytes, questions.length);
    questions.push(queried(bytes));
    step = { done: false, value: undefined };
    for (const reply of replies) {
      step = exchange.next(reply.slice());
      if (step.done || step.value !== undefined) break;
    }
    if (!step.done && step.value === undefined) step = exchange.throw(new NoReply());
  }
  return { found: step.value as Statement, questions };
}

/** A simulated server of this software as the peer. */
function server(software: string): (question: Uint8Array) => readonly Uint8Array[] {
  const range = { start: 0x7f000001, end: 0x7f000002 };
  const plan = { servers: 1, range, seed: 3, software: [software] };
  const responder: Responder = drawFleet(plan)[0].responder!;
  return (question) => responder.respond(question, US, 0);
}

const reply1 = (over: { guid?: bigint; mtu?: number; cookie?: number } = {}) => {
  const { guid = GUID, mtu = 1400, cookie } = over;
  const security = cookie === undefined ? undefined : { cookie, publicKey: undefined };
  return raknet.encodeOpenReply1({ guid, security, mtu });
};
const reply2 = (mtu = 1400) =>
  raknet.encodeOpenReply2({ guid: GUID, address: US, mtu, encrypted: false });
const refusal = (reason: raknet.RefusalReason, protocol?: number) =>
  raknet.encodeRefusal({ reason, guid: GUID, protocol });

Deno.test("verify: sends the largest request 1 of a real client, and nothing after its reply", () => {
  assertEquals(verify(server("bds")), {
    found: {
      columns: { joinable: true, mtu: 1492, raknet_protocol: 11 },
      flags: [],
      facts: { security: "none" },
    },
    questions: ["protocol 11, 1464"],
  });
});

Deno.test("verify: a cookie is reported, and the server's MTU is used", () => {
  for (
    const [software, mtu] of [["dragonfly", 1492], ["geyser", 1400], ["nukkit", 1400]] as const
  ) {
    const { found, questions } = verify(server(software));
    assertEquals(found.columns, { joinable: true, mtu, raknet_protocol: 11 }, software);
    assertEquals(found.facts, { security: "cookie" });
    assertEquals(questions, ["protocol 11, 1464"]);
  }
});

Deno.test("verify: another protocol is tried once, when the server names it", () => {
  for (const [software, protocol] of [["bedrockProtocol", 10], ["pocket2012", 5]] as const) {
    const mtu = protocol === 10 ? 1400 : 1492;
    const { found, questions } = verify(server(software));
    assertEquals(found.columns, { joinable: true, mtu, raknet_protocol: protocol });
    assertEquals(questions, ["protocol 11, 1464", `protocol ${protocol}, 1464`]);
  }
});

Deno.test("verify: a server that names yet another protocol, or the requested one, gets no further request", () => {
  const fickle = verify((_, number) => [refusal("incompatibleProtocol", 20 + number)]);
  assertEquals(fickle.questions, ["protocol 11, 1464", "protocol 20, 1464"]);
  assertEquals(fickle.found, {
    columns: { joinable: false, raknet_protocol: 21 },
    flags: ["incompatibleProtocol"],
    facts: {},
  });
  const absurd = verify(() => [refusal("incompatibleProtocol", 11)]);
  assertEquals([absurd.questions.length, absurd.found.flags], [1, ["incompatibleProtocol"]]);
});

Deno.test("verify: a size without a reply is followed by the next smaller one", () => {
  const narrow = (least: number) =>
    verify((question) => question.length > least ? [] : [reply1({ mtu: question.length + 28 })]);
  const { found, questions } = narrow(1172);
  assertEquals([found.columns.joinable, found.columns.mtu], [true, 1200]);
  assertEquals(questions, ["protocol 11, 1464", "protocol 11, 1172"]);
  assertEquals(narrow(548).questions[2], "protocol 11, 548");
});

Deno.test("verify: a duplicate refusal that names a protocol counts once", () => {
  const { found, questions } = verify((question) => {
    const named = refusal("incompatibleProtocol", 10);
    return question[17] === 10 ? [named, reply1()] : [named, named];
  });
  assertEquals([found.columns.joinable, found.columns.raknet_protocol], [true, 10]);
  assertEquals(questions.length, 2);
});

Deno.test("verify: a protocol that is named late is used for the smaller sizes too", () => {
  const { found, questions } = verify((question) =>
    question.length > 1200 ? [] : question[17] !== 9 ? [refusal("incompatibleProtocol", 9)] : []
  );
  assertEquals(questions, [
    "protocol 11, 1464",
    "protocol 11, 1172",
    "protocol 9, 1172",
    "protocol 9, 548",
  ]);
  // It replied once; whether it accepts clients of its protocol is unknown.
  assertEquals(found, {
    columns: { raknet_protocol: 9 },
    flags: ["incompatibleProtocol"],
    facts: {},
  });
});

Deno.test("verify: a server without a reply at any size advertises without accepting connections", () => {
  const { found, questions } = verify(server("mute"));
  assertEquals(found, { columns: { joinable: false }, flags: ["advertOnly"], facts: {} });
  assertEquals(questions, ["protocol 11, 1464", "protocol 11, 1172", "protocol 11, 548"]);
});

Deno.test("verify: each refusal yields its columns and flag", () => {
  const reasons = [
    ["noFreeConnections", "full", false],
    ["banned", "banned", false],
    ["connectionAttemptFailed", "connectionAttemptFailed", false],
    ["alreadyConnected", "alreadyConnected", null],
    ["recentlyConnected", "recentlyConnected", null],
  ] as const;
  for (const [reason, flag, joinable] of reasons) {
    const { found, questions } = verify(() => [refusal(reason)]);
    assertEquals(found, { columns: { joinable }, flags: [flag], facts: {} });
    assertEquals(questions.length, 1);
  }
  assertEquals(verify(server("bdsBans")).found.flags, ["banned"]);
});

Deno.test("verify: a refusal for lack of connections outweighs free slots in the advertisement", () => {
  const advertised = pong(GUID, "MCPE;Full;766;1.21.50;3;20;1;level;Survival;");
  const { found } = verify(() => [refusal("noFreeConnections")], advertised);
  assertEquals(found, { columns: { joinable: false }, flags: ["full"], facts: {} });
});

Deno.test("verify: joinable is unknown for a full server", () => {
  const places = (online: string, max: string) =>
    verify(() => [reply1()], pong(GUID, `MCPE;Full;766;1.21.50;${online};${max};1;level;Survival;`))
      .found;
  const columns = { mtu: 1400, raknet_protocol: 11 };
  for (const full of [places("20", "20"), places("21", "20")]) {
    assertEquals(full, { columns, flags: ["full"], facts: { security: "none" } });
  }
  for (const open of [places("19", "20"), places("0", "0"), places("", "20"), places("3", "")]) {
    assertEquals([open.columns, open.flags], [{ ...columns, joinable: true }, []]);
  }
});

Deno.test("verify: replies of a flood filter are ignored", () => {
  const filters = [reply1({ guid: 0n }), reply1({ mtu: 399 }), reply1({ mtu: 1501 })];
  assertEquals(verify(() => filters).found.flags, ["advertOnly"]);
  const { found, questions } = verify(() => [...filters, reply1({ mtu: 1300 })]);
  assertEquals([found.columns.joinable, found.columns.mtu], [true, 1300]);
  assertEquals(questions.length, 1);
});

Deno.test("verify: GUID 0 is accepted if the server's pong has it", () => {
  const { found } = verify(() => [reply1({ guid: 0n, mtu: 1492 })], pong(0n));
  assertEquals(found.columns, { joinable: true, mtu: 1492, raknet_protocol: 11 });
});

Deno.test("verify: joinable is unknown for a server with a public key", () => {
  const security = { cookie: 1, publicKey: new Uint8Array(64).fill(3) };
  const { found, questions } = verify(() => [
    raknet.encodeOpenReply1({ guid: GUID, security, mtu: 1492 }),
  ]);
  assertEquals(found, {
    columns: { mtu: 1492, raknet_protocol: 11 },
    flags: [],
    facts: { security: "publicKey" },
  });
  assertEquals(questions.length, 1);
});

Deno.test("verify: a malformed reply is an error, and unsolicited datagrams are ignored", () => {
  const exchange = raknetProtocol.verify!.exchange(pong(), CONTEXT)!;
  exchange.next();
  assertEquals(exchange.next(Uint8Array.of(0x1c)).value, undefined);
  assertEquals(exchange.next(reply2()).value, undefined);
  assertThrows(() => exchange.next(reply1().subarray(0, 20)), Truncated, "server GUID");
  const failing = raknetProtocol.verify!.exchange(pong(), CONTEXT)!;
  failing.next();
  assertThrows(() => failing.throw(new TypeError("a fault of ours")), TypeError);
});

Deno.test("verify: a server that refuses pings gets no request", () => {
  const refused = raknet.decodeRefusal(refusal("banned"))!;
  assertEquals(
    raknetProtocol.verify!.exchange({ kind: "refusal", refusal: refused }, CONTEXT),
    undefined,
  );
});

Deno.test("the simulated go-raknet stops replying after a wrong protocol, as observed", () => {
  const query = server("dragonfly");
  const wrong = raknet.encodeOpenRequest1({ protocol: 10, padding: 1446 });
  const right = raknet.encodeOpenRequest1({ protocol: 11, padding: 1446 });
  assertEquals(query(wrong).map((reply) => raknet.decodeRefusal(reply)?.protocol), [11]);
  assertEquals(query(right), []);
  // Servers with cookies do not reply to a wrong cookie either.
  const forged = { cookie: 1, address: ENDPOINT, mtu: 1400, guid: 1n };
  assertEquals(server("geyser")(raknet.encodeOpenRequest2(forged)), []);
});
