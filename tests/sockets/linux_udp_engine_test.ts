/**
 * Properties that only the fast engine has: Linux, through FFI.
 *
 * Covers src/net/linux/receive_loop.ts, src/net/linux/batch_sender.ts, src/net/linux/udp_engine.ts, src/net/linux/udp_socket.ts,
 * src/net/linux/batch/message_batch.ts, src/net/linux/batch/target_batch.ts,
 * src/net/linux/batch/transmit.ts, src/net/linux/ffi/libc.ts, src/net/linux/ffi/mmsghdr.ts,
 * src/net/linux/ffi/socket_memory.ts, src/net/linux/thread/blocking_send.ts,
 * src/net/linux/thread/send_thread.ts and src/net/linux/thread/send_worker.ts.
 */
import { Endpoints } from "../../src/core/endpoints.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import type { Libc } from "../../src/net/linux/ffi/libc.ts";
import { TargetBatch } from "../../src/net/linux/batch/target_batch.ts";
import { SendThread } from "../../src/net/linux/thread/send_thread.ts";
import type { SendGate } from "../../src/net/send_gate.ts";
import { type DatagramSocket, noErrors } from "../../src/net/socket.ts";

const LOOPBACK = 0x7f000001;
const ignore = Deno.build.os !== "linux";
const engine = () => import("../../src/net/linux/udp_engine.ts");

/** Sends numbered datagrams from one socket to another. */
async function sendNumbers(from: DatagramSocket, to: DatagramSocket, count: number): Promise<void> {
  const batch = from.batch({ template: new Uint8Array(33), tokenAt: 1 }, 64);
  for (let next = 0; next < count;) {
    batch.clear();
    for (; next < count && batch.length < 64; next++) {
      batch.add(Endpoints.of({ address: LOOPBACK, port: to.port }), 0, next, 0);
    }
    assertEquals(await from.flush(batch), batch.length);
  }
}

Deno.test({ name: "udp: the engine runs on this machine", ignore }, async () => {
  await (await engine()).probeUdp();
});

Deno.test({ name: "udp: a socket does not open on a foreign address", ignore }, async () => {
  const { openUdpSocket } = await engine();
  for (const address of [0xc0000201, 0x20010db8n << 96n]) {
    assertThrows(() => openUdpSocket({ address, port: 0 }), Deno.errors.AddrNotAvailable);
  }
});

Deno.test({ name: "udp: a burst of thousands fits into the receive buffer", ignore }, async () => {
  const { openUdpSocket } = await engine();
  await using from = openUdpSocket({ address: LOOPBACK, port: 0 });
  await using to = openUdpSocket({ address: LOOPBACK, port: 0 });
  // An unprivileged socket may have a smaller buffer; the burst then fills a part of it.
  const count = Math.min(10_000, Math.floor(to.receiveBuffer / 1024));
  assertEquals(to.receiveBufferUsed, 0);
  await sendNumbers(from, to, count);
  assert(
    to.receiveBufferUsed! >= 33 * count && to.receiveBufferUsed! <= to.receiveBuffer,
    `${to.receiveBufferUsed} bytes wait`,
  );
  const { promise, resolve } = Promise.withResolvers<void>();
  let next = 0;
  void to.listen((datagram) => {
    assertEquals(new DataView(datagram.buffer, datagram.byteOffset).getUint32(1), next);
    if (++next === count) resolve();
  });
  await promise;
  assertEquals([to.dropped, to.receiveBufferUsed], [0, 0]);
});

Deno.test({ name: "udp: dropped datagrams are counted, after closing too", ignore }, async () => {
  const { openUdpSocket } = await engine();
  await using from = openUdpSocket({ address: LOOPBACK, port: 0 });
  await using to = openUdpSocket({ address: LOOPBACK, port: 0 }, { receiveBuffer: 4096 });
  assert(to.receiveBuffer < 20_000, `${to.receiveBuffer} bytes were requested`);
  await sendNumbers(from, to, 1000);
  const { dropped } = to;
  assert(dropped > 900 && dropped < 1000, `${dropped} of 1,000 were dropped`);
  await to[Symbol.asyncDispose]();
  assertEquals(to.dropped, dropped);
});

