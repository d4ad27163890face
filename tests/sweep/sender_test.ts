/** Covers src/sweep/batches_in_flight.ts and src/sweep/probe_writer.ts. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { Random } from "../../src/fleet/random.ts";
import type { Clock } from "../../src/net/clock.ts";
import { BlockWriter } from "../../src/net/linux/thread/block_writer.ts";
import type { JobReport } from "../../src/net/linux/thread/job_server.ts";
import {
  DatagramBatch,
  type DatagramSocket,
  noErrors,
  type SentBlock,
  type SocketErrors,
  type Template,
  type ThreadPass,
} from "../../src/net/socket.ts";
import { Throttle } from "../../src/net/throttle.ts";
import { raknetProtocol } from "../../src/protocols/raknet/mod.ts";
import { Canaries } from "../../src/sweep/canaries/canaries.ts";
import { LossTally, noCanaries } from "../../src/sweep/canaries/loss_estimate.ts";
import { Sender, type SenderOptions, type SendProgress } from "../../src/sweep/sender.ts";
import { Tokens } from "../../src/targets/token.ts";
import { ProbeWindow } from "../../src/sweep/probe_window.ts";
import { HostFilter } from "../../src/targets/host_filter.ts";
import { RangeSet } from "../../src/targets/ranges.ts";
import { TargetSpace } from "../../src/targets/space.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { SelectedBatch } from "../net/linux/thread/selected_batch.ts";

const KIND = { protocol: "raknet", probe: raknetProtocol.probe!, kind: 0 };

/** A socket that only sends, with a delay. */
function slowSocket(
  clock: Clock,
  takesMs: () => number,
  onSent: (addresses: readonly number[]) => void,
): DatagramSocket {
  const flush = (batch: DatagramBatch) =>
    new Promise<number>((resolve) =>
      clock.after(takesMs(), () => {
        const { addresses, length } = batch;
        onSent(addresses.slice(0, length) as number[]);
        resolve(length);
      })
    );
  const batch = (template: Template, capacity: number) => new DatagramBatch(template, capacity);
  return { family: 4, receiveBuffer: 64 << 20, batch, flush } as unknown as DatagramSocket<
    DatagramBatch
  >;
}

const space = (size: number) =>
  new TargetSpace(
    [{ addresses: RangeSet.of([{ start: 0x0a000000, end: 0x0a000000 + size }]), ports: [19132] }],
    { seed: 3 },
  );

function optionsFor(
  clock: Clock,
  sockets: readonly DatagramSocket[],
  more: Partial<SenderOptions> = {},
): SenderOptions {
  return {
    sockets,
    clock,
    tokens: new Tokens(new Uint8Array(8)),
    signal: new AbortController().signal,
    throttle: new Throttle({ rate: undefined, netRate: undefined, hostRate: undefined }),
    window: new ProbeWindow(sockets),
    skip: () => false,
    backlogged: () => false,
    onProgress: () => {},
    ...more,
  };
}

/** Sender threads that compute the targets of their blocks, each with a slow socket. */
function slowThreads(
  clock: Clock,
  count: number,
  takesMs: () => number,
  onSent: (addresses: readonly number[], thread: number) => void,
): DatagramSocket[] {
  return Array.from({ length: count }, (_, number) => {
    const socket = slowSocket(clock, takesMs, (addresses) => onSent(addresses, number));
    let writer: BlockWriter;
    let pending = Promise.resolve<unknown>(undefined);
    const thread = {
      pending: 0,
      begin(pass: ThreadPass) {
        writer = new BlockWriter(structuredClone(pass), [{ family: 4, socket: 1, port: 2 }]);
      },
      async sendBlock(
        from: number,
        count: number,
        stamp: number,
        _errors: SocketErrors,
        signal?: AbortSignal,
      ): Promise<SentBlock> {
        thread.pending++;
        const before = pending;
        const { promise, resolve } = Promise.withResolvers<void>();
        pending = promise;
        await before;
        const left: number[] = [];
        const addresses: number[] = [];
        let visited = 0;
        const report = {
          leave: (offset: number) => left.push(offset),
          visit: (count: number) => visited += count,
          isCancelled: () => signal?.aborted === true,
        } as unknown as JobReport;
        const block = { kind: "block", from, count, stamp, waited: 0 } as const;
        const sent = writer.send(block, report, (_to, length, add) => {
          const batch = new SelectedBatch(KIND.probe, length);
          add(batch, 0);
          addresses.push(...batch.addresses as number[]);
          return length;
        });
        await new Promise<void>((done) => clock.after(takesMs(), done));
        onSent(addresses, number);
        thread.pending--;
        resolve();
        return { sent, left, visited };
      },
    };
    return { ...socket, errors: noErrors(), thread };
  });
}

