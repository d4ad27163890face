/** Covers src/protocols/sqp/. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { concat, Malformed, Truncated } from "../../src/core/bytes.ts";
import { drawIdentity } from "../../src/fleet/simulate/server_identity.ts";
import { Random } from "../../src/fleet/random.ts";
import type { Responder } from "../../src/fleet/simulate/responder.ts";
import { SqpServer } from "../../src/fleet/simulate/sqp/sqp_server.ts";
import { SQP_STYLES } from "../../src/fleet/simulate/sqp/sqp_styles.ts";
import * as sqp from "../../src/protocols/sqp/mod.ts";
import { Stamp } from "../../src/net/socket.ts";
import { type Exchange, type ExchangeRequest, NoReply } from "../../src/protocols/protocol.ts";
import { sqpProtocol, type SqpStatus } from "../../src/protocols/sqp/mod.ts";
import { goldenOf } from "../golden/mod.ts";

const US = { address: 0x7f000001, port: 40000 };
const CONTEXT = {
  endpoint: { address: 0x7f000001, port: 9000 },
  nonce: 1n,
  exclusive: true,
  lastAttempt: true,
};
const CHALLENGE = 0x11223344;
const utf8 = (text: string) => new TextEncoder().encode(text);

/** A server of this software, with players. */
function server(name: keyof typeof SQP_STYLES): SqpServer {
  const identity = drawIdentity(new Random(3));
  const players = ["Ann", "Bob"];
  return new SqpServer(SQP_STYLES[name], { ...identity, players, online: 2 }, new Random(4));
}

/** Runs an exchange without loss; requests are listed as bytes. */
function talk(exchange: Exchange<SqpStatus>, peer: Responder) {
  const questions: string[] = [];
  let waiting: Uint8Array[] = [];
  let step = exchange.next();
  while (!step.done) {
    if (step.value !== undefined) {
      questions.push(step.value.bytes.toHex());
      assertEquals(step.value.resend, step.value.bytes.length === 5);
      waiting = [...peer.respond(step.value.bytes, US, 0)];
    }
    const reply = waiting.shift();
    step = reply === undefined ? exchange.throw(new NoReply()) : exchange.next(reply.slice());
  }
  return { status: step.value, questions };
}

/** The bytes of the next request of an exchange. */
const question = ({ value }: IteratorResult<ExchangeRequest | undefined, unknown>) =>
  (value as ExchangeRequest | undefined)?.bytes ?? new Uint8Array();

/** The chunks of queries, and `?` for a request for a challenge. */
const queried = (questions: readonly string[]) =>
  questions.map((hex) => hex.length === 10 ? "?" : hex.slice(14)).join(" ");

Deno.test("sqp: each chunk is queried with a new challenge, ServerInfo first", () => {
  const { status, questions } = talk(sqpProtocol.exchange(CONTEXT), server("sqpFull"));
  assertEquals(queried(questions), "? 01 ? 02 ? 04 ? 08 ? 10");
  const shown = questions.filter((hex) => hex.length === 16).map((hex) => hex.slice(2, 10));
  assertEquals(new Set(shown).size, 5);
  const { columns, facts, flags } = sqpProtocol.record(status);
  assertEquals([columns.players, flags], [["Ann", "Bob"], []]);
  assertEquals(facts.chunks, ["info", "rules", "players", "teams", "metrics"]);
  // An integer above 2^53 stays exact.
  assertEquals((facts.players as Record<string, string>[])[0].id, "76561197960265729");
});

Deno.test("sqp: no further chunk is queried after the first one without a reply", () => {
  const { status, questions } = talk(sqpProtocol.exchange(CONTEXT), server("sqpInfo"));
  assertEquals(queried(questions), "? 01 ? 02");
  assertEquals(sqpProtocol.record(status).facts, { version: 1, chunks: ["info"] });
});

Deno.test("sqp: replies of version 0 and of a later version are decoded, and the version is a fact", () => {
  for (const [name, version] of [["sqpUnity", 0], ["sqpLater", 7]] as const) {
    const { status, questions } = talk(sqpProtocol.exchange(CONTEXT), server(name));
    const { columns, facts, flags } = sqpProtocol.record(status);
    assertEquals(queried(questions), "? 01 ? 02");
    assertEquals([facts, flags], [{ version, chunks: ["info"] }, []]);
    assertEquals([columns.players_online, columns.port_v4], [2, 7777]);
  }
});

