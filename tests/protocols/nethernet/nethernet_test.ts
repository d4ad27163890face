/**
 * Covers src/protocols/nethernet/mod.ts, src/protocols/nethernet/codec.ts,
 * src/protocols/nethernet/columns.ts, src/protocols/nethernet/http_reply.ts and
 * src/protocols/nethernet/status_json.ts.
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { Malformed, Truncated } from "../../../src/core/bytes.ts";
import { nethernetProtocol, type NethernetStatus } from "../../../src/protocols/nethernet/mod.ts";
import {
  Closed,
  type ExchangeContext,
  type ExchangeRequest,
  NoReply,
} from "../../../src/protocols/protocol.ts";

const latin1 = (text: string) => Uint8Array.from(text, (one) => one.charCodeAt(0));

/** What a peer does with one request: bytes in chunks, then silence, an end, or the end of the reply. */
type Peer = readonly (string | Uint8Array | NoReply)[];

const CONTEXT: ExchangeContext = {
  endpoint: { address: 0xc0000207, port: 19132 },
  nonce: 0n,
  exclusive: true,
  lastAttempt: true,
};

/** Runs an exchange with one peer for each of its requests. */
function run(peers: readonly Peer[], context: Partial<ExchangeContext> = {}) {
  const exchange = nethernetProtocol.exchange({ ...CONTEXT, ...context });
  const requests: ExchangeRequest[] = [];
  let queue: (string | Uint8Array | NoReply)[] = [];
  const result = () => {
    let step = exchange.next();
    while (!step.done) {
      if (step.value !== undefined) {
        requests.push(step.value);
        assert(requests.length <= peers.length, "one request too many");
        queue = [...peers[requests.length - 1]];
        step.value.tls?.onCertificate("ab".repeat(32));
      }
      const next = queue.shift();
      assert(next !== undefined, "the exchange waits after the reply");
      step = next instanceof NoReply
        ? exchange.throw(next)
        : exchange.next(typeof next === "string" ? latin1(next) : next);
    }
    return step.value;
  };
  return { result, requests };
}

const BODY =
  '{"name":"Dedicated Server","protocol":2193,"version":"1.26.52","level":"Bedrock level","players":0,"maxPlayers":10,"gameType":0}';
const OK = "HTTP/1.1 200 OK\r\n";
const JSON_TYPE = "Content-Type: application/json\r\n";
const CLOSE = "Connection: close\r\n\r\n";
const BDS = `${OK}${JSON_TYPE}Content-Length: ${BODY.length}\r\n${CLOSE}${BODY}`;
const HIDDEN = `${OK}${JSON_TYPE}Content-Length: 0\r\n${CLOSE}`;
const empty = (line: string, ...headers: string[]) =>
  `HTTP/1.1 ${line}\r\n${
    [...headers, "Content-Length: 0"].map((one) => `${one}\r\n`).join("")
  }\r\n`;

/** The row of one exchange with one request. */
function recordOf(status: NethernetStatus) {
  return nethernetProtocol.record(status);
}

Deno.test("a visible Bedrock Dedicated Server gives a row from one request of 117 bytes", () => {
  const { result, requests } = run([[BDS]]);
  const { columns, flags, facts } = recordOf(result());
  assertEquals(columns, {
    edition: "bedrock",
    name: "Dedicated Server",
    motd: "Dedicated Server",
    motd_plain: "Dedicated Server",
    version: "1.26.52",
    protocol_version: 2193,
    map: "Bedrock level",
    gamemode: "Survival",
    players_online: 0,
    players_max: 10,
  });
  assertEquals(flags, []);
  assertEquals(facts, {
    tls: false,
    headers: ["Content-Type", "Content-Length", "Connection"],
    keys: ["name", "protocol", "version", "level", "players", "maxPlayers", "gameType"],
  });
  const [{ bytes, fresh, tls }] = requests;
  assertEquals([bytes.length, fresh, tls], [117, undefined, undefined]);
  assertEquals(
    new TextDecoder().decode(bytes),
    "GET /v1/join HTTP/1.1\r\nHost: 192.0.2.7:19132\r\nUser-Agent: blocksweep\r\n" +
      "Accept: application/json\r\nConnection: close\r\n\r\n",
  );
});