Deno.test({ name: "udp: a broadcast address within a batch is refused", ignore }, async () => {
  const { openUdpSocket } = await engine();
  await using from = openUdpSocket({ address: LOOPBACK, port: 0 });
  await using to = openUdpSocket({ address: LOOPBACK, port: 0 });
  const batch = from.batch({ template: Uint8Array.of(1) }, 3);
  for (const address of [LOOPBACK, 0x7fffffff, LOOPBACK]) {
    batch.add(Endpoints.of({ address, port: to.port }), 0, 0, 0);
  }
  assertEquals(await from.flush(batch), 2);
  assertEquals([...from.errors.send], [["EACCES", 1]]);
});

Deno.test({ name: "udp: sockets close all their descriptors", ignore }, async () => {
  const { openUdpSocket } = await engine();
  const libc = Deno.dlopen("libc.so.6", {
    dup: { parameters: ["i32"], result: "i32" },
    close: { parameters: ["i32"], result: "i32" },
  });
  /** The lowest free descriptor. A leaked descriptor would have this number. */
  const lowest = () => {
    const number = libc.symbols.dup(0);
    libc.symbols.close(number);
    return number;
  };
  const before = lowest();
  const taken = openUdpSocket({ address: LOOPBACK, port: 0 });
  for (let i = 0; i < 200; i++) {
    const socket = openUdpSocket({ address: LOOPBACK, port: 0 });
    const listening = socket.listen(() => {});
    try {
      openUdpSocket({ address: LOOPBACK, port: taken.port });
    } catch { /* the port is taken: that leaves nothing behind either */ }
    await socket[Symbol.asyncDispose]();
    await listening;
  }
  await taken[Symbol.asyncDispose]();
  const after = lowest();
  libc.close();
  assertEquals(after, before);
});

/** A fake library with scripted results: accepted counts, or errors as negative numbers. */
function scripted(takes: number[], forever?: number) {
  const queried: { at: number; count: number }[] = [];
  const waits: number[] = [];
  let errno = 0;
  let base: bigint | undefined;
  const take = (count: number) => {
    const result = Math.min(count, takes.shift() ?? forever ?? count);
    errno = -result;
    return result < 0 ? -1 : result;
  };
  const call = {
    getsockname(_: number, name: Uint8Array) {
      name[0] = 2; // the family
      return 0;
    },
    getsockopt: () => 0,
    sendmmsg(_: number, header: bigint, count: number) {
      base ??= header;
      queried.push({ at: Number(header - base) / 64, count });
      return take(count);
    },
    sendto: () => take(1),
    poll(wanted: Uint8Array) {
      waits.push(new DataView(wanted.buffer).getInt16(4, true));
      return Promise.resolve(0);
    },
    pollHere(wanted: Int32Array) {
      waits.push(wanted[0]);
      return 0;
    },
    eventfd_write: () => 0,
    close: () => 0,
  };
  const libc = { call, errno: () => errno, [Symbol.dispose]() {} } as unknown as Libc;
  return { libc, queried, waits };
}

const [EPERM, EINTR, EAGAIN, ENODEV, ENETDOWN, ENOBUFS] = [-1, -4, -11, -19, -100, -105];

Deno.test(
  { name: "udp: a partly accepted batch continues at the next datagram", ignore },
  async () => {
    const { UdpSocket } = await import("../../src/net/linux/udp_socket.ts");
    const { libc, queried, waits } = scripted([2, EAGAIN, ENOBUFS, 1, EINTR, EPERM]);
    await using socket = new UdpSocket(libc, 7, 8, 4);
    const batch = socket.batch({ template: Uint8Array.of(1) }, 8);
    for (let i = 0; i < 8; i++) batch.add(Endpoints.of({ address: LOOPBACK, port: 9 }), 0, 0, 0);
    assertEquals(await socket.flush(batch), 7);
    assertEquals(queried.map(({ at }) => at), [0, 2, 2, 2, 3, 3, 4]);
    assert(queried.every(({ at, count }) => at + count === 8));
    assertEquals(waits, [4, 0]); // polls until the socket can be written, or for a limited time
    assertEquals([...socket.errors.send], [["EPERM", 1]]);
  },
);

Deno.test(
  { name: "udp: a datagram that the system never accepts counts as refused", ignore },
  async () => {
    const { UdpSocket } = await import("../../src/net/linux/udp_socket.ts");
    const { libc, waits } = scripted([], ENOBUFS);
    await using socket = new UdpSocket(libc, 7, 8, 4);
    const batch = socket.batch({ template: Uint8Array.of(1) }, 3);
    for (let i = 0; i < 3; i++) batch.add(Endpoints.of({ address: LOOPBACK, port: 9 }), 0, 0, 0);
    assertEquals(await socket.flush(batch), 0);
    assertEquals([waits.length, ...socket.errors.send], [1000, ["ENOBUFS", 3]]);
    assertEquals(await socket.send(Uint8Array.of(1), { address: LOOPBACK, port: 9 }), false);
    assertEquals([...socket.errors.send], [["ENOBUFS", 4]]);
  },
);

