import { assertEquals } from "@std/assert";
import { audit, type AuditRules } from "../../../src/fleet/judge/audit.ts";
import type { WitnessLine } from "../../../src/fleet/witness_log.ts";
import { encodeLatin1 } from "../../../src/core/text.ts";
import * as slp from "../../../src/protocols/slp/mod.ts";

const STATUS = slp.encodeStatusRequest({ protocol: -1, host: "127.1.0.1", port: 25565 }).toHex();
const PING = slp.encodeSlpPing(7n).toHex();
const FULL_PING = slp.encodeLegacyPing({ data: { protocol: 127, host: "a", port: 1 } }).toHex();
const JOIN = hex(
  "GET /v1/join HTTP/1.1\r\nHost: 127.1.0.1:19132\r\nUser-Agent: blocksweep\r\n" +
    "Accept: application/json\r\nConnection: close\r\n\r\n",
);
const HELLO = "1603010200010001fc0303";
const UNSOLICITED = "a TLS handshake without a reply that shows TLS";

function hex(text: string): string {
  return encodeLatin1(text).toHex();
}

let last = 0;

/** The log lines of a connection. */
function connection(
  at: number,
  acts: readonly (string | [host: string])[],
  { peer = "127.0.0.1:40000", closed = true, closer = "in", port = 25565 }: {
    readonly peer?: string;
    readonly closed?: boolean;
    readonly closer?: "in" | "out";
    readonly port?: number;
  } = {},
): WitnessLine[] {
  const number = ++last;
  const line = (way: "in" | "out", hex: string, event?: "open" | "closed"): WitnessLine => ({
    at,
    way,
    host: `127.1.0.1:${port}`,
    peer,
    lost: false,
    hex,
    size: hex.length / 2,
    connection: number,
    ...(event && { event }),
  });
  return [
    line("in", "", "open"),
    ...acts.map((act) => typeof act === "string" ? line("in", act) : line("out", act[0])),
    ...closed ? [line(closer, "", "closed")] : [],
  ];
}

const faults = (lines: readonly WitnessLine[], rules: AuditRules = {}) =>
  audit(lines, rules).map((fault) => fault.replace(/^.*?: /, ""));

Deno.test("audit() accepts a status request, and then a legacy ping", () => {
  assertEquals(
    faults([
      ...connection(0, [STATUS, ["0700"], PING, [PING]]),
      ...connection(1, [STATUS]),
      ...connection(2, ["fe01", ["ff0000"]]),
      ...connection(3, ["fe"]),
      ...connection(5, [FULL_PING]),
      ...connection(4, []),
    ]),
    [],
  );
});

Deno.test("audit() reports malformed requests, and too many requests", () => {
  assertEquals(faults(connection(0, [STATUS.slice(0, -4)])).length, 1);
  assertEquals(faults(connection(0, ["feed"])), ["no complete request of 2 bytes: feed"]);
  const half16 = connection(1, ["fe01fa"]); // an incomplete ping: servers wait for the rest
  assertEquals(faults([...connection(0, [STATUS]), ...half16]).length, 1);
  assertEquals(faults(connection(0, ["fe01"])), ["a legacy ping before a status request"]);
  const early = connection(0, [STATUS, PING]);
  assertEquals(faults(early), [`a ping before the status: ${PING}`]);
  const twice = connection(0, [STATUS, ["07"], PING, [PING], PING]);
  assertEquals(faults(twice), [`more bytes than the requests: ${PING}`]);
  const again = connection(0, [STATUS, ["07"], STATUS]);
  assertEquals(faults(again), [`no ping after a status: ${STATUS}`]);
  const late = connection(0, []).concat(connection(0, [STATUS]).slice(1, 2));
  assertEquals(faults(late), ["bytes on a connection that is not open"]);
});

