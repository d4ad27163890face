/** The portable engine, on loopback. */
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { openGroupSocket, openSocket } from "../../src/net/deno.ts";
import { Batch } from "../../src/net/socket.ts";

const LOOPBACK = 0x7f000001;

Deno.test("sockets of both families send and receive datagrams of every size", async () => {
  for (const address of [LOOPBACK, 1n]) {
    await using a = openSocket({ address, port: 0 });
    await using b = openSocket({ address, port: 0 });
    assertEquals(a.family, typeof address === "number" ? 4 : 6);
    const { promise, resolve } = Promise.withResolvers<void>();
    const sizes: number[] = [];
    const listening = b.listen((datagram, from) => {
      assertEquals(from, { address, port: a.port });
      sizes.push(datagram.length);
      if (sizes.length === 3) resolve();
    });
    for (const size of [0, 33, 65_507]) {
      assertEquals(await a.send(new Uint8Array(size), { address, port: b.port }), true);
    }
    await promise;
    assertEquals(sizes, [0, 33, 65_507]);
    await b[Symbol.asyncDispose]();
    await listening;
  }
});

Deno.test("sockets for a group share their port, and do without networks that are not there", async () => {
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
  await using alone = openSocket({ address: LOOPBACK, port: 0 });
  await assertRejects(
    () => openGroupSocket({ ...group, port: alone.port }),
    Deno.errors.AddrInUse,
  );
});

Deno.test("a batch goes out slot by slot, each with its own bytes", async () => {
  await using a = openSocket({ address: LOOPBACK, port: 0 });
  await using b = openSocket({ address: LOOPBACK, port: 0 });
  const { promise, resolve } = Promise.withResolvers<void>();
  const got: string[] = [];
  void b.listen((datagram) => {
    got.push(datagram.toHex());
    if (got.length === 3) resolve();
  });
  const batch = new Batch(Uint8Array.of(1, 0, 0), 4);
  for (let i = 0; i < 3; i++) {
    batch.slots.setUint8(batch.add({ address: LOOPBACK, port: b.port }) + 1, i);
  }
  assertEquals(await a.flush(batch), 3);
  await promise;
  assertEquals(got, ["010000", "010100", "010200"]);
  batch.clear();
  assertEquals(await a.flush(batch), 0);
});

Deno.test("what the system refuses is counted, and not fatal", async () => {
  await using socket = openSocket({ address: LOOPBACK, port: 0 });
  assertEquals(await socket.send(new Uint8Array(70_000), { address: LOOPBACK, port: 9 }), false);
  assertEquals(await socket.send(new Uint8Array(1), { address: LOOPBACK, port: 0 }), false);
  assertEquals([...socket.errors.send], [["EMSGSIZE", 1], ["EINVAL", 1]]);
  const batch = new Batch(Uint8Array.of(1), 2);
  batch.add({ address: LOOPBACK, port: 0 });
  batch.add({ address: LOOPBACK, port: 9 });
  assertEquals(await socket.flush(batch), 1);
});

Deno.test("a missing permission is not a refusal of the system: it is thrown", async () => {
  await using socket = openSocket({ address: LOOPBACK, port: 0 });
  await assertRejects(
    () => socket.send(new Uint8Array(1), { address: 0x0a000001, port: 9 }),
    Deno.errors.NotCapable,
  );
});

Deno.test("a closed socket ends quietly; a port that is taken does not open", async () => {
  const socket = openSocket({ address: LOOPBACK, port: 0 });
  const listening = socket.listen(() => {});
  assertThrows(() => openSocket({ address: LOOPBACK, port: socket.port }), Deno.errors.AddrInUse);
  await socket[Symbol.asyncDispose]();
  await listening;
  assertEquals(await socket.send(new Uint8Array(1), { address: LOOPBACK, port: 9 }), false);
  assertEquals([...socket.errors.send], []);
});

Deno.test("what a receiver throws reaches whoever listens", async () => {
  await using a = openSocket({ address: LOOPBACK, port: 0 });
  await using b = openSocket({ address: LOOPBACK, port: 0 });
  const listening = b.listen(() => {
    throw new RangeError("broken");
  });
  await a.send(Uint8Array.of(1), { address: LOOPBACK, port: b.port });
  await assertRejects(() => listening, RangeError, "broken");
});
