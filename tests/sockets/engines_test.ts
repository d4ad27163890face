/** What every engine's sockets do, on loopback. */
import { Endpoints } from "../../src/endpoints.ts";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import type { Endpoint } from "../../src/address.ts";
import { openSocket } from "../../src/net/deno.ts";
import { SendThread } from "../../src/net/send_thread.ts";
import type { DatagramSocket } from "../../src/net/socket.ts";

const LOOPBACK = 0x7f000001;
const linux = Deno.build.os === "linux";
type EngineTest = (open: (local: Endpoint) => DatagramSocket) => Promise<void>;

/** The engines, each as what runs a test with it. */
const ENGINES: Record<string, (test: EngineTest) => Promise<void>> = {
  portable: (test) => test((local) => openSocket(local)),
};
if (linux) {
  const { openUdpSocket } = await import("../../src/net/udp.ts");
  ENGINES["udp"] = (test) => test((local) => openUdpSocket(local));
  ENGINES["udp with a thread"] = async (test) => {
    const thread = await SendThread.start();
    thread.hold();
    await test((local) => openUdpSocket(local, { thread })).finally(() => thread.release());
  };
}

function eachEngine(name: string, test: EngineTest): void {
  for (const [engine, runWith] of Object.entries(ENGINES)) {
    Deno.test(`${engine}: ${name}`, () => runWith(test));
  }
}

eachEngine("sockets of both families send and receive datagrams of every size", async (open) => {
  for (const address of [LOOPBACK, 1n]) {
    await using a = open({ address, port: 0 });
    await using b = open({ address, port: 0 });
    assertEquals(a.family, typeof address === "number" ? 4 : 6);
    const { promise, resolve } = Promise.withResolvers<void>();
    const got: Uint8Array[] = [];
    const listening = b.listen((datagram, from) => {
      assertEquals(from, { address, port: a.port });
      if (got.push(datagram.slice()) === 4) resolve();
    });
    const largest = a.family === 4 ? 65_507 : 65_488; // what loopback takes in one piece
    const sent = [0, 33, largest, 1].map((size) => new Uint8Array(size).fill(size));
    for (const datagram of sent) {
      assertEquals(await a.send(datagram, { address, port: b.port }), true);
    }
    await promise;
    assertEquals(got, sent);
    await b[Symbol.asyncDispose]();
    await listening;
  }
});

eachEngine("a batch goes out slot by slot, each with its own bytes", async (open) => {
  for (const address of [LOOPBACK, 1n]) {
    await using a = open({ address, port: 0 });
    await using b = open({ address, port: 0 });
    const { promise, resolve } = Promise.withResolvers<void>();
    const got: string[] = [];
    void b.listen((datagram) => {
      got.push(datagram.toHex());
      if (got.length === 4) resolve();
    });
    const batch = a.batch(Uint8Array.of(1, 0, 0), 4);
    for (let i = 0; i < 3; i++) {
      batch.slots.setUint8(batch.add(Endpoints.of({ address, port: b.port }), 0) + 1, i);
    }
    assertEquals(await a.flush(batch), 3);
    batch.clear();
    assertEquals(await a.flush(batch), 0);
    batch.slots.setUint8(batch.add(Endpoints.of({ address, port: b.port }), 0) + 2, 9);
    assertEquals(await a.flush(batch), 1);
    await promise;
    assertEquals(got, ["010000", "010100", "010200", "010009"]);
  }
});

eachEngine("what the system refuses is counted, and not fatal", async (open) => {
  await using socket = open({ address: LOOPBACK, port: 0 });
  await using heard = open({ address: LOOPBACK, port: 0 });
  assertEquals(await socket.send(new Uint8Array(70_000), { address: LOOPBACK, port: 9 }), false);
  assertEquals(await socket.send(new Uint8Array(1), { address: LOOPBACK, port: 0 }), false);
  assertEquals([...socket.errors.send], [["EMSGSIZE", 1], ["EINVAL", 1]]);
  const { promise, resolve } = Promise.withResolvers<void>();
  const got: number[] = [];
  void heard.listen(([slot]) => {
    if (got.push(slot) === 4) resolve();
  });
  const batch = socket.batch(Uint8Array.of(0), 8);
  const ports = [0, heard.port, 0, 0, heard.port, heard.port, heard.port, 0];
  ports.forEach((port, slot) =>
    batch.slots.setUint8(batch.add(Endpoints.of({ address: LOOPBACK, port }), 0), slot)
  );
  assertEquals(await socket.flush(batch), 4);
  assertEquals([...socket.errors.send], [["EMSGSIZE", 1], ["EINVAL", 5]]);
  await promise;
  assertEquals(got, [1, 4, 5, 6]);
});

