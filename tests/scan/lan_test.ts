import { assert, assertEquals } from "@std/assert";
import { drawFleet } from "../../src/fleet/generate.ts";
import { Random } from "../../src/fleet/random.ts";
import { raknet } from "../../src/mod.ts";
import { USUAL_PROTOCOLS } from "../../src/protocols/mod.ts";
import { raknetProtocol } from "../../src/protocols/raknet/mod.ts";
import type { ServerRecord } from "../../src/record.ts";
import { broadcastOf, discover, type LanEnd, type LanOptions } from "../../src/scan/lan.ts";
import { FakeNetwork } from "../fakes/network.ts";

const HOME = { address: 0xc0a80105, netmask: 0xffffff00 };
const OFFICE = { address: 0x0a000005, netmask: 0xff000000 };

/** Looks around on a fake network. */
async function lookAround(
  network: FakeNetwork,
  over: Partial<LanOptions> = {},
): Promise<ServerRecord[]> {
  return (await lookAroundWell(network, over)).found;
}

async function lookAroundWell(
  network: FakeNetwork,
  over: Partial<LanOptions>,
): Promise<LanEnd & { found: ServerRecord[] }> {
  network.record = true;
  network.broadcasts.push(0xffffffff);
  const random = new Random(1);
  const found: ServerRecord[] = [];
  const end = await network.run(discover({
    networks: [HOME],
    protocol: raknetProtocol as LanOptions["protocol"],
    protocols: USUAL_PROTOCOLS,
    port: 19132,
    listenMs: 3000,
    timeoutMs: 1000,
    retries: 1,
    open: (address) => network.open(4, address),
    token: 0x12345678,
    nonce: () => random.u64() >> 1n,
    optsOut: (motd) => motd.includes("§b§d§f§d§b"),
    players: true,
    scanId: "scan",
    clock: network,
    signal: new AbortController().signal,
    onServer: (record) => found.push(record),
    ...over,
  }));
  return { ...end, found };
}

/** Servers of these kinds, one after the other from .10 on. */
function put(network: FakeNetwork, start: number, ...software: string[]): void {
  software.forEach((name, i) => {
    const range = { start: start + i, end: start + i + 1 };
    const [{ endpoint, responder }] = drawFleet({
      servers: 1,
      range,
      seed: 5 + i,
      software: [name],
    });
    network.host(endpoint, responder);
  });
}

Deno.test("lan finds each server once, asks it the rest, and drops who opted out", async () => {
  const network = new FakeNetwork(1, { loss: 0, duplication: 0.5, delay: 3, jitter: 5 });
  put(network, 0xc0a8010a, "bds", "pocketmine", "raknetNode", "bdsOptedOut");
  const found = await lookAround(network);
  assertEquals(found.map(({ host }) => host).toSorted(), [
    "192.168.1.10",
    "192.168.1.11",
    "192.168.1.12",
  ]);
  const pocketmine = found.find(({ host }) => host === "192.168.1.11")!;
  assertEquals(pocketmine.protocols, ["raknet", "query"]);
  assertEquals(found.find(({ host }) => host === "192.168.1.12")!.flags, ["timeNotEchoed"]);
});

Deno.test("lan asks everybody three times, a second apart, on every network", async () => {
  const network = new FakeNetwork(1);
  await lookAround(network, { networks: [HOME, OFFICE] });
  const pings = network.sent.map(({ at, from, to, bytes }) => {
    assertEquals(bytes.length, 33);
    return `${at - 1000} ${Number(from.address).toString(16)} ${Number(to.address).toString(16)}`;
  });
  assertEquals(
    pings,
    [0, 1000, 2000].flatMap((at) => [
      `${at} c0a80105 ffffffff`,
      `${at} c0a80105 c0a801ff`,
      `${at} a000005 ffffffff`,
      `${at} a000005 affffff`,
    ]),
  );
});

Deno.test("lan lists a server in two networks once", async () => {
  const network = new FakeNetwork(1);
  put(network, 0xc0a8010a, "bds");
  const [, twin] = [0, 0x0a00000a];
  const range = { start: 0xc0a8010a, end: 0xc0a8010b };
  const [{ responder }] = drawFleet({ servers: 1, range, seed: 5, software: ["bds"] });
  network.host({ address: twin, port: 19132 }, responder);
  assertEquals((await lookAround(network, { networks: [HOME, OFFICE] })).length, 1);
});

Deno.test("lan believes nobody from outside, and no answer to another's ping", async () => {
  const network = new FakeNetwork(1);
  put(network, 0x08080808, "bds"); // an answer from beyond the network
  let opened = 0;
  const open = (address: number | bigint) => {
    const socket = network.open(4, address);
    if (opened++ > 0) return socket; // the attacker does not know the port of the second question
    const pong = raknet.encodePong({ advertise: false, time: 77n, guid: 5n, text: undefined });
    network.inject({ address: 0xc0a80163, port: 19132 }, socket, pong, 500); // nobody is there
    return socket;
  };
  assertEquals(await lookAround(network, { open }), []);
});

Deno.test("lan ends early when it is told to", async () => {
  const network = new FakeNetwork(1);
  const controller = new AbortController();
  network.after(1500, () => controller.abort());
  await lookAround(network, { signal: controller.signal, listenMs: 60_000 });
  assert(network.now() < 3000);
});

Deno.test("lan says why no ping left", async () => {
  const network = new FakeNetwork(1);
  const open = (address: number | bigint) => {
    const socket = network.open(4, address);
    socket.send = () => {
      socket.errors.send.set("ENETUNREACH", 1);
      return Promise.resolve(false);
    };
    return socket;
  };
  assertEquals(await lookAroundWell(network, { open }), {
    sent: 0,
    refusals: ["ENETUNREACH"],
    found: [],
  });
});

Deno.test("a neighbour that answers from all its ports is asked at a few of them", async () => {
  const network = new FakeNetwork(1);
  put(network, 0xc0a8010a, "bds");
  const token = 0x12345678n << 32n;
  const neighbour = (port: number) => ({ address: 0xc0a80163, port });
  let opened = 0;
  const open = (address: number | bigint) => {
    const socket = network.open(4, address);
    if (opened++ > 0) return socket;
    for (let port = 1; port <= 2000; port++) {
      const pong = { advertise: false, time: token, guid: BigInt(port), text: undefined };
      network.inject(neighbour(port), socket, raknet.encodePong(pong), 100);
    }
    return socket;
  };
  const found = await lookAround(network, { open });
  assertEquals(found.length, 32 + 1);
});

Deno.test("a network's broadcast address", () => {
  assertEquals(broadcastOf(HOME), 0xc0a801ff);
  assertEquals(broadcastOf({ address: 0x0a000001, netmask: 0xfffffffc }), 0x0a000003);
  assertEquals(broadcastOf({ address: 0x0a000001, netmask: 0xfffffffe }), undefined);
  assertEquals(broadcastOf({ address: 0x0a000001, netmask: 0xffffffff }), undefined);
});
