/**
 * Port probes over the fake network. tests/sockets/dialed_ports_test.ts has those over real sockets.
 *
 * Covers src/net/dialed/.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Endpoint } from "../../src/core/address.ts";
import { Endpoints } from "../../src/core/endpoints.ts";
import { DialedPorts } from "../../src/net/dialed_ports.ts";
import { Shortage } from "../../src/net/file_descriptors.ts";
import type { PortSocketOptions } from "../../src/net/port_socket.ts";
import type { SendGate } from "../../src/net/send_gate.ts";
import { Throttle } from "../../src/net/throttle.ts";
import {
  type ConnectError,
  type ConnectFailure,
  type Dialer,
  noErrors,
  type Stream,
} from "../../src/net/socket.ts";
import { SYN_PROBE } from "../../src/protocols/syn_probe.ts";
import { capacityOf, ProbeWindow } from "../../src/sweep/probe_window.ts";
import { Sender } from "../../src/sweep/sender.ts";
import { RangeSet } from "../../src/targets/ranges.ts";
import { TargetSpace } from "../../src/targets/space.ts";
import { Tokens } from "../../src/targets/token.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { FakeStreams, NO_STREAM_FAULTS } from "../../src/testing/fake_streams.ts";

const START = 1000;
const ACCEPTS = { accept: () => ({ opening: [], receive: () => [] }) };

interface Delivered {
  readonly at: number;
  readonly state: string;
  readonly token: number;
  readonly clock: number | undefined;
  readonly from: Endpoint;
  readonly stream: Stream | undefined;
}

type Given = Partial<PortSocketOptions> & { readonly delay?: number };

function open({ delay = 5, ...given }: Given = {}) {
  const network = new FakeNetwork(1);
  network.idleWaits = 100;
  const streams = new FakeStreams(network, 1, { ...NO_STREAM_FAULTS, delay });
  streams.absent = "timeout";
  return { network, streams, ...socketOver(network, streams, given) };
}

function socketOver(network: FakeNetwork, dialer: Dialer, given: Partial<PortSocketOptions>) {
  const options = { clock: network, wait: { ms: 900 }, atOnce: 1000, ...given };
  const socket = new DialedPorts(4, dialer, options);
  const replies: Delivered[] = [];
  const listen = (capacity?: () => Promise<void> | undefined) =>
    socket.listen(
      (reply, from) => void replies.push({ at: network.now() - START, ...reply, from }),
      capacity,
    );
  return { socket, replies, listen };
}

/** The target with a number. */
function target(i: number): Endpoint {
  return { address: 0x0a000000 + i, port: 25565 };
}

/** A batch of targets with their numbers as tokens, and a stamp. */
function batchOf(socket: DialedPorts, from: number, count: number, stamp = 0) {
  const batch = socket.batch(SYN_PROBE, count);
  for (let i = from; i < from + count; i++) {
    batch.add(Endpoints.of(target(i)), 0, i, stamp);
  }
  return batch;
}

Deno.test("DialedPorts delivers open, refused and unreachable ports with token and stamp", async () => {
  const { network, streams, socket, replies, listen } = open();
  streams.host(target(0), ACCEPTS);
  streams.host(target(1), "refused");
  streams.host(target(2), "unreachable");
  await network.run((async () => {
    const listening = listen();
    assertEquals(await socket.flush(batchOf(socket, 0, 5, 0xffff_ff00)), 5);
    assertEquals(socket.pending, 5);
    await after(network, 100);
    assertEquals(socket.pending, 2);
    await socket[Symbol.asyncDispose]();
    assertEquals(socket.pending, 0);
    await listening;
  })());
  assertEquals(
    replies.map(({ at, state, token, clock, from }) => [at, state, token, clock, from]),
    ["open", "refused", "unreachable"].map((state, i) => [5, state, i, 0xffff_ff00, target(i)]),
  );
  assertEquals(streams.open, 1);
  replies[0].stream![Symbol.dispose]();
  assertEquals(streams.open, 0);
  assertEquals(socket.errors.send.size, 0);
});