Deno.test("the host of a request is the name that the user typed, or the address", () => {
  const hostOf = (context: Partial<ExchangeContext>) => {
    const { result, requests } = run([[BDS]], context);
    result();
    return /Host: (.*)\r/.exec(new TextDecoder().decode(requests[0].bytes))![1];
  };
  const v6 = { address: 0x20010db8_00000000_00000000_00000001n, port: 7000 };
  assertEquals(hostOf({ endpoint: v6 }), "[2001:db8::1]:7000");
  assertEquals(hostOf({ requestedAs: "play.example.org" }), "play.example.org:19132");
  assertEquals(hostOf({ requestedAs: "bücher.example" }), "xn--bcher-kva.example:19132");
  assertEquals(hostOf({ requestedAs: "a b\r\nX: y" }), "192.0.2.7:19132");
  assertEquals(hostOf({ requestedAs: "play.example.org", requestedPort: 1 }), "play.example.org:1");
});

Deno.test("a reply may arrive in chunks of any size, and end in three ways", () => {
  const chunked = `${OK}transfer-encoding: Chunked\r\n\r\n5\r\n${BODY.slice(0, 5)}\r\n` +
    `${(BODY.length - 5).toString(16)};x=y\r\n${BODY.slice(5)}\r\n0\r\nX: y\r\n\r\n`;
  const untilClose = `HTTP/1.0 200 OK\r\n\r\n${BODY}`;
  const { columns } = recordOf(run([[BDS]]).result());
  for (const reply of [BDS, chunked, untilClose]) {
    for (let at = 0; at <= reply.length; at++) {
      const { result } = run([[reply.slice(0, at), reply.slice(at), new Closed()]]);
      assertEquals(recordOf(result()).columns, columns);
    }
    const { result } = run([[...Array.from(reply), new Closed()]]);
    const { columns: same, flags } = recordOf(result());
    assertEquals(same, columns);
    assertEquals(flags, reply === untilClose ? ["noLength"] : []);
  }
});

Deno.test("a body without a length ends with the connection, or when the server is silent", () => {
  for (const end of [new Closed(), new NoReply()]) {
    const { columns, flags } = recordOf(run([[`${OK}\r\n${BODY}`, end]]).result());
    assertEquals([columns.name, flags], ["Dedicated Server", ["noLength"]]);
    const half = run([[`${OK}\r\n${BODY.slice(0, 99)}`, end]]).result;
    assertThrows(half, Malformed, "a status that is not JSON");
  }
});

Deno.test("one TLS attempt follows in exactly five cases", () => {
  const tlsCases: Record<string, Peer> = {
    "closed without a byte": [new Closed()],
    "a TLS alert": [Uint8Array.of(0x15, 3, 1, 0, 2, 2, 0x28)],
    "426": [empty("426 Upgrade Required", "upgrade: TLS/1.2, HTTP/1.1")],
    "400": [empty("400 Bad Request")],
    "a redirect": [empty("308 Permanent Redirect", "Location: https://192.0.2.7:19132/v1/join")],
    "a redirect in capitals": [empty("301 Moved", "LOCATION: HTTPS://192.0.2.7:19132")],
    "a long page with status 400": [
      `HTTP/1.1 400 Bad Request\r\nContent-Length: 99999\r\n\r\n<html>`,
    ],
  };
  for (const [name, peer] of Object.entries(tlsCases)) {
    const { result, requests } = run([peer, [BDS]]);
    const { facts } = recordOf(result());
    assertEquals([facts.tls, facts.certificate_sha256], [true, "ab".repeat(32)], name);
    const [plain, encrypted] = requests;
    assertEquals(encrypted.bytes, plain.bytes);
    assertEquals([encrypted.fresh, encrypted.tls?.serverName], [true, undefined]);
  }
  const usual = [empty("301 Moved", "Location: https://192.0.2.7/v1/join")];
  const https = run([usual, [BDS]], { endpoint: { address: 0xc0000207, port: 443 } });
  assertEquals(recordOf(https.result()).facts.tls, true);
  const named = run([[new Closed()], [BDS]], { requestedAs: "play.example.org" });
  named.result();
  assertEquals(named.requests[1].tls?.serverName, "play.example.org");
});