/** The targets before a position, in the order of the space. */
function targetsOf(all: TargetSpace, from: number, to: number): number[] {
  const target = { address: 0 as number | bigint, port: 0 };
  return Array.from({ length: to - from }, (_, i) => {
    all.at(from + i, target);
    return target.address as number;
  });
}

for (const threads of [0, 1, 2, 5]) {
  Deno.test(`with ${threads} threads, every position before the mark was sent once`, async () => {
    const network = new FakeNetwork(1);
    const random = new Random(threads);
    const [sent, stop] = [new Set<number>(), new AbortController()];
    const onSent = (addresses: readonly number[]) => {
      for (const address of addresses) {
        assert(!sent.has(address), "sent twice");
        sent.add(address);
      }
      if (sent.size > 20_000) stop.abort();
    };
    const sockets = Array.from(
      { length: Math.max(1, threads) },
      () => slowSocket(network, () => random.below(3000) / 1000, onSent),
    );
    const all = space(40_000);
    const order = targetsOf(all, 0, all.size);
    let behind = 100;
    const onProgress = ({ visited, sent: count, refused }: SendProgress) => {
      for (const address of order.slice(behind, behind + visited)) assert(sent.has(address));
      assertEquals([count, refused], [visited, 0]);
      behind += visited;
    };
    const options = optionsFor(network, sockets, { threads, onProgress, signal: stop.signal });
    const position = await network.run(new Sender(KIND, options).send(all, 100));
    assert(position > 20_000 && position < all.size);
    assertEquals([behind, sent.size], [position, position - 100]);
  });
}

for (const threads of [1, 2, 5]) {
  Deno.test(`${threads} threads that compute targets send to each once, and skip what is to skip`, async () => {
    const network = new FakeNetwork(1);
    const random = new Random(threads);
    const [sent, stop] = [new Map<number, number>(), new AbortController()];
    const all = space(200_000);
    const order = targetsOf(all, 0, all.size);
    const [filter, skipped] = [new HostFilter(3), new Set<number>()];
    const onSent = (addresses: readonly number[], thread: number) => {
      for (const address of addresses) {
        assert(!sent.has(address) && !skipped.has(address), "sent twice, or to a skipped target");
        sent.set(address, thread);
      }
      if (sent.size > 40_000) stop.abort();
    };
    for (const address of order) {
      const draw = random.below(16);
      if (draw < 2) filter.add(address);
      if (draw === 0) skipped.add(address);
    }
    const takesMs = () => random.below(3000) / 1000;
    const sockets = slowThreads(network, threads, takesMs, onSent);
    let behind = 100;
    const onProgress = ({ visited, sent: count, refused }: SendProgress) => {
      const part = order.slice(behind, behind + visited).filter((one) => !skipped.has(one));
      assert(part.every((address) => sent.has(address)));
      const isBehindGap = stop.signal.aborted && visited === 0;
      assertEquals([isBehindGap || count === part.length, refused], [true, 0]);
      behind += visited;
    };
    const options = optionsFor(network, sockets, {
      threads,
      onProgress,
      filter,
      skip: (targets, i) => skipped.has(targets.ipv4[i]),
      signal: stop.signal,
    });
    const position = await network.run(new Sender(KIND, options).send(all, 100));
    assert(position > 40_000 && position < all.size);
    const expected = order.slice(100, position).filter((one) => !skipped.has(one));
    assertEquals(behind, position);
    // other threads may have sent later positions, which a resumed scan repeats
    assert(expected.every((address) => sent.has(address)));
    assert(threads > 1 || sent.size === expected.length);
    assertEquals(new Set(sent.values()).size, threads);
  });
}

