import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { concat, Malformed, Truncated } from "../../../src/core/bytes.ts";
import * as raknet from "../../../src/protocols/raknet/mod.ts";

const V4 = { address: 0xc0a80102, port: 19132 };
const V6 = { address: 0x20010db8000000000000000000000001n, port: 19133 };

/** The error of a decoder: its class, field and offset. */
function broken(decode: () => unknown, error: typeof Truncated | typeof Malformed = Truncated) {
  const thrown = assertThrows(decode) as Truncated | Malformed;
  assert(thrown instanceof error, String(thrown));
  return [thrown.what, thrown.offset];
}

Deno.test("requests and replies survive encoding and decoding", () => {
  const u16 = fc.integer({ min: 0, max: 0xffff });
  const u32 = fc.integer({ min: 0, max: 0xffffffff });
  const u64 = fc.bigInt({ min: 0n, max: 0xffffffffffffffffn });
  const v4 = fc.record({ address: u32, port: u16 });
  const v6 = fc.record({ address: fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }), port: u16 });
  const message = fc.record({
    guid: u64,
    address: fc.oneof(v4, v6),
    mtu: u16,
    cookie: fc.option(u32, { nil: undefined }),
    encrypted: fc.boolean(),
  });
  fc.assert(
    fc.property(message, ({ guid, address, mtu, cookie, encrypted }) => {
      const request = { cookie, address, mtu, guid };
      const queried = raknet.encodeOpenRequest2(request);
      assertEquals(raknet.decodeOpenRequest2(queried, cookie !== undefined), request);
      const reply2 = { guid, address, mtu, encrypted };
      assertEquals(raknet.decodeOpenReply2(raknet.encodeOpenReply2(reply2)), reply2);
      const security = cookie === undefined ? undefined : { cookie, publicKey: undefined };
      const flags = mtu < 400 || mtu > 1500 ? ["foreignMtu" as const] : [];
      const reply1 = { guid, security, mtu, fill: 0, flags };
      assertEquals(raknet.decodeOpenReply1(raknet.encodeOpenReply1(reply1)), reply1);
    }),
    { seed: 1, numRuns: 2000 },
  );
});

Deno.test("a cookie that looks like an address is recognised by the length", () => {
  for (const first of [0x04, 0x06]) {
    for (const address of [V4, V6]) {
      const request = { cookie: first << 24, address, mtu: 1400, guid: 2n };
      const bytes = raknet.encodeOpenRequest2(request);
      assertEquals(raknet.decodeOpenRequest2(bytes), { ...request, cookie: request.cookie >>> 0 });
    }
  }
  // An address whose bytes look like a cookie followed by an address.
  const plain = { cookie: undefined, address: V6, mtu: 1400, guid: 2n };
  assertEquals(raknet.decodeOpenRequest2(raknet.encodeOpenRequest2(plain)), plain);
});

Deno.test("type 0 of go-raknet is an IPv4 address, and unknown types are malformed", () => {
  const bytes = raknet.encodeOpenRequest2({ cookie: undefined, address: V4, mtu: 1, guid: 2n });
  bytes[17] = 0;
  assertEquals(raknet.decodeOpenRequest2(bytes, false)?.address, V4);
  bytes[17] = 5;
  assertEquals(broken(() => raknet.decodeOpenRequest2(bytes, false), Malformed), [
    "server address of type 5",
    17,
  ]);
});

Deno.test("the family of an IPv6 address depends on the writer's system, and is ignored", () => {
  const bytes = raknet.encodeOpenReply2({ guid: 1n, address: V6, mtu: 1400, encrypted: false });
  assertEquals(bytes.length, 57);
  bytes[26] = 10; // Linux
  assertEquals(raknet.decodeOpenReply2(bytes)?.address, V6);
});

