/**
 * Covers src/fleet/bait_port.ts, src/fleet/simulate/hostile/http_tricks.ts and
 * src/fleet/simulate/hostile/web_servers.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { BAIT_PORT } from "../../../src/fleet/bait_port.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { HTTP_TRICKS } from "../../../src/fleet/simulate/hostile/http_tricks.ts";
import { WEB_SERVERS } from "../../../src/fleet/simulate/hostile/web_servers.ts";
import type { StreamAct } from "../../../src/fleet/simulate/responder.ts";

const REQUEST = new TextEncoder().encode(
  "GET /v1/join HTTP/1.1\r\nHost: 127.16.0.1:19132\r\nConnection: close\r\n\r\n",
);
const HELLO = Uint8Array.fromHex("1603010200010001fc0303");
const PEER = { address: 0x7f000001, port: 40000 };
const RANGE = { start: 0x7f100000, end: 0x7f100010 };

const draw = (software: string) =>
  drawFleet({ servers: 1, range: RANGE, seed: 1, software: [software] });

/** The actions of a host after a request. */
function actsOf(software: string, sent = REQUEST, encrypted = false): readonly StreamAct[] {
  const [{ streams }] = draw(software);
  const talk = (encrypted ? streams!.tls! : streams!).accept(PEER);
  return [...talk.opening, ...talk.receive(sent)];
}

const bytesOf = (acts: readonly StreamAct[]) =>
  acts.flatMap((act) => typeof act === "object" && "bytes" in act ? [act.bytes] : []);
const sizeOf = (acts: readonly StreamAct[]) =>
  bytesOf(acts).reduce((sum, { length }) => sum + length, 0);
const textOf = (acts: readonly StreamAct[]) =>
  bytesOf(acts).map((bytes) => new TextDecoder("latin1").decode(bytes)).join("");

Deno.test("no host over HTTP is listed, and each has a trick", () => {
  for (const name of Object.keys(HTTP_TRICKS)) {
    if (name === "bait") continue;
    for (const { entry } of draw(name)) assertEquals([entry.listed, entry.truth], [false, {}]);
    const says = [...actsOf(name), ...actsOf(name, HELLO)];
    assert(says.length > 0 || name === "httpMute", name);
  }
});

Deno.test("tricks have the size that a scanner must not read", () => {
  const mebibytes = (name: string) => Math.floor(sizeOf(actsOf(name)) / 2 ** 20);
  for (const name of ["httpEndlessHeader", "httpHugeChunk", "httpLargeBody"]) {
    assertEquals(mebibytes(name), 10, name);
  }
  assertEquals(mebibytes("httpEndlessChunks"), 15);
  assertEquals(sizeOf(actsOf("httpLongNumber")) > 1_000_000, true);
  const [, members] = textOf(actsOf("httpManyMembers")).split("\r\n\r\n");
  assertEquals(Object.keys(JSON.parse(members)).length, 200_003);
  assertEquals(textOf(actsOf("httpManyHeaders")).split("\r\n\r\n")[0].split("\r\n").length, 1002);
  const [, nested] = textOf(actsOf("httpNestedArrays")).split("\r\n\r\n");
  assertEquals(JSON.parse(nested).protocol.flat(198), [[]]);
  const [, objects] = textOf(actsOf("httpNestedObjects")).split("\r\n\r\n");
  assertEquals(JSON.stringify(JSON.parse(objects).protocol).split("{").length, 201);
  assert(sizeOf(actsOf("httpCompressed")) < 16_384);
  const records = bytesOf(actsOf("tlsHugeCertificate", HELLO))[0];
  assert(records.length > 2 ** 20 && records[0] === 0x16);
});

Deno.test("a redirect leads to a second port of the host, also from TLS", () => {
  const to = `https://127.16.0.1:${BAIT_PORT}/v1/join`;
  assert(textOf(actsOf("httpRedirect")).includes(`Location: ${to}\r\n`));
  assert(
    textOf(actsOf("httpRedirectTwice")).includes("Location: https://127.16.0.1:19132/v1/join"),
  );
  assert(textOf(actsOf("httpRedirectTwice", REQUEST, true)).includes(`Location: ${to}\r\n`));
  for (const name of ["httpRedirect", "httpRedirectTwice"]) {
    assertEquals(draw(name).map(({ endpoint }) => endpoint.port), [19132, BAIT_PORT]);
    const [, { streams }] = draw(name);
    assert(textOf(streams!.accept(PEER).receive(REQUEST)).startsWith("HTTP/1.1 200 OK"));
  }
});

Deno.test("a busy host is a server at the second request", () => {
  const [{ streams }] = draw("httpBusy");
  const status = () => textOf(streams!.accept(PEER).receive(REQUEST)).slice(9, 12);
  assertEquals([status(), status(), status()], ["503", "200", "200"]);
});

Deno.test("web servers reply as HTTP says", () => {
  const codes = Object.keys(WEB_SERVERS).map((name) => {
    const [head, body] = textOf(actsOf(name)).split("\r\n\r\n");
    const length = /\r\nContent-Length: (\d+)/.exec(head)?.[1];
    if (name !== "webNoContent") assertEquals(Number(length), body.length, name);
    return head.slice(9, 12);
  });
  assertEquals(codes.join(), "404,200,200,200,200,204,200,200,200,401,301,403,502");
  assert(textOf(actsOf("webToHttps")).includes("Location: https://127.16.0.1/v1/join\r\n"));
});
