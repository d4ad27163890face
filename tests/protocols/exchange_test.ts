/** Covers src/protocols/protocol.ts. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { Malformed, Truncated } from "../../src/core/bytes.ts";
import { Stamp } from "../../src/net/socket.ts";
import {
  type Exchange,
  type ExchangeContext,
  motdAsSent,
  NoReply,
} from "../../src/protocols/protocol.ts";
import { optOutCheck, optOutFilter } from "../../src/targets/shipped_lists.ts";
import * as query from "../../src/protocols/query/mod.ts";
import * as raknet from "../../src/protocols/raknet/mod.ts";
import { queryProtocol } from "../../src/protocols/query/mod.ts";
import { raknetProtocol, type RaknetStatus } from "../../src/protocols/raknet/mod.ts";
import { drawFleet } from "../../src/fleet/simulate/draw_fleet.ts";
import { Random } from "../../src/fleet/random.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import type { Responder } from "../../src/fleet/simulate/responder.ts";

const ENDPOINT = { address: 0x7f000001, port: 19132 };
const US = { address: 0x7f000001, port: 40000 };
const CONTEXT: ExchangeContext = {
  endpoint: ENDPOINT,
  nonce: 0x0123456789abcdefn,
  exclusive: false,
  lastAttempt: false,
};

/** A server of this software. */
function server(software: string): Responder {
  const range = { start: 0x7f000001, end: 0x7f000002 };
  return drawFleet({ servers: 1, range, seed: 3, software: [software] })[0].responder!;
}

/** Runs an exchange with a simulated server without loss. */
function talk<S>(exchange: Exchange<S>, peer: Responder): { status: S; questions: string[] } {
  const questions: string[] = [];
  let step = exchange.next();
  while (!step.done) {
    const { bytes, resend } = step.value!;
    questions.push(bytes.toHex());
    // A handshake and a ping may be resent, a stat request never.
    assertEquals(resend, bytes.length !== 11 && bytes.length !== 15 && bytes.length !== 19);
    const replies = peer.respond(bytes, US, 0);
    step = replies.length === 0 ? exchange.throw(new NoReply()) : exchange.next(replies[0].slice());
  }
  return { status: step.value, questions };
}

Deno.test("query: a handshake is followed by a full stat request with its token", () => {
  const { status, questions } = talk(queryProtocol.exchange(CONTEXT), server("paper"));
  assertEquals([status.stat?.form, status.fullLost], ["full", false]);
  assertEquals(questions.map((question) => question.length / 2), [7, 15]);
  assertEquals(questions[0], "fefd0909" + "0b0d0f"); // every byte of the session is below 0x10
});

Deno.test("query: a raw token is sent with eight bytes of padding", () => {
  const { status, questions } = talk(queryProtocol.exchange(CONTEXT), server("nukkit"));
  assertEquals([status.stat?.form, status.challenge.raw], ["full", true]);
  assertEquals(questions[1].length / 2, 19);
});

Deno.test("query: a token from the sweep replaces the handshake", () => {
  const peer = server("vanilla");
  const session = 0x01020304;
  const [reply] = peer.respond(query.encodeHandshake(session), US, 0);
  const { known } = queryProtocol.probe!.content!(reply);
  const { questions } = talk(queryProtocol.exchange({ ...CONTEXT, known }), peer);
  assertEquals(questions.length, 1);
  assertEquals(questions[0].slice(6, 14), "01020304");
});

Deno.test("query: a missing full stat ends an attempt, and the last attempt requests a basic stat", () => {
  assertThrows(() => talk(queryProtocol.exchange(CONTEXT), server("fullLost")), NoReply);
  const last = talk(queryProtocol.exchange({ ...CONTEXT, lastAttempt: true }), server("fullLost"));
  assertEquals([last.status.stat?.form, last.status.fullLost], ["basic", true]);
  assertEquals(last.questions.map((question) => question.length / 2), [7, 15, 7, 11]);
});

Deno.test("query: an internal error is not taken for a missing reply, not even in the last attempt", () => {
  const peer = server("paper");
  const [token] = peer.respond(query.encodeHandshake(0x090b0d0f), US, 0);
  const exchange = queryProtocol.exchange({ ...CONTEXT, lastAttempt: true });
  exchange.next();
  exchange.next(token.slice());
  // the full stat is missing, so the exchange requests a token again
  assert(!exchange.throw(new NoReply()).done);
  assertThrows(() => exchange.throw(new TypeError("ours")), TypeError, "ours");
});