/** The sizes of the blocks of threads. */
async function blockSizes(
  threads: number,
  takesMs: (size: number) => number,
  receiveBuffer = 64 << 20,
): Promise<number[][]> {
  const network = new FakeNetwork(1);
  const sizes: number[][] = Array.from({ length: threads }, () => []);
  const sockets = sizes.map((own) => {
    const [socket] = slowThreads(network, 1, () => takesMs(own.at(-1)!), () => {});
    const thread = socket.thread!;
    const sendBlock: typeof thread.sendBlock = (from, count, ...rest) => {
      own.push(count);
      return thread.sendBlock(from, count, ...rest);
    };
    const held = {
      begin: thread.begin,
      sendBlock,
      get pending() {
        return thread.pending;
      },
    };
    return { ...socket, receiveBuffer, thread: held };
  });
  const options = optionsFor(network, sockets, { threads, filter: new HostFilter(1) });
  await network.run(new Sender(KIND, options).send(space(100_000), 0));
  return sizes;
}

Deno.test("the replies to a block fit into the buffers of its thread, and threads take turns", async () => {
  const sizes = await blockSizes(4, () => 1, 832 * 400);
  assert(sizes.flat().every((size) => size <= 100), "more than a quarter of 400 datagrams");
  const sums = sizes.map((own) => own.reduce((sum, one) => sum + one));
  assert(Math.max(...sums) - Math.min(...sums) < 5000, `${sums}`);
});

Deno.test("blocks become as small as batches on a slow line, and large on a fast one", async () => {
  const [slow] = await blockSizes(1, (size) => size); // a thousand probes a second
  assertEquals([slow[0], slow.at(-2)], [1792, 256]);
  const [fast] = await blockSizes(1, () => 0.2);
  assertEquals([fast[0], fast.at(-2)], [1792, 1792]);
});

Deno.test("a faster thread gets more of the blocks", async () => {
  const network = new FakeNetwork(1);
  const counts = [0, 0];
  const sockets = [1, 9].flatMap((ms, number) =>
    slowThreads(network, 1, () => ms, ({ length }) => counts[number] += length)
  );
  const options = optionsFor(network, sockets, { threads: 2, filter: new HostFilter(1) });
  await network.run(new Sender(KIND, options).send(space(400_000), 0));
  assertEquals(counts[0] + counts[1], 400_000);
  assert(counts[0] > 2 * counts[1], `${counts}`);
});

Deno.test("threads send while batches are filled, and may finish in any order", async () => {
  const network = new FakeNetwork(1);
  const took = [5, 1, 4, 0.5];
  let [under, most] = [0, 0];
  const sockets = took.map((ms) => {
    const socket = slowSocket(network, () => ms, () => under--);
    const flush = (batch: DatagramBatch) => {
      most = Math.max(most, ++under);
      return socket.flush(batch);
    };
    return { ...socket, flush };
  });
  const visited: number[] = [];
  const onProgress = (progress: SendProgress) => visited.push(progress.visited);
  const sender = new Sender(KIND, optionsFor(network, sockets, { threads: 2, onProgress }));
  assertEquals(await network.run(sender.send(space(10_000), 0)), 10_000);
  assertEquals([most, visited.reduce((sum, one) => sum + one)], [16, 10_000]);
});

Deno.test("a failing thread ends the pass, for any number of batches in flight", async () => {
  const network = new FakeNetwork(1);
  let left = 10;
  const socket = slowSocket(network, () => 1, () => {});
  const flush = (batch: DatagramBatch) =>
    --left < 0 ? Promise.reject(new Error("gone")) : socket.flush(batch);
  const options = optionsFor(network, [{ ...socket, flush }], { threads: 2 });
  const sending = new Sender(KIND, options).send(space(100_000), 0);
  await assertRejects(() => network.run(sending), Error, "gone");
});

/** Maximum and minimum number of probes in any window of `ms` milliseconds, in steps of one. */
function extremes(times: readonly number[], ms: number): [fewest: number, most: number] {
  let [fewest, most] = [Infinity, 0];
  let [first, last] = [0, 0];
  for (let start = times[0]; start + ms <= times.at(-1)!; start++) {
    while (times[first] < start) first++;
    while (times[last] < start + ms) last++;
    fewest = Math.min(fewest, last - first);
    most = Math.max(most, last - first);
  }
  return [fewest, most];
}

