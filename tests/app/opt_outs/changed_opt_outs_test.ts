/**
 * Entries that are added to the list of opt-outs while a scan or watch runs.
 *
 * Covers src/app/opt_outs/changed_opt_outs.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { type Address, parseAddress } from "../../../src/core/address.ts";
import { scan } from "../../../src/library/scan.ts";
import { watch } from "../../../src/library/watch.ts";
import { readChangedOptOuts } from "../../../src/app/opt_outs/changed_opt_outs.ts";
import { OptOutFile, PartlyReadOptOuts } from "../../../src/app/opt_outs/opt_out_file.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { SimulatedNetwork } from "../../../src/testing/simulated_network.ts";
import type { Range } from "../../../src/targets/ranges.ts";

/** Addresses from one on. */
function addresses(first: string, count: number): Address[] {
  const start = parseAddress(first)!;
  return Array.from(
    { length: count },
    (_, i) => typeof start === "number" ? start + i : start + BigInt(i),
  );
}

/** When datagrams and connections went to some addresses. */
function sentTo({ datagrams, streams }: SimulatedNetwork, some: readonly Address[]): number[] {
  return [...datagrams.sent, ...streams.begun, ...streams.written]
    .flatMap(({ to, at }) => some.includes(to.address) ? at : []);
}

Deno.test("a running scan sends nothing to addresses that are added to the list, a second later", async () => {
  const network = new SimulatedNetwork();
  network.datagrams.record = true;
  network.addFleet({ range: "10.0.0.0/26", servers: 60 });
  const added = [...addresses("10.0.0.0", 32), ...addresses("fc00::", 32)];
  network.clock.after(5000, () => network.optedOut.push(...added));
  const targets = ["10.0.0.0/26", "fc00::/122"];
  const limits = { rate: 20, netRate: 20, hostRate: 20, retries: 0, seed: 1 };
  const found = await network.run(Array.fromAsync(scan(targets, { network, ...limits })));
  const [times, others] = [sentTo(network, added), sentTo(network, addresses("10.0.0.32", 32))];
  assert(times.length > 0 && Math.max(...others) > 10_000, "the scan was long enough");
  assertEquals(times.filter((at) => at > 6100), []);
  assert(found.some(({ host }) => /^10\.0\.0\.([12]?\d|3[01])$/.test(host)), "earlier rows stay");
});

Deno.test("a running watch polls no server that is added to the list, and reports the opt-out", async () => {
  const network = new SimulatedNetwork();
  network.datagrams.record = true;
  const hosts = ["10.0.0.7", "10.0.0.8", "10.0.0.9"]; // the last one replies only to handshakes of Query
  for (const host of hosts.slice(0, 2)) network.addServer({ host, software: "bds" });
  const added = addresses(hosts[1], 2);
  network.datagrams.host({ address: added[1], port: 19132 }, {
    respond: (datagram) =>
      datagram[2] === 9 && datagram.length === 7
        ? [Uint8Array.of(9, ...datagram.subarray(3), ...new TextEncoder().encode("1234567\0"))]
        : [],
  });
  let addedAt = Infinity;
  const addAfterPacket = () => {
    const now = network.clock.now();
    // in a poll of the last server, whose exchange is repeated after 1,500 ms
    if (!sentTo(network, added.slice(1)).some((at) => at > now - 50)) {
      return void network.clock.after(50, addAfterPacket);
    }
    addedAt = now;
    network.optedOut.push(...added);
  };
  network.clock.after(60_000, addAfterPacket);
  const last = network.clock.now() + 300_000;
  const events: string[] = [];
  const take = async () => {
    const signal = new AbortController();
    network.clock.after(300_000, () => signal.abort());
    const words = hosts.map((host) => `${host}:19132`);
    for await (const one of watch(words, { network, signal: signal.signal, intervalMs: 5000 })) {
      if (/online|opted/.test(one.event)) events.push(`${one.event} ${one.host}`);
    }
  };
  await network.run(take());
  assertEquals(events.toSorted(), [
    ...hosts.map((host) => `online ${host}`),
    ...hosts.slice(1).map((host) => `opted_out ${host}`),
  ]);
  assertEquals(sentTo(network, added).filter((at) => at > addedAt + 1100), []);
  assert(sentTo(network, addresses(hosts[0], 1)).some((at) => at > last - 20_000));
  assertEquals(network.optedOut, added, "it is not added to the list again");
});

