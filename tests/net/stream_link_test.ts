/** Covers src/testing/fake_network.ts and src/testing/fake_streams.ts. */
import { assert, assertEquals } from "@std/assert";
import type { StreamAct, StreamResponder } from "../../src/fleet/simulate/responder.ts";
import {
  dial,
  STREAM_LIMITS,
  StreamLink,
  type StreamLinkOptions,
} from "../../src/net/stream_link.ts";
import { CAP_PERIOD_MS } from "../../src/net/caps.ts";
import { Throttle } from "../../src/net/throttle.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import {
  type EndpointBehaviour,
  FakeStreams,
  NO_STREAM_FAULTS,
  type StreamFaults,
} from "../../src/testing/fake_streams.ts";

const PEER = { address: 0x7f000002, port: 25565 };
const FREE = { rate: undefined, netRate: undefined, hostRate: undefined };
const HELLO = Uint8Array.of(1, 2, 3);

const replies = (...acts: StreamAct[]): StreamResponder => ({
  accept: () => ({ opening: [], receive: () => acts }),
});

interface Setting {
  readonly door?: EndpointBehaviour;
  readonly faults?: Partial<StreamFaults>;
  readonly hostRate?: number;
  readonly signal?: AbortSignal;
}

function open({ door, faults, hostRate, signal }: Setting) {
  const network = new FakeNetwork(1);
  const streams = new FakeStreams(network, 1, { ...NO_STREAM_FAULTS, ...faults });
  if (door !== undefined) streams.host(PEER, door);
  let closed = 0;
  const options: StreamLinkOptions = {
    dialer: streams,
    throttle: new Throttle({ ...FREE, hostRate }),
    clock: network,
    limits: STREAM_LIMITS,
    signal: signal ?? new AbortController().signal,
    onClose: () => closed++,
  };
  const link = new StreamLink(PEER, options);
  return { network, streams, link, options, closed: () => closed };
}

/** All bytes up to the end of the stream, with the end and its time in milliseconds. */
async function exchange(setting: Setting, timeoutMs = Infinity) {
  const all = open(setting);
  const { network, link, streams } = all;
  return await network.run((async () => {
    const sent = await link.send(HELLO);
    const bytes: number[] = [];
    for (;;) {
      const piece = await link.next(timeoutMs);
      if (piece === undefined) break;
      for (const byte of piece) bytes.push(byte);
    }
    const result = { sent, bytes, end: link.end, at: network.now() - 1000 };
    await link[Symbol.asyncDispose]();
    assertEquals(streams.open, 0);
    return result;
  })());
}

Deno.test("StreamLink connects, sends, and receives bytes in any chunks", async () => {
  const bytes = Uint8Array.from({ length: 300 }, (_, i) => i);
  for (const largest of [1, 7, 1460]) {
    const faults = { largest, delay: 5, jitter: 3 };
    const result = await exchange({ door: replies({ bytes }, "close"), faults });
    assertEquals(result.sent, true);
    assertEquals(result.bytes, [...bytes]);
    assertEquals(result.end, "closed");
  }
});

for (const door of ["refused", "unreachable"] as const) {
  Deno.test(`StreamLink reports ${door}`, async () => {
    const result = await exchange({ door, faults: { delay: 20 } });
    assertEquals(result, { sent: false, bytes: [], end: door, at: 20 });
  });
}

Deno.test("StreamLink waits 15 seconds for a descriptor, and then reports the shortage", async () => {
  const result = await exchange({ door: "exhausted" });
  assertEquals(result, { sent: false, bytes: [], end: "exhausted", at: 15_000 });
});

Deno.test("StreamLink times out after three seconds without a connection", async () => {
  const result = await exchange({ door: "timeout" });
  assertEquals(result, { sent: false, bytes: [], end: "timeout", at: 3000 });
});

Deno.test("StreamLink times out after four seconds without a first byte", async () => {
  const late = replies({ waitMs: 6000 }, { bytes: HELLO });
  assertEquals(await exchange({ door: late }), { sent: true, bytes: [], end: "slow", at: 4000 });
});

Deno.test("StreamLink keeps a fifth of the time for a connection after one without a reply", async () => {
  const { network, link } = open({ door: replies({ waitMs: 60_000 }) });
  const waits = await network.run((async () => {
    const all: number[] = [];
    for (let connection = 0; connection < 2; connection++) {
      const start = network.now();
      await link.send(HELLO);
      assertEquals(await link.next(Infinity), undefined);
      all.push(network.now() - start);
      link.renew();
    }
    await link[Symbol.asyncDispose]();
    return all;
  })());
  assertEquals(waits, [4000, 1000]);
});

