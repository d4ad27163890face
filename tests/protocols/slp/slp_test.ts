/** Covers src/protocols/slp/ and src/protocols/stream_buffer.ts. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { concat, Malformed, Reader, Truncated } from "../../../src/core/bytes.ts";
import * as slp from "../../../src/protocols/slp/mod.ts";
import {
  boundJson,
  MAX_JSON_VALUES,
  MAX_NESTING,
  MIN_VALUES,
  parseBoundedJson,
} from "../../../src/protocols/bounded_json.ts";
import { slpProtocol } from "../../../src/protocols/slp/mod.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);
const parse = (value: unknown) =>
  slp.parseStatus(utf8(typeof value === "string" ? value : JSON.stringify(value)));

/** The columns of a status with this version name. */
function status(json: object) {
  const java = parse({ version: {}, ...json });
  assert(java.kind === "status");
  return java;
}
const record = (json: object) =>
  slpProtocol.record({ kind: "status", java: status(json), trailing: 0, pongDiffers: false });

Deno.test("a VarInt of one to five bytes survives encoding and decoding", () => {
  const sizes = [0, 127, 128, 16383, 16384, 2097151, 2097152, 2 ** 31 - 1, -1, -(2 ** 31)];
  assertEquals(sizes.map((value) => slp.encodeVarInt(value).length), [
    1,
    1,
    2,
    2,
    3,
    3,
    4,
    5,
    5,
    5,
  ]);
  fc.assert(
    fc.property(fc.integer(), (value) => {
      const bytes = Uint8Array.from(slp.encodeVarInt(value));
      assertEquals(slp.readVarInt(new Reader(bytes), "x"), value);
    }),
    { seed: 1, numRuns: 2000 },
  );
  const read = (hex: string) => slp.readVarInt(new Reader(Uint8Array.fromHex(hex)), "x");
  assertEquals([read("8000"), read("ffffffff7f"), read("ff00")], [0, -1, 127]);
  assertThrows(() => read("ffffffffff00"), Malformed, "x of more than 5 bytes at offset 0");
  assertThrows(() => read("80"), Truncated, "x");
});

Deno.test("frames: their end, their length and the bytes after them are checked", () => {
  assertEquals([slp.frameEnd(Uint8Array.of(3)), slp.frameEnd(Uint8Array.of(0x80, 1))], [4, 130]);
  for (const bytes of [[], [0x80], [0x80, 0x80, 0x80, 0x80]]) {
    assertEquals(slp.frameEnd(Uint8Array.from(bytes)), undefined);
  }
  assertEquals(slp.frameEnd(Uint8Array.of(9, 9, 2, 0, 0), 2), 5);
  assertThrows(() => slp.frameEnd(Uint8Array.of(0)), Malformed, "a frame of 0 bytes");
  assertThrows(() => slp.frameEnd(Uint8Array.fromHex("ffffffff0f")), Malformed, "of -1 bytes");
  const { id, body, end } = slp.decodeFrame(concat([9, 9], slp.encodeFrame(300, [5, 6]), [7]), 2);
  assertEquals([id, [...body.rest()], end], [300, [5, 6], 7]);
  assertThrows(() => slp.decodeFrame(Uint8Array.of(1, 0x80)), Malformed, "packet id beyond");
  assertThrows(() => slp.decodeFrame(Uint8Array.of(9, 9), 1), Truncated, "10 bytes are needed at");
  assertThrows(() => slp.decodeFrame(new Uint8Array()), Truncated, "frame length");
  assertEquals([slp.peekId(Uint8Array.of(0x80, 1, 7)), slp.peekId(Uint8Array.of(0x80, 1))], [
    7,
    undefined,
  ]);
  assertEquals(slp.peekId(Uint8Array.of(0x80)), undefined);
});

Deno.test("requests: hosts are cut to the length that servers accept, and malformed requests rejected", () => {
  const queried = slp.decodeStatusRequest(
    slp.encodeStatusRequest({ protocol: 47, host: "x".repeat(1100), port: 65535 }),
  );
  assertEquals([queried?.protocol, queried?.host.length, queried?.port], [47, 1024, 65535]);
  const hello = slp.encodeStatusRequest({ protocol: 1, host: "a", port: 2 }).subarray(0, -2);
  assertEquals(slp.decodeStatusRequest(concat(hello, slp.encodeSlpPing(1n))), undefined);
  assertThrows(() => slp.decodeStatusRequest(hello), Truncated, "frame length");
  assertThrows(
    () => slp.decodeStatusRequest(Uint8Array.of(2, 0, 0)),
    Malformed,
    "beyond its frame",
  );
  const negative = slp.encodeFrame(0, slp.encodeVarInt(-1));
  assertThrows(() => slp.decodeStatusResponse(negative), Malformed, "status of -1 bytes");
});