Deno.test("query: a server that sends tokens but no stat is reported", () => {
  const { status } = talk(
    queryProtocol.exchange({ ...CONTEXT, lastAttempt: true }),
    server("tokensOnly"),
  );
  assertEquals([status.stat, status.fullLost], [undefined, false]);
  assertEquals(queryProtocol.record(status).flags, ["statLost"]);
});

Deno.test("query: one token without any later reply counts as no reply", () => {
  const peer = server("paper");
  let queried = 0;
  const once: Responder = {
    ...peer,
    respond: (bytes, from, at) => queried++ === 0 ? peer.respond(bytes, from, at) : [],
  };
  assertThrows(
    () => talk(queryProtocol.exchange({ ...CONTEXT, lastAttempt: true }), once),
    NoReply,
  );
  assertEquals(queried, 3); // a handshake, a stat, another handshake
});

Deno.test("query: the latest token is used, a bounded number of times", () => {
  const exchange = queryProtocol.exchange(CONTEXT);
  const session = new DataView((exchange.next().value as { bytes: Uint8Array }).bytes.buffer)
    .getUint32(3);
  const token = (value: number) =>
    query.encodeQueryChallenge({ session, token: value, raw: false, fill: 0 });
  const shown = (step: IteratorResult<unknown>) =>
    (step.value as { bytes: Uint8Array } | undefined)?.bytes.toHex().slice(14, 22);
  assertEquals(shown(exchange.next(token(1))), "00000001");
  assertEquals(shown(exchange.next(token(1))), undefined); // the same again
  assertEquals(shown(exchange.next(token(2))), "00000002");
  assertEquals(shown(exchange.next(token(3))), "00000003");
  assertEquals(shown(exchange.next(token(4))), undefined); // the maximum is reached
});

Deno.test("query: a reply to another session is ignored, a malformed reply to this session is an error", () => {
  const exchange = queryProtocol.exchange(CONTEXT);
  exchange.next();
  const stray = query.encodeQueryChallenge({ session: 7, token: 1, raw: false, fill: 0 });
  assertEquals(exchange.next(stray), { value: undefined, done: false });
  const broken = Uint8Array.of(9, 0x09, 0x0b, 0x0d, 0x0f, 0x61, 0);
  assertThrows(() => exchange.next(broken), Malformed, "a token that is not a number");
});

Deno.test("raknet: a pong with the ping's time is the status", () => {
  const { status, questions } = talk(raknetProtocol.exchange(CONTEXT), server("bds"));
  assert(status.kind === "pong" && status.echoed && status.bedrock !== undefined);
  assertEquals(questions, ["010123456789abcdef00ffff00fefefefefdfdfdfd12345678626c6f636b737770"]);
});

Deno.test("raknet: a pong with another time and a refusal are accepted only on an exclusive socket", () => {
  for (const software of ["raknetNode", "banned"]) {
    const shared = raknetProtocol.exchange(CONTEXT);
    const question = shared.next().value as { bytes: Uint8Array };
    const [reply] = server(software).respond(question.bytes, US, 1000);
    assertEquals(shared.next(reply), { value: undefined, done: false }, software);
    const own = talk(raknetProtocol.exchange({ ...CONTEXT, exclusive: true }), server(software));
    const flags = raknetProtocol.record(own.status).flags;
    assertEquals(flags, software === "banned" ? ["refused"] : ["timeNotEchoed"]);
  }
});

Deno.test("raknet: the pong repeats the probe's token, and a refusal has none", () => {
  const probe = raknetProtocol.probe!;
  const bytes = probe.template.slice();
  new Stamp(probe).write(new DataView(bytes.buffer), 0, 0x12345678, 0xfedcba98);
  const { mac, clock } = probe.read(server("bds").respond(bytes, US, 0)[0])!;
  assertEquals([mac, clock], [0x12345678, 0xfedcba98]);
  assertEquals(probe.read(server("banned").respond(bytes, US, 0)[0]), { mac: undefined });
  assertEquals(probe.read(bytes), undefined); // an echo
  assert((bytes[1] & 0x80) === 0);
});

Deno.test("raknet: the probe reads the token of a pong without decoding its advertisement", () => {
  /** Bytes of which no part may be read apart. */
  class Undivided extends Uint8Array<ArrayBuffer> {
    override subarray(): never {
      throw new Error("a part was read");
    }
  }
  const probe = raknetProtocol.probe!;
  const [pong] = server("bds").respond(probe.template, US, 0);
  assertEquals(probe.read(Undivided.from(pong)), { mac: 0, clock: 0 });
  assertThrows(() => probe.content!(Undivided.from(pong)), Error, "a part was read");
  const time32 = Uint8Array.from([0x1c, 0x90, 2, 3, 4, ...pong.subarray(9)]);
  const read = probe.read(time32)!;
  assertEquals([read.mac, read.clock], [0, 0x90020304]);
  assertThrows(() => probe.read(pong.subarray(0, 32)), Truncated);
});