Deno.test("a reply padded with zeros has no key, and a short key is an error", () => {
  const security = { cookie: 0xcafebabe, publicKey: undefined };
  const filled = { guid: 1n, security, mtu: 1400, fill: 1432, flags: [] };
  const bytes = raknet.encodeOpenReply1(filled);
  assertEquals([bytes.length, raknet.decodeOpenReply1(bytes)], [1464, filled]);
  const plain = concat(raknet.encodeOpenReply1({ guid: 1n, security: undefined, mtu: 1400 }), [7]);
  assertEquals(raknet.decodeOpenReply1(plain)?.mtu, 1400);
  const publicKey = new Uint8Array(64).fill(9);
  const keyed = raknet.encodeOpenReply1({
    guid: 1n,
    security: { cookie: 1, publicKey },
    mtu: 1400,
  });
  assertEquals([keyed.length, raknet.decodeOpenReply1(keyed)?.security?.publicKey], [
    96,
    publicKey,
  ]);
  assertEquals(broken(() => raknet.decodeOpenReply1(keyed.subarray(0, 90))), ["public key", 30]);
});

Deno.test("MTUs from 400 to 1,500 are RakNet's", () => {
  const flagged = (mtu: number) => {
    const bytes = raknet.encodeOpenReply1({ guid: 1n, security: undefined, mtu });
    return raknet.decodeOpenReply1(bytes)!.flags.length > 0;
  };
  assertEquals([399, 400, 1500, 1501].map(flagged), [true, false, false, true]);
});

Deno.test("another id or magic is another message; a cut message names the offset", () => {
  const messages = [
    [raknet.encodeOpenRequest1({ protocol: 11, padding: 0 }), raknet.decodeOpenRequest1],
    [
      raknet.encodeOpenReply1({ guid: 1n, security: undefined, mtu: 1400 }),
      raknet.decodeOpenReply1,
    ],
    [
      raknet.encodeOpenRequest2({ cookie: undefined, address: V4, mtu: 1, guid: 2n }),
      raknet.decodeOpenRequest2,
    ],
    [
      raknet.encodeOpenReply2({ guid: 1n, address: V4, mtu: 1, encrypted: true }),
      raknet.decodeOpenReply2,
    ],
  ] as const;
  for (const [bytes, decode] of messages) {
    assert(decode(bytes) !== undefined);
    const other = concat([bytes[0] + 4], bytes.subarray(1));
    const noise = bytes.slice();
    noise[9] ^= 1;
    assertEquals([decode(other), decode(noise), decode(new Uint8Array())], [
      undefined,
      undefined,
      undefined,
    ]);
    assertEquals(broken(() => decode(bytes.subarray(0, 10))), ["magic", 1]);
    assertEquals(broken(() => decode(bytes.subarray(0, 17)))[1], 17);
  }
});

/**
 * The missing fields of the prefixes of a message, in order, from the magic or the first byte on.
 */
function lacks(bytes: Uint8Array, decode: (bytes: Uint8Array) => unknown, from = 17): string {
  const whats = Array.from({ length: bytes.length - from }, (_, i) => {
    try {
      const value = decode(bytes.subarray(0, from + i));
      return value === undefined ? "another message" : "whole";
    } catch (error) {
      const { what, offset, needed, available } = error as Truncated;
      assert(error instanceof Truncated && offset + available === from + i && needed > available);
      return what;
    }
  });
  return whats.filter((what, i) => what !== whats[i - 1]).join(", ");
}