Deno.test({ name: "udp: a sender thread continues a partly accepted batch", ignore }, async () => {
  const { sendOnce } = await import("../../src/net/linux/thread/blocking_send.ts");
  const { preparedMessages, sendMessages } = await import("../../src/net/linux/batch/transmit.ts");
  const refused: number[] = [];
  const waits: number[] = [];
  const failed: number[] = [];
  const report = {
    refuse: (errno: number) => void refused.push(errno),
    wait: (errno: number) => waits.push(errno) < 3,
    fail: (errno: number) => void failed.push(errno),
  };
  const send = ({ libc }: { libc: Libc }, count: number, waitsForSpace = false) =>
    sendOnce(libc, sendMessages(libc), preparedMessages(7, 4096n, count, waitsForSpace), report);
  const some = scripted([2, EAGAIN, ENOBUFS, 1, EINTR, EPERM]);
  assertEquals(send(some, 8), { tried: 8, goesOn: true });
  assertEquals(some.queried.map(({ at }) => at), [0, 2, 2, 2, 3, 3, 4]);
  assert(some.queried.every(({ at, count }) => at + count === 8));
  assertEquals([some.waits, refused], [[7, -1], [1]]); // polls until the socket can be written, or for a limited time
  const never = scripted([], ENOBUFS);
  assertEquals(send(never, 3), { tried: 3, goesOn: true });
  assertEquals([never.waits.length, refused], [1000, [1, 105, 105, 105]]);
  const down = scripted([2, ENETDOWN]);
  // after a wait for the network, the caller writes the rest again
  assertEquals(send(down, 3), { tried: 2, goesOn: true });
  assertEquals(send(scripted([1], ENOBUFS), 3, true), { tried: 1, goesOn: true });
  assertEquals([refused.length, waits, failed], [4, [100, 105], []]);
  // the third wait is cancelled, and an interface that is gone ends the job at once
  assertEquals(send(scripted([2, ENETDOWN]), 3), { tried: 2, goesOn: false });
  assertEquals(send(scripted([ENODEV]), 3), { tried: 0, goesOn: false });
  assertEquals([waits, failed], [[100, 105, 100], [100, 19]]);
});

Deno.test(
  { name: "udp: a batch waits while the interface is down, and is not dropped", ignore },
  async () => {
    const { UdpSocket } = await import("../../src/net/linux/udp_socket.ts");
    const { libc, queried } = scripted([2, ENETDOWN, ENETDOWN, EINTR]);
    await using socket = new UdpSocket(libc, 7, 8, 4);
    const batch = socket.batch({ template: Uint8Array.of(1) }, 3);
    for (let i = 0; i < 3; i++) batch.add(Endpoints.of({ address: LOOPBACK, port: 9 }), 0, 0, 0);
    assertEquals(await socket.flush(batch, new AbortController().signal), 3);
    assertEquals(queried.map(({ at }) => at), [0, 2, 2, 2, 2]);
    assertEquals([...socket.errors.waits, ...socket.errors.send], [["ENETDOWN", 2]]);
  },
);

Deno.test(
  { name: "udp: a gate that closes during a wait for buffer space cuts the batch", ignore },
  async () => {
    const { UdpSocket } = await import("../../src/net/linux/udp_socket.ts");
    const { libc, queried } = scripted([1, 1, EAGAIN, 1, 1, 1, 1, 1, 1]);
    let checks = 9; // before each system call, which sends one datagram
    const gate: SendGate = {
      keptBack: 0,
      isOpen: () => checks-- > 0,
      whenOpen: () => Promise.resolve(false),
    };
    await using socket = new UdpSocket(libc, 7, 8, 4, undefined, undefined, gate);
    const batch = socket.batch({ template: Uint8Array.of(1) }, 8);
    for (let i = 0; i < 8; i++) batch.add(Endpoints.of({ address: LOOPBACK, port: 9 }), 0, 0, 0);
    assertEquals(await socket.flush(batch), 8);
    assertEquals(queried.map(({ at }) => at), [0, 1, 2, 2, 3, 4, 5, 6, 7]);
    assert(queried.every(({ count }) => count === 1));
    checks = 3;
    const again = scripted([1, 1, EAGAIN]);
    await using other = new UdpSocket(again.libc, 7, 8, 4, undefined, undefined, gate);
    assertEquals(await other.flush(batch), 2);
    assertEquals(again.queried.map(({ at }) => at), [0, 1, 2]);
    assertEquals([gate.keptBack, other.errors.send.size], [6, 0]);
  },
);