Deno.test("DialedPorts ends connections of 20 ms together, less than a second after the first", async () => {
  const { network, socket, streams, listen } = open();
  const pending: number[] = [];
  await network.run((async () => {
    void listen();
    for (let i = 0; i < 5; i++) {
      await socket.flush(batchOf(socket, i, 1));
      await after(network, 10);
    }
    // the waves begin at 0, 20 and 40 ms
    for (const at of [899, 901, 919, 921, 939, 941]) {
      await after(network, START + at - network.now());
      pending.push(socket.pending);
    }
  })());
  assertEquals(pending, [5, 3, 3, 1, 1, 0]);
  assertEquals(streams.open, 0);
});

Deno.test("DialedPorts waits no longer than its time for replies, also if timers are late", async () => {
  for (const [lateMs, expected] of [[0, 500], [10_000, 510]]) {
    const network = new FakeNetwork(1);
    const clock = {
      ...clockOf(network),
      after: (ms: number, callback: () => void) => network.after(ms + lateMs, callback),
    };
    const { dialer } = failing(network, () => undefined);
    const { socket } = socketOver(network, dialer, { clock, wait: { ms: 500 } });
    await network.run((async () => {
      await socket.flush(batchOf(socket, 0, 3));
      await after(network, expected - 1);
      assertEquals(socket.pending, 3);
      await socket.flush(batchOf(socket, 3, 1)); // a new wave ends those whose time is over
      await after(network, 2);
      assertEquals(socket.pending, 1);
      await socket[Symbol.asyncDispose]();
    })());
  }
});

Deno.test("DialedPorts delivers connections that were accepted in time, and ends the others in time", async () => {
  const network = new FakeNetwork(1);
  const accepted: (() => void)[] = [];
  const ended: number[] = [];
  const stream = {
    read: () => Promise.resolve("closed" as const),
    write: () => Promise.resolve(true),
  };
  const dialer: Dialer = {
    errors: new Map(),
    connect: ({ address }, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          ended.push(network.now() - START);
          resolve("cancelled");
        });
        const isLive = Number(address) % 2 === 0;
        if (isLive) accepted.push(() => resolve({ ...stream, [Symbol.dispose]: () => {} }));
      }),
    encrypt: () => Promise.reject(new Error("no TLS")),
  };
  // The program learns of one accepted connection in each poll, from the time of the end on.
  const polls = network.pollSockets.bind(network);
  network.pollSockets = async () => {
    if (network.now() - START >= 900) accepted.shift()?.();
    await polls();
  };
  const { socket, replies, listen } = socketOver(network, dialer, {});
  await network.run((async () => {
    void listen();
    await socket.flush(batchOf(socket, 0, 40));
    await after(network, 25);
    await socket.flush(batchOf(socket, 40, 400)); // its connections end while those of the first are awaited
    await after(network, 2000);
    await socket[Symbol.asyncDispose]();
  })());
  assertEquals(replies.filter(({ from }) => Number(from.address) < target(40).address).length, 20);
  assert(Math.max(...ended) < 1000 + 25, `${Math.max(...ended)}`);
});

Deno.test("DialedPorts delivers an ICMP error that arrives while it polls", async () => {
  const network = new FakeNetwork(1);
  const { dialer } = failing(network, () => undefined);
  const { connect } = dialer;
  let reject: (() => void) | undefined;
  dialer.connect = (to, ...more) =>
    to.address === target(0).address
      ? new Promise((resolve) => reject = () => resolve("unreachable"))
      : connect.call(dialer, to, ...more);
  const polls = network.pollSockets.bind(network);
  network.pollSockets = async () => {
    reject?.();
    await polls();
  };
  const { socket, replies, listen } = socketOver(network, dialer, {});
  await network.run((async () => {
    void listen();
    assertEquals(await socket.flush(batchOf(socket, 0, 600)), 600);
    await socket[Symbol.asyncDispose]();
  })());
  assertEquals(replies.map(({ state, token }) => [state, token]), [["unreachable", 0]]);
  assertEquals([...socket.errors.send], []);
});