Deno.test("a list that cannot be read is reported once, and read when that is possible", async () => {
  const network = new SimulatedNetwork();
  const { clock } = network;
  const reported: string[] = [];
  const added: (readonly Range[])[] = [];
  let [reads, version] = [0, "a"];
  const optOuts = {
    note: () => {},
    version: () => Promise.resolve(version),
    read: () => ++reads < 4 ? Promise.reject(new Error("broken")) : Promise.resolve([]),
  };
  const wait = async () => {
    await using _changes = readChangedOptOuts(
      { optOuts, clock },
      (line) => reported.push(line),
      (ranges) => added.push(ranges),
    );
    await new Promise<void>((resolve) => clock.after(10_500, resolve));
    assertEquals([reads, added.length, reported.length], [4, 1, 1]);
    version = "b";
    await new Promise<void>((resolve) => clock.after(1000, resolve));
  };
  await network.run(wait());
  assertEquals([reads, reported], [5, ["broken; new opt-outs in it are not obeyed yet"]]);
});

Deno.test("lines that parse are obeyed beside a bad line, which is reported at once and hourly", async () => {
  const path = await Deno.makeTempFile();
  let now = 0;
  let scheduled = Promise.withResolvers<() => void>();
  const after = (_ms: number, run: () => void) => {
    scheduled.resolve(run);
    return () => {};
  };
  const clock = { ...systemClock, now: () => now, wall: () => now, after };
  const [reported, added] = [[] as string[], [] as number[]];
  /** Runs the next check, at a time. */
  const checkAt = async (ms: number) => {
    now = ms;
    const run = await scheduled.promise;
    scheduled = Promise.withResolvers();
    run();
    await scheduled.promise;
  };
  try {
    await Deno.writeTextFile(path, "10.0.0.1\n");
    const file = new OptOutFile(path, (line) => reported.push(line));
    await file.read();
    const optOuts = {
      read: () => file.read(),
      note: () => {},
      version: () => file.version(),
    };
    await using _changes = readChangedOptOuts(
      { optOuts, clock },
      (line) => reported.push(line),
      (ranges) => added.push(ranges.length),
    );
    await checkAt(1000);
    await Deno.writeTextFile(path, "10.0.0.999\n10.0.0.2\n", { append: true });
    await checkAt(2000);
    await Deno.writeTextFile(path, "10.0.0.3\n", { append: true });
    await checkAt(3000);
    assertEquals([added, reported.length], [[1, 2, 3], 1]);
    await checkAt(3_601_999);
    assertEquals(reported.length, 1);
    await checkAt(3_602_000);
    const line =
      `${path}:2: Cannot parse "10.0.0.999": each part must be a number from 0 to 255; ` +
      "this line is not obeyed";
    assertEquals(reported, [line, line]);
    await Deno.writeTextFile(path, "10.0.0.1\n10.0.0.99\n");
    await checkAt(7_300_000);
    assertEquals([added, reported.length], [[1, 2, 3, 2], 2]);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("a scan and a watch read a list that does not change once, and obey what changes meanwhile", async () => {
  for (const run of [scan, watch]) {
    const network = new SimulatedNetwork();
    network.datagrams.record = true;
    for (const host of ["10.0.0.7", "10.0.0.8"]) network.addServer({ host, software: "bds" });
    const reads: number[] = [];
    const { optOuts } = network;
    const counted = Object.create(network, {
      optOuts: {
        value: {
          ...optOuts,
          read: () => {
            reads.push(network.optedOut.length);
            return optOuts.read();
          },
        },
      },
    });
    const signal = new AbortController();
    network.clock.after(20_500, () => signal.abort());
    network.clock.after(10_500, () => network.optedOut.push(parseAddress("10.0.0.8")!));
    const options = { network: counted, signal: signal.signal };
    await network.run(
      Array.fromAsync<unknown>(
        run === watch
          ? watch(["10.0.0.7:19132", "10.0.0.8:19132"], { ...options, intervalMs: 5000 })
          : scan(["10.0.0.0/26"], { ...options, rate: 4, netRate: 4, hostRate: 4, retries: 0 }),
      ).catch((error) => assertEquals(signal.signal.aborted, true, error)),
    );
    assertEquals(reads, [0, 1]);
  }
});

Deno.test("a later scan of a crawl obeys the lines that parse beside a new bad line", async () => {
  const network = new SimulatedNetwork();
  for (const host of ["10.0.0.1", "10.0.0.2"]) network.addServer({ host, software: "bds" });
  const [start] = addresses("10.0.0.1", 1) as number[];
  const fault = new PartlyReadOptOuts("opt-out.txt:2: bad", [{ start, end: start + 1 }]);
  const optOuts = { ...network.optOuts, read: () => Promise.reject(fault) };
  Object.defineProperty(network, "optOuts", { value: optOuts });
  const found = await network.run(
    Array.fromAsync(scan(["10.0.0.0/30"], { network, retries: 0 })),
  );
  assertEquals(found.map(({ host }) => host), ["10.0.0.2"]);
});