Deno.test("a cut message names the missing field", () => {
  const security = { cookie: 0xcafebabe, publicKey: undefined };
  const keyed = { cookie: 0xcafebabe, publicKey: new Uint8Array(64).fill(0x99) };
  const reply1 = (over: object) =>
    raknet.encodeOpenReply1({ guid: 1n, mtu: 1400, ...over } as never);
  const request2 = (cookie: number | undefined, address: typeof V4 | typeof V6) =>
    raknet.encodeOpenRequest2({ cookie, address, mtu: 1, guid: 2n });
  const reply2 = raknet.encodeOpenReply2({ guid: 1n, address: V4, mtu: 1, encrypted: true });
  const rows = [
    [raknet.encodeOpenRequest1({ protocol: 11, padding: 0 }), raknet.decodeOpenRequest1, [
      "RakNet protocol",
    ]],
    [reply1({}), raknet.decodeOpenReply1, ["server GUID", "security", "MTU"]],
    [reply1({ security }), raknet.decodeOpenReply1, ["server GUID", "security", "cookie", "MTU"]],
    [reply1({ security: keyed }), raknet.decodeOpenReply1, [
      "server GUID",
      "security",
      "cookie",
      "MTU",
      "whole",
      "public key",
      "MTU",
    ]],
    [request2(undefined, V4), (bytes: Uint8Array) => raknet.decodeOpenRequest2(bytes, false), [
      "type of server address",
      "server address",
      "MTU",
      "client GUID",
    ]],
    [request2(0xcafebabe, V6), raknet.decodeOpenRequest2, [
      "cookie",
      "challenge",
      "type of server address",
      "server address",
      "MTU",
      "client GUID",
    ]],
    [reply2, raknet.decodeOpenReply2, [
      "server GUID",
      "type of client address",
      "client address",
      "MTU",
      "security",
    ]],
  ] as const;
  for (const [bytes, decode, whats] of rows) assertEquals(lacks(bytes, decode), whats.join(", "));
});

Deno.test("a cookie in a second request is recognised by type and length", () => {
  const plain = raknet.encodeOpenRequest2({ cookie: undefined, address: V4, mtu: 1, guid: 2n });
  const filled = concat(plain, new Uint8Array(5)); // the length of a request with a cookie
  assertEquals(raknet.decodeOpenRequest2(filled)?.cookie, undefined);
  filled[22] = 4; // the port starts like an address
  assertEquals(raknet.decodeOpenRequest2(filled)?.cookie, 0x043f57fe);
  filled[22] = 0;
  assertEquals(raknet.decodeOpenRequest2(filled)?.cookie, undefined);
  assertEquals(raknet.decodeOpenRequest2(concat(filled, [0]))?.cookie, undefined);
  plain[22] = 4;
  assertEquals(raknet.decodeOpenRequest2(plain)?.cookie, undefined);
  const secured = raknet.encodeOpenRequest2({ cookie: 0xca, address: V4, mtu: 1, guid: 2n });
  secured[17] = 5; // a cookie at any length
  assertEquals(raknet.decodeOpenRequest2(concat(secured, [0]))?.cookie, 0x050000ca);
});

Deno.test("cut frames and messages name the missing field", () => {
  const frame = { ...FRAME, reliability: 4, split: { count: 2, id: 1, index: 0 } };
  assertEquals(
    lacks(raknet.encodeFrameSet({ ...SET, frames: [frame] }), raknet.decodeFrameSet, 1),
    "sequence, frame, frame length, message index, sequence index, order index, channel, " +
      "split count, split id, split index, frame body",
  );
  const nak = raknet.encodeAcknowledgement({ kind: "nak", ranges: [{ first: 1, last: 2 }] });
  assertEquals(
    lacks(nak, raknet.decodeAcknowledgement, 1),
    "record count, record, first number, last number",
  );
  const addresses = { addresses: [], pingTime: 1n, pongTime: 2n, flags: [] };
  const rows = [
    [{ type: "ping", time: 1n }, "ping time"],
    [{ type: "pong", pingTime: 1n, pongTime: 2n }, "ping time, pong time"],
    [
      { type: "connectionRequest", guid: 1n, time: 2n, secured: true },
      "client GUID, time, security",
    ],
    [
      { type: "accepted", address: V4, index: 1, ...addresses },
      "type of client address, client address, system index, ping time, pong time",
    ],
    [
      { type: "newIncoming", address: V4, ...addresses },
      "type of server address, server address, ping time, pong time",
    ],
  ] as const;
  for (const [message, whats] of rows) {
    assertEquals(lacks(raknet.encodeConnected(message), raknet.decodeConnected, 1), whats);
  }
});