Deno.test("sqp: an empty reply adds no chunk, and the other chunks are queried", () => {
  const { status, questions } = talk(sqpProtocol.exchange(CONTEXT), server("sqpSample"));
  assertEquals(queried(questions), "? 01 ? 02 ? 04 ? 08 ? 10");
  const { columns, facts, flags } = sqpProtocol.record(status);
  assertEquals([facts, flags, columns.version], [
    { version: 1, chunks: ["info"] },
    [],
    null,
  ]);
});

Deno.test("sqp: packets may arrive in any order, and twice", () => {
  const twice: Responder = {
    respond: (datagram, from) => many.respond(datagram, from).flatMap((one) => [one, one]),
  };
  const many = server("sqpPackets");
  const whole = talk(sqpProtocol.exchange(CONTEXT), server("sqpFull")).status;
  assertEquals(talk(sqpProtocol.exchange(CONTEXT), many).status, whole);
  assertEquals(talk(sqpProtocol.exchange(CONTEXT), twice).status, whole);
});

Deno.test("sqp: only the last attempt accepts a reply cut by a timeout, and flags it", () => {
  const withoutLast = (): Responder => {
    const peer = server("sqpPackets");
    return {
      respond: (datagram, from) => {
        const replies = peer.respond(datagram, from);
        return replies.length > 1 ? replies.slice(1) : replies; // the last packet is sent first
      },
    };
  };
  assertThrows(
    () => talk(sqpProtocol.exchange({ ...CONTEXT, lastAttempt: false }), withoutLast()),
    NoReply,
  );
  const { status } = talk(sqpProtocol.exchange(CONTEXT), withoutLast());
  const { columns, flags } = sqpProtocol.record(status);
  assertEquals(columns.players_online, 2);
  assertEquals([columns.port_v4, flags.includes("truncated")], [null, true]);
});

Deno.test("sqp: no reply to the first request counts as no reply", () => {
  assertThrows(() => talk(sqpProtocol.exchange(CONTEXT), { respond: () => [] }), NoReply);
});

Deno.test("sqp: a malformed chunk ends the queries, and earlier chunks are kept", () => {
  const peer = server("sqpFull");
  const broken: Responder = {
    respond: (datagram, from) => {
      const replies = peer.respond(datagram, from);
      return datagram[7] === 0x04 ? replies.map((one) => one.with(16, 0xff)) : replies;
    },
  };
  const { status, questions } = talk(sqpProtocol.exchange(CONTEXT), broken);
  assertEquals(queried(questions), "? 01 ? 02 ? 04");
  const { facts, flags } = sqpProtocol.record(status);
  assertEquals([facts.chunks, flags], [["info", "rules"], ["statusMalformed"]]);
});

Deno.test("sqp: internal errors are not swallowed", () => {
  const exchange = sqpProtocol.exchange(CONTEXT);
  const peer = server("sqpFull");
  let step = exchange.next();
  for (let i = 0; i < 2; i++) step = exchange.next(peer.respond(question(step), US)[0]);
  assertThrows(() => exchange.throw(new RangeError("ours")), RangeError, "ours");
});

Deno.test("sqp: the latest challenge is used, a bounded number of times", () => {
  const exchange = sqpProtocol.exchange(CONTEXT);
  exchange.next();
  const shown = (challenge: number) =>
    question(exchange.next(sqp.encodeSqpChallenge(challenge))).toHex().slice(2, 10);
  assertEquals(shown(1), "00000001");
  assertEquals(shown(1), ""); // the same again
  assertEquals(shown(2), "00000002");
  assertEquals(shown(3), "00000003");
  assertEquals(shown(4), ""); // the maximum is reached
});

Deno.test("sqp: replies to another challenge are ignored", () => {
  const exchange = sqpProtocol.exchange(CONTEXT);
  exchange.next();
  exchange.next(sqp.encodeSqpChallenge(CHALLENGE));
  const chunks = sqp.encodeChunks({ metrics: [] });
  const [stray] = sqp.encodePackets(CHALLENGE + 1, chunks);
  assertEquals(exchange.next(stray), { value: undefined, done: false });
});

