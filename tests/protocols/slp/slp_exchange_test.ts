import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { concat, Malformed, Truncated } from "../../../src/core/bytes.ts";
import { drawIdentity } from "../../../src/fleet/simulate/server_identity.ts";
import { Random } from "../../../src/fleet/random.ts";
import { answerSlp, type SlpStyle } from "../../../src/fleet/simulate/slp/slp_replies.ts";
import { SLP_STYLES } from "../../../src/fleet/simulate/slp/slp_styles.ts";
import * as slp from "../../../src/protocols/slp/mod.ts";
import { Closed, type ExchangeContext, NoReply } from "../../../src/protocols/protocol.ts";
import { slpProtocol, type SlpStatus } from "../../../src/protocols/slp/mod.ts";
import { type Chunking, DRIP, type Peer, talkStream, WHOLE } from "../../fakes/stream.ts";

const CONTEXT: ExchangeContext = {
  endpoint: { address: 0x7f000001, port: 25565 },
  nonce: 0x0123456789abcdefn,
  exclusive: true,
  lastAttempt: true,
};
const NOTHING = new Uint8Array();
const utf8 = (text: string) => new TextEncoder().encode(text);

function identityOf(seed: number) {
  return drawIdentity(new Random(seed));
}

/** The status of a simulated server of this software, and the requests that it received. */
function query(
  style: SlpStyle,
  seed: number,
  chunking: Chunking,
  context: ExchangeContext = CONTEXT,
) {
  const identity = identityOf(seed);
  const peer = (received: Uint8Array) => answerSlp(style, identity, received);
  const { status, questions } = talkStream(slpProtocol.exchange(context), peer, chunking);
  return { status, statement: slpProtocol.record(status), questions };
}

/** Splits bytes at random places, with some empty chunks. */
function cutter(seed: number): Chunking {
  const random = new Random(seed);
  return (bytes) => {
    const most = random.pick([1, 3, 20, 400, 5000]);
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < bytes.length;) {
      // A huge reply is split into fewer than a million chunks.
      const size = random.below(Math.max(most, bytes.length >> 10) + 1);
      chunks.push(bytes.subarray(at, at + size));
      at += size;
    }
    return chunks;
  };
}

const known = (columns: object) =>
  Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== null));

for (const [name, style] of Object.entries(SLP_STYLES)) {
  Deno.test(`slp: the status of ${name} is the expected one`, () => {
    for (let seed = 0; seed < 40; seed++) {
      const { statement } = query(style, seed, WHOLE);
      const truth = style.truth(identityOf(seed));
      assertEquals(known(statement.columns), known(truth.columns));
      assertEquals([statement.flags, statement.facts], [truth.flags, truth.facts]);
      if (name === "hugeFavicon") break;
    }
  });

  Deno.test(`slp: the status of ${name} does not depend on the chunks of its reply`, () => {
    const whole = query(style, 5, WHOLE);
    for (let seed = 0; seed < (name === "hugeFavicon" ? 2 : 25); seed++) {
      const cut = query(style, 5, cutter(seed));
      assertEquals(cut.statement, whole.statement);
      assertEquals(cut.questions, whole.questions);
    }
  });
}

const hex = (questions: readonly { bytes: Uint8Array }[]) =>
  questions.map(({ bytes }) => bytes.toHex());

Deno.test("slp: handshake and request are one write, and the ping follows the status", () => {
  const { questions } = query(SLP_STYLES.vanilla, 1, DRIP);
  assertEquals(hex(questions), [
    "1300ffffffff0f09" + utf8("127.0.0.1").toHex() + "63dd01" + "0100",
    "09010123456789abcdef",
  ]);
  assertEquals(questions.map(({ resend, fresh }) => [resend, fresh]), [
    [false, undefined],
    [false, undefined],
  ]);
});

Deno.test("slp: a handshake contains the requested name, and an exchange for only the status has no ping", () => {
  const context = { ...CONTEXT, requestedAs: "mc.example.org", statusOnly: true };
  const { questions } = query(SLP_STYLES.vanilla, 1, WHOLE, context);
  assertEquals(questions.map(({ bytes }) => slp.decodeStatusRequest(bytes)), [
    { protocol: -1, host: "mc.example.org", port: 25565 },
  ]);
  const v6 = { ...CONTEXT, endpoint: { address: 1n, port: 1 }, requestedAs: null };
  assertEquals(
    slp.decodeStatusRequest(query(SLP_STYLES.vanilla, 1, WHOLE, v6).questions[0].bytes),
    {
      protocol: -1,
      host: "::1",
      port: 1,
    },
  );
});