Deno.test("legacy pings: other messages return undefined, and a wrong size is malformed", () => {
  assertEquals(slp.decodeLegacyPing(Uint8Array.of(0xfe, 0xfd, 9)), undefined);
  assertEquals(slp.decodeLegacyPing(Uint8Array.of(0xfe, 1, 2)), undefined);
  assertEquals(slp.decodeLegacyPing(Uint8Array.of(1)), undefined);
  const ping = slp.encodeLegacyPing({ data: { protocol: 74, host: "hé", port: 25565 } });
  assertEquals(slp.decodeLegacyPing(ping), { data: { protocol: 74, host: "hé", port: 25565 } });
  ping[28]++;
  assertThrows(() => slp.decodeLegacyPing(ping), Malformed, "a ping of 12 bytes");
});

Deno.test("legacy replies: missing fields, NULs in a MOTD and invalid numbers are handled", () => {
  const read = (text: string) => {
    const { status, flags } = slp.decodeLegacyReply(slp.encodeLegacyReply({ text }))!;
    const { form, protocol, version, motd, online, max } = status ?? {};
    return status && [form, protocol, version, motd, online, max, ...flags];
  };
  assertEquals(read("§1\x0047\x001.4\0A\0B\x001\x002"), ["1.4", 47, "1.4", "A\0B", 1, 2]);
  assertEquals(read("§1\0x\x001.4\0A\x001\x00many"), [
    "1.4",
    null,
    "1.4",
    "A",
    1,
    null,
    "badNumber",
  ]);
  assertEquals(read("§1\x0047\x001.4\0A"), ["1.4", 47, "1.4", "A", null, null, "badNumber"]);
  assertEquals(read("§1\0"), ["1.4", null, null, null, null, null, "badNumber"]);
  assertEquals(read("A§-1§20"), ["beta", null, null, "A", null, 20, "badNumber"]);
  assertEquals([read("§1§2"), read("A§x§20")], [["beta", null, null, "", 1, 2], undefined]);
  const text = (hex: string) => slp.decodeLegacyReply(Uint8Array.fromHex(hex));
  assertEquals(text("ff0001d83d")?.text, "\ufffd");
  assertEquals(text("ff00010041ff")?.flags, ["trailingBytes"]);
  assertEquals(text("ff0002004100"), { status: undefined, text: "A", flags: ["lengthMismatch"] });
});

Deno.test("a truncated kick lacks its last number, but a kick whose length counts bytes does not", () => {
  const whole = slp.encodeLegacyReply({ text: "§1\x0047\x001.4\0A B\x0012\x0034" });
  const read = (bytes: Uint8Array) => {
    const { status, flags } = slp.decodeLegacyReply(bytes)!;
    const { protocol, version, motd, online, max } = status ?? {};
    return [protocol, version, motd, online, max, ...flags];
  };
  const odd = ["lengthMismatch", "badNumber"];
  assertEquals(read(whole), [47, "1.4", "A B", 12, 34]);
  assertEquals(read(whole.subarray(0, -1)), [47, "1.4", "A B", 12, null, ...odd]);
  assertEquals(read(whole.subarray(0, -2)), [47, "1.4", "A B", 12, null, ...odd]);
  assertEquals(read(whole.subarray(0, -4)), [47, "1.4", "A B", 12, null, ...odd]);
  assertEquals(read(whole.subarray(0, -6)), [47, "1.4", "A B", null, null, ...odd]);
  assertEquals(read(whole.subarray(0, -10)), [47, "1.4", "A B", null, null, ...odd]);
  assertEquals(read(whole.subarray(0, -14)), [47, "1.4", "A ", null, null, ...odd]);
  assertEquals(read(whole.subarray(0, -20)), [47, null, null, null, null, ...odd]);
  assertEquals(read(whole.subarray(0, -28)), [null, null, null, null, null, ...odd]);
  const inBytes = whole.slice();
  inBytes[2] *= 2;
  assertEquals(read(inBytes), [47, "1.4", "A B", 12, 34, "lengthMismatch"]);
  const beta = slp.encodeLegacyReply({ text: "A§12§34" });
  assertEquals(read(beta.subarray(0, -2)), [null, null, "A", 12, null, ...odd]);
  beta[2] *= 2;
  assertEquals(read(beta), [null, null, "A", 12, 34, "lengthMismatch"]);
});

