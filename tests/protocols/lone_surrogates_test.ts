/** No column contains a lone surrogate, from any protocol. */
import { assert, assertEquals } from "@std/assert";
import { concat } from "../../src/core/bytes.ts";
import { mergeReplies } from "../../src/inspect/merge.ts";
import * as lan from "../../src/protocols/lan/mod.ts";
import * as query from "../../src/protocols/query/mod.ts";
import * as raknet from "../../src/protocols/raknet/mod.ts";
import * as slp from "../../src/protocols/slp/mod.ts";
import * as sqp from "../../src/protocols/sqp/mod.ts";
import { announcementStatement, discoveryStatement } from "../../src/protocols/lan/mod.ts";
import type { Statement } from "../../src/protocols/protocol.ts";
import { queryProtocol } from "../../src/protocols/query/mod.ts";
import { raknetProtocol } from "../../src/protocols/raknet/mod.ts";
import { slpProtocol } from "../../src/protocols/slp/mod.ts";
import { sqpProtocol } from "../../src/protocols/sqp/mod.ts";
import type { ServerRecord } from "../../src/core/record.ts";

const CONTEXT = {
  endpoint: { address: 0x7f000001, port: 25565 },
  seenAt: 0,
  latencyMs: 1,
  scanId: "scan",
  requestedAs: null,
};
const utf8 = (text: string) => new TextEncoder().encode(text);
/** The bytes of a lone surrogate in the scheme of UTF-8, which are not valid UTF-8. */
const HALF_BYTES = Uint8Array.of(0x61, 0xed, 0xa0, 0x80, 0x62);

const rowOf = (protocol: string, statement: Statement) =>
  mergeReplies([{ protocol, statement }], CONTEXT);

/** Every text in a value, keys included. */
function* textsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (Array.isArray(value)) { for (const one of value) yield* textsIn(one); }
  else if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      yield key;
      yield* textsIn(inner);
    }
  }
}

const halves = (row: ServerRecord) => [...textsIn(row)].filter((text) => !text.isWellFormed());
const replaced = (row: ServerRecord) => [...textsIn(row)].some((text) => text.includes("\ufffd"));

/** The row of a Java status. */
function javaRow(json: string): ServerRecord {
  const java = slp.parseStatus(utf8(json));
  const status = java.kind === "disconnect"
    ? java
    : { kind: "status" as const, java, trailing: 0, pongDiffers: false };
  return rowOf("slp", slpProtocol.record(status));
}

const H = String.raw`a\ud800b`;
const L = String.raw`a\udc00b`;

Deno.test("a lone surrogate in the JSON of a status reaches no column, key or fact", () => {
  const ways = [
    `{"description":"${H}"}`,
    `{"description":{"text":"${H}"}}`,
    `{"description":{"text":"x","extra":["${L}",{"translate":"${H}","with":["${L}"]}]}}`,
    // The plain text does not contain the formatting code between these two halves.
    String.raw`{"description":"a\ud83c§a\udfaeb"}`,
    String.raw`{"description":{"text":"\ud83c","extra":[{"text":"\udfae","color":"red"}]}}`,
    `{"version":{"name":"${H}"}}`,
    `{"version":{"name":"Paper ${H}","protocol":"${L}"}}`,
    `{"players":{"max":"${H}","sample":[{"name":"${L}","id":"${H}"}]}}`,
    `{"version":{"${H}":1},"players":{"${L}":2},"${H}":3}`,
    `{"version":{},"modinfo":{"type":"${H}","modList":[{"modid":"${H}","version":"${L}"}]}}`,
    `{"version":{},"forgeData":{"fmlNetworkVersion":"${H}","mods":[{"modId":"${L}","modmarker":"${H}"}]}}`,
    `{"text":"${H}"}`,
  ];
  for (const json of ways) {
    const row = javaRow(json);
    assertEquals(halves(row), [], json);
    assert(replaced(row) && row.flags.includes("loneSurrogate"), json);
  }
});

Deno.test("a lone surrogate in a kick reaches no column", () => {
  const texts = [
    "§1\x0047\x001.4\ud800\0A\udc00\x001\x002",
    "A\ud800§1§2",
    "\udfae: full",
    "\ud83c",
  ];
  for (const text of texts) {
    const reply = slp.decodeLegacyReply(slp.encodeLegacyReply({ text }))!;
    assert(reply.text.isWellFormed());
    const row = rowOf("slp", slpProtocol.record({ kind: "legacy", reply, requestForm: "fe" }));
    assertEquals(halves(row), [], text);
    assert(replaced(row) && row.flags.includes("loneSurrogate"), text);
  }
  const whole = slp.decodeLegacyReply(slp.encodeLegacyReply({ text: "🎮§1§2" }))!;
  assertEquals([whole.status?.motd, whole.flags], ["🎮", []]);
});

