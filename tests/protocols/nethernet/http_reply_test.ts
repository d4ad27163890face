import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { Malformed, Truncated } from "../../../src/core/bytes.ts";
import { oneLine } from "../../../src/core/text.ts";
import * as nethernet from "../../../src/protocols/nethernet/mod.ts";
import * as raknet from "../../../src/protocols/raknet/mod.ts";
import { mergeReplies } from "../../../src/inspect/merge.ts";
import { nethernetProtocol } from "../../../src/protocols/nethernet/mod.ts";
import { HTTP_LIMITS, HttpReplyReader } from "../../../src/protocols/nethernet/http_reply.ts";
import { wellFormed } from "../../../src/protocols/lone_surrogates.ts";
import { raknetProtocol } from "../../../src/protocols/raknet/mod.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

/** A body in one of three framings. */
const framed: Record<string, (body: Uint8Array, cuts: readonly number[]) => Uint8Array> = {
  length: (body) =>
    nethernet.encodeHttpReply({ ...HEAD, body, headers: [length(body), ...HEAD.headers] }),
  close: (body) => nethernet.encodeHttpReply({ ...HEAD, body }),
  chunks: (body, cuts) => {
    const head = nethernet.encodeHttpReply({
      ...HEAD,
      headers: [{ name: "tRANSFER-encoding", value: "CHUNKED" }],
      body: new Uint8Array(),
    }).slice(0, -"0\r\n\r\n".length);
    const lines = pieces(body, cuts).flatMap((piece) => [
      utf8(`${piece.length.toString(16)} ; x=y\r\n`),
      piece,
      utf8("\r\n"),
    ]);
    return joined([head, ...lines, utf8("000;last\r\nX: y\r\n\r\n")]);
  },
};
const HEAD = {
  version: 1,
  status: 200,
  reason: "OK",
  headers: [{ name: "Content-Type", value: "application/json" }],
};
const length = (body: Uint8Array) => ({ name: "content-LENGTH", value: String(body.length) });

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

/** The bytes in pieces that end at these places, without empty ones. */
function pieces(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end))
    .filter(({ length }) => length > 0);
}

/** Reads pieces up to the end of the connection. */
function read(parts: readonly Uint8Array[]): nethernet.HttpReply {
  const reader = new HttpReplyReader();
  for (const part of parts) {
    const reply = reader.push(part);
    if (reply !== undefined) return reply;
  }
  return reader.close();
}

const anyCuts = fc.array(fc.nat(), { maxLength: 8 });
const anyBody = fc.uint8Array({ maxLength: 300 });

for (const [framing, frame] of Object.entries(framed)) {
  Deno.test(`a body with the framing ${framing} is the same however it is cut`, () => {
    fc.assert(fc.property(anyBody, anyCuts, anyCuts, (body, chunks, cuts) => {
      const bytes = frame(body, chunks);
      const reply = read(pieces(bytes, cuts));
      assertEquals([...reply.body], [...body]);
      assertEquals(reply.flags, framing === "close" ? ["noLength"] : []);
    }));
  });

  if (framing === "close") continue;
  Deno.test(`a body with the framing ${framing} needs its last byte`, () => {
    fc.assert(fc.property(anyBody, anyCuts, fc.nat(), (body, chunks, at) => {
      const bytes = frame(body, chunks);
      assertThrows(() => read([bytes.subarray(0, at % bytes.length)]), Truncated);
    }));
  });
}

Deno.test("a body of the greatest length is read, and one byte more is an error", () => {
  const most = HTTP_LIMITS.bodyBytes;
  for (const frame of Object.values(framed)) {
    const cuts = Array.from({ length: 500 }, (_, i) => 31 * i);
    assertEquals(read([frame(new Uint8Array(most), cuts)]).body.length, most);
    assertThrows(() => read([frame(new Uint8Array(most + 1), cuts)]), Malformed, "HTTP body");
  }
});