for (const rate of [1, 100, 10_000, 100_000]) {
  for (const [threads, computing] of [[0, false], [2, false], [2, true]] as const) {
    const name = `${rate} probes per second are sent evenly by ${threads} threads`;
    Deno.test(computing ? `${name} that compute targets` : name, async () => {
      const network = new FakeNetwork(1);
      const random = new Random(9);
      // Timers of a real system: never early, in whole milliseconds, and late, mostly by less than
      // one millisecond, sometimes by several.
      const late = () => random.below(random.below(20) === 0 ? 7000 : 1000) / 1000;
      const after = (ms: number, call: () => void) =>
        network.after(Math.max(1, Math.ceil(ms)) + late(), call);
      const clock: Clock = {
        now: () => network.now(),
        wall: () => network.wall(),
        yieldToEvents: () => network.yieldToEvents(),
        pollSockets: () => network.pollSockets(),
        after,
      };
      const times: number[] = [];
      const onSent = (addresses: readonly number[]) =>
        void times.push(...addresses.map(() => network.now()));
      const sockets = computing ? slowThreads(network, threads, () => 0.3, onSent) : Array.from(
        { length: Math.max(1, threads) },
        () => slowSocket(network, () => 0.3, onSent),
      );
      const filter = computing ? new HostFilter(1) : undefined;
      const throttle = new Throttle({ rate, netRate: undefined, hostRate: undefined });
      const seconds = Math.max(4, 2400 / rate);
      const options = optionsFor(clock, sockets, { throttle, threads, filter });
      await network.run(new Sender(KIND, options).send(space(rate * seconds), 0));
      const windowMs = Math.max(1000, 1_000_000 / rate);
      const expected = rate * windowMs / 1000;
      // The first burst is at most a window: before the first reply, every target may reply.
      const steady = times.filter((at) => at >= times[0] + 1000);
      for (const count of extremes(steady, windowMs)) {
        assert(
          Math.abs(count - expected) <= Math.max(1, expected / 100),
          `${count} of ${expected}`,
        );
      }
      // Each tenth of a second has an equal number, except for delays and their compensation.
      const [fewest, most] = extremes(steady, 100);
      const slack = Math.max(1, rate / 100);
      assert(fewest >= rate / 10 - slack && most <= rate / 10 + slack, `${fewest} to ${most}`);
      // A burst is at most the delayed probes, a batch, or two milliseconds of the rate.
      const atOnce = Math.min(1 + rate / 100, Math.max(256, rate / 500) + 3 * rate / 1000);
      const [, densest] = extremes(steady, 1);
      assert(densest <= atOnce, `${densest} in a millisecond`);
    });
  }
}

Deno.test("the cap of a host holds in every second, also if timers are up to a second late", async () => {
  const network = new FakeNetwork(1);
  const random = new Random(4);
  const clock: Clock = {
    now: () => network.now(),
    wall: () => network.wall(),
    yieldToEvents: () => network.yieldToEvents(),
    pollSockets: () => network.pollSockets(),
    after: (ms, call) => network.after(ms + random.below(1000), call),
  };
  const times: number[] = [];
  const socket = slowSocket(network, () => 0.3, (addresses) => {
    times.push(...addresses.map(() => network.now()));
  });
  const ports = Array.from({ length: 500 }, (_, i) => 1000 + i);
  const oneHost = new TargetSpace([{ addresses: RangeSet.of([{ start: 9, end: 10 }]), ports }], {
    seed: 3,
  });
  const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: 5 });
  await network.run(new Sender(KIND, optionsFor(clock, [socket], { throttle })).send(oneHost, 0));
  assertEquals([times.length, extremes(times, 1000)[1]], [500, 5]);
});