Deno.test("JSON is bounded before it is parsed: values beyond the bounds are omitted and flagged", () => {
  const nested = (depth: number) => utf8("[".repeat(depth) + "]".repeat(depth));
  assertEquals(parseBoundedJson(nested(MAX_NESTING)).flags, []);
  const { value, flags } = parseBoundedJson(nested(MAX_NESTING + 1));
  const deepest = (value: unknown): unknown =>
    Array.isArray(value) && value.length > 0 ? deepest(value[0]) : value;
  assertEquals([deepest(value), flags], [null, ["cut"]]);
  const list = (size: number) => utf8(`{"a":[${"0,".repeat(size - 1)}0],"b":[1,2]}`);
  const sizeOf = (size: number) => {
    const { value, flags } = parseBoundedJson(list(size));
    const { a, b } = value as { a: unknown[]; b: unknown[] };
    return [a.length, b.length, ...flags];
  };
  assertEquals(sizeOf(MAX_JSON_VALUES - 10), [MAX_JSON_VALUES - 10, 2]);
  assertEquals(sizeOf(1e6), [MAX_JSON_VALUES - 1, 2, "cut"]);
  // Each of many keys gets some values, and no text exceeds their sum.
  const shared = (keys: number) => {
    const half = `[${"0,".repeat(2 * MIN_VALUES)}0]`;
    const text = Array.from({ length: keys }, (_, i) => `"k${i}":${half}`).join();
    const { value } = parseBoundedJson(utf8(`{${text}}`));
    return Object.values(value as object).reduce((sum, items) => sum + (items?.length ?? 0), 0);
  };
  assert(shared(300) < 2 * MAX_JSON_VALUES);
  // Brackets and commas inside strings do not count, with any escapes.
  const text = `"${"[,{".repeat(1e5)}\\"${"[".repeat(200)}\\\\"`;
  assertEquals((parseBoundedJson(utf8(text)).value as string).length, 3e5 + 202);
  const unended = ["[".repeat(2e6), "[".repeat(100) + ",".repeat(1e6), `{"a":${"[".repeat(90)}}`];
  const broken = ["", "{", '{"a"', '"\\', "nothing", "\\".repeat(1000), '{"a":1}x', "}".repeat(9)];
  for (const one of [...broken, ...unended]) {
    assertThrows(() => parseBoundedJson(utf8(one)), Malformed, "not JSON");
  }
});

Deno.test("JSON within the bounds stays unchanged, and JSON beyond them stays valid", () => {
  const json = fc.json({ maxDepth: 6 });
  fc.assert(
    fc.property(json, (text) => assertEquals(boundJson(text), { json: text, cut: false })),
    { seed: 1, numRuns: 500 },
  );
  const big = fc.tuple(fc.json(), fc.json(), fc.integer({ min: 75, max: 90 })).map((
    [a, b, depth],
  ) => `{"a":${"[".repeat(depth)}${a}${"]".repeat(depth)},"b":${b}}`);
  fc.assert(
    fc.property(big, (text) => {
      const value = JSON.parse(boundJson(text).json);
      assertEquals(value.b, JSON.parse(text).b);
    }),
    { seed: 2, numRuns: 500 },
  );
});

Deno.test("bounding JSON takes time linear in the text", () => {
  const steps = (text: string) => {
    let count = 0;
    boundJson({
      length: text.length,
      charCodeAt: (at) => (count++, text.charCodeAt(at)),
      indexOf: (what, from = 0) => {
        const found = text.indexOf(what, from);
        count += (found < 0 ? text.length : found) - from + 1;
        return found;
      },
      slice: (start = 0, end = text.length) => {
        count += end - start;
        return text.slice(start, end);
      },
    });
    return count;
  };
  const shapes = [
    "[",
    "[]",
    "[[],",
    '{"a":',
    '"',
    '\\"',
    '"\\\\"',
    "]",
    ",",
    '{"extra":[',
    "0,[1,2],",
  ];
  for (const shape of shapes) {
    const [once, twice] = [20_000, 40_000].map((copies) => steps(shape.repeat(copies)));
    assert(twice < 2.1 * once && once < 4 * 20_000 * shape.length, `${shape}: ${once}, ${twice}`);
  }
});