Deno.test("a head of the greatest length is read, and one byte more is an error", () => {
  const head = (value: number) =>
    utf8(`HTTP/1.1 200 OK\r\nA: ${"x".repeat(value)}\r\nContent-Length: 0\r\n\r\n`);
  const most = HTTP_LIMITS.headBytes - head(0).length;
  assertEquals(read([head(most)]).headers[0].value.length, most);
  assertThrows(() => read([head(most + 1)]), Malformed, "HTTP in headers");
  const headers = (count: number) =>
    utf8(`HTTP/1.1 204 No Content\r\n${"A:b\r\n".repeat(count)}\r\n`);
  assertEquals(read([headers(100)]).headers.length, 100);
  assertThrows(() => read([headers(101)]), Malformed, "more than 100 HTTP headers");
  const lines = "A: b\r\n".repeat(90);
  const both = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n${lines}\r\n0\r\n${lines}\r\n`;
  assertEquals(read([utf8(both)]).headers.length, 91);
});

Deno.test("ten megabytes of anything end at a limit, and cost no more memory than it", () => {
  const size = 10_000_000;
  const floods: Record<string, string> = {
    "one line": "HTTP/1.1 200 OK\r\nA: ",
    "headers": "HTTP/1.1 200 OK\r\nA: b\r\n",
    "body": "HTTP/1.1 200 OK\r\n\r\n",
    "chunk line": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
    "trailers": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: ",
    "status line": "HTTP/1.1 200 ",
  };
  for (const [name, start] of Object.entries(floods)) {
    for (const filler of ["x", "A: b\r\n", "1\r\nx\r\n", " "]) {
      const reader = new HttpReplyReader();
      reader.push(utf8(start));
      const flood = utf8(filler.repeat(size / filler.length));
      assertThrows(() => reader.push(flood), Malformed, undefined, `${name} ${filler}`);
      assert(reader.received < 70_000, `${name}: ${reader.received}`);
    }
  }
});

Deno.test("a line of white space costs time in proportion to its length", () => {
  const spaces = utf8(`HTTP/1.1 200 OK\r\nA:${" \t".repeat(8000)}x${" ".repeat(100)}`);
  const reader = new HttpReplyReader();
  for (const byte of spaces) reader.push(Uint8Array.of(byte));
  const reply = reader.push(utf8("\r\nContent-Length: 0\r\n\r\n"));
  assertEquals(reply?.headers[0].value, "x");
});

Deno.test("RakNet and NetherNet fill the same columns of one server", () => {
  const server = { protocol: 2193, version: "1.26.52", level: "§lWorld", players: 3 };
  const name = "§aServer §v1";
  const json = JSON.stringify({ ...server, name, maxPlayers: 20, gameType: 1 });
  const body = utf8(json);
  const reply = read([framed.length(body, [])]);
  const game = nethernet.decodeStatus(reply);
  const over = nethernetProtocol.record({ reply, game, port: 19132, certificate: null });
  const text = utf8(`MCPE;${name};2193;1.26.52;3;20;77;§lWorld;Creative;1;19132;19133;`);
  const pong = raknet.decodePong(
    raknet.encodePong({ advertise: false, time: 7n, guid: 123456789012345678n, text }),
  )!;
  const bedrock = raknet.decodeAdvertisement(text);
  const ping = raknetProtocol.record({ kind: "pong", pong, bedrock, echoed: true });
  const columns = Object.entries(over.columns);
  assertEquals(columns.length, nethernetProtocol.columns!.length);
  for (const [column, value] of columns) {
    assertEquals(value, ping.columns[column as keyof typeof ping.columns], column);
  }
  const context = {
    endpoint: { address: 0x7f000001, port: 19132 },
    seenAt: 1,
    latencyMs: 1,
    scanId: "",
    requestedAs: null,
  };
  const row = mergeReplies([
    { protocol: "raknet", statement: ping },
    { protocol: "nethernet", statement: over },
  ], context);
  assertEquals(row.flags, []);
});

Deno.test("a status with halves of surrogate pairs gives a row without them", () => {
  const body = utf8('{"name":"a\\ud83cb","protocol":2193,"x\\udfae":"\\ud83c"}');
  const reply = read([framed.length(body, [])]);
  const game = nethernet.decodeStatus(reply);
  const { columns, flags, facts } = wellFormed(
    nethernetProtocol.record({ reply, game, port: 19132, certificate: null }),
  );
  assertEquals([columns.motd, flags], ["a\ufffdb", ["loneSurrogate"]]);
  assertEquals(facts.members, { "x\ufffd": "\ufffd" });
});

Deno.test("what exceeds the limits of a row is cut and flagged", () => {
  const statusOf = (object: object) =>
    nethernet.parseGameStatus(utf8(JSON.stringify({ name: "A", protocol: 1, ...object })));
  const long = statusOf({ level: "x".repeat(2049) });
  assertEquals([long.level?.length, long.flags], [2048, ["cut"]]);
  assertEquals(statusOf({ level: "x".repeat(2048) }).flags, []);
  const unknown = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));
  assertEquals(statusOf(unknown(30)).flags, []);
  const many = statusOf(unknown(200));
  assertEquals([Object.keys(many.facts.members!).length, many.keys.length], [32, 32]);
  assertEquals(many.flags, ["factsCut"]);
  assertEquals(statusOf({ ...unknown(30), players: 1, dataVersion: 7 }).flags, ["factsCut"]); // 34 keys
  for (const object of [{ ["k".repeat(257)]: 1 }, { k: "v".repeat(257) }]) {
    assertEquals(statusOf(object).flags, ["factsCut"]);
  }
  const zero = nethernet.parseGameStatus(utf8('{"name":"A","protocol":-0}'));
  assert(Object.is(zero.protocol, 0));
});

Deno.test("a host that would add lines to a request is refused", () => {
  for (const host of ["a\r\nX: y", "a b", "ä"]) {
    const message = `Cannot encode the host "${oneLine(host)}": expected printable ASCII`;
    assertThrows(() => nethernet.encodeStatusRequest({ host }), TypeError, message);
  }
});

Deno.test("a status of any members is a row within the bounds, or an error with a name", () => {
  const keys = fc.constantFrom(
    "name",
    "protocol",
    "version",
    "level",
    "players",
    "maxPlayers",
    "gameType",
    "dataVersion",
    "editor",
    "nonce",
    "connection",
    "x",
    "__proto__",
  );
  const member = fc.tuple(keys, fc.jsonValue({ maxDepth: 3 }));
  fc.assert(fc.property(fc.array(member, { maxLength: 20 }), (members) => {
    const text = members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
    const reply = read([framed.length(utf8(`{${text.join()}}`), [])]);
    try {
      const game = nethernet.decodeStatus(reply)!;
      const status = { reply, game, port: 19132, certificate: null };
      const { columns, flags } = nethernetProtocol.record(status);
      assertEquals(flags.length, new Set(flags).size);
      assert(members.some(([key]) => key === "protocol"));
      for (const column of ["players_online", "players_max", "protocol_version"] as const) {
        const value = columns[column];
        assert(value === null || Number.isInteger(value) && value! >= 0 && !Object.is(value, -0));
      }
      const first = members.find(([key]) => key === "name")?.[1];
      assertEquals(columns.motd, typeof first === "string" && first !== "" ? first : null);
    } catch (error) {
      assert(error instanceof Malformed, String(error));
    }
  }));
});
