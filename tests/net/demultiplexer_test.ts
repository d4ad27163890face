/** Covers src/net/demultiplexer.ts, src/net/peer_link.ts and src/net/socket.ts. */
import { assertEquals } from "@std/assert";
import type { Endpoint } from "../../src/core/address.ts";
import { Demultiplexer } from "../../src/net/demultiplexer.ts";
import { exclusiveLink } from "../../src/net/peer_link.ts";
import { CAP_PERIOD_MS } from "../../src/net/caps.ts";
import { Throttle } from "../../src/net/throttle.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";

const PEER: Endpoint = { address: 0x7f000002, port: 19132 };
const OTHER: Endpoint = { address: 0x7f000003, port: 19132 };
const FREE = { rate: undefined, netRate: undefined, hostRate: undefined };
const echo = { respond: (datagram: Uint8Array) => [datagram] };

Deno.test("a demultiplexer delivers datagrams to the link of their sender, and the others to the sweep", async () => {
  const network = new FakeNetwork(1);
  for (const host of [PEER, OTHER]) network.host(host, echo);
  await using demultiplexer = new Demultiplexer(
    [network.open(4), network.open(4)],
    new Throttle(FREE),
    network,
  );
  const strays: string[] = [];
  void demultiplexer.listen((datagram, from, socket) =>
    strays.push(`${Number(from.address) & 255} ${datagram[0]} ${socket}`)
  );
  await network.run((async () => {
    await using link = demultiplexer.link(PEER, 0);
    await link.send(Uint8Array.of(1));
    await demultiplexer.sockets[0].send(Uint8Array.of(2), OTHER);
    await demultiplexer.sockets[1].send(Uint8Array.of(3), PEER); // another socket than the link's
    assertEquals(await link.next(100), Uint8Array.of(1));
    assertEquals(await link.next(100), undefined);
  })());
  await network.run((async () => {
    await demultiplexer.sockets[0].send(Uint8Array.of(4), PEER); // the link is closed
    await network.yieldToEvents();
  })());
  assertEquals(strays.toSorted(), ["2 3 1", "2 4 0", "3 2 0"]);
});

Deno.test("a link queues datagrams until they are read, up to a bound", async () => {
  const network = new FakeNetwork(1);
  await using demultiplexer = new Demultiplexer([network.open(4)], new Throttle(FREE), network);
  void demultiplexer.listen(() => {});
  await using link = demultiplexer.link(PEER, 0);
  const { port } = demultiplexer.sockets[0];
  for (let i = 0; i < 100; i++) network.inject(PEER, { port }, Uint8Array.of(i));
  const got = await network.run((async () => {
    const all: number[] = [];
    await network.yieldToEvents();
    for (let next = await link.next(1); next !== undefined; next = await link.next(1)) {
      all.push(next[0]);
    }
    return all;
  })());
  assertEquals(got, Array.from({ length: 32 }, (_, i) => i));
});

Deno.test("a link sends when its throttle allows it", async () => {
  const network = new FakeNetwork(1);
  network.record = true;
  const throttle = new Throttle({ ...FREE, hostRate: 1 });
  await using demultiplexer = new Demultiplexer([network.open(4)], throttle, network);
  await using link = demultiplexer.link(PEER, 0);
  await network.run((async () => {
    for (let i = 0; i < 3; i++) await link.send(Uint8Array.of(i));
  })());
  assertEquals(network.sent.map(({ at }) => at), [0, 1, 2].map((i) => 1000 + i * CAP_PERIOD_MS));
});

Deno.test("a reply that arrived in time is delivered, even if it is read late", async () => {
  const network = new FakeNetwork(1);
  const full = Promise.withResolvers<void>();
  let room: Promise<void> | undefined = full.promise;
  const held = network.open(4);
  const listen = held.listen.bind(held);
  held.listen = (receiver) => listen(receiver, () => room); // as on a busy machine
  await using link = exclusiveLink(PEER, held, new Throttle(FREE), network);
  network.inject(PEER, held, Uint8Array.of(7), 100);
  network.after(400, () => {
    room = undefined;
    full.resolve();
  });
  assertEquals(await network.run(link.next(250)), Uint8Array.of(7));
  assertEquals(await network.run(link.next(250)), undefined);
});

Deno.test("an exclusive link receives only from its peer", async () => {
  const network = new FakeNetwork(1);
  const socket = network.open(4);
  await using link = exclusiveLink(PEER, socket, new Throttle(FREE), network);
  network.inject(OTHER, socket, Uint8Array.of(1));
  network.inject({ ...PEER, port: 1 }, socket, Uint8Array.of(2));
  network.inject(PEER, socket, Uint8Array.of(3), 5);
  assertEquals(await network.run(link.next(50)), Uint8Array.of(3));
  assertEquals(await network.run(link.next(50)), undefined);
});

Deno.test("a demultiplexer chooses a socket of the right family", () => {
  const network = new FakeNetwork(1);
  const demultiplexer = new Demultiplexer(
    [network.open(4), network.open(6), network.open(6)],
    new Throttle(FREE),
    network,
  );
  assertEquals(demultiplexer.socketFor(PEER, 0), 0);
  assertEquals(demultiplexer.socketFor(PEER, 2), 0);
  assertEquals(demultiplexer.socketFor({ address: 1n, port: 1 }, 2), 2);
  const v6 = { address: 1n, port: 1 };
  assertEquals([0, 0, -1].map((other) => demultiplexer.socketFor(v6, other)), [1, 2, 1]);
});
