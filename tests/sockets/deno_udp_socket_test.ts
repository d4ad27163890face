/**
 * Properties that only the portable engine has, on loopback.
 *
 * Covers src/net/deno/udp_socket.ts and src/net/receive_drain.ts.
 */
import { assertEquals, assertNotEquals, assertRejects, assertThrows } from "@std/assert";
import type { Endpoint } from "../../src/core/address.ts";
import { systemClock } from "../../src/net/clock.ts";
import { openGroupSocket, openLinkSocket, openSocket } from "../../src/net/deno/udp_socket.ts";
import type { DatagramSocket } from "../../src/net/socket.ts";

const LOOPBACK = 0x7f000001;

Deno.test("group sockets share their port, and skip missing interfaces", async () => {
  const group = { address: 0xe000023c, interfaces: [LOOPBACK, 0x08080808], largest: 4 };
  await using free = openSocket({ address: 0, port: 0 });
  const { port } = free;
  await free[Symbol.asyncDispose]();
  await using first = await openGroupSocket({ ...group, port });
  await using second = await openGroupSocket({ ...group, port });
  const { promise, resolve } = Promise.withResolvers<string>();
  for (const socket of [first, second]) void socket.listen((datagram) => resolve(datagram.toHex()));
  await using sender = openSocket({ address: LOOPBACK, port: 0 });
  await sender.send(Uint8Array.of(1, 2, 3, 4, 5), { address: LOOPBACK, port });
  assertEquals(await promise, "01020304");
  await using ungrouped = openSocket({ address: LOOPBACK, port: 0 });
  await assertRejects(
    () => openGroupSocket({ ...group, port: ungrouped.port }),
    Deno.errors.AddrInUse,
  );
});

Deno.test("a group socket of IPv6 receives at its port, and skips missing interfaces", async () => {
  const group = { address: 0xff75_0230n << 96n | 0x60n, interfaces: [0x7fffffff], largest: 4 };
  await using free = openSocket({ address: 1n, port: 0 });
  const { port } = free;
  await free[Symbol.asyncDispose]();
  await using socket = await openGroupSocket({ ...group, port });
  const { promise, resolve } = Promise.withResolvers<Endpoint>();
  void socket.listen((_, from) => resolve({ ...from }));
  await using sender = openSocket({ address: 1n, port: 0 });
  await sender.send(Uint8Array.of(1), { address: 1n, port });
  assertEquals(await promise, { address: 1n, port: sender.port });
});

Deno.test("a missing permission is thrown, and not counted as a refusal", async () => {
  // With all permissions, this test would send to a foreign address.
  const { state } = await Deno.permissions.query({ name: "net", host: "10.0.0.1:9" });
  assertNotEquals(state, "granted");
  await using socket = openSocket({ address: LOOPBACK, port: 0 });
  await assertRejects(
    () => socket.send(new Uint8Array(1), { address: 0x0a000001, port: 9 }),
    Deno.errors.NotCapable,
  );
});

Deno.test("a failed zone lookup reports a shortage of descriptors", () => {
  const { listenDatagram } = Deno;
  const noFile = Object.assign(new Error("Too many open files"), { code: "EMFILE" });
  let left = 0;
  Deno.listenDatagram = (options: object) => {
    if (JSON.stringify(options).includes("%eth0")) {
      throw new Error("failed to lookup address information");
    }
    if (left-- <= 0) throw noFile;
    return { close: () => {} } as Deno.DatagramConn;
  };
  const open = () => openLinkSocket(0xfe80n << 112n | 5n, "eth0");
  try {
    assertEquals(assertThrows(open), noFile);
    left = 4;
    assertThrows(open, Deno.errors.AddrNotAvailable, "failed to lookup");
  } finally {
    Deno.listenDatagram = listenDatagram;
  }
});

Deno.test("pollSockets() delivers arrived datagrams on a busy event loop", async () => {
  let busy = true;
  const work = async () => {
    while (busy) await new Promise<void>((resolve) => setImmediate(resolve));
  };
  const working = [work(), work()];
  await using sender = openSocket({ address: LOOPBACK, port: 0 });
  await using stack = new AsyncDisposableStack();
  const sockets = Array.from({ length: 50 }, () => {
    return stack.use(openSocket({ address: LOOPBACK, port: 0 }));
  });
  const got = new Set<number>();
  sockets.forEach((socket, i) => void socket.listen(() => void got.add(i)));
  await systemClock.pollSockets(); // all datagrams have arrived
  for (const [i, { port }] of sockets.entries()) {
    await sender.send(Uint8Array.of(1), { address: LOOPBACK, port });
    await systemClock.pollSockets();
    assertEquals(got.has(i), true, `of ${i}`);
  }
  busy = false;
  await Promise.all(working);
});

Deno.test("a poll requested during another starts after it", async () => {
  const ended: string[] = [];
  const look = (name: string) => systemClock.pollSockets().then(() => void ended.push(name));
  const first = look("first");
  await Promise.all([look("second"), look("with the second"), first.then(() => look("third"))]);
  assertEquals(ended, ["first", "second", "with the second", "third"]);
});

Deno.test("a buffer is used by one socket at a time", async () => {
  await using sender = openSocket({ address: LOOPBACK, port: 0 });
  const placeOf = async (socket: DatagramSocket): Promise<string> => {
    const { promise, resolve } = Promise.withResolvers<Uint8Array>();
    void socket.listen(resolve);
    await sender.send(Uint8Array.of(7), { address: LOOPBACK, port: socket.port });
    const { buffer, byteOffset, byteLength } = await promise;
    return `${byteOffset} to ${byteOffset + byteLength} of ${buffer.byteLength}`;
  };
  const places: string[] = [];
  for (let i = 0; i < 3; i++) {
    await using one = openSocket({ address: LOOPBACK, port: 0 });
    await using other = openSocket({ address: LOOPBACK, port: 0 });
    places.push([await placeOf(one), await placeOf(other)].sort().join());
    await one[Symbol.asyncDispose](); // a second disposal does not free the buffer again
  }
  assertEquals(new Set(places).size, 1);
  assertEquals(new Set(places[0].split(",")).size, 2);
});

Deno.test("drained() waits for pending receiving after the receiver has capacity again", async () => {
  await using sender = openSocket({ address: LOOPBACK, port: 0 });
  await using socket = openSocket({ address: LOOPBACK, port: 0 });
  const gate = Promise.withResolvers<void>();
  let isFull = true;
  const got: number[] = [];
  void socket.listen(([number]) => void got.push(number), () => isFull ? gate.promise : undefined);
  await sender.send(Uint8Array.of(7), { address: LOOPBACK, port: socket.port });
  isFull = false;
  const caughtUp = socket.drained().then(() => got.slice());
  for (let i = 0; i < 10; i++) await systemClock.pollSockets();
  gate.resolve();
  assertEquals(await caughtUp, [7]);
});