Deno.test("acknowledgements are bounded: ranges of 512, lists of 4,096", () => {
  const ack = (...ranges: [number, number][]) =>
    raknet.encodeAcknowledgement({
      kind: "ack",
      ranges: ranges.map(([first, last]) => ({ first, last })),
    });
  assertEquals(raknet.decodeAcknowledgement(ack([0, 512]))?.ranges, [{ first: 0, last: 512 }]);
  assertEquals(broken(() => raknet.decodeAcknowledgement(ack([0, 513])), Malformed), [
    "range from 0 to 513",
    3,
  ]);
  const most = Array.from({ length: 4096 }, (_, i): [number, number] => [2 * i, 2 * i]);
  assertEquals(raknet.decodeAcknowledgement(ack(...most))?.ranges.length, 4096);
  assertEquals(broken(() => raknet.decodeAcknowledgement(ack(...most, [0, 0])), Malformed), [
    "more than 4096 datagrams",
    3 + 4 * 4096,
  ]);
  // A large count allocates nothing.
  assertEquals(broken(() => raknet.decodeAcknowledgement(Uint8Array.of(0xc0, 255, 255))), [
    "record",
    3,
  ]);
  assertEquals(raknet.decodeAcknowledgement(ack())?.ranges, []);
  assertEquals(raknet.decodeAcknowledgement(ack([0xfffffe, 0xffffff]))?.ranges[0].last, 0xffffff);
});

