/** Sending on interfaces that go down or are removed. */
import { assertEquals, assertRejects } from "@std/assert";
import { Endpoints } from "../../../src/core/endpoints.ts";
import { frameSize } from "../../../src/net/linux/batch/ethernet_frames.ts";
import { type FrameSender, FrameSocket } from "../../../src/net/linux/frame_socket.ts";
import { PacketSender } from "../../../src/net/linux/packet_sender.ts";
import { SendThread } from "../../../src/net/linux/thread/send_thread.ts";
import type { SendGate } from "../../../src/net/send_gate.ts";
import { openUdpSocket } from "../../../src/net/linux/udp_engine.ts";
import { XdpSocket } from "../../../src/net/linux/xdp/xdp_socket.ts";
import { XdpSender } from "../../../src/net/linux/xdp_sender.ts";
import { HostFilter } from "../../../src/targets/host_filter.ts";
import { RangeSet } from "../../../src/targets/ranges.ts";
import { TargetSpace } from "../../../src/targets/space.ts";
import { indexOf, OURS, ROUTE, system } from "./place.ts";

type Opening = (
  index: number,
  gate?: SendGate,
) => Promise<{ outlet: FrameSender; thread?: SendThread }>;

const OPENINGS: Record<string, Opening> = {
  packet: (index, gate) => Promise.resolve({ outlet: new PacketSender(index, undefined, gate) }),
  async "packet with a thread"(index) {
    const thread = await SendThread.start({ route: ROUTE });
    return { outlet: new PacketSender(index, thread), thread };
  },
  xdp: (index, gate) =>
    Promise.resolve({ outlet: new XdpSender(new XdpSocket(index, 0), undefined, gate) }),
  async "xdp with a thread"(index) {
    const socket = new XdpSocket(index, 0);
    const thread = await SendThread.start({ route: ROUTE, rings: socket.map });
    return { outlet: new XdpSender(socket, thread), thread };
  },
};

/** Two sockets on a separate veth pair, whose near end can be set down. */
async function onPair(
  open: Opening,
  test: (
    socket: FrameSocket,
    ports: Endpoints,
    arrived: (what?: "packets" | "bytes") => Promise<number>,
  ) => Promise<void>,
  gate?: SendGate,
): Promise<void> {
  await system("ip link add near1 address 02:00:00:00:00:01 type veth peer name far1");
  for (const name of ["near1", "far1"]) await system(`ip link set ${name} up`);
  const { outlet, thread } = await open(indexOf("near1"), gate);
  const udp = openUdpSocket({ address: OURS, port: 0 }, { errors: outlet.errors, thread, gate });
  const arrived = async (what: "packets" | "bytes" = "packets") => {
    const [link] = JSON.parse(await system("ip -json -statistics link show far1"));
    return link.stats64.rx[what];
  };
  try {
    await using socket = new FrameSocket(udp, outlet, ROUTE);
    const targets = Endpoints.of({ address: 0x0a500001, port: 9 });
    await test(socket, targets, arrived);
  } finally {
    await system("ip link delete near1").catch(() => {}); // a test may have deleted it already
  }
}

for (const [name, open] of Object.entries(OPENINGS)) {
  Deno.test(`${name}: a batch waits while the interface is down, and is then sent once`, () =>
    onPair(open, async (socket, targets, arrived) => {
      const batch = socket.batch({ template: new Uint8Array(33) }, 64);
      for (let i = 0; i < 64; i++) batch.add(targets, 0, 0, 0);
      assertEquals(await socket.flush(batch), 64);
      const before = await arrived();
      await system("ip link set near1 down");
      const flushing = Promise.resolve(socket.flush(batch, new AbortController().signal));
      await waitFor(() => (socket.errors.waits.get("ENETDOWN") ?? 0) > 2, flushing);
      await system("ip link set near1 up");
      assertEquals(await flushing, 64);
      assertEquals([...socket.errors.send], []);
      assertEquals(await arrived() - before, 64);
    }));

  Deno.test(`${name}: a wait ends when it is cancelled, or when the interface is removed`, () =>
    onPair(open, async (socket, targets) => {
      const batch = socket.batch({ template: new Uint8Array(33) }, 64);
      for (let i = 0; i < 64; i++) batch.add(targets, 0, 0, 0);
      await system("ip link set near1 down");
      const end = new AbortController();
      const flushing = Promise.resolve(socket.flush(batch, end.signal));
      await waitFor(() => socket.errors.waits.has("ENETDOWN"), flushing);
      end.abort();
      await assertRejects(() => flushing, Error, "the interface is down (ENETDOWN)");
      await system("ip link delete near1");
      await assertRejects(async () => await socket.flush(batch), Error, "the interface is gone");
      assertEquals([...socket.errors.send], []);
    }));
}

