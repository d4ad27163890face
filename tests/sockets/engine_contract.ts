/**
 * The common contract of all engines' sockets, on one local address.
 *
 * @module
 */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import type { Endpoint } from "../../src/core/address.ts";
import { Endpoints } from "../../src/core/endpoints.ts";
import type { DatagramSocket } from "../../src/net/socket.ts";
import { HostFilter } from "../../src/targets/host_filter.ts";
import { RangeSet } from "../../src/targets/ranges.ts";
import { TargetSpace } from "../../src/targets/space.ts";
import { Tokens } from "../../src/targets/token.ts";

/** Opens a socket of an engine on a local endpoint. */
export type Opener = (local: Endpoint) => DatagramSocket;

/** An engine under test. */
export interface Tested {
  /** The engine's name in test names. */
  readonly name: string;
  /** The IPv4 address of its sockets. */
  readonly address: number;
  /** Runs a test with a function that opens its sockets. */
  readonly run: (test: (open: Opener) => Promise<void>) => Promise<void>;
}

/** Declares the tests of an engine. */
export function testEngine({ name, address: ours, run }: Tested): void {
  const tests = { ...testsWith(ours), ...name.endsWith("with a thread") ? threadTests(ours) : {} };
  for (const [title, test] of Object.entries(tests)) {
    Deno.test(`${name}: ${title}`, () => run(test));
  }
}