Deno.test("slp: a handshake contains A-labels, and the port that was requested before an SRV record", () => {
  const context = { ...CONTEXT, requestedAs: "bücher.example", requestedPort: 25565 };
  const endpoint = { ...CONTEXT.endpoint, port: 25570 };
  const sent = query(SLP_STYLES.vanilla, 1, WHOLE, { ...context, endpoint }).questions[0].bytes;
  assertEquals(slp.decodeStatusRequest(sent), {
    protocol: -1,
    host: "xn--bcher-kva.example",
    port: 25565,
  });
});

Deno.test("slp: a server that closes on an unspecified protocol number gets a request with a number", () => {
  const { questions } = query(SLP_STYLES.wantsProtocol, 1, WHOLE);
  assertEquals(questions.map(({ fresh }) => fresh), [undefined, true, undefined]);
  assert(questions.every(({ resend }) => !resend));
  assertEquals(slp.decodeStatusRequest(questions[1].bytes)?.protocol, 765);
});

Deno.test("slp: legacy pings come last, each on its own connection", () => {
  const queried = (name: string) =>
    query(SLP_STYLES[name], 1, WHOLE).questions.slice(1).map(({ bytes, fresh }) =>
      `${bytes[0] === 0xfe ? bytes.toHex() : "status"}${fresh ? "" : " same"}`
    );
  assertEquals(queried("java14"), ["status", "status", FULL_PING]);
  assertEquals(queried("java16"), [FULL_PING]);
  assertEquals(queried("kicksOnly"), [FULL_PING, "fe01", "fe"]);
});

/** The complete ping of 1.6 to 127.0.0.1:25565, as the game sends it. */
const FULL_PING = "fe01fa000b" + utf16("MC|PingHost") + "00197f0009" + utf16("127.0.0.1") +
  "000063dd";

function utf16(text: string): string {
  return [...text].map((letter) => letter.charCodeAt(0).toString(16).padStart(4, "0")).join("");
}

Deno.test("slp: a server that neither replies nor closes gets the complete legacy ping", () => {
  for (const [version, form] of [["1.6.4", "1.4"], ["1.5.2", "1.4"], [null, "beta"]] as const) {
    const fields = { form, protocol: 78, version, motd: "Old but alive", online: 3, max: 20 };
    const reply = slp.encodeLegacyReply({ text: slp.formatLegacyStatus(fields) });
    const { status, questions } = talk((received) => ({
      used: received.length,
      reply: received[0] === 0xfe ? reply : NOTHING,
      close: received[0] === 0xfe,
    }));
    assertEquals(questions.map(({ bytes, fresh }) => [bytes.toHex(), fresh]).slice(1), [
      [FULL_PING, true],
    ]);
    const { motd, version: read, players_online } = slpProtocol.record(status).columns;
    assertEquals([motd, read, players_online], ["Old but alive", version, 3]);
  }
});

Deno.test("slp: a server that never replies gets a status request and one legacy ping", () => {
  const written: string[] = [];
  const silent: Peer = (received) => {
    written.push(received.toHex());
    return { used: received.length, reply: NOTHING, close: false };
  };
  assertThrows(() => talk(silent), NoReply);
  assertEquals(written.slice(1), [FULL_PING]);
});

Deno.test("slp: a legacy ping has the requested name and the port", () => {
  const context = { ...CONTEXT, requestedAs: "mc.example.org" };
  const { questions } = query(SLP_STYLES.java16, 1, WHOLE, context);
  assertEquals(slp.decodeLegacyPing(questions.at(-1)!.bytes)?.data, {
    protocol: 127,
    host: "mc.example.org",
    port: 25565,
  });
});

Deno.test("slp: software that replies to one form of the legacy ping is found", () => {
  const reply = slp.encodeLegacyReply({ text: "§1\x00127\x001.7.10\0A\x003\x0020" });
  for (const form of [FULL_PING, "fe01"]) {
    const { status } = talk((received) => ({
      used: received.length,
      reply: received.toHex() === form ? reply : NOTHING,
      close: true,
    }));
    assertEquals(slpProtocol.record(status).columns.players_max, 20);
  }
});