Deno.test("query: the reply to the handshake repeats the probe's token", () => {
  const probe = queryProtocol.probe!;
  const bytes = probe.template.slice();
  new Stamp(probe).write(new DataView(bytes.buffer), 0, 0x0a0b0c0d, 0);
  assertEquals(bytes.length, 7);
  assertEquals(probe.read(server("vanilla").respond(bytes, US, 0)[0])!.mac, 0x0a0b0c0d);
  assertEquals(probe.read(bytes), undefined); // an echo
});

Deno.test("raknet: a pong with GUID 0 is accepted in the sweep and in an exchange", () => {
  const reply = raknet.encodePong({
    advertise: false,
    time: CONTEXT.nonce,
    guid: 0n,
    text: new TextEncoder().encode(
      "MCPE;JSPrismarine Server;440;1.17.0;0;20;0;JSPrismarine;Creative;",
    ),
  });
  const exchange = raknetProtocol.exchange(CONTEXT);
  exchange.next();
  const { done, value } = exchange.next(reply);
  assert(done);
  const { columns } = raknetProtocol.record(value as RaknetStatus);
  assertEquals([columns.guid, columns.players_max], ["0", 20]);
  assertEquals(raknetProtocol.probe!.read(reply)?.mac, Number(CONTEXT.nonce >> 32n));
});

Deno.test("an opt-out marker counts in each text of a statement, for any other texts", () => {
  const optsOut = optOutCheck();
  assertEquals([optsOut("a §B§d§F§d§b"), optsOut("§b§d§f§d§c")], [true, false]);
  const marked = "Hive §b§d§f§d§b";
  const statement = (texts: object, motdSent?: string) => ({
    columns: { name: null, motd: null, ...texts },
    flags: [],
    facts: {},
    motdSent,
  });
  const text = new TextEncoder().encode(`MCPE;${marked};766;1.21.50;0;10;`);
  const pong = raknet.encodePong({ advertise: false, time: 1n, guid: 1n, text });
  const { status } = raknetProtocol.probe!.content!(pong);
  const cases = [
    statement({ name: marked, motd: "" }),
    statement({ name: marked }, ""),
    statement({ name: marked, motd: "Hi" }, "Hi"),
    statement({ motd: marked }, ""),
    statement({ motd: "" }, marked),
    raknetProtocol.record(status!),
    { ...raknetProtocol.record(status!), motdSent: "" },
  ];
  assertEquals(cases.map(motdAsSent).map(optsOut), cases.map(() => true));
  const mayOptOut = optOutFilter();
  assertEquals([mayOptOut(pong), mayOptOut(pong.subarray(0, 58))], [true, false]);
  // The end of one text and the start of the next one are not a marker.
  assertEquals(optsOut(motdAsSent(statement({ motd: "§b§d§f", name: "§d§b" }))), false);
});

Deno.test("a reply is not decoded at once only if its statement cannot contain an opt-out marker", () => {
  const [optsOut, mayOptOut] = [optOutCheck(), optOutFilter()];
  const random = new Random(8);
  const pieces = ["§", "b", "D", "d", "F", "f", ";", "\\", "§§ab", " ", "\u0000", "\u200b", "é"];
  const probes = PROTOCOLS.filter(({ probe }) => probe?.wholeStatus);
  assertEquals(probes.map(({ name }) => name), ["raknet"]);
  const outcomes = new Map<string, number>();
  for (let i = 0; i < 100_000; i++) {
    const drawn = () => pieces[random.below(pieces.length)];
    const parts = [..."§b§d§f§d§b"].map((letter) => [
      random.below(9) > 0 ? letter : drawn(),
      ...Array.from({ length: random.below(2) }, drawn),
    ]);
    const text = new TextEncoder().encode(`MCPE;${parts.flat().join("")};766;1.21.50;0;10;7;L;`);
    const pong = raknet.encodePong({ advertise: false, time: 1n, guid: 1n, text });
    const { status } = raknetProtocol.probe!.content!(pong);
    const outcome = [optsOut(motdAsSent(raknetProtocol.record(status!))), mayOptOut(pong)].join();
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  assertEquals(outcomes.get("true,false"), undefined);
  assertEquals(outcomes.size, 3);
});