Deno.test("sqp: an echo of a request is rejected at every step", () => {
  const challenge = sqp.encodeChallengeRequest();
  assertThrows(() => sqpProtocol.probe!.read(challenge), Malformed, "echo");
  const first = sqpProtocol.exchange(CONTEXT);
  assertThrows(() => first.next(question(first.next())), Malformed);
  const second = sqpProtocol.exchange(CONTEXT);
  second.next();
  const query = question(second.next(sqp.encodeSqpChallenge(CHALLENGE)));
  assertThrows(() => second.next(query), Truncated, "packet header");
});

Deno.test("sqp: the probe requests a challenge, and replies repeat no part of it", () => {
  const probe = sqpProtocol.probe!;
  const bytes = probe.template.slice();
  new Stamp(probe).write(new DataView(bytes.buffer), 0, 1, 7);
  assertEquals(bytes.toHex(), "0000000000");
  const [reply] = server("sqpInfo").respond(bytes, US);
  assertEquals(probe.read(reply), { mac: undefined });
  assertEquals(probe.read(concat(reply, [0])), undefined); // a stat of Query may start like this
  assertEquals([probe.macMask, probe.mayLackToken], [0, true]);
});

Deno.test("sqp: the dump on Unity's page is the golden message", () => {
  const hexOf = (name: string) =>
    goldenOf("sqp").find((golden) => golden.name === name)!.bytes.toHex();
  assertEquals(hexOf("seed-server-info-dump"), hexOf("q04-server-info"));
  assertEquals(hexOf("seed-server-info-dump").length, 2 * 102);
});

const packetsOf = (chunks: Uint8Array, size: number) =>
  sqp.encodePackets(CHALLENGE, chunks, size).map((bytes) => sqp.decodeSqpPacket(bytes)!);

Deno.test("sqp: packets of every size join to the same reply; a missing packet yields a flagged part", () => {
  const golden = goldenOf("sqp").find(({ name }) => name.startsWith("q04"))!;
  const chunks = golden.bytes.subarray(11);
  const whole = sqp.decodeReply(packetsOf(chunks, 1000), 1);
  for (let size = 6; size < chunks.length; size++) {
    const packets = packetsOf(chunks, size);
    assertEquals(sqp.decodeReply(packets.toReversed(), 1), whole, `${size}`);
    for (let lost = 0; lost < packets.length; lost++) {
      const rest = packets.toSpliced(lost, 1);
      if (rest.length === 0) continue;
      const part = sqp.decodeReply(rest, 1);
      assertEquals(part.flags, ["truncated"]);
      assertEquals(part.info === undefined, lost === 0, `${size}, ${lost}`);
      assert(part.info === undefined || part.info.port === null);
    }
  }
});

Deno.test("sqp: a packet shorter than its length ends the decoded part", () => {
  const chunks = sqp.encodeChunks({ rules: [1, 2, 3].map((value) => rule(`r${value}`, value)) });
  const bytes = sqp.encodePackets(CHALLENGE, chunks, 7); // a length of 4, then 5 bytes a rule
  const short = bytes.map((one, i) => sqp.decodeSqpPacket(i === 1 ? one.subarray(0, 15) : one)!);
  const { rules, flags } = sqp.decodeReply(short, sqp.CHUNKS.rules);
  assertEquals(rules?.length, 1);
  assertEquals(flags.toSorted(), ["lengthMismatch", "truncated"]);
});

function rule(name: string, value: number): sqp.SqpRule {
  return { name: utf8(name), type: "u8", value };
}

Deno.test("sqp: cut tables keep their complete rows", () => {
  const fields = [{ name: utf8("name"), type: "string" }, { name: utf8("n"), type: "u8" }] as const;
  const rows = ["Ann", "Bob", "Cy"].map((name, i) => [utf8(name), i]);
  const [bytes] = sqp.encodePackets(CHALLENGE, sqp.encodeChunks({ players: { fields, rows } }));
  const cut = (size: number) => {
    const response = sqp.decodeReply([sqp.decodeSqpPacket(bytes.subarray(0, size))!], 0x04);
    assertEquals(response.flags, ["lengthMismatch", "truncated"]);
    return [response.players?.fields.length, response.players?.rows.length];
  };
  // header 11, chunk length 4, count 2, fields 1 + 6 + 3, rows 5, 5, 4
  assertEquals([12, 16, 17, 24, 26, 31, 32, 36, 40].map(cut), [
    [undefined, undefined],
    [0, 0],
    [0, 0],
    [1, 0],
    [1, 0],
    [2, 0],
    [2, 1],
    [2, 1],
    [2, 2],
  ]);
  const metrics = sqp.encodePackets(CHALLENGE, sqp.encodeChunks({ metrics: [1, 2] }))[0];
  const half = sqp.decodeSqpPacket(metrics.subarray(0, 21))!;
  assertEquals(sqp.decodeReply([half], 0x10).metrics, [1]);
});