/** A peer that behaves equally on each connection, for any request. */
const always = (reply: Uint8Array, close: boolean): Peer => (received) => ({
  used: received.length,
  reply,
  close,
});

const talk = (peer: Peer, chunking = WHOLE) =>
  talkStream(slpProtocol.exchange(CONTEXT), peer, chunking);

Deno.test("slp: a peer that always closes, or never replies, is not a server", () => {
  assertThrows(() => talk(always(NOTHING, true)), Closed);
  const error = assertThrows(() => talk(always(NOTHING, false)), NoReply);
  assertEquals(error.name, "NoReply");
});

Deno.test("slp: a kick in reply to a status request proves a server, if legacy pings yield no status", () => {
  const kick = slp.encodeLegacyReply({ text: "Outdated client!" });
  for (const close of [true, false]) {
    const { status, questions } = talk((received) => ({
      used: received.length,
      reply: received[0] === 0xfe ? NOTHING : kick,
      close,
    }));
    assert(status.kind === "legacy");
    assertEquals([status.requestForm, status.reply.text], ["status", "Outdated client!"]);
    assertEquals(hex(questions.slice(1)), [FULL_PING, "fe01", "fe"]);
  }
});

Deno.test("slp: a Beta server that replies only to the single byte is found", () => {
  const reply = slp.encodeLegacyReply({ text: "A§1§2" });
  const { status, questions } = talk((received) => ({
    used: received.length,
    reply: received.length === 1 ? reply : NOTHING,
    close: true,
  }));
  assert(status.kind === "legacy");
  assertEquals([status.requestForm, status.reply.status?.max, questions.length], ["fe", 2, 6]);
});

Deno.test("slp: a server that also closes on the protocol of 1.20.4 gets a request with that of 1.8", () => {
  const { statement, questions } = query(SLP_STYLES.quarry, 1, WHOLE);
  assertEquals(questions.slice(0, 3).map(({ bytes }) => slp.decodeStatusRequest(bytes)?.protocol), [
    -1,
    765,
    47,
  ]);
  assertEquals([statement.columns.protocol_version, statement.flags], [47, ["versionEchoed"]]);
});

Deno.test("slp: the protocol number of a request without a version is flagged in the reply too", () => {
  const flagsOf = (protocol: number) => {
    const json = `{"version":{"name":"1.21","protocol":${protocol}},"description":"A"}`;
    const { status } = talk((received) => ({
      used: received.length,
      reply: slp.encodeStatusResponse({ json: new TextEncoder().encode(json), trailing: NOTHING }),
      close: true,
    }));
    return slpProtocol.record(status).flags;
  };
  assertEquals([flagsOf(-1), flagsOf(767)], [["versionEchoed"], []]);
});

Deno.test("slp: an exchange starts with the number that the server accepted, and tries no other", () => {
  const { status } = query(SLP_STYLES.quarry, 1, WHOLE);
  const known = slpProtocol.reusable!(status)?.known;
  assertEquals(known, 47);
  const again = query(SLP_STYLES.quarry, 1, WHOLE, { ...CONTEXT, known });
  assertEquals(
    again.questions.map(({ bytes, fresh }) => [slp.decodeStatusRequest(bytes)?.protocol, fresh]),
    [[47, undefined], [undefined, undefined]],
  );
  assertThrows(() => query(SLP_STYLES.quarry, 1, WHOLE, { ...CONTEXT, known: 765 }), Closed);
  const vanilla = query(SLP_STYLES.vanilla, 1, WHOLE);
  assertEquals(slpProtocol.reusable!(vanilla.status), undefined);
  assertEquals(vanilla.statement.flags, []);
});

