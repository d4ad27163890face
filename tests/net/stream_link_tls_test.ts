/** TLS on the fake clock. Covers src/net/stream.ts. */
import { assert, assertEquals } from "@std/assert";
import { makeCertificate } from "../../src/fleet/simulate/network/certificate.ts";
import type { StreamAct, StreamResponder } from "../../src/fleet/simulate/responder.ts";
import { CAP_PERIOD_MS } from "../../src/net/caps.ts";
import type { SendGate } from "../../src/net/send_gate.ts";
import { STREAM_LIMITS, type StreamLimits, StreamLink } from "../../src/net/stream_link.ts";
import { Throttle } from "../../src/net/throttle.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import {
  FAKE_HELLO,
  FakeStreams,
  NO_STREAM_FAULTS,
  type StreamFaults,
} from "../../src/testing/fake_streams.ts";

const PEER = { address: 0x7f000002, port: 19132 };
const CERTIFICATE = makeCertificate("test", 1n);
const REQUEST = Uint8Array.of(1, 2, 3);
const ALERT = Uint8Array.of(0x15, 3, 1, 0, 2, 2, 0x28);

/** A host whose connections perform the same acts for all bytes that they receive. */
const plain = (...acts: StreamAct[]): StreamResponder => ({
  accept: () => ({ opening: [], receive: () => acts }),
});
/** A host with TLS, and its acts for encrypted bytes. */
const secure = (...acts: StreamAct[]): StreamResponder => ({
  ...plain("close"),
  tls: { certificate: CERTIFICATE, accept: plain(...acts).accept },
});

interface Setting {
  readonly faults?: Partial<StreamFaults>;
  readonly limits?: Partial<StreamLimits>;
  readonly hostRate?: number;
  readonly gate?: SendGate;
  readonly signal?: AbortSignal;
  readonly serverName?: string;
}

/** Sends a request over TLS, and reads to the end. Times are milliseconds from the start. */
async function ask(host: StreamResponder, setting: Setting = {}) {
  const network = new FakeNetwork(1);
  const streams = new FakeStreams(network, 1, { ...NO_STREAM_FAULTS, ...setting.faults });
  streams.host(PEER, host);
  const start = network.now();
  const throttle = new Throttle({
    rate: undefined,
    netRate: undefined,
    hostRate: setting.hostRate,
  });
  const link = new StreamLink(PEER, {
    dialer: streams,
    throttle,
    clock: network,
    limits: { ...STREAM_LIMITS, ...setting.limits },
    signal: setting.signal ?? new AbortController().signal,
    gate: setting.gate,
  });
  const events: string[] = [];
  const bytes: number[] = [];
  const end = await network.run((async () => {
    link.renew({
      serverName: setting.serverName,
      onCertificate: (sha256) => events.push(`certificate ${sha256}`),
    });
    if (await link.send(REQUEST)) events.push("sent");
    for (let part; (part = await link.next(Infinity)) !== undefined;) bytes.push(...part);
    const end = link.end;
    await link[Symbol.asyncDispose]();
    return end;
  })());
  assertEquals(streams.open, 0);
  const at = network.now() - start;
  return { events, bytes, end, at, granted: throttle.granted, streams };
}

const CERTIFIED = `certificate ${CERTIFICATE.sha256}`;

Deno.test("a link over TLS gives the certificate before the first bytes", async () => {
  const reply = Uint8Array.from({ length: 300 }, (_, i) => i);
  for (const largest of [1, 7, 1460]) {
    const faults = { largest, delay: 5, jitter: 3 };
    const host = secure({ bytes: reply }, "close");
    const { events, bytes, end, granted, streams } = await ask(host, { faults });
    assertEquals([events, bytes, end], [[CERTIFIED, "sent"], [...reply], "closed"]);
    // SYN, first message of the handshake, request
    assertEquals([granted, streams.begun.length], [3, 1]);
    assertEquals(streams.written.map(({ bytes }) => bytes), [FAKE_HELLO, REQUEST]);
    assertEquals(streams.serverNames, [undefined]);
  }
  const named = await ask(secure("close"), { serverName: "play.example.org" });
  assertEquals(named.streams.serverNames, ["play.example.org"]);
});

Deno.test("a host may speak before the request over TLS", async () => {
  const host: StreamResponder = {
    ...plain(),
    tls: {
      certificate: CERTIFICATE,
      accept: () => ({ opening: [{ bytes: Uint8Array.of(9) }, "close"], receive: () => [] }),
    },
  };
  for (const largest of [1, 1460]) {
    const { events, bytes, end } = await ask(host, { faults: { largest } });
    assertEquals([events, bytes, end], [[CERTIFIED, "sent"], [9], "closed"]);
  }
});

