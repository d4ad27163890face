/**
 * The sockets and limits of a watch, and the results of polls without a reply.
 *
 * Covers src/inspect/run_interview.ts.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  longestPollMs,
  openPollingSockets,
  type PollingContext,
} from "../../../src/app/engines/watch_sockets.ts";
import { type Address, parseEndpoint } from "../../../src/core/address.ts";
import type { DatagramSocket } from "../../../src/net/socket.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { SimulatedNetwork } from "../../../src/testing/simulated_network.ts";
import { WatchedServer } from "../../../src/watch/watched_server.ts";
import { readCommandLine } from "../../cli/command_line.ts";

const RULES = {
  intervalMs: 60_000,
  downAfter: 3,
  scanId: "watch",
  newEventId: () => "event",
  allProtocols: PROTOCOLS,
};

interface Setting {
  /** The number of watched servers on 10.0.0.0/16; or their endpoints. */
  readonly servers?: number | readonly string[];
  readonly args?: readonly string[];
  /** The number of sockets that can be open at once. */
  readonly descriptors?: number;
  /** The address families of the system. */
  readonly families?: readonly (4 | 6)[];
  readonly context?: Partial<PollingContext>;
  readonly intervalMs?: number;
}

/** The sockets of a watch, and how many sockets are open. */
async function open(
  {
    servers: named = 1,
    args = [],
    descriptors = Infinity,
    families = [4, 6],
    context,
    intervalMs = RULES.intervalMs,
  }: Setting,
) {
  const network = new SimulatedNetwork();
  const sockets = { open: 0 };
  const controller = new AbortController();
  const openSocket = (local: { address: Address; port: number }): DatagramSocket => {
    if (!families.includes(typeof local.address === "number" ? 4 : 6)) {
      throw Object.assign(new Error("no such family"), { code: "EAFNOSUPPORT" });
    }
    if (sockets.open >= descriptors) throw Object.assign(new Error("none"), { code: "EMFILE" });
    const socket = network.openSocket(local);
    const { [Symbol.asyncDispose]: dispose } = socket;
    sockets.open++;
    socket[Symbol.asyncDispose] = async () => {
      await dispose.call(socket);
      sockets.open--;
    };
    return socket;
  };
  const endpoints = typeof named === "number"
    ? Array.from({ length: named }, (_, i) => `10.0.${i >> 8}.${i & 255}:19132`)
    : named;
  const servers = endpoints.map((one) =>
    new WatchedServer(parseEndpoint(one)!, null, { ...RULES, intervalMs })
  );
  const polling = await openPollingSockets(servers, readCommandLine("watch", args).options, {
    network: { clock: network.clock, openSocket, dialer: network.dialer },
    ...{ scanId: "watch", attach: undefined, optedOut: () => false },
    signal: controller.signal,
    report: (line) => {
      throw new Error(line);
    },
    ...context,
  });
  return { network, polling, sockets, servers, controller };
}

/** The most polls that run at once. */
async function concurrencyOf(setting: Setting): Promise<number> {
  const { polling } = await open(setting);
  await using _ = polling;
  let [running, most] = [0, 0];
  for (let i = 0; i < 6000; i++) {
    polling.pool.tasks.add(0x0b000000 + i, async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
    });
  }
  await polling.pool.tasks.idle();
  return most;
}

Deno.test("as many polls run at once as servers, interval and --concurrency need", async () => {
  assertEquals(await concurrencyOf({ servers: 7 }), 7);
  assertEquals(await concurrencyOf({ servers: 3000 }), 256);
  // 6000 unresponsive servers, 5 s each, have to be polled in 60 s.
  assertEquals(await concurrencyOf({ servers: 6000 }), 500);
  assertEquals(await concurrencyOf({ servers: 6000, intervalMs: 5000 }), 4096);
  assertEquals(await concurrencyOf({ servers: 3000, args: ["--concurrency", "20"] }), 20);
  const others = { families: [4], areLoopback: true, atOnce: 5 } as const;
  assertEquals(await concurrencyOf({ servers: 7, context: { others } }), 12);
  assertEquals(await concurrencyOf({ servers: 7, context: { mayGrow: true } }), 256);
});

Deno.test("with few descriptors fewer polls run at once, and 128 descriptors stay free", async () => {
  assertEquals(await concurrencyOf({ servers: 100, descriptors: 1000 }), 100);
  assertEquals(await concurrencyOf({ servers: 100, descriptors: 228 }), 100);
  assertEquals(await concurrencyOf({ servers: 100, descriptors: 227 }), 99);
  assertEquals(await concurrencyOf({ servers: 100, descriptors: 20 }), 1);
});