Deno.test("a status beyond the bounds yields a row with the flag cut", () => {
  const printed = (json: string) => {
    const java = slp.parseStatus(utf8(json));
    assert(java.kind === "status");
    return slpProtocol.record({ kind: "status", java, trailing: 0, pongDiffers: false });
  };
  const around = (description: string, sample = "[]") =>
    `{"version":{"name":"1.21.4","protocol":769},"description":${description},` +
    `"players":{"max":20,"online":3,"sample":${sample}},"enforcesSecureChat":true}`;
  const deep = `{"text":"a","extra":[`.repeat(42) + "7" + "]}".repeat(42);
  const extra = printed(around(deep));
  assertEquals(extra.flags, ["cut", "motdCut"]);
  assertEquals([extra.columns.motd, extra.columns.players_online], ["a".repeat(32), 3]);
  const player = (i: number) => `{"name":"Player${i}","id":"00000000-0000-4000-8000-000000000000"}`;
  const sample = `[${Array.from({ length: 25_000 }, (_, i) => player(i)).join()}]`;
  const crowd = printed(around('"A"', sample));
  assertEquals([crowd.flags, crowd.columns.players?.length], [["cut"], 128]);
  assertEquals([crowd.columns.motd, crowd.columns.players_max], ["A", 20]);
  assertEquals(crowd.facts.enforcesSecureChat, true);
  const read = crowd.facts.sample_size as number; // the number that was read
  assert(read > 20_000 && read < 25_000);
  const long = printed(around(`"${"x".repeat(1_700_000)}"`));
  assertEquals([long.flags, long.columns.motd?.length], [["cut"], 8192]);
  const many = printed(around("{}", `[${"[],".repeat(550_000)}[]]`));
  assertEquals([many.flags, many.columns.players_online], [["cut"], 3]);
  const marked = printed(`\ufeff${around('"A"')}`);
  assertEquals([marked.flags, marked.columns.motd], [["badJson"], "A"]);
});

Deno.test("JSON: invalid UTF-8 and unescaped control characters are flagged", () => {
  assertEquals(parseBoundedJson(concat(utf8('"a'), [0xff], utf8('"'))), {
    value: "a\ufffd",
    json: '"a\ufffd"',
    flags: ["badUtf8"],
  });
  assertEquals(parseBoundedJson(utf8('"a\tb"')), {
    value: "a b",
    json: '"a b"',
    flags: ["badJson"],
  });
  const spaced = "\n[\t1 ]";
  assertEquals(parseBoundedJson(utf8(spaced)), { value: [1], json: spaced, flags: [] });
});

Deno.test("numbers: whole, inexact and invalid ones are distinguished", () => {
  const read = (max: unknown) => {
    const java = status({ players: { max } });
    return [java.max, ...java.flags, ...java.unread.values()];
  };
  assertEquals([0, 20, 999_999_999].map(read), [[0], [20], [999_999_999]]);
  assertEquals(["20", " 7 ", 2.5, "2.9"].map(read), [
    [20, "looseNumber"],
    [7, "looseNumber"],
    [2, "looseNumber"],
    [2, "looseNumber"],
  ]);
  assertEquals([1e9, -1, "many", "", true, [], {}, 1e300].map(read), [
    ...["1000000000", "-1", "many", "", "true", "array", "object", "1e+300"].map((text) => [
      null,
      "badNumber",
      text,
    ]),
  ]);
  assertEquals([read(null), read(undefined), read(-0)], [[null], [null], [0]]);
  const protocols = [-1, -(2 ** 31), 2 ** 31].map((protocol) => status({ version: { protocol } }));
  assertEquals(protocols.map(({ protocol }) => protocol), [-1, -(2 ** 31), null]);
});

Deno.test("a status has at least one of its keys; any other JSON is the reason of a disconnect", () => {
  for (const key of ["version", "players", "description"]) {
    assertEquals(parse({ [key]: null }).kind, "status", key);
  }
  const reason = (json: unknown) => {
    const java = parse(json);
    return java.kind === "disconnect" && java.reason;
  };
  assertEquals([reason({}), reason('"§cA"'), reason(["a", "b"]), reason(7)], [
    "",
    "§cA",
    "ab",
    "7",
  ]);
  assertEquals(parse('{"__proto__":{"version":1}}').kind, "disconnect");
});