Deno.test("slp: a kick of 256 letters or more is followed by legacy pings, as a shorter one", () => {
  const reply = slp.encodeLegacyReply({ text: "§1\x0047\x001.4\0A\x001\x002" });
  const kicked = (text: string, legacy: Uint8Array, chunking: Chunking): SlpStatus => {
    const kick = slp.encodeLegacyReply({ text });
    return talk(
      (received) => always(received[0] === 0xfe ? legacy : kick, true)(received),
      chunking,
    )
      .status;
  };
  for (const letter of ["x", "§", "é", "中", "한"]) {
    for (const length of [255, 256, 257, 300, 511, 512, 1000]) {
      if (length % 256 === 0 && letter > "\u8000") continue; // starts like a status
      for (const chunking of [WHOLE, DRIP]) {
        const replied = kicked(letter.repeat(length), reply, chunking);
        assert(
          replied.kind === "legacy" && replied.requestForm === "fe01fa",
          `${letter} ${length}`,
        );
        const unanswered = kicked(letter.repeat(length), NOTHING, chunking);
        assert(unanswered.kind === "legacy" && unanswered.requestForm === "status");
        assertEquals(unanswered.reply.text, letter.repeat(length));
      }
    }
  }
  const cut = slp.encodeLegacyReply({ text: "x".repeat(1000) }).subarray(0, 900);
  assertThrows(() => talk(always(cut, true)), Malformed, "neither a status nor a kick");
});

Deno.test("slp: a status of 255 bytes or more is not taken for a kick", () => {
  const short = utf8('{"description":"A"}');
  for (const size of [232, 360, 488]) { // frames of 255, 383 and 511 bytes, with the mod's text
    const bytes = slp.encodeStatusResponse({
      json: short,
      trailing: slp.encodeVarString("m".repeat(size)),
    });
    assertEquals(bytes[0], 0xff);
    const { status } = talk(always(bytes, true), DRIP);
    assert(status.kind === "status" && status.java.motd === "A" && status.trailing > size);
  }
  for (const size of [252, 253, 254, 255, 256, 300, 511, 512, 900, 2000, 5000]) {
    const json = utf8(`{"description":"${"x".repeat(size - 18)}"}`);
    const bytes = slp.encodeStatusResponse({ json, trailing: NOTHING });
    for (const chunking of [WHOLE, DRIP]) {
      const { status } = talk(always(bytes, true), chunking);
      assert(status.kind === "status" && status.java.motd?.length === size - 18, `${size}`);
    }
  }
});

Deno.test("slp: a kick with a wrong length is decoded when the peer sends no more", () => {
  const lying = Uint8Array.fromHex("ff000a004100a7003000a70035"); // the length counts bytes
  for (const close of [true, false]) {
    const { status } = talk((received) => ({
      used: received.length,
      reply: received[0] === 0xfe ? lying : NOTHING,
      close: close || received[0] !== 0xfe,
    }));
    assert(status.kind === "legacy");
    assertEquals([status.reply.status?.max, status.reply.flags], [5, ["lengthMismatch"]]);
  }
});

const STATUS = slp.encodeStatusResponse({ json: utf8('{"description":"A"}'), trailing: NOTHING });

Deno.test("slp: a truncated status is an error that names the missing part", () => {
  for (const close of [true, false]) {
    for (let size = 1; size < STATUS.length; size++) {
      assertThrows(() => talk(always(STATUS.slice(0, size), close), DRIP), Truncated);
    }
  }
  assertThrows(() => talk(always(Uint8Array.of(0xff, 0), true)), Truncated, "kick");
});

