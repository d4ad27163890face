import { assert, assertEquals } from "@std/assert";
import { Malformed } from "../../src/core/bytes.ts";
import { makeCertificate } from "../../src/fleet/simulate/network/certificate.ts";
import type { StreamTalk } from "../../src/fleet/simulate/responder.ts";
import { converse } from "../../src/inspect/converse.ts";
import { exclusiveLink } from "../../src/net/peer_link.ts";
import { STREAM_LIMITS, StreamLink } from "../../src/net/stream_link.ts";
import { Throttle } from "../../src/net/throttle.ts";
import type { Link } from "../../src/net/socket.ts";
import { Closed, type Exchange, NoReply, request } from "../../src/protocols/protocol.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { FakeStreams } from "../../src/testing/fake_streams.ts";

const PEER = { address: 0x7f000002, port: 1 };
const FREE = { rate: undefined, netRate: undefined, hostRate: undefined };

/** An exchange of two requests. The first may be resent, the second must not. */
function* twoQuestions(): Exchange<number> {
  const accept = (want: number) => (datagram: Uint8Array) => {
    if (datagram[0] === 99) throw new Malformed("ninety-nine", 0);
    return datagram[0] === want ? datagram[1] : undefined;
  };
  const token = yield* request(Uint8Array.of(1), accept(1), { resend: true });
  return yield* request(Uint8Array.of(2, token), accept(2), { resend: false });
}

/** Runs an exchange of two requests with a responder; returns the requests and their times. */
async function run(
  respond: (datagram: Uint8Array, number: number) => readonly Uint8Array[],
  options: { resends?: number; signal?: AbortSignal; delay?: number } = {},
) {
  const faults = { loss: 0, duplication: 0, delay: options.delay ?? 10, jitter: 0 };
  const network = new FakeNetwork(1, faults);
  network.record = true;
  let number = 0;
  network.host(PEER, { respond: (datagram) => respond(datagram, number++) });
  await using link = exclusiveLink(PEER, network.open(4), new Throttle(FREE), network);
  const outcome = await network.run(converse(twoQuestions(), link, {
    timeoutMs: 100,
    resends: options.resends ?? 0,
    clock: network,
    signal: options.signal ?? new AbortController().signal,
  }));
  return { outcome, queried: network.sent.map(({ at, bytes }) => `${at - 1000}: ${[...bytes]}`) };
}

const responses = ([question, token]: Uint8Array) =>
  question === 1 ? [Uint8Array.of(1, 7)] : [Uint8Array.of(2, token * 2)];

/** Of two replies with the same length, the first one. */
const ANSWER = Uint8Array.of(1, 7);

Deno.test("converse() sends, receives, and measures the round trip of the first request", async () => {
  const { outcome, queried } = await run(responses);
  assertEquals(outcome, { kind: "replied", status: 14, latencyMs: 20, raw: ANSWER });
  assertEquals(queried, ["0: 1", "20: 2,7"]);
});

Deno.test("converse() resends requests that may be resent, and measures from the last sending", async () => {
  const late = (datagram: Uint8Array, number: number) => number < 2 ? [] : responses(datagram);
  const { outcome, queried } = await run(late, { resends: 2 });
  assertEquals(outcome, { kind: "replied", status: 14, latencyMs: 20, raw: ANSWER });
  assertEquals(queried, ["0: 1", "100: 1", "200: 1", "220: 2,7"]);
});

Deno.test("converse() never resends other requests, and reports how far the exchange came", async () => {
  const half = (datagram: Uint8Array) => datagram[0] === 1 ? responses(datagram) : [];
  const { outcome, queried } = await run(half, { resends: 3 });
  assertEquals(outcome, { kind: "noReply", replies: 1 });
  assertEquals(queried.length, 2);
  const mute = await run(() => [], { resends: 3 });
  assertEquals([mute.outcome, mute.queried.length], [{ kind: "noReply", replies: 0 }, 4]);
});

Deno.test("converse() reports a malformed reply", async () => {
  const { outcome } = await run(() => [Uint8Array.of(99)]);
  assert(outcome.kind === "malformed" && outcome.error instanceof Malformed);
});

Deno.test("converse() ignores unrelated datagrams, but not a flood of them", async () => {
  const strays = (count: number) => (datagram: Uint8Array) => [
    ...Array.from({ length: count }, () => Uint8Array.of(50)),
    ...responses(datagram),
  ];
  assertEquals((await run(strays(6))).outcome.kind, "replied");
  // unrelated datagrams are counted for each request
  assertEquals((await run(strays(14))).outcome.kind, "replied");
  assertEquals((await run(strays(17))).outcome.kind, "noReply");
});

Deno.test("converse() ends when its signal is aborted", async () => {
  const controller = new AbortController();
  const { outcome } = await run((datagram) => {
    controller.abort();
    return responses(datagram);
  }, { signal: controller.signal });
  assertEquals(outcome, { kind: "cancelled" });
});