eachEngine("a closed socket ends quietly; a port that is taken does not open", async (open) => {
  const socket = open({ address: LOOPBACK, port: 0 });
  const listening = socket.listen(() => {});
  assertThrows(() => open({ address: LOOPBACK, port: socket.port }), Deno.errors.AddrInUse);
  const batch = socket.batch(Uint8Array.of(1), 1);
  batch.add(Endpoints.of({ address: LOOPBACK, port: 9 }), 0);
  await socket[Symbol.asyncDispose]();
  await listening;
  assertEquals(await socket.send(new Uint8Array(1), { address: LOOPBACK, port: 9 }), false);
  assertEquals(await socket.flush(batch), 0);
  assertEquals([...socket.errors.send], []);
  await socket[Symbol.asyncDispose]();
});

eachEngine("a socket that is closed in mid-batch sends no more", async (open) => {
  const socket = open({ address: LOOPBACK, port: 0 });
  await using heard = open({ address: LOOPBACK, port: 0 });
  void socket.listen(() => void socket[Symbol.asyncDispose]());
  await heard.send(Uint8Array.of(1), { address: LOOPBACK, port: socket.port });
  const batch = socket.batch(Uint8Array.of(1), 1);
  batch.add(Endpoints.of({ address: LOOPBACK, port: heard.port }), 0);
  for (let turns = 0; await socket.flush(batch) > 0; turns++) {
    if (turns > 100_000) throw new Error("it is never closed");
    await new Promise((resolve) => setTimeout(resolve));
  }
});

eachEngine("what a receiver throws reaches whoever listens", async (open) => {
  await using a = open({ address: LOOPBACK, port: 0 });
  await using b = open({ address: LOOPBACK, port: 0 });
  const listening = b.listen(() => {
    throw new RangeError("broken");
  });
  await a.send(Uint8Array.of(1), { address: LOOPBACK, port: b.port });
  await assertRejects(() => listening, RangeError, "broken");
});

eachEngine("who has no room keeps datagrams waiting, and gets them all", async (open) => {
  await using a = open({ address: LOOPBACK, port: 0 });
  await using b = open({ address: LOOPBACK, port: 0 });
  const got: number[] = [];
  let full: PromiseWithResolvers<void> | undefined = Promise.withResolvers<void>();
  void b.listen(([number]) => {
    got.push(number);
    if (got.length % 50 !== 0) return;
    const gate = full = Promise.withResolvers<void>();
    setTimeout(() => {
      full = undefined;
      gate.resolve();
    });
  }, () => full?.promise);
  const wanted = Array.from({ length: 200 }, (_, i) => i);
  for (const number of wanted) {
    await a.send(Uint8Array.of(number), { address: LOOPBACK, port: b.port });
  }
  assertEquals(got, []);
  const gate = full;
  full = undefined;
  gate.resolve();
  await b.caughtUp();
  assertEquals(got, wanted);
  await b[Symbol.asyncDispose]();
  await b.caughtUp(); // nothing comes any more
});

eachEngine("receiving goes on while somebody sends all the time", async (open) => {
  await using a = open({ address: LOOPBACK, port: 0 });
  await using b = open({ address: LOOPBACK, port: 0 });
  let heard = 0;
  void b.listen((datagram, from) => void b.send(datagram, from));
  void a.listen(() => void heard++);
  const batch = a.batch(Uint8Array.of(1), 64);
  for (let i = 0; i < 64; i++) batch.add(Endpoints.of({ address: LOOPBACK, port: b.port }), 0);
  for (let turns = 0; heard === 0; turns++) {
    if (turns > 100_000) throw new Error("nothing is heard");
    await a.flush(batch);
    await new Promise((resolve) => setTimeout(resolve));
  }
});
