/**
 * Probes of ports by connections through FFI.
 *
 * Covers src/net/linux/connect/.
 */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { Endpoints } from "../../src/core/endpoints.ts";
import type { Address, Endpoint } from "../../src/core/address.ts";
import { systemClock } from "../../src/net/clock.ts";
import type { Epoll, EpollReceiver } from "../../src/net/linux/connect/epoll.ts";
import type { ConnectSocket } from "../../src/net/linux/connect/connect_socket.ts";
import type { PortReply, PortSocketOptions } from "../../src/net/port_socket.ts";
import type { SendGate } from "../../src/net/send_gate.ts";
import { noErrors } from "../../src/net/socket.ts";
import { SYN_PROBE } from "../../src/protocols/syn_probe.ts";

const LOOPBACK = 0x7f000001;
const ignore = Deno.build.os !== "linux";

function test(name: string, run: () => Promise<void>): void {
  Deno.test({ name: `connect: ${name}`, ignore, fn: run });
}

async function openSocket(
  { local = 0, ...options }: Partial<PortSocketOptions> & { readonly local?: Address } = {},
): Promise<ConnectSocket> {
  const { ConnectSocket } = await import("../../src/net/linux/connect/connect_socket.ts");
  return new ConnectSocket(local, {
    clock: systemClock,
    wait: { ms: 900 },
    atOnce: 100,
    ...options,
  });
}

/** Sends probes to endpoints; the token of each is its index. */
function probe(
  socket: ConnectSocket,
  targets: readonly Endpoint[],
  signal?: AbortSignal,
): number | Promise<number> {
  const batch = socket.batch(SYN_PROBE, targets.length);
  targets.forEach((target, i) =>
    batch.add(Endpoints.of(target), 0, i, Math.floor(systemClock.now() * 1000))
  );
  return socket.flush(batch, signal);
}

/** The replies of a socket, as they arrive. */
class Replies {
  readonly all: (PortReply & { readonly from: Endpoint })[] = [];
  readonly listening: Promise<void>;
  #wanted = 0;
  #done = () => {};