Deno.test("slp: other protocols are recognised by their first bytes", () => {
  for (
    const text of ["HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "220 mail\r\n"]
  ) {
    const error = assertThrows(() => talk(always(utf8(text), false)), Malformed);
    assertEquals(error.offset, 0);
  }
  assertThrows(() => talk(always(slp.encodeSlpPing(1n), false)), Malformed, "packet 1");
  assertThrows(() => talk(always(Uint8Array.of(0), false)), Malformed, "a frame of 0 bytes");
  const noKick = (received: Uint8Array) =>
    received[0] === 0xfe ? always(utf8("220"), false)(received) : always(NOTHING, true)(received);
  assertThrows(() => talk(noKick), Malformed, "not a kick");
});

Deno.test("slp: a length of more than 2 MiB is rejected at the first bytes", () => {
  const claim = concat(slp.encodeVarInt(slp.MAX_FRAME + 1), [0]);
  assertThrows(() => talk(always(claim, false), DRIP), Malformed, "a frame of 2097152 bytes");
  const most = concat(slp.encodeVarInt(slp.MAX_FRAME), [0]);
  assertThrows(() => talk(always(most, false)), Truncated, "2097154 bytes are needed");
  assertThrows(() => talk(always(new Uint8Array(10).fill(0xff), false)), Malformed, "5 bytes");
});

/** A server that replies to a status request, and with these bytes to a ping. */
const withPong = (reply: Uint8Array, close: boolean): Peer => (received) =>
  received[0] === 9 ? always(reply, close)(received) : always(STATUS, false)(received);

Deno.test("slp: a status stays valid if the pong is missing, late, malformed or hidden in a flood", () => {
  const flood = new Uint8Array(70_000).fill(1);
  const rest = [NOTHING, Uint8Array.of(9, 1, 2), Uint8Array.of(3, 1, 2, 3), flood, utf8("\0")];
  for (const reply of rest) {
    for (const close of [true, false]) {
      const { status } = talk(withPong(reply, close));
      assert(status.kind === "status" && !status.pongDiffers);
      assertEquals(slpProtocol.record(status).flags, []);
    }
  }
});

Deno.test("slp: an internal error is not taken for a missing pong", () => {
  const exchange = slpProtocol.exchange(CONTEXT);
  exchange.next();
  assert(!exchange.next(STATUS.slice()).done); // the exchange sends its ping
  assertThrows(() => exchange.throw(new TypeError("ours")), TypeError, "ours");
});

Deno.test("slp: a pong among other frames is found; a pong with other bytes is flagged", () => {
  const pong = (payload: bigint) => concat([1, 0, 1, 7], slp.encodeSlpPing(payload), [1, 0]);
  for (const chunking of [WHOLE, DRIP]) {
    const flags = (payload: bigint) =>
      slpProtocol.record(talk(withPong(pong(payload), false), chunking).status).flags;
    assertEquals([flags(CONTEXT.nonce), flags(1n)], [[], ["pongDiffers"]]);
  }
  const bare = withPong(slp.encodeSlpPing(1n), true);
  assertEquals(slpProtocol.record(talk(bare).status).flags, ["pongDiffers"]);
  // A pong may arrive with the status, before the ping.
  const both = always(concat(STATUS, slp.encodeSlpPing(3n)), false);
  assertEquals(slpProtocol.record(talk(both).status).flags, ["pongDiffers"]);
});

Deno.test("slp: a flood in place of a pong is read up to a bound", () => {
  const exchange = slpProtocol.exchange(CONTEXT);
  exchange.next();
  exchange.next(STATUS);
  const frames = new Uint8Array(1000).map((_, i) => i % 2 === 0 ? 1 : 0);
  let receivedBytes = 0;
  while (!exchange.next(frames).done) receivedBytes += frames.length;
  assertEquals(receivedBytes, 65_000);
});

Deno.test("slp: every byte of a flood is copied a bounded number of times", () => {
  const size = 1 << 20;
  const reply = slp.encodeStatusResponse({
    json: new Uint8Array(size).fill(0x20),
    trailing: NOTHING,
  });
  let copied = 0;
  const set = Uint8Array.prototype.set;
  Uint8Array.prototype.set = function (from: ArrayLike<number>, at?: number) {
    copied += from.length;
    set.call(this, from, at);
  };
  try {
    const exchange = slpProtocol.exchange(CONTEXT);
    exchange.next();
    assertThrows(
      () => {
        for (let at = 0; at < reply.length; at += 100) exchange.next(reply.subarray(at, at + 100));
      },
      Malformed,
      "not JSON",
    );
  } finally {
    Uint8Array.prototype.set = set;
  }
  assert(copied >= size && copied < 3 * size, String(copied));
});

Deno.test("slp: any bytes in any chunks yield a status or one of the errors", () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 12 }),
    fc.constantFrom(
      STATUS,
      slp.encodeSlpPing(1n),
      Uint8Array.fromHex("ff0008004100a7003000a70035"),
    ),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), fc.boolean(), (pieces, close) => {
      const reply = concat(...pieces);
      const outcome = (chunking: Chunking) => {
        try {
          return slpProtocol.record(talk(always(reply, close), chunking).status);
        } catch (error) {
          const expected = [NoReply, Truncated, Malformed].some((kind) => error instanceof kind);
          if (!expected) throw error;
          return (error as Error).name;
        }
      };
      const dripped = outcome(DRIP);
      // Which error a malformed reply yields may depend on how much of it has arrived.
      if (typeof dripped === "string") assert(typeof outcome(WHOLE) === "string");
      else assertEquals(outcome(WHOLE), dripped);
    }),
    { seed: 1, numRuns: 3000 },
  );
});