Deno.test("DialedPorts begins as many connections as may wait, and the others when these end", async () => {
  const { network, socket, streams } = open({ atOnce: 10 });
  await network.run((async () => {
    const batch = batchOf(socket, 0, 25);
    assertEquals(await socket.flush(batch), 25);
  })());
  assertEquals(streams.most, 10);
  const times = Map.groupBy(streams.begun, ({ at }) => Math.round(at - START));
  assertEquals([...times].map(([at, all]) => [at, all.length]), [[0, 10], [900, 10], [1800, 5]]);
});

Deno.test("DialedPorts stamps a connection that had to wait with the time of its begin", async () => {
  const { network, socket, streams, replies, listen } = open({ atOnce: 1 });
  streams.host(target(1), "refused");
  await network.run((async () => {
    void listen();
    await socket.flush(batchOf(socket, 0, 2, 0xffff_ffff));
    await after(network, 100);
  })());
  const rounded = replies.map(({ at, clock = 0 }) => [Math.floor(at), Math.round(clock / 1000)]);
  assertEquals(rounded, [[905, 900]]);
});

Deno.test("DialedPorts probes none of the targets that wait when the signal aborts", async () => {
  const { network, socket, streams } = open({ atOnce: 2 });
  const controller = new AbortController();
  await network.run((async () => {
    const flushed = socket.flush(batchOf(socket, 0, 5), controller.signal);
    await after(network, 100);
    controller.abort();
    assertEquals(await flushed, 2);
    assertEquals(await socket.flush(batchOf(socket, 5, 1), controller.signal), 0);
    await socket[Symbol.asyncDispose]();
  })());
  assertEquals(streams.begun.length, 2);
});

Deno.test("DialedPorts disposes of connections that wait, with no further one", async () => {
  const { network, socket, streams, listen, replies } = open({ atOnce: 4 });
  await network.run((async () => {
    const listening = listen();
    const flushed = socket.flush(batchOf(socket, 0, 9));
    await after(network, 100);
    await socket[Symbol.asyncDispose]();
    await socket[Symbol.asyncDispose]();
    assertEquals([socket.pending, streams.open, streams.begun.length], [0, 0, 4]);
    assertEquals(await flushed, 4);
    await listening;
    await after(network, 5000);
  })());
  assertEquals([streams.begun.length, replies], [4, []]);
});

Deno.test("DialedPorts counts open connections that wait for the receiver, and begins none from 256 on", async () => {
  for (const { atOnce, begun } of [{ atOnce: 100, begun: 100 }, { atOnce: 1000, begun: 300 }]) {
    const { network, socket, streams, replies, listen } = open({ atOnce });
    streams.absent = ACCEPTS;
    let full: PromiseWithResolvers<void> | undefined = Promise.withResolvers();
    await network.run((async () => {
      void listen(() => full?.promise);
      const flushed = (async () => {
        let sum = 0;
        for (let i = 0; i < 4; i++) {
          sum += await socket.flush(batchOf(socket, 100 * i, 100));
          await after(network, 100); // its connections open
        }
        return sum;
      })();
      await after(network, 5000);
      assertEquals([replies.length, streams.begun.length, socket.pending], [0, begun, 0]);
      const settled = full!;
      full = undefined;
      settled.resolve();
      assertEquals(await flushed, 400);
      await after(network, 100);
    })());
    assertEquals(replies.map(({ token }) => token), Array.from({ length: 400 }, (_, i) => i));
    for (const { stream } of replies) stream![Symbol.dispose]();
    assertEquals(streams.open, 0);
  }
});