Deno.test("no TLS attempt follows in other cases", () => {
  const others: Record<string, Peer> = {
    "silence": [new NoReply()],
    "silence after a part": ["HTTP/1.1 2", new NoReply()],
    "closed after a part": ["HTTP/1.1 2", new Closed()],
    "silence in a page with status 400": ["HTTP/1.1 400 Bad\r\n\r\nx", new NoReply()],
    "404": [empty("404 Not Found")],
    "503": [empty("503 Service Unavailable")],
    "no HTTP": ["SSH-2.0-OpenSSH_9.6\r\n"],
    "a page": [`${OK}Content-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>`],
    "a redirect to another host": [empty("301 Moved", "Location: https://192.0.2.8:19132/v1/join")],
    "a redirect to another port": [empty("301 Moved", "Location: https://192.0.2.7/v1/join")],
    "a redirect without TLS": [empty("302 Found", "Location: http://192.0.2.7:19132/")],
    "a redirect to a user name": [empty("302 Found", "Location: https://192.0.2.7:19132@evil/")],
    "a redirect to a path": [empty("307 Temporary", "Location: /v1/join")],
    "a redirect to nowhere": [empty("308 Permanent Redirect")],
    "a 303": [empty("303 See Other", "Location: https://192.0.2.7:19132/v1/join")],
  };
  for (const [name, peer] of Object.entries(others)) {
    const { result, requests } = run([peer]);
    assertThrows(result, Error, undefined, name);
    assertEquals(requests.length, 1, name);
  }
});

Deno.test("an empty reply is weak but for the exact one of a hidden server on 19132", () => {
  const weak = (reply: string, port = 19132, flag = "emptyReply") => {
    const endpoint = { address: 0xc0000207, port };
    const status = run([[reply, new Closed()]], { endpoint }).result();
    const { columns, flags } = recordOf(status);
    assertEquals(columns, { edition: "bedrock" });
    assertEquals(flags.at(-1), flag);
    return nethernetProtocol.isWeak!(status);
  };
  assertEquals(weak(HIDDEN, 19132, "hidesStatus"), false);
  assertEquals(weak(HIDDEN, 19133, "hidesStatus"), true);
  const others = [
    empty("200 OK"),
    empty("200 OK", "Content-Type: application/json"),
    empty("204 No Content"),
    HIDDEN.replace("200 OK", "202 Accepted"),
    HIDDEN.replace("\r\n\r\n", "\r\nServer: nginx\r\n\r\n"),
    HIDDEN.replace("application/json", "text/plain"),
    `${OK}Content-Length: 2\r\n\r\nOK`,
    `${OK}\r\n`,
  ];
  for (const reply of others) assertEquals(weak(reply), true, reply);
  assertEquals(nethernetProtocol.isWeak!(run([[BDS]]).result()), false);
  const overTls = run([[new Closed()], [HIDDEN]]).result(); // that server has no certificate
  assertEquals(nethernetProtocol.isWeak!(overTls), true);
  const bodiless = run([["HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"]]).result();
  assertEquals(recordOf(bodiless).flags, ["emptyReply"]);
});