const testsWith = (ours: number): Record<string, (open: Opener) => Promise<void>> => ({
  async "sockets of both families send and receive datagrams of every size"(open) {
    for (const address of [ours, 1n]) {
      await using a = open({ address, port: 0 });
      await using b = open({ address, port: 0 });
      assertEquals(a.family, typeof address === "number" ? 4 : 6);
      const { promise, resolve } = Promise.withResolvers<void>();
      const got: Uint8Array[] = [];
      const listening = b.listen((datagram, from) => {
        assertEquals(from, { address, port: a.port });
        if (got.push(datagram.slice()) === 4) resolve();
      });
      const largest = a.family === 4 ? 65_507 : 65_488; // the largest datagram on loopback
      const sent = [0, 33, largest, 1].map((size) => new Uint8Array(size).fill(size));
      for (const datagram of sent) {
        assertEquals(await a.send(datagram, { address, port: b.port }), true);
      }
      await promise;
      assertEquals(got, sent);
      await b[Symbol.asyncDispose]();
      await listening;
    }
  },
  async "a batch sends each slot with its own bytes"(open) {
    for (const address of [ours, 1n]) {
      await using a = open({ address, port: 0 });
      await using b = open({ address, port: 0 });
      const { promise, resolve } = Promise.withResolvers<void>();
      const got: string[] = [];
      const late: number[] = [];
      /**
       * Removes the time from a datagram, and returns its delay since the batch was filled,
       * microseconds.
       */
      const cut = (datagram: Uint8Array, at: number, clock: number) => {
        late.push(new DataView(datagram.buffer, datagram.byteOffset + at).getUint32(0) - clock);
        datagram.fill(0, at, at + 4);
      };
      void b.listen((datagram) => {
        if (got.length < 3) cut(datagram, 6, 0x8000_0000 + got.length);
        else cut(datagram, 0, 2);
        got.push(datagram.toHex());
        if (got.length === 4) resolve();
      });
      const to = Endpoints.of({ address, port: 9 }, { address, port: b.port });
      const template = new Uint8Array(10).fill(7);
      const batch = a.batch({ template, tokenAt: 1, clockAt: 6 }, 4);
      for (let i = 0; i < 3; i++) batch.add(to, 1, 0xfedc_ba98 + i, 0x8000_0000 + i);
      assertEquals(await a.flush(batch), 3);
      batch.clear();
      assertEquals(await a.flush(batch), 0);
      const other = a.batch({ template, clockAt: 0 }, 4);
      other.add(to, 1, 1, 2);
      assertEquals(await a.flush(other), 1);
      await promise;
      assertEquals(got, [
        "07fedcba980700000000",
        "07fedcba990700000000",
        "07fedcba9a0700000000",
        "00000000070707070707",
      ]);
      assert(late.every((us) => us >= 0 && us < 1_000_000), `late by ${late} us`);
    }
  },
  async "a refusal of the system is counted, and not fatal"(open) {
    await using socket = open({ address: ours, port: 0 });
    await using received = open({ address: ours, port: 0 });
    assertEquals(await socket.send(new Uint8Array(70_000), { address: ours, port: 9 }), false);
    assertEquals(await socket.send(new Uint8Array(1), { address: ours, port: 0 }), false);
    assertEquals([...socket.errors.send], [["EMSGSIZE", 1], ["EINVAL", 1]]);
    const { promise, resolve } = Promise.withResolvers<void>();
    const got: number[] = [];
    void received.listen(([slot]) => {
      if (got.push(slot) === 4) resolve();
    });
    const batch = socket.batch({ template: new Uint8Array(4), tokenAt: 0 }, 8);
    const ports = [0, received.port, 0, 0, received.port, received.port, received.port, 0];
    ports.forEach((port, slot) =>
      batch.add(Endpoints.of({ address: ours, port }), 0, slot << 24, 0)
    );
    assertEquals(await socket.flush(batch), 4);
    assertEquals([...socket.errors.send], [["EMSGSIZE", 1], ["EINVAL", 5]]);
    await promise;
    assertEquals(got, [1, 4, 5, 6]);
  },
  async "a closed socket ends without an error; a port in use does not open"(open) {
    const socket = open({ address: ours, port: 0 });
    const listening = socket.listen(() => {});
    assertThrows(() => open({ address: ours, port: socket.port }), Deno.errors.AddrInUse);
    const batch = socket.batch({ template: Uint8Array.of(1) }, 1);
    batch.add(Endpoints.of({ address: ours, port: 9 }), 0, 0, 0);
    await socket[Symbol.asyncDispose]();
    await listening;
    assertEquals(await socket.send(new Uint8Array(1), { address: ours, port: 9 }), false);
    assertEquals(await socket.flush(batch), 0);
    assertEquals([...socket.errors.send], []);
    await socket[Symbol.asyncDispose]();
  },
  async "a socket that is closed within a batch stops sending"(open) {
    const socket = open({ address: ours, port: 0 });
    await using received = open({ address: ours, port: 0 });
    let closed: PromiseLike<void> | undefined;
    const listening = socket.listen(() => void (closed = socket[Symbol.asyncDispose]()));
    await received.send(Uint8Array.of(1), { address: ours, port: socket.port });
    const batch = socket.batch({ template: Uint8Array.of(1) }, 1);
    batch.add(Endpoints.of({ address: ours, port: received.port }), 0, 0, 0);
    for (let turns = 0; await socket.flush(batch) > 0; turns++) {
      if (turns > 100_000) throw new Error("it is never closed");
      await new Promise((resolve) => setTimeout(resolve));
    }
    await Promise.all([listening, closed]);
  },
  async "an error of a receiver rejects listen()"(open) {
    await using a = open({ address: ours, port: 0 });
    await using b = open({ address: ours, port: 0 });
    const listening = b.listen(() => {
      throw new RangeError("broken");
    });
    await a.send(Uint8Array.of(1), { address: ours, port: b.port });
    await assertRejects(() => listening, RangeError, "broken");
  },
  async "a receiver without capacity gets all datagrams later"(open) {
    await using a = open({ address: ours, port: 0 });
    await using b = open({ address: ours, port: 0 });
    const got: number[] = [];
    let full: PromiseWithResolvers<void> | undefined = Promise.withResolvers<void>();
    const capacity = () => full?.promise;
    void b.listen(([number]) => {
      got.push(number);
      if (got.length % 50 !== 0) return;
      const gate = full = Promise.withResolvers<void>();
      setTimeout(() => {
        full = undefined;
        gate.resolve();
      });
    }, capacity);
    const wanted = Array.from({ length: 200 }, (_, i) => i);
    for (const number of wanted) {
      await a.send(Uint8Array.of(number), { address: ours, port: b.port });
    }
    assertEquals(got, []);
    const gate = full;
    full = undefined;
    gate.resolve();
    await b.drained();
    assertEquals(got, wanted);
    await capacity(); // the last timer
    await b[Symbol.asyncDispose]();
    await b.drained(); // no further datagram arrives
  },
  async "receiving continues during constant sending"(open) {
    await using a = open({ address: ours, port: 0 });
    await using b = open({ address: ours, port: 0 });
    let received = 0;
    void b.listen((datagram, from) => void b.send(datagram, from));
    void a.listen(() => void received++);
    const batch = a.batch({ template: Uint8Array.of(1) }, 64);
    for (let i = 0; i < 64; i++) batch.add(Endpoints.of({ address: ours, port: b.port }), 0, 0, 0);
    for (let turns = 0; received === 0; turns++) {
      if (turns > 100_000) throw new Error("nothing is heard");
      await a.flush(batch);
      await new Promise((resolve) => setTimeout(resolve));
    }
  },
});