Deno.test("an exchange may catch a missing reply and send another request", async () => {
  function* forgiving(): Exchange<string> {
    try {
      yield* request(Uint8Array.of(1), () => undefined, { resend: false });
      return "unreachable";
    } catch (error) {
      if (!(error instanceof NoReply)) throw error;
      return yield* request(Uint8Array.of(2, 0), () => "second", { resend: false });
    }
  }
  const network = new FakeNetwork(1);
  network.host(PEER, { respond: (datagram) => datagram[0] === 2 ? [datagram] : [] });
  await using link = exclusiveLink(PEER, network.open(4), new Throttle(FREE), network);
  const signal = new AbortController().signal;
  const options = { timeoutMs: 100, resends: 0, clock: network, signal };
  const outcome = await network.run(converse(forgiving(), link, options));
  assertEquals(outcome.kind === "replied" && outcome.status, "second");
});

/** An exchange whose second request is over TLS. Its status contains the results of both requests. */
function* plainThenTls(certificates: string[]): Exchange<string> {
  const first = yield { bytes: Uint8Array.of(1), resend: false };
  const onCertificate = (sha256: string) => void certificates.push(sha256);
  try {
    const second = yield {
      bytes: Uint8Array.of(2),
      resend: false,
      fresh: true,
      tls: { serverName: "play.example.org", onCertificate },
    };
    return `${first[0]} ${second[0]}`;
  } catch (error) {
    return `${first[0]} ${(error as Error).name}`;
  }
}

Deno.test("converse() sends a request over TLS on a new connection, or throws into the exchange", async () => {
  const certificate = makeCertificate("test", 1n);
  const says = (byte: number): StreamTalk => ({
    opening: [],
    receive: () => [{ bytes: Uint8Array.of(byte) }, "close"],
  });
  const tls = { certificate, accept: () => says(20) };
  const mute: StreamTalk = {
    opening: [],
    receive: (bytes) => bytes[0] === 1 ? says(10).receive(bytes) : [],
  };
  for (
    const [host, status, certificates] of [
      [{ accept: () => says(10), tls }, "10 20", [certificate.sha256]],
      [{ accept: () => says(10) }, "10 Closed", []],
      [{ accept: () => mute }, "10 NoReply", []],
    ] as const
  ) {
    const network = new FakeNetwork(1);
    const streams = new FakeStreams(network, 1);
    streams.host(PEER, host);
    await using link = new StreamLink(PEER, {
      dialer: streams,
      throttle: new Throttle(FREE),
      clock: network,
      limits: STREAM_LIMITS,
      signal: new AbortController().signal,
    });
    const received: string[] = [];
    const outcome = await network.run(converse(plainThenTls(received), link, {
      timeoutMs: Infinity,
      resends: 0,
      clock: network,
      signal: new AbortController().signal,
    }));
    assert(outcome.kind === "replied");
    assertEquals([outcome.status, received], [status, certificates]);
    assertEquals(streams.begun.length, 2);
  }
});

Deno.test("converse() measures and keeps a reply that the end of its stream completes", async () => {
  function* untilTheEnd(): Exchange<number> {
    let length = 0;
    try {
      let part = yield { bytes: Uint8Array.of(1), resend: false };
      for (;;) {
        length += part.length;
        part = yield;
      }
    } catch (error) {
      if (!(error instanceof NoReply)) throw error;
      return length;
    }
  }
  const network = new FakeNetwork(1);
  const parts = [Uint8Array.of(7, 8), Uint8Array.of(9)];
  const link: Link = {
    stream: { end: "closed", opened: true, renew: () => {} },
    send: () => Promise.resolve(true),
    next: async () => {
      await new Promise<void>((done) => network.after(10, done));
      return parts.shift();
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const outcome = await network.run(converse(untilTheEnd(), link, {
    timeoutMs: 100,
    resends: 0,
    clock: network,
    signal: new AbortController().signal,
  }));
  const raw = Uint8Array.of(7, 8, 9);
  assertEquals(outcome, { kind: "replied", status: 3, latencyMs: 20, raw });
});

Deno.test("converse() says that a peer closed its stream, also if a request in an older form came later", async () => {
  const link = (end: "slow" | "reset" | undefined): Link => ({
    stream: { end, opened: true, renew: () => {} },
    send: () => Promise.resolve(true),
    next: () => Promise.resolve(undefined),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
  function* thrown(error: NoReply): Exchange<never> {
    try {
      yield { bytes: Uint8Array.of(1), resend: false };
    } catch {
      throw error;
    }
    throw new Error("a reply");
  }
  const network = new FakeNetwork(1);
  const options = {
    ...{ timeoutMs: 100, resends: 0, clock: network },
    signal: new AbortController().signal,
  };
  const why = async (error: NoReply, end: "slow" | "reset" | undefined) => {
    const outcome = await converse(thrown(error), link(end), options);
    return outcome.kind === "noReply" ? outcome.why : outcome.kind;
  };
  assertEquals(await why(new Closed(), "slow"), "closed");
  assertEquals(await why(new Closed(), undefined), "closed");
  assertEquals(await why(new Closed(), "reset"), "reset");
  assertEquals(await why(new NoReply(), "slow"), "slow");
});
