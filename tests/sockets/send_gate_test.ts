/** Sockets whose gate closes: not one datagram leaves meanwhile. */
import { assertEquals } from "@std/assert";
import type { Endpoint } from "../../src/core/address.ts";
import { Endpoints } from "../../src/core/endpoints.ts";
import { openSocket } from "../../src/net/deno/udp_socket.ts";
import type { SendGate } from "../../src/net/send_gate.ts";
import type { DatagramSocket } from "../../src/net/socket.ts";

const LOCAL = { address: 0x7f000001, port: 0 };

/** A gate that is open for a number of checks. */
function openFor(checks: number): SendGate {
  return { keptBack: 0, isOpen: () => checks-- > 0, whenOpen: () => Promise.resolve(false) };
}

function batchOf(socket: DatagramSocket, to: Endpoint, count: number) {
  const batch = socket.batch({ template: Uint8Array.of(1, 2, 3) }, count);
  for (let i = 0; i < count; i++) batch.add(Endpoints.of(to), 0, 0, 0);
  return batch;
}

/** Counts the datagrams of a test that arrive at a socket. The last one is sent without a gate. */
async function arrived(
  open: (gate?: SendGate) => DatagramSocket,
  send: (socket: DatagramSocket, to: Endpoint) => Promise<void>,
  gate: SendGate,
): Promise<number> {
  await using from = open(gate);
  await using free = open();
  await using to = open();
  const there = { ...LOCAL, port: to.port };
  await send(from, there);
  let count = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  void to.listen((datagram) => datagram.length === 1 ? resolve() : void count++);
  assertEquals(await free.send(Uint8Array.of(1), there), true);
  await promise;
  return count;
}

const ENGINES: Record<string, () => Promise<(gate?: SendGate) => DatagramSocket>> = {
  portable: () => Promise.resolve((gate) => openSocket(LOCAL, undefined, gate)),
  ...Deno.build.os === "linux" && {
    udp: async () => {
      const { openUdpSocket } = await import("../../src/net/linux/udp_engine.ts");
      return (gate) => openUdpSocket(LOCAL, { gate });
    },
  },
};

for (const [name, opener] of Object.entries(ENGINES)) {
  Deno.test(`${name}: a socket sends no batch while its gate is closed`, async () => {
    const gate = openFor(0);
    const count = await arrived(await opener(), async (socket, to) => {
      assertEquals(socket.gate, gate);
      assertEquals(await socket.flush(batchOf(socket, to, 64)), 0);
      assertEquals(socket.errors.send.size, 0);
    }, gate);
    assertEquals([count, gate.keptBack], [0, 64]);
  });

  Deno.test(`${name}: a gate that closes within a batch keeps the rest of it back`, async () => {
    const gate = openFor(20);
    const count = await arrived(await opener(), async (socket, to) => {
      assertEquals(await socket.flush(batchOf(socket, to, 64)), 20);
    }, gate);
    assertEquals([count, gate.keptBack], [20, 44]);
  });

  Deno.test(`${name}: a socket sends no single datagram while its gate is closed`, async () => {
    const gate = openFor(2);
    const count = await arrived(await opener(), async (socket, to) => {
      const sent = [];
      for (let i = 0; i < 4; i++) sent.push(await socket.send(Uint8Array.of(1, 2), to));
      assertEquals(sent, [true, true, false, false]);
    }, gate);
    assertEquals([count, gate.keptBack], [2, 2]);
  });
}
