/**
 * Hostile hosts on the port of Bedrock servers over TCP. They are not servers, and a scanner must not
 * report them.
 *
 * @module
 */
import { concat, u16, u24le } from "../../../core/bytes.ts";
import { nodeZlib } from "../../../core/node_modules.ts";
import type { Random } from "../../random.ts";
import { BAIT_PORT } from "../../bait_port.ts";
import { makeCertificate } from "../network/certificate.ts";
import type { StreamAct } from "../responder.ts";
import { type HttpPort, httpReply, type ReceivedRequest } from "../nethernet/http_host.ts";
import { HANDSHAKE_FAILURE } from "../nethernet/join_styles.ts";
import { WEB_SERVERS } from "./web_servers.ts";

/** A trick, which may have state: a host for each use. */
type HttpTrick = (random: Random) => HttpPort;

const utf8 = (text: string) => new TextEncoder().encode(text);
const JSON_TYPE = { "Content-Type": "application/json" };
/** A status without its last brace. */
const OPEN_STATUS = '{"name":"Trap","protocol":2193,"version":"1.26.52"';
const PIECE = 64 * 1024;
/** Size of a body that is larger than any that a scanner reads, bytes. */
const LARGE = 10 * 1024 * 1024;

const always = (answer: HttpPort["answer"], rest?: Partial<HttpPort>): HttpTrick => () => ({
  answer,
  ...rest,
});

/** Copies of the same bytes, which are in memory once. */
function copies(bytes: Uint8Array, count: number): readonly StreamAct[] {
  return Array<StreamAct>(count).fill({ bytes });
}

/** A reply of status 200 with JSON, which is made when it is sent. */
const json = (body: () => string) =>
  always(() => {
    const bytes = utf8(body());
    const headers = { ...JSON_TYPE, "Content-Length": bytes.length };
    return [{ bytes: httpReply("200 OK", headers, bytes) }, "close"];
  });

const encrypted = (random: Random, answer: HttpPort["answer"]): HttpPort["tls"] => ({
  answer,
  certificate: makeCertificate("trap", random.u64()),
});

const redirect = (status: string) => ({ host, target }: ReceivedRequest): readonly StreamAct[] => [
  {
    bytes: httpReply(status, {
      Location: `https://${host.replace(/:\d+$/, "")}:${BAIT_PORT}${target}`,
      "Content-Length": 0,
    }),
  },
  "close",
];

/** A status whose protocol number is 200 levels deep. */
const nested = (open: string, inner: string, close: string) =>
  `{"name":"Trap","version":"1.26.52","protocol":${open.repeat(200)}${inner}${close.repeat(200)}}`;