Deno.test("a watch opens sockets of the families of its servers, and closes all sockets", async () => {
  const familiesOf = async (setting: Setting) => {
    const { polling, sockets } = await open(setting);
    const { families } = polling;
    assertEquals(sockets.open >= families.length, true);
    await polling[Symbol.asyncDispose]();
    assertEquals(sockets.open, 0);
    return families.toSorted();
  };
  const [v4, v6] = [["10.0.0.1:1", "10.0.0.2:1"], ["[fd00::1]:1"]];
  assertEquals(await familiesOf({ servers: v4 }), [4]);
  assertEquals(await familiesOf({ servers: v6 }), [6]);
  assertEquals(await familiesOf({ servers: [...v4, ...v6] }), [4, 6]);
  const others = { families: [6], areLoopback: true, atOnce: 1 } as const;
  assertEquals(await familiesOf({ servers: v4, context: { others } }), [4, 6]);
  // Servers of any family may be added later, if the system has the family.
  const context = { mayGrow: true };
  assertEquals(await familiesOf({ servers: v4, context }), [4, 6]);
  assertEquals(await familiesOf({ servers: v4, context, families: [4] }), [4]);
  await assertRejects(() => familiesOf({ servers: v6, families: [4] }), Error, "no such family");
});

/** How long polls of unresponsive servers take, milliseconds; all of them begin at once. */
async function pollMs(setting: Setting, added?: string): Promise<number> {
  const { polling, network, servers, controller } = await open({
    ...setting,
    args: [...setting.args ?? [], "--protocol", "raknet", "--retries", "0", "--timeout", "100ms"],
  });
  if (added !== undefined) polling.limitRate(parseEndpoint(added)!.address);
  const polls = async () => {
    const listening = polling.sockets.listen();
    await Promise.all(servers.map((server) => polling.poller.poll(server)));
    controller.abort();
    await polling[Symbol.asyncDispose]();
    await listening;
  };
  const start = network.clock.now();
  await network.run(polls());
  return network.clock.now() - start;
}

Deno.test("polls obey --rate, and 1,000 packets per second outside loopback", async () => {
  const loopback = Array.from({ length: 1001 }, (_, i) => `127.1.${i >> 8}.${i & 255}:19132`);
  const isAbout = (ms: number, wanted: number) => assertEquals(Math.round(ms / 250) * 250, wanted);
  isAbout(await pollMs({ servers: loopback }), 0);
  isAbout(await pollMs({ servers: loopback, args: ["--rate", "2k"] }), 500);
  isAbout(await pollMs({ servers: 1001 }), 1000);
  isAbout(await pollMs({ servers: [...loopback, "10.0.0.1:1"] }), 1000);
  isAbout(await pollMs({ servers: loopback }, "127.0.0.1:1"), 0);
  isAbout(await pollMs({ servers: loopback }, "10.0.0.1:1"), 1000);
  isAbout(await pollMs({ servers: loopback, args: ["--rate", "2k"] }, "10.0.0.1:1"), 500);
  const others = { families: [4], areLoopback: false, atOnce: 1 } as const;
  isAbout(await pollMs({ servers: loopback, context: { others } }), 1000);
});

Deno.test("a Java server whose connection times out or is refused is offline; without a route it is unreachable", async () => {
  for (
    const [absent, result] of [
      ["timeout", undefined],
      ["refused", undefined],
      ["unreachable", "unreachable"],
    ] as const
  ) {
    const { polling, network, servers } = await open({ args: ["--protocol", "slp"] });
    await using _ = polling;
    network.streams.absent = absent;
    assertEquals(await network.run(polling.poller.poll(servers[0])), result, absent);
  }
});

Deno.test("a poll of an unresponsive server ends within the longest poll, which a watchdog allows", async () => {
  for (const args of [[], ["--retries", "0"], ["--timeout", "10m"], ["--timeout", "100ms"]]) {
    const all = [...args, "--protocol", "raknet,query,slp,sqp"];
    const { polling, network, servers } = await open({ args: all });
    await using _ = polling;
    network.streams.absent = "timeout";
    const start = network.clock.now();
    await network.run(polling.poller.poll(servers[0]));
    const ms = network.clock.now() - start;
    const longest = longestPollMs(readCommandLine("watch", all).options);
    assert(ms > 0 && ms <= longest, `${args}: ${ms} ms of ${longest} ms`);
  }
});