Deno.test("values of the wrong type count as missing", () => {
  const java = status({
    version: [],
    players: "many",
    description: null,
    favicon: 7,
    enforcesSecureChat: "true",
    modinfo: "none",
    forgeData: [],
    isModded: 1,
  });
  const { keys, motdForm, switches, unread, ...rest } = java;
  assertEquals(Object.values(rest).filter((value) => value != null && typeof value !== "object"), [
    "status",
  ]);
  assertEquals([keys.version, keys.players, motdForm, switches.size, unread.size], [
    [],
    [],
    "null",
    0,
    0,
  ]);
  assertEquals(status({ players: { sample: [{ name: 1 }, null, "x", { name: "A" }] } }).sample, [
    { name: "A", id: null },
  ]);
});

Deno.test("a description beyond the bounds is cut and flagged", () => {
  let deep: unknown = "x";
  for (let i = 0; i < 35; i++) deep = { text: "a", extra: [deep] };
  const java = status({ description: deep });
  assertEquals([java.motd, java.flags], ["a".repeat(32), ["motdCut"]]);
});

Deno.test("a version name is split where it starts with a software name", () => {
  const read = (name: unknown) => {
    const { software, version } = record({ version: { name } }).columns;
    return [software, version];
  };
  assertEquals(read("Paper 1.21.4"), ["Paper", "1.21.4"]);
  assertEquals(read("Velocity 1.7.2-1.21.4"), ["Velocity", "1.7.2-1.21.4"]);
  assertEquals(read("Waterfall 1.8.x, 1.9.x / 1.20.x"), ["Waterfall", "1.8.x, 1.9.x / 1.20.x"]);
  for (const name of ["1.20.4", "24w10a", "Requires 1.8", "MC 1.8", "Paper", "§cOld", "a b 1.8"]) {
    assertEquals(read(name), [null, name]);
  }
  assertEquals([read(""), read(7)], [[null, null], [null, null]]);
  assertEquals(read("1".repeat(300))[1]?.length, 256);
});

Deno.test("an icon is hashed by its bytes, on one line or many; an invalid icon is flagged", () => {
  const icon = (favicon: unknown) => {
    const { columns, flags, facts } = record({ favicon });
    return [columns.favicon_hash?.slice(0, 8) ?? null, facts.favicon_size ?? null, ...flags];
  };
  const png = "iVBORw0KGgoA"; // the signature and one NUL
  assertEquals(
    icon(`data:image/png;base64,${png}`),
    icon(`data:image/png;base64,iVBOR\nw0KG\r\ngoA`),
  );
  assertEquals(icon(`data:image/png;base64,${png}`).slice(1), [9]);
  assertEquals(icon(`data:image/jpeg;base64,${png}`).slice(1), [9, "badFavicon"]);
  assertEquals(icon("data:image/png;base64,AAAA").slice(1), [3, "badFavicon"]);
  for (const odd of ["x", "data:image/png;base64,!", "data:image/png,AAAA", "AAAA;base64,AAAA"]) {
    assertEquals(icon(odd), [null, null, "badFavicon"], odd);
  }
  assertEquals([icon(""), icon(null)], [[null, null], [null, null]]);
  const largest = "iVBORw0KGgoA".padEnd(87_380, "A") + "AA=="; // 65,536 bytes
  assertEquals(icon(`data:image/png;base64,${largest}`).slice(1), [65_536]);
  const larger = `data:image/png;base64,${largest.replace("AA==", "AAA=")}`;
  assertEquals(icon(larger).slice(1), [65_537, "badFavicon"]);
  assertEquals([record({ favicon: larger }).icon, typeof icon(larger)[0]], [undefined, "string"]);
  // printf abc | sha256sum
  assertEquals(icon("data:image/png;base64,YWJj")[0], "ba7816bf");
});