/** The tests of engines with a sender thread. */
const threadTests = (ours: number): Record<string, (open: Opener) => Promise<void>> => ({
  async "a sender thread computes the targets of its blocks, apart from those in the filter"(open) {
    await using a = open({ address: ours, port: 0 });
    const { thread } = a;
    assert(thread !== undefined);
    const receivers = Array.from({ length: 20 }, () => open({ address: ours, port: 0 }));
    const got: { port: number; token: number; late: number }[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const stamp = 0xffff_fff0 | 0;
    for (const receiver of receivers) {
      void receiver.listen((datagram) => {
        const view = new DataView(datagram.buffer, datagram.byteOffset);
        const late = view.getUint32(5) - stamp >>> 0;
        got.push({ port: receiver.port, token: view.getUint32(1), late });
        if (got.length === 35) resolve();
      });
    }
    const ports = receivers.map(({ port }) => port);
    const addresses = RangeSet.of([{ start: ours, end: ours + 1 }]);
    const [filter, tokens] = [new HostFilter(1), new Tokens(new Uint8Array(8).fill(3))];
    const pass = {
      template: { template: new Uint8Array(9), tokenAt: 1, clockAt: 5 },
      key: tokens.key,
      kind: 2,
      macMask: 0xffff_ffff,
      filter: filter.memory,
      batchSize: 7,
    };
    try {
      for (const number of [1, 2]) {
        const space = new TargetSpace([{ addresses, ports }], { seed: 5, pass: number });
        thread.begin({ ...pass, space: space.data });
        const sent = [
          thread.sendBlock(0, 15, stamp, a.errors),
          thread.sendBlock(15, number === 1 ? 5 : 0, stamp, a.errors),
        ];
        assertEquals(
          (await Promise.all(sent)).map((one) => [one.sent, one.left.length]),
          [[15, 0], [number === 1 ? 5 : 0, 0]],
        );
      }
      await promise;
      filter.add(ours);
      const { sent, left } = await thread.sendBlock(3, 9, stamp, a.errors);
      assertEquals([sent, Array.from(left)], [0, [0, 1, 2, 3, 4, 5, 6, 7, 8]]);
    } finally {
      for (const receiver of receivers) await receiver[Symbol.asyncDispose]();
    }
    const of = (port: number) => got.filter((one) => one.port === port).length;
    assertEquals(got.length, 35);
    assert(ports.every((port) => of(port) === 1 || of(port) === 2));
    for (const { port, token, late } of got) {
      assertEquals(token, tokens.of(2, { address: ours, port }));
      assert(late < 1_000_000, `late by ${late} us`);
    }
  },
});