Deno.test("every other reply is an error with its name", () => {
  const page = (text: string, type = "application/json") =>
    `${OK}Content-Type: ${type}\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
  const errors: [string, Peer, typeof Malformed | typeof Truncated | typeof NoReply, string][] = [
    ["no HTTP", ["\x05\x00hello"], Malformed, "bytes that are no HTTP reply"],
    ["not found", [empty("404 Not Found")], Malformed, "HTTP status 404"],
    ["redirect", [empty("301 M", "Location: http://x/")], Malformed, "301 (a redirect)"],
    ["interim", ["HTTP/1.1 100 Continue\r\n\r\n"], Malformed, "HTTP status 100"],
    ["page", [page("<!doctype html>")], Malformed, "a web page"],
    ["page by type", [page("Hi", "text/html")], Malformed, "a web page"],
    ["list", [page("[]")], Malformed, "JSON that is no status"],
    ["other JSON", [page('{"name":"x","version":"1"}')], Malformed, "JSON that is no status"],
    ["broken JSON", [page('{"name":')], Malformed, "a status that is not JSON"],
    ["long text", [page("x".repeat(65), "text/plain")], Malformed, "a status that is not JSON"],
    ["length", [`${OK}Content-Length: 10000000\r\n\r\n`], Malformed, "more than 16384 bytes"],
    ["no number", [`${OK}Content-Length: -1\r\n\r\n`], Malformed, "without a valid length"],
    [
      "two lengths",
      [`${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`],
      Malformed,
      "without a valid length",
    ],
    [
      "endless",
      [`${OK}\r\n`, ..."x".repeat(17).split("").map((one) => one.repeat(1000))],
      Malformed,
      "more than 16384 bytes",
    ],
    ["headers", [`${OK}${"A: b\r\n".repeat(1000)}\r\n`], Malformed, "more than 100 HTTP headers"],
    ["long header", [`${OK}A: ${"b".repeat(20000)}`], Malformed, "more than 16384 bytes of HTTP"],
    [
      "long headers",
      [`${OK}${`A: ${"b".repeat(1000)}\r\n`.repeat(20)}`],
      Malformed,
      "more than 16384 bytes of HTTP in headers",
    ],
    ["no name", [`${OK}: x\r\n\r\n`], Malformed, "an HTTP header without a name"],
    ["gzip", [`${OK}Content-Encoding: gzip\r\n\r\n`], Malformed, "a compressed HTTP body"],
    ["coding", [`${OK}Transfer-Encoding: gzip, chunked\r\n\r\n`], Malformed, "transfer encoding"],
    ["chunk", [`${OK}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`], Malformed, "without a size"],
    [
      "wrong chunk",
      [`${OK}Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n`],
      Malformed,
      "a chunk of another size".replace("a chunk", "an HTTP chunk"),
    ],
    [
      "big chunk",
      [`${OK}Transfer-Encoding: chunked\r\n\r\nffffffff\r\n`],
      Malformed,
      "more than 16384 bytes",
    ],
    [
      "chunks",
      [`${OK}Transfer-Encoding: chunked\r\n\r\n${"1\r\na\r\n".repeat(1025)}`],
      Malformed,
      "more than 1024 HTTP chunks",
    ],
    [
      "trailers",
      [`${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n${"A: b\r\n".repeat(102)}`],
      Malformed,
      "more than 100 HTTP headers",
    ],
    ["short body", [BDS.slice(0, -1), new Closed()], Truncated, "the rest of the body"],
    ["stalled body", [BDS.slice(0, -1), new NoReply()], Truncated, "the rest of the body"],
    ["stalled head", ["HTTP/1.1 200 OK\r\n", new NoReply()], Truncated, "the rest of the headers"],
    ["stalled page", ["HTTP/1.1 404 X\r\n\r\nx", new NoReply()], Malformed, "HTTP status 404"],
    ["short head", ["HTTP/1.1 200", new Closed()], Truncated, "the rest of the headers"],
    ["silence", [new NoReply()], NoReply, ""],
  ];
  for (const [name, peer, kind, message] of errors) {
    assertThrows(run([peer]).result, kind, message, name);
  }
  const status404 = [empty("404 Not Found")];
  assertThrows(run([[new Closed()], status404]).result, Malformed, "HTTP status 404");
  assertThrows(run([[new Closed()], [BDS.slice(0, -1), new Closed()]]).result, Truncated);
  // The handshake fails: the first reply has more to say.
  assertThrows(run([[empty("426 Upgrade")], [new Closed()]]).result, Malformed, "HTTP status 426");
  assertThrows(run([[new Closed()], [new NoReply()]]).result, Closed);
  assertThrows(run([["\x15\x03"], [new NoReply()]]).result, Malformed, "a TLS alert");
});