Deno.test("StreamLink closes after ten seconds on a peer that sends a byte a second", async () => {
  const drip = Array.from(
    { length: 60 },
    (_, i): StreamAct[] => [{ waitMs: 1000 }, { bytes: Uint8Array.of(i) }],
  );
  const result = await exchange({ door: replies(...drip.flat()) });
  assertEquals([result.bytes.length, result.end, result.at], [9, "slow", 10_000]);
});

Deno.test("StreamLink reads at most two MiB", async () => {
  const mebibyte = { bytes: new Uint8Array(1 << 20) };
  const flood = Array<StreamAct>(10).fill(mebibyte);
  const result = await exchange({ door: replies(...flood), faults: { largest: 1 << 16 } });
  assertEquals(result.end, "flood");
  assert(result.bytes.length <= 2 << 20 && result.bytes.length > (2 << 20) - (1 << 17));
});

Deno.test("StreamLink distinguishes a reset from an end", async () => {
  assertEquals((await exchange({ door: replies("reset") })).end, "reset");
  const door = replies({ bytes: new Uint8Array(100_000) });
  assertEquals((await exchange({ door, faults: { reset: 0.1 } })).end, "reset");
  assertEquals((await exchange({ door, faults: { halfOpen: 1 } })).end, "slow");
});

Deno.test("a timeout of the caller does not end the stream", async () => {
  const { network, link } = open({ door: replies({ waitMs: 100 }, { bytes: HELLO }) });
  await network.run((async () => {
    await link.send(HELLO);
    assertEquals([await link.next(50), link.end], [undefined, undefined]);
    assertEquals([await link.next(100), link.end], [HELLO, undefined]);
    await link[Symbol.asyncDispose]();
    await link[Symbol.asyncDispose]();
    assertEquals([await link.next(100), link.end], [undefined, "cancelled"]);
    assertEquals(await link.send(HELLO), false);
  })());
});

Deno.test("StreamLink.renew() sends the next request over a new connection", async () => {
  const { network, link, streams, closed } = open({ door: replies("close") });
  await network.run((async () => {
    for (const _ of [1, 2]) {
      assertEquals(await link.send(HELLO), true);
      assertEquals([await link.next(50), link.end], [undefined, "closed"]);
      link.renew();
    }
    await link[Symbol.asyncDispose]();
  })());
  assertEquals([streams.begun.length, streams.written.length, closed()], [2, 2, 1]);
});

Deno.test("SYN packets that the system repeats count when it repeats them, until the wait ends", async () => {
  for (const [connectMs, packets] of [[900, 1], [1500, 2], [2999, 3], [6500, 6], [20_000, 9]]) {
    const { network, options } = open({ door: "timeout" });
    await network.run((async () => {
      const { throttle } = options;
      throttle.reserve(PEER.address, network.now()); // as the caller of dial() does
      const limits = { ...STREAM_LIMITS, connectMs };
      assertEquals(await dial(PEER, { ...options, limits }), "timeout");
      assertEquals(throttle.granted, packets, `${connectMs}`);
    })());
    assertEquals(network.now() - 1000, connectMs);
  }
});

Deno.test("connections and requests count as datagrams to a host", async () => {
  const { network, link, streams } = open({ door: replies({ bytes: HELLO }), hostRate: 2 });
  await network.run((async () => {
    await link.send(HELLO);
    await link.send(HELLO);
    await link[Symbol.asyncDispose]();
  })());
  assertEquals(network.now() - 1000, CAP_PERIOD_MS);
  assertEquals([streams.begun.length, streams.written.length], [1, 2]);
});

for (
  const [when, door, after] of [["connecting", "timeout", 50], ["waiting", replies(), 50]] as const
) {
  Deno.test(`a signal cancels a link that is ${when}`, async () => {
    const controller = new AbortController();
    const { network, link, streams } = open({ door, signal: controller.signal });
    network.after(after, () => controller.abort());
    await network.run((async () => {
      await link.send(HELLO);
      assertEquals(await link.next(Infinity), undefined);
    })());
    assertEquals([link.end, network.now() - 1000, streams.open], ["cancelled", after, 0]);
    assertEquals(
      await dial(PEER, { ...open({ door: replies() }).options, signal: controller.signal }),
      "cancelled",
    );
  });
}