Deno.test("DialedPorts closes opened connections that were not delivered when it is disposed of", async () => {
  const { network, socket, streams, replies, listen } = open();
  streams.absent = ACCEPTS;
  await network.run((async () => {
    void listen(() => new Promise(() => {}));
    await socket.flush(batchOf(socket, 0, 20));
    await after(network, 100);
    assertEquals(streams.open, 20);
    await socket[Symbol.asyncDispose]();
  })());
  assertEquals([streams.open, replies.length], [0, 0]);
});

Deno.test("DialedPorts delivers replies that arrive before it listens, and rejects when the receiver fails", async () => {
  const { network, socket, streams } = open();
  streams.absent = "refused";
  await network.run((async () => {
    await socket.flush(batchOf(socket, 0, 2));
    await after(network, 100);
    const tokens: number[] = [];
    await assertRejects(
      () =>
        socket.listen(({ token }) => {
          tokens.push(token);
          throw new Error("failed");
        }),
      "failed",
    );
    assertEquals(tokens, [0]);
    await socket[Symbol.asyncDispose]();
  })());
});

Deno.test("DialedPorts closes the replies that wait when the receiver fails, and those that come later", async () => {
  const { network, socket, streams } = open();
  streams.absent = ACCEPTS;
  await network.run((async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let isFull = true;
    const listening = socket.listen(({ stream }) => {
      stream![Symbol.dispose]();
      throw new Error("failed");
    }, () => isFull ? promise : undefined);
    await socket.flush(batchOf(socket, 0, 20));
    await after(network, 100);
    const drained = socket.drained();
    isFull = false;
    resolve();
    await assertRejects(() => listening, "failed");
    await drained;
    await socket.flush(batchOf(socket, 20, 5));
    await after(network, 100);
    await socket.drained();
    assertEquals(streams.open, 0);
    await socket[Symbol.asyncDispose]();
  })());
});

Deno.test("DialedPorts does not count the wait for the receiver as a part of the round trip", async () => {
  const { network, socket, streams, listen, replies } = open();
  streams.absent = "refused";
  await network.run((async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let isFull = true;
    void listen(() => isFull ? promise : undefined);
    await socket.flush(batchOf(socket, 0, 1, 0xffff_ffff));
    await after(network, 505);
    isFull = false;
    resolve();
    await socket.drained();
    await socket[Symbol.asyncDispose]();
  })());
  assertEquals(replies.map(({ at, clock = 0 }) => [at, Math.round(clock / 1000)]), [[505, 500]]);
});

/** A dialer whose connections fail at once as a function returns; others get no reply. */
function failing(
  network: FakeNetwork,
  outcome: (
    to: Endpoint,
    waiting: number,
  ) => readonly [ConnectFailure | "kept back", string?] | Error | undefined,
) {
  const begun: [at: number, number: number][] = [];
  let waiting = 0;
  const dialer = {
    errors: new Map(),
    connect(to: Endpoint, signal: AbortSignal, gate?: SendGate, error?: ConnectError) {
      if (gate?.isOpen() === false) return Promise.resolve("kept back");
      begun.push([network.now() - START, Number(to.address) - 0x0a000000]);
      const result = outcome(to, waiting);
      if (result instanceof Error) return Promise.reject(result);
      if (result === undefined) {
        waiting++;
        return new Promise((resolve) => {
          const cancelled = () => resolve((waiting--, "cancelled"));
          signal.addEventListener("abort", cancelled, { once: true });
        });
      }
      if (error !== undefined) error.code = result[1];
      return Promise.resolve(result[0]);
    },
  } as unknown as Dialer;
  return { begun, dialer };
}