Deno.test("the bytes of a lone surrogate reach no column, from any protocol", () => {
  const half = HALF_BYTES;
  const pong = (text: Uint8Array) => {
    const bytes = raknet.encodePong({ advertise: false, time: 1n, guid: 2n, text });
    return rowOf(
      "raknet",
      raknetProtocol.record(raknetProtocol.probe!.content!(bytes).status!),
    );
  };
  const stat = queryProtocol.record({
    stat: query.decodeStat(query.encodeFullStat({
      session: 1,
      header: "splitnum",
      pairs: [
        ...["hostname", "map", "version", "plugins", "game_id", "other"].map((key) =>
          [key, half] as const
        ),
        [String.fromCharCode(...half), half],
      ],
      players: [half],
    })),
    challenge: { session: 1, token: 1, raw: false, fill: 0, flags: [] },
    fullLost: false,
  });
  const chunks = sqp.encodeChunks({
    info: {
      online: 1,
      max: 2,
      name: half,
      gameType: half,
      buildId: half,
      map: half,
      port: 3,
    },
    rules: [{ name: half, type: "string", value: half }],
    players: { fields: [{ name: half, type: "string" }], rows: [[half]] },
  });
  const packet = sqp.decodeSqpPacket(sqp.encodePackets(1, chunks)[0])!;
  const response = sqp.decodeReply([packet], 7);
  const world = lan.decodeServerData(lan.encodeServerData({
    version: 5,
    name: half,
    level: half,
    gamemode: 0,
    online: 1,
    max: 2,
    editor: false,
    hardcore: false,
    onlineAuth: false,
    selfSignedAuth: false,
    transport: 0,
    connection: 0,
    nonce: null,
    protocol: null,
    gameVersion: null,
  }));
  const announced = lan.decodeAnnouncement(
    concat(utf8("[MOTD]"), half, utf8("[/MOTD][AD]25565[/AD]")),
  );
  const rows = [
    pong(
      concat(utf8("MCPE;"), half, utf8(";766;"), half, utf8(";0;1;2;"), half, utf8(";Survival;")),
    ),
    pong(concat(utf8("MCCPP;Demo;"), half)),
    pong(half),
    rowOf("query", stat),
    rowOf("sqp", sqpProtocol.record({ ...response, broken: false })),
    rowOf("nethernet", discoveryStatement({ networkId: 1n, data: world, flags: [] })),
    rowOf("lan", announcementStatement(announced!)),
  ];
  for (const row of rows) assertEquals(halves(row), [], row.protocol);
  for (const { protocol, flags } of [rows[0], rows[1], rows[4], rows[5], rows[6]]) {
    assert(flags.includes("badUtf8"), protocol);
  }
});

Deno.test("a surrogate pair at the length limit of a column is not cut in half", () => {
  for (const shift of ["", "x"]) {
    const text = shift + "🎮".repeat(40_000);
    const row = javaRow(JSON.stringify({
      version: { name: text },
      description: { text },
      players: { sample: [{ name: text }] },
      modinfo: { modList: [{ modid: text, version: text }] },
      [text]: 1,
    }));
    assertEquals([halves(row), replaced(row)], [[], false]);
    assertEquals(row.flags.includes("loneSurrogate"), false);
    const kick = slp.decodeLegacyReply(slp.encodeLegacyReply({ text: text.slice(0, 50_001) }))!;
    assertEquals(
      halves(rowOf("slp", slpProtocol.record({ kind: "legacy", reply: kick, requestForm: "fe" }))),
      [],
    );
  }
});

Deno.test("the values of a full stat are bounded in number and size, and a flag reports it", () => {
  const row = (pairs: (readonly [string, Uint8Array])[]) => {
    const stat = query.decodeStat(
      query.encodeFullStat({ session: 1, header: "splitnum", pairs, players: [] }),
    );
    const challenge = { session: 1, token: 1, raw: false, fill: 0, flags: [] };
    return rowOf("query", queryProtocol.record({ stat, challenge, fullLost: false }));
  };
  const first = [["hostname", utf8("A")], ["gametype", utf8("SMP")]] as const; // a known key ends the MOTD
  const many = row([
    ...first,
    ...Array.from({ length: 5000 }, (_, i) => [`k${i}`, utf8("v")] as const),
  ]);
  const values = (one: ServerRecord) => one.extras!.query.values as Record<string, string>;
  assertEquals([Object.keys(values(many)).length, many.flags, many.motd], [128, ["factsCut"], "A"]);
  const large = row([...first, ["a", utf8("v".repeat(9000))], ["b", utf8("v".repeat(9000))]]);
  assertEquals([Object.keys(values(large)), large.flags], [["a"], ["factsCut"]]);
  const brand = row([...first, ["plugins", utf8("b".repeat(50_000))]]);
  assertEquals([(brand.extras!.query.brand as string).length, brand.flags], [256, ["factsCut"]]);
  assertEquals(row([...first, ["a", utf8("v")]]).flags, []);
});