Deno.test({ name: "a gate holds a frame in the ring of an XDP socket", ignore }, async () => {
  const { BatchSender } = await import("../../src/net/linux/batch_sender.ts");
  const calls: unknown[] = [];
  const opening = Promise.withResolvers<boolean>();
  let isOpen = true;
  const gate: SendGate = { keptBack: 0, isOpen: () => isOpen, whenOpen: () => opening.promise };
  const transmit = ({ count }: { count: number }, from: number) => {
    calls.push([from, count, isOpen]);
    isOpen = calls.length !== 3;
    return isOpen ? 1 : EAGAIN; // the third frame stays in the ring
  };
  const { libc } = scripted([]);
  const errors = noErrors();
  const sender = new BatchSender({ libc, closing: 8, transmit, errors, gate });
  const frames = { socket: 7, at: 0n, count: 8, length: 60, stride: 64, waitsForSpace: true };
  const sent = sender.flush(frames);
  await Promise.resolve();
  assertEquals(calls, [[0, 1, true], [1, 2, true], [2, 3, true]]);
  isOpen = true;
  opening.resolve(true);
  assertEquals([await sent, gate.keptBack, calls.length], [8, 6, 9]);
  assertEquals(calls[3], [2, 3, true]);
});

Deno.test(
  { name: "udp: a cancelled wait reports that the interface is down", ignore },
  async () => {
    const { UdpSocket } = await import("../../src/net/linux/udp_socket.ts");
    for (const [errno, message] of [[ENETDOWN, "down (ENETDOWN)"], [-6, "gone (ENXIO)"]] as const) {
      const { libc } = scripted([], errno);
      await using socket = new UdpSocket(libc, 7, 8, 4);
      const batch = socket.batch({ template: Uint8Array.of(1) }, 1);
      batch.add(Endpoints.of({ address: LOOPBACK, port: 9 }), 0, 0, 0);
      const flush = async () => await socket.flush(batch, AbortSignal.abort());
      await assertRejects(flush, Error, message);
      assertEquals([...socket.errors.send], []);
    }
  },
);

Deno.test(
  { name: "udp: a shared sender thread ends with its last socket", ignore },
  async () => {
    const { openUdpSocket } = await engine();
    const thread = await SendThread.start();
    const open = () => openUdpSocket({ address: LOOPBACK, port: 0 }, { thread });
    await using to = openUdpSocket({ address: LOOPBACK, port: 0 });
    let received = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    void to.listen(() => ++received === 450 && resolve());
    const first = open();
    const second = open();
    await sendNumbers(first, to, 100);
    await first[Symbol.asyncDispose]();
    const one = second.batch({ template: Uint8Array.of(1) }, 1);
    one.add(Endpoints.of({ address: LOOPBACK, port: to.port }), 0, 0, 0);
    // More jobs in sequence than the memory has slots.
    for (let i = 0; i < 150; i++) assertEquals(await second.flush(one), 1);
    const batches = Array.from(
      { length: 4 },
      () => second.batch({ template: Uint8Array.of(1) }, 50),
    );
    for (const batch of batches) {
      for (let i = 0; i < 50; i++) {
        batch.add(Endpoints.of({ address: LOOPBACK, port: to.port }), 0, 0, 0);
      }
    }
    assertEquals(await Promise.all(batches.map((batch) => second.flush(batch))), [50, 50, 50, 50]);
    await promise;
    await second[Symbol.asyncDispose](); // the test would fail if a worker remained
  },
);

Deno.test(
  { name: "the failure of a sender thread is reported, and the thread released", ignore },
  async () => {
    const thread = await SendThread.start(); // the thread has no addresses of frames
    thread.hold();
    const rows = new TargetBatch({ template: new Uint8Array(1) }, 1, 4);
    rows.add(Endpoints.of({ address: LOOPBACK, port: 9 }), 0, 0, 0);
    const job = { socket: -1, method: "packet" as const, targets: rows };
    await assertRejects(() => thread.send(job, noErrors()), Error, "Cannot send any longer");
    await thread.release();
  },
);