Deno.test("the first byte distinguishes frame sets, ACKs, NAKs and other messages", () => {
  const body = (first: number) => Uint8Array.of(first, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  const read = (first: number) => [
    raknet.decodeFrameSet(Uint8Array.of(first, 0, 0, 0, 0, 0, 8, 1)) !== undefined,
    raknet.decodeAcknowledgement(body(first))?.kind,
  ];
  assertEquals(read(0x80), [true, undefined]);
  assertEquals(read(0x84), [true, undefined]);
  assertEquals(read(0x9c), [true, undefined]);
  assertEquals(read(0xc0), [false, "ack"]);
  assertEquals(read(0xa0), [false, "nak"]);
  assertEquals(read(0xe0), [false, undefined]); // an ACK with a float, which no software sends
  assertEquals(read(0x00), [false, undefined]);
  assertEquals([
    raknet.decodeFrameSet(new Uint8Array()),
    raknet.decodeAcknowledgement(new Uint8Array()),
  ], [
    undefined,
    undefined,
  ]);
});

const FRAME = {
  reliability: 0,
  messageIndex: undefined,
  sequenceIndex: undefined,
  orderIndex: undefined,
  channel: undefined,
  split: undefined,
  body: Uint8Array.of(0x15),
};
const SET = { packetPair: false, continuousSend: false, needsBandwidth: false, sequence: 1 };

Deno.test("each reliability has a different set of indexes", () => {
  const indexes = { messageIndex: 1, sequenceIndex: 2, orderIndex: 0xabcdef, channel: 4 };
  const kept = Array.from({ length: 8 }, (_, reliability) => {
    const bytes = raknet.encodeFrameSet({
      ...SET,
      frames: [{ ...FRAME, ...indexes, reliability }],
    });
    const [frame] = raknet.decodeFrameSet(bytes)!.frames;
    assertEquals(frame.body, FRAME.body);
    return Object.entries(indexes).filter(([name, value]) =>
      frame[name as keyof typeof indexes] === value
    ).map(([name]) => name[0]).join("");
  });
  assertEquals(kept, ["", "soc", "m", "moc", "msoc", "", "m", "moc"]);
  // Missing indexes are written as zero.
  const bytes = raknet.encodeFrameSet({ ...SET, frames: [{ ...FRAME, reliability: 4 }] });
  const [{ messageIndex, sequenceIndex, orderIndex, channel }] = raknet.decodeFrameSet(bytes)!
    .frames;
  assertEquals([messageIndex, sequenceIndex, orderIndex, channel], [0, 0, 0, 0]);
});

Deno.test("frame sets keep the three header bits, odd bit lengths are rounded up, empty frames rejected", () => {
  for (const mark of ["packetPair", "continuousSend", "needsBandwidth"] as const) {
    const set = { ...SET, [mark]: true, frames: [FRAME] };
    assertEquals(raknet.decodeFrameSet(raknet.encodeFrameSet(set)), set);
  }
  const odd = Uint8Array.of(0x80, 0, 0, 0, 0, 0, 9, 1, 2); // nine bits
  assertEquals(raknet.decodeFrameSet(odd)?.frames[0].body.length, 2);
  const empty = Uint8Array.of(0x80, 0, 0, 0, 0, 0, 0);
  assertEquals(broken(() => raknet.decodeFrameSet(empty), Malformed), ["an empty frame", 4]);
  assertEquals(broken(() => raknet.decodeFrameSet(empty.subarray(0, 4))), ["frame", 4]);
});

Deno.test("a frame set has at most 4,096 frames, and split indexes stay below their count", () => {
  const frames = Array.from({ length: 4096 }, () => FRAME);
  const whole = raknet.encodeFrameSet({ ...SET, frames });
  assertEquals(raknet.decodeFrameSet(whole)?.frames.length, 4096);
  const more = concat(whole, [0, 0, 8, 1]);
  assertEquals(broken(() => raknet.decodeFrameSet(more), Malformed)[0], "too many frames");
  const split = (count: number, index: number) =>
    raknet.encodeFrameSet({ ...SET, frames: [{ ...FRAME, split: { count, id: 1, index } }] });
  const huge = raknet.decodeFrameSet(split(0xffffffff, 0xfffffffe))!;
  assertEquals([huge.frames.length, huge.frames[0].body.length], [1, 1]);
  assertEquals(broken(() => raknet.decodeFrameSet(split(2, 2)), Malformed), ["part 2 of 2", 7]);
});

Deno.test("a list of addresses ends where the times start", () => {
  const message = (count: number) => ({
    type: "accepted" as const,
    address: V4,
    index: 3,
    addresses: Array.from({ length: count }, (_, i) => i % 2 ? V4 : V6),
    pingTime: 1n,
    pongTime: 2n,
    flags: count < 20 ? ["fewAddresses" as const] : [],
  });
  for (const count of [0, 1, 10, 20]) {
    assertEquals(raknet.decodeConnected(raknet.encodeConnected(message(count))), message(count));
  }
  const many = raknet.decodeConnected(raknet.encodeConnected(message(21)));
  assert(many?.type === "accepted" && many.addresses.length === 20);
  assertEquals(raknet.decodeConnected(Uint8Array.of(0x04)), { type: "detectLost" });
  assertEquals(raknet.encodeConnected({ type: "detectLost" }), Uint8Array.of(0x04));
  assertEquals(raknet.decodeConnected(Uint8Array.of(0xfe)), undefined); // a message of the game
  assertEquals(raknet.decodeConnected(new Uint8Array()), undefined);
  const wrong = raknet.encodeConnected(message(1));
  wrong[10] = 9;
  assertEquals(broken(() => raknet.decodeConnected(wrong), Malformed), ["address of type 9", 10]);
});

Deno.test("a connection request has a security flag", () => {
  for (const secured of [false, true]) {
    const request = { type: "connectionRequest" as const, guid: 1n, time: 2n, secured };
    assertEquals(raknet.decodeConnected(raknet.encodeConnected(request)), request);
  }
});