for (const name of ["packet with a thread", "xdp with a thread"]) {
  Deno.test(`${name}: several waiting batches are sent once each`, () =>
    onPair(OPENINGS[name], async (socket, targets, arrived) => {
      // The batches differ in length, which identifies their frames.
      const sizes = [64, 7, 30];
      const lengths = [33, 66, 99];
      const batches = sizes.map((size, i) => {
        const batch = socket.batch({ template: new Uint8Array(lengths[i]) }, 64);
        for (let j = 0; j < size; j++) batch.add(targets, 0, 0, 0);
        return batch;
      });
      const before = [await arrived(), await arrived("bytes")];
      await system("ip link set near1 down");
      const { signal } = new AbortController();
      const flushing = Promise.all(batches.map((batch) => socket.flush(batch, signal)));
      await waitFor(() => (socket.errors.waits.get("ENETDOWN") ?? 0) > 5, flushing);
      await system("ip link set near1 up");
      assertEquals(await flushing, sizes);
      assertEquals([...socket.errors.send], []);
      assertEquals(await arrived() - before[0], 64 + 7 + 30);
      const bytes = sizes.reduce(
        (sum, size, i) => sum + size * frameSize({ template: new Uint8Array(lengths[i]) }),
        0,
      );
      assertEquals(await arrived("bytes") - before[1], bytes);
    }));
}

for (const name of ["packet with a thread", "xdp with a thread"]) {
  Deno.test(`${name}: blocks wait while the interface is down, and are then sent once`, () =>
    onPair(OPENINGS[name], async ({ thread, errors }, _, arrived) => {
      const addresses = RangeSet.of([{ start: 0x0a500001, end: 0x0a500001 + 700 }]);
      thread!.begin({
        space: new TargetSpace([{ addresses, ports: [9] }], { seed: 1 }).data,
        template: { template: new Uint8Array(33), tokenAt: 0 },
        key: new Uint8Array(8),
        kind: 0,
        macMask: -1,
        filter: new HostFilter(1).memory,
        batchSize: 64,
      });
      const [end, before] = [new AbortController(), await arrived()];
      await system("ip link set near1 down");
      const send = (from: number, count: number) =>
        thread!.sendBlock(from, count, 0, errors, end.signal);
      const sending = Promise.all([send(0, 300), send(300, 400)]);
      await waitFor(() => (errors.waits.get("ENETDOWN") ?? 0) > 2, sending);
      await system("ip link set near1 up");
      assertEquals((await sending).map(({ sent }) => sent), [300, 400]);
      assertEquals([...errors.send], []);
      assertEquals(await arrived() - before, 700);
      await system("ip link set near1 down");
      const cancelled = send(0, 10);
      await waitFor(() => (errors.waits.get("ENETDOWN") ?? 0) > 5, cancelled);
      end.abort();
      await assertRejects(() => cancelled, Error, "the interface is down (ENETDOWN)");
      const { sent, visited } = await send(0, 10); // nothing more is sent
      assertEquals([sent, visited], [0, 0]);
    }));
}

/** A gate that a test opens and closes. */
class TestGate implements SendGate {
  keptBack = 0;
  #isOpen = true;
  #opening = Promise.withResolvers<boolean>();

  set(isOpen: boolean): void {
    this.#isOpen = isOpen;
    if (!isOpen) return;
    this.#opening.resolve(true);
    this.#opening = Promise.withResolvers();
  }

  isOpen(): boolean {
    return this.#isOpen;
  }

  whenOpen(): Promise<boolean> {
    return this.#isOpen ? Promise.resolve(true) : this.#opening.promise;
  }
}

for (const name of ["packet", "xdp"]) {
  Deno.test(`${name}: no frame leaves while the gate is closed`, async () => {
    const gate = new TestGate();
    await onPair(OPENINGS[name], async (socket, targets, arrived) => {
      const batch = socket.batch({ template: new Uint8Array(33) }, 64);
      for (let i = 0; i < 64; i++) batch.add(targets, 0, 0, 0);
      const before = await arrived();
      gate.set(false);
      assertEquals([await socket.flush(batch), gate.keptBack], [0, 64]);
      gate.set(true);
      await system("ip link set near1 down");
      const flushing = Promise.resolve(socket.flush(batch, new AbortController().signal));
      await waitFor(() => (socket.errors.waits.get("ENETDOWN") ?? 0) > 2, flushing);
      gate.set(false);
      await system("ip link set near1 up");
      if (name === "packet") assertEquals(await flushing, 0);
      else await waitFor(() => gate.keptBack === 128, flushing);
      assertEquals([await arrived() - before, gate.keptBack], [0, 128]);
      gate.set(true);
      // frames in the ring of XDP are sent now
      assertEquals(await flushing, name === "packet" ? 0 : 64);
      assertEquals(await socket.flush(batch), 64);
      assertEquals(await arrived() - before, name === "packet" ? 64 : 128);
    }, gate);
  });
}

/**
 * Polls until a condition is met.
 *
 * @throws Error when the batches were sent or refused before that.
 */
async function waitFor(holds: () => boolean, flushing: Promise<unknown>): Promise<void> {
  let outcome: string | undefined;
  flushing.then(() => outcome = "sent", (error) => outcome = `refused: ${error}`);
  while (!holds()) {
    if (outcome !== undefined) throw new Error(`The batches did not wait, but were ${outcome}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