Deno.test("DialedPorts counts errors that the system returns at once, and delivers no reply for them", async () => {
  const network = new FakeNetwork(1);
  const { dialer } = failing(
    network,
    (to) => Number(to.address) % 2 === 0 ? ["unreachable", "ENETUNREACH"] : undefined,
  );
  const errors = noErrors();
  const { socket, replies, listen } = socketOver(network, dialer, { errors });
  await network.run((async () => {
    void listen();
    assertEquals(await socket.flush(batchOf(socket, 0, 5)), 2);
    await socket[Symbol.asyncDispose]();
  })());
  assertEquals([[...errors.send], replies], [[["ENETUNREACH", 3]], []]);
  assert(socket.errors === errors);
});

Deno.test("DialedPorts repeats probes for which no descriptor is free, and has fewer waiting from then on", async () => {
  const network = new FakeNetwork(1);
  const { begun, dialer } = failing(
    network,
    (_, waiting) => waiting < 6 ? undefined : ["exhausted", "EMFILE"],
  );
  const reports: (string | undefined)[] = [];
  const shortage = new Shortage(network, (code) => reports.push(code));
  const { socket } = socketOver(network, dialer, { atOnce: 100, shortage });
  await network.run((async () => {
    const flushed = socket.flush(batchOf(socket, 0, 16));
    await after(network, 899);
    assertEquals(socket.pending, 6);
    assertEquals(await flushed, 16);
    assertEquals(socket.pending, 5);
    await socket[Symbol.asyncDispose]();
  })());
  const times = Map.groupBy(begun, ([at]) => Math.floor(at));
  assertEquals(
    [...times].map(([at, all]) => [at, all.map(([, number]) => number)]),
    [
      [0, Array.from({ length: 16 }, (_, i) => i)],
      [900, [6, 7, 8, 9, 10]],
      [1800, [11, 12, 13, 14, 15]],
    ],
  );
  assertEquals([...socket.errors.waits], [["EMFILE", 10]]);
  assertEquals(reports, []);
});

Deno.test("DialedPorts waits for a descriptor until the signal aborts, and reports the shortage once", async () => {
  const network = new FakeNetwork(1);
  const { begun, dialer } = failing(network, () => ["exhausted", "EMFILE"]);
  const reports: (string | undefined)[] = [];
  const shortage = new Shortage(network, (code) => reports.push(code));
  const { socket } = socketOver(network, dialer, { shortage });
  const controller = new AbortController();
  await network.run((async () => {
    const flushed = socket.flush(batchOf(socket, 0, 1), controller.signal);
    await after(network, 60_000);
    controller.abort();
    assertEquals(await flushed, 0);
    assertEquals(socket.pending, 0);
    await socket[Symbol.asyncDispose]();
  })());
  assertEquals(reports, ["EMFILE"]);
  assert(begun.length >= 599 && begun.length <= 601, String(begun.length));
});

Deno.test("DialedPorts repeats a probe whose shortage is reported after the flush", async () => {
  const { network, socket, streams, replies, listen } = open();
  streams.host(target(0), "exhausted");
  await network.run((async () => {
    void listen();
    assertEquals(await socket.flush(batchOf(socket, 0, 1)), 1);
    await after(network, 50);
    assertEquals([streams.begun.length, socket.pending], [1, 1]);
    streams.host(target(0), "refused");
    await after(network, 200);
    assertEquals([streams.begun.length, socket.pending], [2, 0]);
  })());
  assertEquals(replies.map(({ state, token }) => [state, token]), [["refused", 0]]);
});

/** Target 0 is refused at once; others lack a descriptor after 50 ms, and then get an outcome at once. */
function lacking(network: FakeNetwork, outcome: "kept back" | "unreachable") {
  const begun: number[] = [];
  const dialer = {
    errors: new Map(),
    async connect({ address }: Endpoint) {
      const number = Number(address) - 0x0a000000;
      begun.push(number);
      if (number === 0) return "unreachable";
      if (begun.indexOf(number) < begun.length - 1) return outcome;
      await after(network, 50);
      return "exhausted";
    },
  } as unknown as Dialer;
  return { begun, dialer };
}