Deno.test("sqp: the packets of a reply are bounded in number and size", () => {
  const packet = (current: number, last: number, size = 1): sqp.SqpPacket => ({
    challenge: CHALLENGE,
    version: 1,
    current,
    last,
    flags: [],
    body: new Uint8Array(size),
  });
  const packets = [packet(1, 2)];
  assertEquals(sqp.addPacket(packets, packet(1, 2)), false);
  assertEquals(sqp.addPacket(packets, packet(0, 2, 60_000)), false);
  assertThrows(() => sqp.addPacket(packets, packet(2, 2, 10_000)), Malformed, "65536 bytes");
  assertThrows(() => sqp.addPacket(packets, packet(0, 1)), Malformed, "of 2 among those of 3");
  assertEquals(packets.length, 2);
  assertEquals(sqp.addPacket(packets, packet(2, 2)), true);
});

Deno.test("sqp: requests are decoded as by servers", () => {
  const { decodeSqpRequest, encodeQuery } = sqp;
  const ping = Uint8Array.fromHex("01" + "00".repeat(32));
  assertEquals(decodeSqpRequest(ping), { type: "query", challenge: 0, version: 0, chunks: 0 });
  assertEquals(decodeSqpRequest(Uint8Array.of(0, 0, 0, 0, 1)), undefined);
  assertEquals(decodeSqpRequest(Uint8Array.of(0xfe, 0xfd)), undefined);
  assertEquals(encodeQuery({ challenge: 1, version: 2, chunks: 3 }).toHex(), "0100000001000203");
});

Deno.test("sqp: floats are formatted with the fewest sufficient digits", () => {
  const float = Math.fround;
  assertEquals(
    [0.1, 1.5, -1.25e-7, 16_777_216, 3.4028234663852886e38].map(float).map(sqp.floatText),
    [
      "0.1",
      "1.5",
      "-1.25e-7",
      "16777216",
      "3.4028235e+38",
    ],
  );
  assertEquals([NaN, Infinity, -Infinity, 0].map(sqp.floatText), [
    "NaN",
    "Infinity",
    "-Infinity",
    "0",
  ]);
  const random = new Random(8);
  for (let i = 0; i < 10_000; i++) {
    const value = new Float32Array(random.bytes(4).buffer)[0];
    assertEquals(float(Number(sqp.floatText(value))), value + 0);
  }
});

Deno.test("sqp: facts are bounded for any reply", () => {
  const names = Array.from({ length: 200 }, (_, i) => utf8(`${i}`.padEnd(250, "x")));
  const fields = names.map((name) => ({ name, type: "u8" as const }));
  const rows = Array.from({ length: 60 }, () => names.map(() => 1));
  const rules = names.map((name) => ({ name, type: "u8" as const, value: 1 }));
  const teams = {
    fields: [{ name: utf8(""), type: "u8" as const }],
    rows: Array(60_000).fill([1]),
  };
  const chunks = { rules, players: { fields, rows }, teams };
  const { facts, flags } = sqpProtocol.record({ ...chunks, version: 1, flags: [], broken: false });
  assert(flags.includes("factsCut"));
  assertEquals(Object.keys(facts.rules as object).length, 65); // 251 letters each, of 16,384
  assertEquals((facts.players as unknown[]).length, 0);
  assertEquals((facts.teams as unknown[]).length, 16_384);
});

Deno.test("sqp: keys of facts are plain data with any name", () => {
  const rules = ["__proto__", "constructor", "toString"].map((name) => rule(name, 1));
  const { facts } = sqpProtocol.record({ version: 1, rules, flags: [], broken: false });
  assertEquals(Object.keys(facts.rules as object), ["__proto__", "constructor", "toString"]);
  assertEquals(({} as Record<string, unknown>).polluted, undefined);
});