Deno.test("audit() reports too many connections at a time, and counts connections for caps", () => {
  const open = (peer: string) => connection(0, [STATUS], { peer, closed: false });
  const peers = [1, 2, 3, 4, 5].map((port) => `127.0.0.1:${port}`);
  assertEquals(faults(peers.slice(0, 4).flatMap(open)), []);
  assertEquals(faults(peers.flatMap(open)), ["5 connections at once"]);
  assertEquals(faults([...peers.slice(0, 4), "127.0.0.2:5"].flatMap(open)), []);
  const two = [...connection(0, [STATUS]), ...connection(1, [STATUS])];
  assertEquals(faults(two, { hostRate: 4 }), []);
  assertEquals(faults(two, { hostRate: 3 }).length, 1);
  const excluded = [{ start: 0x7f010000, end: 0x7f020000 }];
  assertEquals(faults(connection(0, []), { excluded }), ["probed although excluded"]);
});

Deno.test("audit() accepts a request of NetherNet, and TLS where the reply shows it", () => {
  assertEquals(faults(connection(0, [JOIN, [hex("HTTP/1.1 200 OK\r\n")]])), []);
  const shown = [
    connection(0, [JOIN], { closer: "out" }),
    ...[
      "\x15\x03\x03\0\x02\x02\x46",
      "HTTP/1.1 426 Upgrade Required\r\n",
      "HTTP/1.1 400 Bad Request\r\n",
      "HTTP/1.1 308 Permanent Redirect\r\nLocation: https://127.1.0.1:19132/v1/join\r\n",
      "HTTP/1.0 301 Moved\r\nlocation:https://127.1.0.1:19132/\r\n",
    ].map((reply) => connection(0, [JOIN, [hex(reply)]])),
  ];
  for (const plain of shown) {
    assertEquals(faults([...plain, ...connection(9, [HELLO, JOIN, ["00"]])]), []);
    const twice = [...connection(9, [HELLO, JOIN]), ...connection(12, [HELLO, JOIN])];
    assertEquals(faults([...plain, ...twice]), [UNSOLICITED]);
  }
  // the alert of a client that rejects the handshake
  assertEquals(faults([...shown[0], ...connection(9, [HELLO, ["16"], "150303000202"])]), []);
});

Deno.test("audit() reports TLS that no reply shows, and requests with more or other bytes", () => {
  assertEquals(faults(connection(0, [HELLO, JOIN])), [UNSOLICITED]);
  const others = [
    connection(0, [JOIN]), // silent until the client left
    ...[
      "HTTP/1.1 200 OK\r\n",
      "HTTP/1.1 503 Service Unavailable\r\n",
      "HTTP/1.1 302 Found\r\nLocation: https://127.1.0.1:443/v1/join\r\n",
      "HTTP/1.1 302 Found\r\nLocation: http://127.1.0.1:19132/v1/join\r\n",
      "HTTP/1.1 200 OK\r\nLocation: https://127.1.0.1:19132/v1/join\r\n",
    ].map((reply) => connection(0, [JOIN, [hex(reply)]], { closer: "out" })),
  ];
  for (const plain of others) {
    assertEquals(faults([...plain, ...connection(9, [HELLO, JOIN])]), [UNSOLICITED]);
  }
  const other = [...connection(0, [JOIN], { closer: "out" }), ...connection(9, [HELLO, STATUS])];
  assertEquals(faults(other), [`no request after a handshake: ${STATUS}`]);
  assertEquals(faults(connection(0, [JOIN, JOIN])), [`more bytes than the requests: ${JOIN}`]);
  const post = JOIN.replace(hex("GET"), hex("POST"));
  for (const bytes of [post, JOIN.slice(0, -4), JOIN.replace(hex("blocksweep"), hex("curl"))]) {
    assertEquals(faults(connection(0, [bytes])).length, 1);
  }
});

Deno.test("audit() reports a followed redirect, and requests in protocols that are not allowed", () => {
  assertEquals(faults(connection(0, [], { port: 47777 })), ["a redirect was followed"]);
  const only = (protocol: string) => ({ sendable: new Map([["127.1.0.1:25565", [protocol]]]) });
  assertEquals(faults(connection(0, [JOIN]), only("nethernet")), []);
  assertEquals(faults(connection(0, [STATUS]), only("slp")), []);
  assertEquals(faults(connection(0, [JOIN]), only("slp")).length, 1);
  assertEquals(faults(connection(0, [STATUS]), only("nethernet")).length, 1);
  assertEquals(faults(connection(0, []), only("raknet")).length, 1);
});