Deno.test("DialedPorts gives up a late probe that the system refuses", async () => {
  const network = new FakeNetwork(1);
  const { begun, dialer } = lacking(network, "unreachable");
  const { socket } = socketOver(network, dialer, {});
  await network.run((async () => {
    assertEquals(await socket.flush(batchOf(socket, 0, 2)), 1);
    await after(network, 1000);
    assertEquals(socket.pending, 0);
    await socket[Symbol.asyncDispose]();
  })());
  assertEquals(begun, [0, 1, 1]);
  assertEquals([...socket.errors.send], [["unreachable", 2]]);
});

Deno.test("DialedPorts counts a late probe that the gate keeps back once", async () => {
  const network = new FakeNetwork(1);
  const { begun, dialer } = lacking(network, "kept back");
  const gate = { keptBack: 0, isOpen: () => true, whenOpen: () => Promise.resolve(true) };
  const { socket } = socketOver(network, dialer, { gate });
  await network.run((async () => {
    assertEquals(await socket.flush(batchOf(socket, 1, 1)), 1);
    await after(network, 1000);
    assertEquals(socket.pending, 1);
    await socket[Symbol.asyncDispose]();
  })());
  assert(begun.length >= 5);
  assertEquals(gate.keptBack, 1);
});

Deno.test("DialedPorts lets more connections wait again after a shortage", async () => {
  const network = new FakeNetwork(1);
  const { begun, dialer } = failing(
    network,
    () => network.now() === START ? ["exhausted", "EMFILE"] : undefined,
  );
  const { socket } = socketOver(network, dialer, { atOnce: 8 });
  await network.run((async () => {
    await socket.flush(batchOf(socket, 0, 256));
    await socket[Symbol.asyncDispose]();
  })());
  const times = Map.groupBy(begun, ([at]) => Math.floor(at / 900));
  const numbers = [...times.values()].map((all) => all.length);
  assertEquals([numbers[0], numbers[1]], [8 + 1, 1]);
  assertEquals(Math.max(...numbers.slice(1)), 8);
  assertEquals(numbers.slice(1, -1), numbers.slice(1, -1).toSorted((a, b) => a - b));
});

Deno.test("DialedPorts rejects a flush without permission", async () => {
  const network = new FakeNetwork(1);
  const { dialer } = failing(network, () => new Deno.errors.NotCapable("net"));
  const { socket } = socketOver(network, dialer, {});
  await network.run((async () => {
    await assertRejects(() => socket.flush(batchOf(socket, 0, 3)), Deno.errors.NotCapable);
    assertEquals(socket.pending, 0);
    await socket[Symbol.asyncDispose]();
  })());
});

Deno.test("DialedPorts returns fewer while the gate is closed, and counts what it kept back", async () => {
  let passes = 3;
  const gate: SendGate = {
    keptBack: 0,
    isOpen: () => passes-- > 0,
    whenOpen: () => Promise.resolve(true),
  };
  const { network, socket, streams } = open({ gate });
  await network.run((async () => {
    assertEquals(socket.gate, gate);
    assertEquals(await socket.flush(batchOf(socket, 0, 10)), 3);
    assertEquals([gate.keptBack, socket.pending, streams.begun.length], [7, 3, 3]);
    await socket[Symbol.asyncDispose]();
  })());
});

Deno.test("DialedPorts does not limit the window below the connections that may wait", () => {
  for (const atOnce of [1, 256, 1080, 16_384]) {
    const { socket, network } = open({ atOnce });
    const window = new ProbeWindow([socket]);
    assertEquals(window.capacity(network.now()), Math.min(32_768, atOnce));
    assertEquals(capacityOf([socket]), 4 * atOnce);
  }
});