  constructor(socket: ConnectSocket, capacity?: () => Promise<void> | undefined) {
    this.listening = socket.listen((reply, from) => {
      this.all.push({ ...reply, from });
      if (this.all.length === this.#wanted) this.#done();
    }, capacity);
  }

  /** Waits for this number of replies. */
  async count(wanted: number): Promise<void> {
    if (this.all.length >= wanted) return;
    this.#wanted = wanted;
    await new Promise<void>((resolve) => this.#done = resolve);
  }

  /** The states by token; "" for a probe without a reply. */
  states(count: number): string[] {
    const states = new Array<string>(count).fill("");
    for (const { token, state } of this.all) states[token] += state;
    return states;
  }

  [Symbol.dispose](): void {
    for (const { stream } of this.all) stream?.[Symbol.dispose]();
  }
}

/** A listener on loopback, with its endpoint. */
function listen(hostname: "127.0.0.1" | "::1" = "127.0.0.1", tcpBacklog?: number) {
  const listener = Deno.listen({ hostname, port: 0, tcpBacklog });
  const address = hostname === "::1" ? 1n : LOOPBACK;
  return { listener, endpoint: { address, port: listener.addr.port } };
}

/** An endpoint that replies to no SYN packet: the queue of its listener is full. */
async function silentEndpoint(): Promise<Disposable & { readonly endpoint: Endpoint }> {
  const { listener, endpoint } = listen("127.0.0.1", 1);
  const filling = [0, 1].map(() => Deno.connect({ hostname: "127.0.0.1", port: endpoint.port }));
  const filled = await Promise.all(filling);
  return {
    endpoint,
    [Symbol.dispose]() {
      for (const one of [...filled, listener]) one.close();
    },
  };
}

/** An endpoint that refuses. */
function refusingEndpoint(hostname?: "127.0.0.1" | "::1"): Endpoint {
  const { listener, endpoint } = listen(hostname);
  listener.close();
  return endpoint;
}

/** Waits until no probe of a socket is pending. */
async function untilNonePending(socket: ConnectSocket): Promise<void> {
  while (socket.pending > 0) await systemClock.pollSockets();
}

test("ports are open or refused, over both families", async () => {
  for (const hostname of ["127.0.0.1", "::1"] as const) {
    const { listener, endpoint } = listen(hostname);
    const refusing = refusingEndpoint(hostname);
    await using socket = await openSocket({ local: hostname === "::1" ? 0n : 0 });
    using replies = new Replies(socket);
    assertEquals(await probe(socket, [endpoint, refusing, endpoint]), 3);
    await replies.count(3);
    assertEquals(replies.states(3), ["open", "refused", "open"]);
    assertEquals(
      new Set(replies.all.map(({ from }) => from.port)),
      new Set([endpoint.port, refusing.port]),
    );
    for (const { from, clock, stream, state } of replies.all) {
      assertEquals(from.address, endpoint.address);
      assertEquals(stream !== undefined, state === "open");
      const microseconds = Math.floor(systemClock.now() * 1000) - clock! | 0;
      assert(microseconds >= 0 && microseconds < 10e6, `${microseconds}`);
    }
    assertEquals([socket.errors.send.size, socket.errors.waits.size, socket.pending], [0, 0, 0]);
    listener.close();
  }
});

test("an open connection is a stream for an exchange, also when the socket has ended", async () => {
  const { listener, endpoint } = listen();
  const socket = await openSocket();
  using replies = new Replies(socket);
  await probe(socket, [endpoint]);
  await replies.count(1);
  const [{ stream }] = replies.all;
  const server = await listener.accept();
  await socket[Symbol.asyncDispose]();
  await replies.listening;
  const large = Uint8Array.from({ length: 5e6 }, (_, i) => i % 251);
  const writing = stream!.write(large);
  const received = new Uint8Array(large.length);
  for (let at = 0; at < large.length;) at += (await server.read(received.subarray(at)))!;
  assert(await writing);
  assertEquals(received, large);
  const reading = stream!.read();
  await server.write(Uint8Array.of(7, 8));
  assertEquals(await reading, Uint8Array.of(7, 8));
  const ending = stream!.read();
  server.close();
  assertEquals(await ending, "closed");
  const { Libc } = await import("../../src/net/linux/ffi/libc.ts");
  const library = () => {
    using libc = new Libc();
    return libc.call;
  };
  const opened = library();
  stream![Symbol.dispose]();
  assertEquals(await stream!.read(), "closed");
  assertEquals(await stream!.write(Uint8Array.of(1)), false);
  while (library() === opened) await systemClock.pollSockets(); // the last user closes it
  listener.close();
});

test("disposing of a stream ends its read, and closes the connection for the peer", async () => {
  const { listener, endpoint } = listen();
  await using socket = await openSocket();
  using replies = new Replies(socket);
  await probe(socket, [endpoint]);
  await replies.count(1);
  const [{ stream }] = replies.all;
  const server = await listener.accept();
  const reading = stream!.read();
  stream![Symbol.dispose]();
  assertEquals(await reading, "closed");
  assertEquals(await server.read(new Uint8Array(1)), null); // no reset
  server.close();
  listener.close();
});

test("a ring of four sockets probes a thousand targets", async () => {
  const { listener, endpoint } = listen();
  const refusing = refusingEndpoint();
  await using socket = await openSocket({ atOnce: 4 });
  using replies = new Replies(socket);
  const accepting = (async () => {
    for await (const connection of listener) connection.close();
  })();
  const targets = Array.from({ length: 1000 }, (_, i) => i % 10 === 0 ? endpoint : refusing);
  let sent = 0;
  for (let at = 0; at < 1000; at += 200) sent += await probe(socket, targets.slice(at, at + 200));
  assertEquals(sent, 1000);
  await replies.count(1000);
  assertEquals(replies.all.filter(({ state }) => state === "open").length, 100);
  assert(
    replies.all.every(({ state, from }) => (state === "open") === (from.port === endpoint.port)),
  );
  assertEquals(socket.errors.waits.size, 0);
  listener.close();
  await accepting;
});

test("targets without a reply expire, and the sockets probe others", async () => {
  using silent = await silentEndpoint();
  const { listener, endpoint } = listen();
  await using socket = await openSocket({ atOnce: 4, wait: { ms: 30 } });
  using replies = new Replies(socket);
  const targets = Array.from({ length: 41 }, (_, i) => i === 40 ? endpoint : silent.endpoint);
  assertEquals(await probe(socket, targets), 41);
  await replies.count(1);
  await untilNonePending(socket);
  assertEquals(replies.all.map(({ token, state }) => [token, state]), [[40, "open"]]);
  listener.close();
});

test("a probe is pending until its reply or the end of the wait, over both families", async () => {
  for (const hostname of ["127.0.0.1", "::1"] as const) {
    const { listener, endpoint } = listen(hostname);
    const local = hostname === "::1" ? 0n : 0;
    await using socket = await openSocket({ local, atOnce: 4, wait: { ms: 30 } });
    using replies = new Replies(socket);
    assert(!socket.hasPending(endpoint));
    const sent = probe(socket, [endpoint]);
    assert(socket.hasPending(endpoint)); // no event was received yet
    assert(!socket.hasPending({ ...endpoint, port: endpoint.port ^ 1 }));
    for (const address of [LOOPBACK, LOOPBACK + 1, 1n, 1n << 32n, 1n << 96n | 1n]) {
      const isSame = address === endpoint.address;
      assertEquals(socket.hasPending({ ...endpoint, address }), isSame, `${address}`);
    }
    assertEquals(await sent, 1);
    await replies.count(1);
    assert(!socket.hasPending(endpoint));
    listener.close();
  }
  using silent = await silentEndpoint();
  await using socket = await openSocket({ wait: { ms: 30 } });
  using _replies = new Replies(socket);
  const sent = probe(socket, [silent.endpoint, silent.endpoint]);
  assert(socket.hasPending(silent.endpoint));
  assertEquals(await sent, 2);
  await untilNonePending(socket);
  assert(!socket.hasPending(silent.endpoint));
});

test("two batches at once are sent one after the other", async () => {
  using silent = await silentEndpoint();
  await using socket = await openSocket({ atOnce: 3, wait: { ms: 20 } });
  const targets = Array.from({ length: 10 }, () => silent.endpoint);
  const order: string[] = [];
  await Promise.all([
    Promise.resolve(probe(socket, targets)).then((sent) => order.push(`first ${sent}`)),
    Promise.resolve(probe(socket, targets)).then((sent) => order.push(`second ${sent}`)),
  ]);
  assertEquals(order, ["first 10", "second 10"]);
});

test("the signal ends a wait for sockets", async () => {
  using silent = await silentEndpoint();
  await using socket = await openSocket({ atOnce: 3 });
  const end = new AbortController();
  const sent = probe(socket, Array.from({ length: 10 }, () => silent.endpoint), end.signal);
  end.abort();
  assertEquals(await sent, 3);
});

test("no connection begins after the signal, although a socket is free", async () => {
  using silent = await silentEndpoint();
  const refusing = refusingEndpoint();
  await using socket = await openSocket({ atOnce: 2 });
  const end = new AbortController();
  void socket.listen(() => end.abort());
  assertEquals(await probe(socket, [silent.endpoint, refusing, refusing], end.signal), 2);
});

test("disposing with pending probes ends the wait of a batch, and delivers nothing more", async () => {
  using silent = await silentEndpoint();
  const socket = await openSocket({ atOnce: 3 });
  using replies = new Replies(socket);
  const sent = probe(socket, Array.from({ length: 10 }, () => silent.endpoint));
  assertEquals(socket.pending, 3);
  await socket[Symbol.asyncDispose]();
  await replies.listening;
  assertEquals([socket.pending, socket.hasPending(silent.endpoint)], [0, false]);
  assertEquals(await sent, 3);
  assertEquals(await probe(socket, [silent.endpoint]), 0);
  assertEquals(replies.all, []);
});

test("while the receiver is full, connections wait and stop at 256", async () => {
  const { listener, endpoint } = listen("127.0.0.1", 1024);
  await using socket = await openSocket({ atOnce: 1000 });
  const { promise, resolve } = Promise.withResolvers<void>();
  let isFull = true;
  using replies = new Replies(socket, () => isFull ? promise : undefined);
  const targets = Array.from({ length: 256 }, () => endpoint);
  assertEquals(await probe(socket, targets), 256);
  await untilNonePending(socket);
  const later = probe(socket, [endpoint]);
  assert(later instanceof Promise);
  assertEquals(replies.all, []);
  const drained = socket.drained();
  isFull = false;
  resolve();
  assertEquals(await later, 1);
  await drained;
  await replies.count(257);
  assert(replies.all.every(({ state }) => state === "open"));
  listener.close();
});

test("a closed gate keeps probes back, also in the middle of a batch", async () => {
  const refusing = refusingEndpoint();
  let left = 0;
  const gate: SendGate = {
    keptBack: 0,
    isOpen: () => left-- > 0,
    whenOpen: () => Promise.resolve(true),
  };
  await using socket = await openSocket({ gate });
  using replies = new Replies(socket);
  const targets = Array.from({ length: 10 }, () => refusing);
  assertEquals(await probe(socket, targets), 0);
  assertEquals(gate.keptBack, 10);
  left = 4;
  assertEquals(await probe(socket, targets), 4);
  assertEquals(gate.keptBack, 16);
  await replies.count(4);
  assertEquals(replies.states(5), ["refused", "refused", "refused", "refused", ""]);
});

test("targets that the system refuses count as errors", async () => {
  const given = noErrors();
  await using socket = await openSocket({ errors: given });
  // A broadcast address, and a port that does not exist.
  const sent = await probe(socket, [
    { address: 0xffffffff, port: 25565 },
    { address: LOOPBACK, port: 0 },
    refusingEndpoint(),
  ]);
  const errors = [...given.send.values()].reduce((sum, count) => sum + count, 0);
  assertEquals(sent + errors, 3);
  assert(errors >= 1);
  assertEquals(socket.errors.waits.size, 0);
});

test("the local address is that of the option", async () => {
  const { listener, endpoint } = listen();
  await using socket = await openSocket({ local: 0x7f000042 });
  using replies = new Replies(socket);
  assertEquals(await probe(socket, [endpoint, endpoint]), 2);
  await replies.count(2);
  for (let i = 0; i < 2; i++) {
    using server = await listener.accept();
    assertEquals((server.remoteAddr as Deno.NetAddr).hostname, "127.0.0.66");
  }
  listener.close();
});

test("a socket does not open on a foreign address", async () => {
  const { ConnectSocket } = await import("../../src/net/linux/connect/connect_socket.ts");
  const options = { clock: systemClock, wait: { ms: 900 }, atOnce: 1 };
  for (const address of [0xc0000201, 0x20010db8n << 96n]) {
    assertThrows(() => new ConnectSocket(address, options), Deno.errors.AddrNotAvailable);
  }
});

test("a system whose epoll differs from that of Linux is reported", async () => {
  const { ConnectRing } = await import("../../src/net/linux/connect/connect_ring.ts");
  const { Libc } = await import("../../src/net/linux/ffi/libc.ts");
  using libc = new Libc();
  const open = (epoll: Pick<Epoll, "addConnection" | "poll">) =>
    new ConnectRing({
      libc,
      epoll: epoll as Epoll,
      family: 4,
      capacity: 1,
      wait: { ms: 900 },
    }).test();
  let added = -1;
  const addConnection = (socket: number) => (added = socket) >= 0;
  const reports = (events: number) => (_calls: number, to: EpollReceiver) => {
    to.connection(0, added, events);
    return true;
  };
  open({ addConnection, poll: reports(0x14) });
  const message = "Cannot wait for connections: epoll does not report an unconnected socket";
  for (const poll of [() => true, reports(0x4)]) {
    assertThrows(() => open({ addConnection, poll }), Error, message);
  }
  const failing = { addConnection: () => false, poll: () => true };
  assertThrows(() => open(failing), Error, "Cannot wait for a connection: ");
});

test("an error of the receiver ends listening and sending", async () => {
  const refusing = refusingEndpoint();
  using silent = await silentEndpoint();
  await using socket = await openSocket({ atOnce: 2 });
  const listening = socket.listen(() => {
    throw new Error("cannot receive");
  });
  const sent = Promise.resolve(probe(socket, [silent.endpoint, refusing, refusing, refusing]));
  await assertRejects(() => sent, Error, "cannot receive");
  await assertRejects(() => listening, Error, "cannot receive");
  assertEquals([socket.pending, socket.hasPending(silent.endpoint)], [0, false]);
});

/** Runs a process with few descriptors, and returns its counts. */
async function runWithFewDescriptors(argument: string) {
  const script = new URL("./connect_few_descriptors.ts", import.meta.url).pathname;
  const command = `ulimit -n 64 && exec deno run --no-prompt --allow-ffi --allow-net=127.0.0.1 ` +
    `${script} ${argument}`;
  const { stdout, stderr } = await new Deno.Command("sh", { args: ["-c", command] }).output();
  const text = new TextDecoder().decode(stdout);
  assert(text !== "", new TextDecoder().decode(stderr));
  return JSON.parse(text);
}

test("with few descriptors no target is lost", async () => {
  const { sent, replies, waits, reported } = await runWithFewDescriptors("");
  assertEquals([sent, replies, reported], [500, 400, []]);
  assert(waits.EMFILE >= 1);
});

test("a shortage that lasts is reported, and ends with a free descriptor", async () => {
  const { sent, replies, waits, reported } = await runWithFewDescriptors("none");
  assertEquals([sent, replies, reported], [500, 400, ["EMFILE"]]);
  assert(waits.EMFILE >= 1);
});