for (
  const [name, host, end, at] of [
    ["closes", plain("close"), "closed", 20],
    ["resets", plain("reset"), "reset", 20],
    ["sends an alert", plain({ bytes: ALERT }, "close"), "noTls", 20],
    ["sends a byte of a handshake", plain({ bytes: Uint8Array.of(0x16) }, "close"), "noTls", 20],
    ["stays silent", plain(), "slow", 4000],
  ] as const
) {
  Deno.test(`a host that ${name} in the handshake ends with "${end}"`, async () => {
    const result = await ask(host, { faults: { delay: 10, largest: 1460 } });
    assertEquals([result.events, result.bytes, result.end], [[], [], end]);
    assert(result.at >= at && result.at <= at + 20, `${result.at}`);
  });
}

Deno.test("the time of the handshake counts as waiting of the request", async () => {
  // the connection and the handshake take 3 × 500 ms
  const silent = await ask(secure(), { faults: { delay: 500 } });
  assertEquals([silent.events, silent.end, silent.at], [[CERTIFIED, "sent"], "slow", 4500]);
  // waiting for the cap of a host does not count
  const capped = await ask(secure(), { faults: { delay: 500 }, hostRate: 1 });
  assertEquals([capped.end, capped.at], ["slow", 2 * CAP_PERIOD_MS + 3000]);
});

Deno.test("the connection ends at the limit for all of it, and at the limit on bytes", async () => {
  const drip = Array.from(
    { length: 60 },
    (_, i): StreamAct[] => [{ waitMs: 1000 }, { bytes: Uint8Array.of(i) }],
  ).flat();
  const dripped = await ask(secure(...drip));
  assertEquals([dripped.bytes.length, dripped.end, dripped.at], [9, "slow", 10_000]);
  const handshake = await ask(secure("close"), { limits: { maxBytes: 30 } });
  assertEquals([handshake.events, handshake.end], [[], "flood"]);
  const flood = secure({ bytes: new Uint8Array(1000) }, "close");
  const after = await ask(flood, { limits: { maxBytes: 1000 } });
  assertEquals([after.events, after.end], [[CERTIFIED, "sent"], "flood"]);
  assert(after.bytes.length < 1000);
});

Deno.test("a signal cancels a handshake", async () => {
  const controller = new AbortController();
  const host: StreamResponder = {
    accept: () => ({ opening: [], receive: () => (controller.abort(), []) }),
  };
  const { events, end } = await ask(host, { signal: controller.signal });
  assertEquals([events, end], [[], "cancelled"]);
});

/** A gate that is closed for some of its checks. */
function gateClosedAt(checks: readonly number[], opens: boolean): SendGate {
  let check = 0;
  return {
    keptBack: 0,
    isOpen: () => !checks.includes(check++),
    whenOpen: () => Promise.resolve(opens),
  };
}

Deno.test("a closed gate keeps each part of a handshake back, and the request", async () => {
  const { length } = (await ask(secure("close"), {
    gate: {
      keptBack: 0,
      isOpen: () => true,
      whenOpen: () => Promise.resolve(true),
    },
  })).streams.written;
  assertEquals(length, 2);
  // connection; before the handshake, its write; before the request, its write
  for (const check of [0, 1, 2, 3, 4]) {
    const late = gateClosedAt([check], true);
    const { end } = await ask(secure({ bytes: REQUEST }, "close"), { gate: late });
    assertEquals([end, late.keptBack], ["closed", 1], `${check}`);
    const never = gateClosedAt([check, check + 1, check + 2], false);
    const { streams } = await ask(secure("close"), { gate: never });
    assertEquals([never.keptBack, streams.written.length], [1, check < 3 ? 0 : 1], `${check}`);
  }
});

Deno.test("renew() without TLS opens a connection without it", async () => {
  const network = new FakeNetwork(1);
  const streams = new FakeStreams(network, 1);
  streams.host(PEER, {
    ...plain({ bytes: Uint8Array.of(7) }, "close"),
    tls: secure({ bytes: Uint8Array.of(8) }, "close").tls,
  });
  const link = new StreamLink(PEER, {
    dialer: streams,
    throttle: new Throttle({ rate: undefined, netRate: undefined, hostRate: undefined }),
    clock: network,
    limits: STREAM_LIMITS,
    signal: new AbortController().signal,
  });
  const replies = await network.run((async () => {
    const all: unknown[] = [];
    for (const tls of [undefined, { onCertificate: () => {} }, undefined]) {
      link.renew(tls);
      await link.send(REQUEST);
      all.push((await link.next(Infinity))?.[0]);
    }
    await link[Symbol.asyncDispose]();
    return all;
  })());
  assertEquals(replies, [7, 8, 7]);
  assertEquals(streams.begun.length, 3);
});