/** Tricks by name, without those of web servers. */
const TRICKS: Readonly<Record<string, HttpTrick>> = {
  /** A status at one byte per second. */
  httpDrip: always(() =>
    Array.from(httpReply("200 OK", JSON_TYPE, `${OPEN_STATUS}}`))
      .flatMap((byte) => [{ bytes: Uint8Array.of(byte) }, { waitMs: 1000 }])
  ),
  /** A header that does not end. */
  httpEndlessHeader: always(() => [
    { bytes: utf8("HTTP/1.1 200 OK\r\nX-Pad: ") },
    ...copies(new Uint8Array(PIECE).fill(0x61), LARGE / PIECE),
  ]),
  /** A thousand headers before a status. */
  httpManyHeaders: always(() => {
    const headers = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`X-${i}`, i]));
    return [
      { bytes: httpReply("200 OK", { ...headers, ...JSON_TYPE }, `${OPEN_STATUS}}`) },
      "close",
    ];
  }),
  /** Chunks of one byte each. */
  httpEndlessChunks: always(() => [
    { bytes: httpReply("200 OK", { ...JSON_TYPE, "Transfer-Encoding": "chunked" }) },
    ...copies(utf8("1\r\n \r\n".repeat(PIECE / 4)), LARGE / PIECE),
  ]),
  /** A chunk of 16 EiB. */
  httpHugeChunk: always(() => [
    {
      bytes: httpReply(
        "200 OK",
        { ...JSON_TYPE, "Transfer-Encoding": "chunked" },
        "ffffffffffffffff\r\n",
      ),
    },
    ...copies(new Uint8Array(PIECE).fill(0x20), LARGE / PIECE),
  ]),
  /** A status with a name of 10 MiB. */
  httpLargeBody: always(() => [
    {
      bytes: httpReply(
        "200 OK",
        { ...JSON_TYPE, "Content-Length": OPEN_STATUS.length + 9 + LARGE },
        `${OPEN_STATUS},"pad":"`,
      ),
    },
    ...copies(new Uint8Array(PIECE).fill(0x61), LARGE / PIECE),
    { bytes: utf8('"}') },
    "close",
  ]),
  /** A status whose protocol number is 200 nested arrays. */
  httpNestedArrays: json(() => nested("[", "", "]")),
  /** The same with objects that have an integer as the key. */
  httpNestedObjects: json(() => nested('{"0":', "0", "}")),
  /** A status with a number of a million digits. */
  httpLongNumber: json(() => `${OPEN_STATUS},"players":${"9".repeat(1_000_000)}}`),
  /** A status with 200,000 members. */
  httpManyMembers: json(() =>
    `${OPEN_STATUS},${Array.from({ length: 200_000 }, (_, i) => `"${i}":1`).join()}}`
  ),
  /** A status that ends too early. */
  httpShortBody: always(() => [
    { bytes: httpReply("200 OK", { ...JSON_TYPE, "Content-Length": 128 }, OPEN_STATUS) },
    "close",
  ]),
  /** A compressed body of 10 MiB that was not asked for. */
  httpCompressed: () => {
    const body = new Uint8Array(nodeZlib().gzipSync(new Uint8Array(LARGE)));
    const headers = { ...JSON_TYPE, "Content-Encoding": "gzip", "Content-Length": body.length };
    return { answer: () => [{ bytes: httpReply("200 OK", headers, body) }, "close"] };
  },
  /** A redirect to another port of the host. */
  httpRedirect: always(redirect("302 Found")),
  /** A redirect to TLS on the same port, and from there to another port. */
  httpRedirectTwice: (random) => ({
    answer: ({ host, target }) => [
      { bytes: httpReply("308 Permanent Redirect", { Location: `https://${host}${target}` }) },
      "close",
    ],
    tls: encrypted(random, redirect("307 Temporary Redirect")),
  }),
  /** The connection opens, and nothing follows. */
  httpMute: always(() => [], { hello: [], waits: true }),
  /** The banner of another protocol. */
  httpBanner: always(() => [], {
    opening: [{ bytes: utf8("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n") }],
    waits: true,
  }),
  /** An alert of TLS, whatever arrives. */
  httpAlert: always(() => [{ bytes: HANDSHAKE_FAILURE }, "close"], {
    hello: [{ bytes: HANDSHAKE_FAILURE }, "close"],
  }),
  /** Nothing after the first message of a handshake. */
  tlsMute: always(() => ["close"], { hello: [] }),
  /** Nothing after the handshake. */
  tlsSilent: (random) => ({ answer: () => ["close"], tls: encrypted(random, () => []) }),
  /** An alert in the middle of a handshake. */
  tlsAlert: always(() => ["close"], { hello: [{ bytes: HANDSHAKE_FAILURE }, "close"] }),
  /** A handshake with a certificate of 1 MiB. */
  tlsHugeCertificate: () => ({ answer: () => ["close"], hello: hugeHandshake() }),
  /** The second port of a host that redirects: what a follower would take for a server. */
  bait: json(() => `${OPEN_STATUS}}`),
  /** Busy at the first request, and a server afterwards. A scanner must not ask again at once. */
  httpBusy: () => {
    let asked = 0;
    const busy = httpReply("503 Service Unavailable", { "Content-Length": 0 });
    const status = httpReply("200 OK", JSON_TYPE, `${OPEN_STATUS}}`);
    return { answer: () => [{ bytes: asked++ === 0 ? busy : status }, "close"] };
  },
};

/** The start of a handshake of TLS 1.2, up to a certificate of 1 MiB. */
function hugeHandshake(): readonly StreamAct[] {
  const u24 = (value: number) => u24le(value).toReversed();
  const message = (type: number, body: Uint8Array) => concat([type], u24(body.length), body);
  const hello = concat([3, 3], new Uint8Array(32), [0, 0xc0, 0x2f, 0, 0, 5, 0xff, 1, 0, 1, 0]);
  const certificate = new Uint8Array(2 ** 20);
  const list = concat(u24(certificate.length), certificate);
  const all = concat(message(2, hello), message(11, concat(u24(list.length), list)));
  const records = Array.from({ length: Math.ceil(all.length / 16_384) }, (_, i) => {
    const piece = all.subarray(i * 16_384, (i + 1) * 16_384);
    return concat([0x16, 3, 3], u16(piece.length), piece);
  });
  return [{ bytes: concat(...records) }];
}

export const HTTP_TRICKS: Readonly<Record<string, HttpTrick>> = {
  ...TRICKS,
  ...Object.fromEntries(Object.entries(WEB_SERVERS).map(([name, port]) => [name, () => port])),
};

/** Tricks that redirect: such a host has a second port, to which only a follower connects. */
export const REDIRECTING: readonly string[] = ["httpRedirect", "httpRedirectTwice"];
/** Tricks that a fleet contains only when the user names them: they are slow, or have a second port. */
export const NAMED_HTTP_TRICKS: readonly string[] = [
  "httpDrip",
  "httpBusy",
  "bait",
  ...REDIRECTING,
];
