/**
 * Streams over real sockets, on loopback.
 *
 * Covers src/net/deno/tcp_dialer.ts, src/net/tcp/connect_failure.ts, src/net/tcp/node_stream.ts and
 * src/net/file_descriptors.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { createServer } from "node:net";
import type { Endpoint } from "../../src/core/address.ts";
import { systemClock } from "../../src/net/clock.ts";
import { denoDialer } from "../../src/net/deno/tcp_dialer.ts";
import { connectFailure } from "../../src/net/tcp/connect_failure.ts";
import type { SendGate } from "../../src/net/send_gate.ts";
import { descriptorsLeft } from "../../src/net/file_descriptors.ts";
import { openSocket } from "../../src/net/deno/udp_socket.ts";
import type { Stream } from "../../src/net/socket.ts";
import { STREAM_LIMITS, type StreamLimits, StreamLink } from "../../src/net/stream_link.ts";
import { Throttle } from "../../src/net/throttle.ts";

const HOST = 0x7f390001;
const OWN = 0x7f390002;
const NEVER = new AbortController().signal;
const FREE = { rate: undefined, netRate: undefined, hostRate: undefined };

/** Listens, runs a function with the first connection, and returns its source address. */
async function withPeer<T>(
  serve: (conn: Deno.TcpConn) => Promise<void>,
  work: (endpoint: Endpoint) => Promise<T>,
): Promise<{ result: T; from: string }> {
  const listener = Deno.listen({ hostname: "127.57.0.1", port: 0 });
  let from = "";
  const serving = (async () => {
    for await (const conn of listener) {
      from = conn.remoteAddr.hostname;
      await serve(conn);
      try {
        conn.close();
      } catch { /* closed by serve */ }
    }
  })();
  const result = await work({ address: HOST, port: listener.addr.port });
  listener.close();
  await serving;
  return { result, from };
}

async function connected(to: Endpoint, own?: number): Promise<Stream> {
  const stream = await denoDialer(own).connect(to, NEVER);
  assert(typeof stream !== "string");
  return stream;
}

async function echo(conn: Deno.TcpConn): Promise<void> {
  const buffer = new Uint8Array(100);
  const size = await conn.read(buffer);
  if (size !== null) await conn.write(buffer.subarray(0, size));
}