for (const way of ["with caps", "without caps", "by a thread that computes targets"]) {
  Deno.test(`canary probes ${way} have random positions, are not counted as probes, and use the rate`, async () => {
    const network = new FakeNetwork(1);
    const [places, queried, probed] = [[] as number[], new Set<number>(), new Set<number>()];
    const isCanary = (address: number) => address >= 0x0b000000;
    let last = 0;
    const isByThread = way.startsWith("by");
    const onSent = (addresses: readonly number[]) => {
      addresses.forEach((address, place) => {
        if (isCanary(address)) places.push(place / addresses.length);
        assert(!(isCanary(address) ? queried : probed).has(address), "an address was probed twice");
        (isCanary(address) ? queried : probed).add(address);
      });
      last = network.now();
    };
    const sockets = isByThread
      ? slowThreads(network, 1, () => 0.1, onSent)
      : [slowSocket(network, () => 1, onSent)];
    const hostRate = way === "with caps" ? 5 : undefined;
    const throttle = new Throttle({ rate: 50_000, netRate: undefined, hostRate });
    const tokens = new Tokens(new Uint8Array(8));
    const canaries = new Canaries({
      tokens,
      clock: network,
      share: 0.05,
      gapMs: 1000,
      timeoutMs: 5000,
      seed: 4,
      mayProbe: () => "yes",
      lastTo: (address) => throttle.lastTo(address),
      tally: new LossTally(noCanaries()),
    });
    for (let i = 0; i < 4000; i++) {
      canaries.add(KIND, { address: 0x0b000000 + 256 * i, port: 19132 });
    }
    const begun = network.now();
    let sent = 0;
    const onProgress = (progress: SendProgress) => sent += progress.sent;
    const more = isByThread ? { threads: 1, filter: new HostFilter(1) } : {};
    const options = optionsFor(network, sockets, {
      throttle,
      tokens,
      canaries,
      onProgress,
      ...more,
    });
    await network.run(new Sender(KIND, options).send(space(100_000), 0));
    assertEquals([sent, probed.size], [100_000, 100_000]);
    // No canary probe is sent in the first second: all servers have just replied.
    assert(queried.size > 2000 && queried.size <= 5000, `${queried.size} canaries`);
    const seconds = (last - begun) / 1000;
    const rate = (sent + queried.size) / seconds;
    assert(Math.abs(rate / 50_000 - 1) < 0.02, `${rate} a second`);
    if (isByThread) return; // each canary probe is sent between two blocks
    // Each third of the batches has a third of the canary probes.
    for (const third of [0, 1, 2]) {
      const share = places.filter((place) => Math.floor(3 * place) === third).length /
        places.length;
      assert(Math.abs(share - 1 / 3) < 0.05, `${share} in third ${third}`);
    }
  });
}

Deno.test("a sender with sockets that receive while they send yields rarely, and least when the event loop has no other work", async () => {
  const turnsWith = async (
    receivesWhileSending: boolean,
    busy: boolean,
    more: Partial<SenderOptions> = {},
  ) => {
    let [now, turns] = [0, 0];
    const clock = {
      now: () => now,
      yieldToEvents: () => Promise.resolve(void turns++),
      pollSockets: () => Promise.resolve(void turns++),
      after: (ms: number, callback: () => void) => {
        turns++;
        now += ms;
        queueMicrotask(callback);
        return () => {};
      },
    } as unknown as Clock;
    const flush = (batch: DatagramBatch) => {
      now += 0.25; // a million a second
      return batch.length;
    };
    const receiveBuffer = 16 << 20;
    const plain = slowSocket(clock, () => 0, () => {});
    const socket = { ...plain, flush, receivesWhileSending, receiveBuffer };
    const options = optionsFor(clock, [socket], { isBusy: () => busy, ...more });
    assertEquals(await new Sender(KIND, options).send(space(500_000), 0), 500_000);
    return turns;
  };
  const [deafAndBusy, deaf, busy, quiet] = [
    await turnsWith(false, true),
    await turnsWith(false, false),
    await turnsWith(true, true),
    await turnsWith(true, false),
  ];
  // All wait equally at first, before a reply is possible.
  assert(deaf - busy > 200 && busy - quiet > 30, `${[deaf, busy, quiet]}`);
  assert(deafAndBusy - deaf > 400, `${deafAndBusy} and ${deaf}`);
  // A window that limits sending has to learn of replies early.
  const window = { capacity: () => 1e6, sent: () => {} } as unknown as ProbeWindow;
  const limited = await turnsWith(false, false, { window });
  assert(limited > 900, `${limited}`);
});

Deno.test("sockets are polled every 20 ms at any rate while replies are expected", async () => {
  const looksWith = async (receivesWhileSending: boolean, busy: boolean) => {
    let [now, looks] = [0, 0];
    const clock = {
      now: () => now,
      yieldToEvents: () => Promise.resolve(),
      pollSockets: () => Promise.resolve(void looks++),
      after: (ms: number, callback: () => void) => {
        now += ms;
        queueMicrotask(callback);
        return () => {};
      },
    } as unknown as Clock;
    const flush = (batch: DatagramBatch) => {
      now += batch.length / 100; // in 20 ms, far less than the capacity of a buffer
      return batch.length;
    };
    const socket = { ...slowSocket(clock, () => 0, () => {}), flush, receivesWhileSending };
    const options = optionsFor(clock, [socket], { isBusy: () => busy });
    await new Sender(KIND, options).send(space(50_000), 0);
    return now / looks;
  };
  assertEquals(await looksWith(true, false), Infinity);
  for (const ms of [await looksWith(false, false), await looksWith(true, true)]) {
    assert(ms >= 19 && ms < 35, `every ${ms} ms`);
  }
});