Deno.test("the size of a row is bounded for any status of a server", () => {
  const long = "x".repeat(100_000);
  const many = <T>(value: (i: number) => T) => Array.from({ length: 5000 }, (_, i) => value(i));
  const statement = record({
    version: { name: long },
    description: "§#123456y".repeat(50_000),
    players: { max: long, sample: many((i) => ({ name: `${i}${long.slice(0, 300)}` })) },
    forgeData: {
      fmlNetworkVersion: long,
      mods: many((i) => ({ modId: `${i}${long.slice(0, 100)}`, modmarker: long.slice(0, 300) })),
    },
    ...Object.fromEntries(many((i) => [`k${i}`, 0])),
  });
  assert(JSON.stringify(statement).length < 300_000);
  assertEquals(statement.flags, ["badNumber", "cut"]);
  assertEquals([statement.columns.players?.length, statement.columns.motd?.length], [128, 8192]);
  assertEquals([statement.facts.sample_size, statement.facts.mods_count], [5000, 5000]);
  const kick = slp.decodeLegacyReply(slp.encodeLegacyReply({ text: "y".repeat(65_000) }))!;
  const printed = slpProtocol.record({ kind: "legacy", reply: kick, requestForm: "fe" });
  assertEquals((printed.facts.reason as string).length, 256);
  const legacy = slp.decodeLegacyReply(
    slp.encodeLegacyReply({ text: `${"y".repeat(60_000)}§1§2` }),
  )!;
  const row = slpProtocol.record({ kind: "legacy", reply: legacy, requestForm: "fe" });
  assertEquals([row.columns.motd?.length, row.flags], [8192, ["cut"]]);
  for (const at of ["version", "sample", "keys"]) {
    const over = at === "version"
      ? { version: { name: "x".repeat(257) } }
      : at === "sample"
      ? { players: { sample: [{ name: "x".repeat(257) }] } }
      : Object.fromEntries(Array.from({ length: 24 }, (_, i) => [`k${i}`, 0]));
    assertEquals(record(over).flags, ["cut"], at);
  }
  assertEquals(record({ players: { sample: [{ name: "x".repeat(256) }] } }).flags, []);
});

Deno.test("keys of facts are plain data with any name", () => {
  const { facts } = record(JSON.parse(
    '{"modinfo":{"modList":[{"modid":"__proto__","version":"1"},{"modid":"constructor"}]}}',
  ));
  assertEquals(Object.entries(facts.mods as object), [["__proto__", "1"], ["constructor", ""]]);
  assertEquals(Object.getPrototypeOf(facts.mods), Object.prototype);
});

Deno.test("mods: invalid entries are omitted, and the server's truncated flag is kept", () => {
  const read = (forgeData: unknown) => record({ forgeData }).facts;
  assertEquals(read({ mods: [1, { modId: 2 }, { modId: "a", modmarker: "SERVER_ONLY" }] }).mods, {
    a: "",
  });
  const { mods_form, mods_loader, mods_truncated, mods_channels } = read({ truncated: true });
  assertEquals([mods_form, mods_loader, mods_truncated, mods_channels], [
    "forgeData",
    undefined,
    true,
    0,
  ]);
  assertEquals(read({ d: "" }).mods_truncated, true);
  assertEquals(record({ isModded: false }).facts.mods_form, undefined);
});

const NAME = fc.string({ unit: "binary", maxLength: 12 }).map((text) => text.toWellFormed());
const CHANNEL = fc.record({ name: NAME, version: NAME, required: fc.boolean() });
const CHANNELS = fc.array(CHANNEL, { maxLength: 3 });
const PACKED = fc.record({
  truncated: fc.boolean(),
  mods: fc.array(fc.record({ id: NAME, version: fc.option(NAME), channels: CHANNELS }), {
    maxLength: 5,
  }),
  channels: CHANNELS,
});

Deno.test("packed mods survive encoding and decoding, and every prefix of them is flagged as cut", () => {
  fc.assert(
    fc.property(PACKED, fc.nat(), (list, at) => {
      const text = slp.encodePacked(list);
      assertEquals(slp.decodePacked(text), { ...list, cut: false });
      const part = slp.decodePacked(text.slice(0, at % text.length));
      assertEquals(part.cut, true);
      assertEquals(part.mods, list.mods.slice(0, part.mods.length));
    }),
    { seed: 1, numRuns: 1000 },
  );
});

Deno.test("packed mods: the output is bounded by the length of the text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
      const { mods, channels } = slp.decodePacked(text);
      assert(mods.length + channels.length <= 2 * text.length);
    }),
    { seed: 2, numRuns: 3000 },
  );
  assertEquals(slp.decodePacked("\u7fff\u7fff"), {
    truncated: false,
    mods: [],
    channels: [],
    cut: true,
  });
});

Deno.test("slp has the expected name, transport and ports", () => {
  assertEquals([slpProtocol.name, slpProtocol.transport, slpProtocol.probe], [
    "slp",
    "tcp",
    undefined,
  ]);
});