/** Listens, and resets every connection at its first byte. Only node:net supports resets. */
async function withReset<T>(work: (endpoint: Endpoint) => Promise<T>): Promise<T> {
  const server = createServer((socket) => {
    socket.on("error", () => {}).once("data", () => socket.resetAndDestroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.57.0.1", resolve));
  const { port } = server.address() as { port: number };
  const result = await work({ address: HOST, port });
  await new Promise((resolve) => server.close(resolve));
  return result;
}

for (const [own, from] of [[undefined, "127.0.0.1"], [OWN, "127.57.0.2"]] as const) {
  const which = own === undefined ? "the system's address" : "an address of ours";
  Deno.test(`a connection from ${which} sends, receives and ends`, async () => {
    const { result, from: source } = await withPeer(echo, async (endpoint) => {
      using stream = await connected(endpoint, own);
      assertEquals(await stream.write(Uint8Array.of(1, 2)), true);
      return [await stream.read(), await stream.read()];
    });
    assertEquals([result, source], [[Uint8Array.of(1, 2), "closed"], from]);
  });

  Deno.test(`a connection from ${which} reports refusal, reset, close and cancellation`, async () => {
    const dialer = denoDialer(own);
    assertEquals(await dialer.connect({ address: HOST, port: 1 }, NEVER), "refused");
    assertEquals([...dialer.errors], [["ECONNREFUSED", 1]]);
    assertEquals(
      await dialer.connect({ address: HOST, port: 1 }, AbortSignal.abort()),
      "cancelled",
    );
    const broken = await withReset(async (endpoint) => {
      using stream = await connected(endpoint, own);
      await stream.write(Uint8Array.of(1));
      return [await stream.read(), await stream.write(Uint8Array.of(1))];
    });
    assertEquals(broken, ["reset", false]);
    await withPeer(echo, async (endpoint) => {
      const stream = await connected(endpoint, own);
      const reading = stream.read();
      stream[Symbol.dispose]();
      stream[Symbol.dispose]();
      assertEquals([await reading, await stream.write(Uint8Array.of(1))], ["closed", false]);
    });
  });
}

Deno.test("a gate keeps connections back; those of an address of ours begin one by one", async () => {
  let turn = 0;
  let isCounting = true;
  const countTurns = () => {
    turn++;
    if (isCounting) setImmediate(countTurns);
  };
  countTurns();
  for (const [own, isLate] of [[undefined, false], [OWN, true]] as const) {
    const turns: number[] = [];
    const gate: SendGate = {
      keptBack: 0,
      isOpen: () => turns.push(turn) <= 2,
      whenOpen: () => Promise.resolve(false),
    };
    const dialer = denoDialer(own);
    const to = { address: HOST, port: 1 };
    const outcomes = await Promise.all(
      [1, 2, 3, 4].map(() => dialer.connect(to, NEVER, gate)),
    );
    assertEquals(outcomes, ["refused", "refused", "kept back", "kept back"]);
    assertEquals(new Set(turns).size, isLate ? 4 : 1);
  }
  isCounting = false;
});

Deno.test("a local address is used only for its family", async () => {
  const { from } = await withPeer(echo, async (endpoint) => {
    using stream = await connected(endpoint, undefined);
    await stream.write(Uint8Array.of(1));
    await stream.read();
  });
  assertEquals(from, "127.0.0.1");
  const outcome = await denoDialer(1n).connect({ address: HOST, port: 1 }, NEVER);
  assertEquals(outcome, "refused");
});

Deno.test("a link closes the connection of a slow peer and of a flooding peer", async () => {
  const MINUTE_MS = 60_000;
  const limits = { ...STREAM_LIMITS, firstByteMs: MINUTE_MS, totalMs: MINUTE_MS, maxBytes: 50_000 };
  const drain = (changed: Partial<StreamLimits>) => async (endpoint: Endpoint) => {
    await using link = new StreamLink(endpoint, {
      dialer: denoDialer(),
      throttle: new Throttle(FREE),
      clock: systemClock,
      limits: { ...limits, ...changed },
      signal: NEVER,
    });
    await link.send(Uint8Array.of(1));
    while (await link.next(Infinity) !== undefined);
    return link.end;
  };
  /** Writes a byte every 40 ms until the link closes the connection. */
  const drip = async (conn: Deno.TcpConn) => {
    const isOpen = () => conn.write(Uint8Array.of(1)).then(() => true, () => false);
    while (await isOpen()) await new Promise((resolve) => setTimeout(resolve, 40));
  };
  const flood = async (conn: Deno.TcpConn) => {
    await conn.write(new Uint8Array(10 << 20)).catch(() => {}); // the link closes the connection
  };
  assertEquals((await withPeer(drip, drain({ totalMs: 300 }))).result, "slow");
  assertEquals((await withPeer(flood, drain({}))).result, "flood");
});

Deno.test("descriptorsLeft() counts the free descriptors", async () => {
  let taken = 0;
  const open = (most: number) => () => {
    if (taken >= most) throw new Deno.errors.AddrInUse("none left");
    taken++;
    return { [Symbol.asyncDispose]: () => Promise.resolve(void taken--) };
  };
  assertEquals([await descriptorsLeft(10, open(4)), taken], [4, 0]);
  assertEquals([await descriptorsLeft(10, open(40)), taken], [10, 0]);
  assertEquals(await descriptorsLeft(5, () => openSocket({ address: 0x7f000001, port: 0 }, 1)), 5);
});

Deno.test("without an address of the peer's family, EADDRNOTAVAIL means unreachable", () => {
  assertEquals(connectFailure("EADDRNOTAVAIL", () => false), "unreachable");
  assertEquals(connectFailure("EADDRNOTAVAIL", () => true), "exhausted");
  assertEquals(connectFailure("EMFILE", () => false), "exhausted");
});