Deno.test("DialedPorts leaves no timer behind when all connections have ended and it is disposed of", async () => {
  const { network, socket, streams, listen } = open();
  streams.absent = "refused";
  let timers = 0;
  const counted = {
    ...clockOf(network),
    after(ms: number, callback: () => void) {
      timers++;
      let isOver = false;
      const end = () => {
        if (!isOver) timers--;
        isOver = true;
      };
      const cancel = network.after(ms, () => {
        end();
        callback();
      });
      return () => {
        end();
        cancel();
      };
    },
  };
  const { socket: own } = socketOver(network, streams, { clock: counted });
  await network.run((async () => {
    void listen();
    for (let i = 0; i < 5; i++) {
      await own.flush(batchOf(own, 10 * i, 10));
      await after(network, 25);
    }
    assertEquals([own.pending, timers], [0, 1]); // the timer of the last wave
    await own[Symbol.asyncDispose]();
    await socket[Symbol.asyncDispose]();
  })());
  assertEquals(timers, 0);
});

/** A pass over 1,000 targets, which a signal ends after some time. */
async function sendPass(
  { network, socket }: Pick<ReturnType<typeof open>, "network" | "socket">,
  from: number,
  ms: number,
) {
  const controller = new AbortController();
  const cancel = network.after(ms, () => controller.abort());
  const progress = { visited: 0, sent: 0 };
  const sender = new Sender({ protocol: "slp", probe: SYN_PROBE, kind: 1 }, {
    sockets: [socket],
    clock: network,
    tokens: new Tokens(new Uint8Array(8)),
    signal: controller.signal,
    throttle: new Throttle({ rate: 400, netRate: undefined, hostRate: undefined }),
    window: new ProbeWindow([socket]),
    skip: () => false,
    backlogged: () => false,
    onProgress: ({ visited, sent }) => {
      progress.visited += visited;
      progress.sent += sent;
    },
  });
  const end = await sender.send(SPACE, from);
  cancel();
  return { end, progress };
}

const SPACE = new TargetSpace(
  [{ addresses: RangeSet.of([{ start: 0x0a000000, end: 0x0a000000 + 1000 }]), ports: [25565] }],
  { seed: 3 },
);

Deno.test("a sender with DialedPorts that is cancelled while connections wait returns a position before which all were probed", async () => {
  for (const atOnce of [1, 7, 256, 1000]) {
    const all = open({ atOnce });
    const { network, socket, streams } = all;
    await network.run((async () => {
      const { end, progress } = await sendPass(all, 0, 1500);
      assert(end < 1000 && progress.sent === streams.begun.length, `${end} ${progress.sent}`);
      const probed = new Set(streams.begun.map(({ to }) => to.address));
      const target = { address: 0 as number | bigint, port: 0 };
      for (let i = 0; i < end; i++) {
        SPACE.at(i, target);
        assert(probed.has(target.address), `${i} of ${end}`);
      }
      assert(probed.size - end <= atOnce);
      await socket[Symbol.asyncDispose]();
    })());
  }
});

Deno.test("a sender with DialedPorts probes each target of a pass once, at the rate", async () => {
  const all = open({ atOnce: 432 });
  const { network, socket, streams } = all;
  await network.run((async () => {
    assertEquals(await sendPass(all, 0, Infinity), {
      end: 1000,
      progress: { visited: 1000, sent: 1000 },
    });
    const seconds = (network.now() - START) / 1000;
    assert(seconds > 2.4 && seconds < 2.6, `${seconds} s`);
    await socket[Symbol.asyncDispose]();
  })());
  assertEquals(new Set(streams.begun.map(({ to }) => to.address)).size, 1000);
});

function clockOf(network: FakeNetwork) {
  return {
    now: () => network.now(),
    wall: () => network.wall(),
    yieldToEvents: () => network.yieldToEvents(),
    pollSockets: () => network.pollSockets(),
  };
}

function after(network: FakeNetwork, ms: number): Promise<void> {
  return new Promise((resolve) => network.after(ms, resolve));
}
