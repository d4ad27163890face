/** Covers src/scan/lan/swept_networks.ts and src/scan/lan/. */
import { assert, assertEquals } from "@std/assert";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { Shortage } from "../../../src/net/file_descriptors.ts";
import * as raknet from "../../../src/protocols/raknet/mod.ts";
import { USUAL_PROTOCOLS } from "../../../src/protocols/list.ts";
import type { Endpoint } from "../../../src/core/address.ts";
import { STREAM_LIMITS, StreamLink } from "../../../src/net/stream_link.ts";
import { Throttle } from "../../../src/net/throttle.ts";
import type { ServerRecord } from "../../../src/core/record.ts";
import type { DiscoverySetup } from "../../../src/scan/lan/discovery_setup.ts";
import { FoundServers } from "../../../src/scan/lan/found_servers.ts";
import { chooseSweptNetworks } from "../../../src/scan/lan/swept_networks.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { FakeStreams } from "../../../src/testing/fake_streams.ts";
import { HOME, lookAround, lookAroundWell, put } from "./lan_harness.ts";

const at = (last: number) => ({ address: 0xc0a80100 + last, port: 25565 });
const utf8 = (text: string) => new TextEncoder().encode(text);

/** A discovery that sweeps only for Java servers. */
const JAVA = { protocols: USUAL_PROTOCOLS.filter(({ name }) => name !== "nethernet") };

/** Dedicated Java servers at addresses with these last bytes, and the options of the sweep. */
function javaServers(network: FakeNetwork, ...lasts: number[]) {
  const streams = new FakeStreams(network, 1);
  for (const last of lasts) {
    const range = { start: at(last).address, end: at(last).address + 1 };
    const [{ streams: door, responder }] = drawFleet({
      servers: 1,
      range,
      seed: 5,
      software: ["vanilla"],
    });
    streams.host(at(last), door!);
    if (responder !== undefined) network.host(at(last), responder);
  }
  const sweep: DiscoverySetup["sweep"] = {
    networks: [HOME],
    maxMs: Infinity,
    seed: 1,
    dialer: streams,
  };
  return { streams, sweep };
}

/** Maximum number of these times within a second. */
function maxInSecond(times: readonly number[]): number {
  return Math.max(
    ...times.map((from) => times.filter((time) => time >= from && time < from + 1000).length),
  );
}

Deno.test("lan finds dedicated Java servers, also on its own machine, and connects once to each host", async () => {
  const network = new FakeNetwork(1);
  const { streams, sweep } = javaServers(network, 5, 77);
  const { found, unswept } = await lookAroundWell(network, { ...JAVA, sweep });
  assertEquals(unswept, 0);
  assertEquals(
    found.map(({ host, port, protocol }) => `${host} ${port} ${protocol}`).toSorted(),
    ["192.168.1.5 25565 slp", "192.168.1.77 25565 slp"],
  );
  assert(found.every(({ protocols }) => protocols.join() === "slp,query"), "Query follows");
  const hosts = streams.begun.map(({ to }) => Number(to.address) & 255).toSorted((a, b) => a - b);
  assertEquals(hosts, Array.from({ length: 254 }, (_, i) => i + 1), "neither .0 nor .255");
  assert(streams.begun.every(({ to }) => to.port === 25565));
  const most = maxInSecond(streams.begun.map(({ at }) => at));
  assert(most <= 200, `${most} connections within a second`);
});

Deno.test("at most 128 connections of lan are pending, and each lasts at most 1.5 s if a host drops packets", async () => {
  const network = new FakeNetwork(1);
  const { streams, sweep } = javaServers(network, 77);
  streams.absent = "timeout";
  const networks = [{ address: 0x0a000105, netmask: 0xfffffc00 }]; // four /24s
  streams.host({ address: 0x0a000309, port: 25565 }, "refused");
  await lookAround(network, { ...JAVA, sweep: { ...sweep!, networks } });
  assertEquals(streams.begun.length, 1022);
  assert(streams.most > 100 && streams.most <= 128, `${streams.most} pending`);
  assert(network.now() < 1000 + 15_000, `${network.now() - 1000} ms`);
});

Deno.test("overlapping networks are swept once, without the network and broadcast addresses of both", async () => {
  const network = new FakeNetwork(1);
  const { streams, sweep } = javaServers(network);
  const networks = [HOME, { address: 0xc0a80207, netmask: 0xfffffc00 }, HOME];
  await lookAround(network, { ...JAVA, sweep: { ...sweep!, networks } });
  const hosts = streams.begun.map(({ to }) => Number(to.address));
  assertEquals(new Set(hosts).size, hosts.length);
  assertEquals(hosts.length, 1022 - 2);
});

Deno.test("the sweep of lan ends at its time limit, even if hosts drop packets", async () => {
  const network = new FakeNetwork(1);
  const { streams, sweep } = javaServers(network);
  streams.absent = "timeout";
  const { unswept } = await lookAroundWell(network, {
    ...JAVA,
    sweep: { ...sweep!, maxMs: 1000 },
    listenMs: 1000,
  });
  assert(unswept >= 254 - 201 && unswept <= 254, `${unswept}`);
  assert(streams.begun.length > 0 && streams.begun.length <= 201, `${streams.begun.length}`);
  assert(streams.begun.every(({ at }) => at <= 2000));
  assert(network.now() < 2100, `${network.now() - 1000} ms`);
});

Deno.test("hosts that the sweep of lan leaves out for lack of descriptors are counted", async () => {
  const network = new FakeNetwork(1);
  const { streams, sweep } = javaServers(network, 77);
  streams.connect = () => Promise.resolve("exhausted");
  const codes: (string | undefined)[] = [];
  const shortage = new Shortage(network, (code) => codes.push(code));
  const { short, unswept } = await lookAroundWell(network, { ...JAVA, sweep, shortage });
  assertEquals([short, unswept, codes.length], [254, 0, 1]);
  assert(network.now() < 1000 + 25_000, `${network.now() - 1000} ms for waits of 15 s each`);
});

Deno.test("without a network to sweep, lan opens no connection", async () => {
  const network = new FakeNetwork(1);
  const { streams, sweep } = javaServers(network, 77);
  await lookAround(network, { ...JAVA, sweep: { ...sweep!, networks: [] } });
  assertEquals(await lookAround(network), []);
  assertEquals(streams.begun, []);
});

Deno.test("a server that announces itself and is swept is one row", async () => {
  for (const ms of [1, 2900]) {
    const network = new FakeNetwork(1);
    const { sweep } = javaServers(network, 77);
    const openGroup = () => {
      const socket = network.open(4, 0);
      const from = { ...at(77), port: 50000 };
      network.inject(from, socket, utf8("[MOTD]a[/MOTD][AD]25565[/AD]"), ms);
      return Promise.resolve(socket);
    };
    const found = await lookAround(network, { ...JAVA, sweep, openGroup });
    assertEquals(found.map(({ host, port }) => `${host} ${port}`), ["192.168.1.77 25565"]);
  }
});

Deno.test("lan does not connect to opted-out addresses, and lists none of their servers", async () => {
  const network = new FakeNetwork(1);
  const { streams, sweep } = javaServers(network, 77, 78);
  put(network, 0xc0a8010a, "bds", "bds");
  const optedOut = [at(10), at(78)].map(({ address }) => ({ start: address, end: address + 1 }));
  const openGroup = () => {
    const socket = network.open(4, 0);
    network.inject(at(78), socket, utf8("[MOTD]a[/MOTD][AD]4000[/AD]"), 100);
    return Promise.resolve(socket);
  };
  const found = await lookAround(network, { ...JAVA, sweep, openGroup, optedOut });
  assertEquals(found.map(({ host }) => host).toSorted(), ["192.168.1.11", "192.168.1.77"]);
  assert(!streams.begun.some(({ to }) => to.address === at(78).address));
  assertEquals(network.sent.filter(({ to }) => to.address === at(10).address), []);
});

Deno.test("after an opt-out in a pong, nothing is sent to the address, and none of its servers is listed", async () => {
  const motd = "§b§d§f§d§b";
  for (const delay of [20, 300, 900, 1500, 2500]) {
    const network = new FakeNetwork(1);
    const { streams, sweep } = javaServers(network, 77);
    streams.host(at(10), { accept: () => ({ opening: [], receive: () => [] }) });
    const pongs: number[] = [];
    network.host({ address: at(10).address, port: 19132 }, {
      respond(datagram, from) {
        const ping = raknet.decodePing(datagram);
        if (ping === undefined) return [];
        const text = utf8(`MCPE;${motd};766;1.21.50;3;20;1;w;Survival;`);
        const pong = raknet.encodePong({ advertise: false, time: ping.time, guid: 1n, text });
        network.inject({ address: at(10).address, port: 19132 }, from, pong, delay);
        network.after(delay, () => pongs.push(network.now()));
        return [];
      },
    });
    const openGroup = () => {
      const socket = network.open(4, 0);
      const announcement = utf8("[MOTD]a[/MOTD][AD]25565[/AD]");
      for (let ms = 10; ms < 3000; ms += 200) network.inject(at(10), socket, announcement, ms);
      return Promise.resolve(socket);
    };
    const dial = (endpoint: Endpoint, signal: AbortSignal) =>
      new StreamLink(endpoint, {
        dialer: streams,
        throttle: new Throttle({ rate: undefined, netRate: undefined, hostRate: 5 }),
        clock: network,
        limits: STREAM_LIMITS,
        signal,
      });
    const servers = new FoundServers();
    const { unswept } = await lookAroundWell(network, { ...JAVA, sweep, openGroup, dial, servers });
    const later = [...network.sent, ...streams.begun, ...streams.written]
      .filter((sent) => sent.to.address === at(10).address && sent.at > pongs[0]);
    assertEquals(later, [], `a pong after ${delay} ms`);
    assertEquals(servers.listed().map(({ row }) => row.host), ["192.168.1.77"]);
    assertEquals([streams.open, unswept], [0, 0]);
  }
});

Deno.test("a continuous discovery sweeps once, queries the servers found every 15 seconds, and drops expired ones", async () => {
  const network = new FakeNetwork(1);
  const { streams, sweep } = javaServers(network, 77);
  const servers = new FoundServers();
  const controller = new AbortController();
  const seen: ServerRecord[][] = [];
  for (const ms of [10_000, 60_000, 130_000]) {
    network.after(ms, () => seen.push(servers.listed().map(({ row }) => row)));
  }
  network.after(62_000, () => streams.host(at(77), "refused"));
  network.after(140_000, () => controller.abort());
  const { signal } = controller;
  const continuous = { servers, continuous: true, listenMs: Infinity, signal };
  await lookAround(network, { ...JAVA, sweep, ...continuous });
  assertEquals(seen.map((rows) => rows.map(({ host }) => host)), [
    ["192.168.1.77"],
    ["192.168.1.77"],
    [],
  ]);
  const others = streams.begun.filter(({ to }) => to.address !== at(77).address);
  assertEquals(others.length, 253);
  const times = streams.begun.filter(({ to }) => to.address === at(77).address);
  const gaps = times.slice(1).map((time, i) => time.at - times[i].at);
  assert(gaps.length >= 5 && gaps.every((gap) => gap >= 11_000), `${gaps}`);
});

Deno.test("an endpoint that is first a Java world and then a RakNet server does not end a continuous discovery", async () => {
  const network = new FakeNetwork(1);
  const controller = new AbortController();
  const servers = new FoundServers();
  const from = { address: 0xc0a8010a, port: 19132 };
  const openGroup = () => {
    const socket = network.open(4, 0);
    for (const ms of [0, 1500]) {
      network.inject(from, socket, utf8("[MOTD]a[/MOTD][AD]19132[/AD]"), ms);
    }
    return Promise.resolve(socket);
  };
  network.after(1900, () =>
    network.host(from, {
      respond(datagram) {
        const ping = raknet.decodePing(datagram);
        if (ping === undefined) return [];
        const text = utf8("MCPE;Late;766;1.21.50;1;100;7;world;Survival;");
        return [raknet.encodePong({ advertise: false, time: ping.time, guid: 7n, text })];
      },
    }));
  network.after(9000, () => controller.abort());
  const { signal } = controller;
  const continuous = { servers, continuous: true, listenMs: Infinity, signal };
  const found = await lookAround(network, { openGroup, ...continuous });
  assertEquals(found.map(({ port }) => port), [19132]);
  assertEquals(servers.listed().map(({ row }) => row.protocol), ["raknet"]);
});

Deno.test("private networks of at most /22 are swept; tunnels, containers and others are skipped", () => {
  const mac = "02:00:00:00:00:01";
  const none = "00:00:00:00:00:00";
  const one = (name: string, address: number, bits: number, mac_ = mac) => ({
    name,
    address,
    netmask: bits === 0 ? 0 : (-1 << 32 - bits) >>> 0,
    mac: mac_,
  });
  const { swept, skipped } = chooseSweptNetworks([
    one("eth0", 0xc0a80105, 24),
    one("wlan0", 0x0a010203, 22),
    one("eth1", 0xac1f0001, 30),
    one("eth2", 0x0a010203, 21),
    one("eth3", 0xac200001, 24),
    one("eth4", 0xcb007101, 24),
    one("eth5", 0xa9fe0101, 24),
    one("eth6", 0xc0a80101, 31),
    one("eth7", 0xc0a80101, 32),
    one("anything", 0x0a080002, 24, none),
    one("tap0", 0x0a080102, 24),
    one("tailscale0", 0x64400001, 32),
    one("ppp0", 0x0a400001, 24, ""),
    one("docker0", 0xac110001, 24),
    one("br-0123456789ab", 0xac120001, 24),
    one("br-lan", 0xc0a80201, 24),
  ]);
  assertEquals(swept.map(({ address }) => address), [
    0xc0a80105,
    0x0a010203,
    0xac1f0001,
    0xc0a80201,
  ]);
  assertEquals(skipped, [
    "eth2 10.1.0.0/21: larger than /22",
    "eth3 172.32.0.0/24: not a private network (RFC 1918)",
    "eth4 203.0.113.0/24: not a private network (RFC 1918)",
    "eth5 169.254.1.0/24: not a private network (RFC 1918)",
    "eth6 192.168.1.0/31: no host addresses",
    "eth7 192.168.1.1/32: no host addresses",
    "anything 10.8.0.0/24: a tunnel",
    "tap0 10.8.1.0/24: a tunnel",
    "tailscale0 100.64.0.1/32: a tunnel",
    "ppp0 10.64.0.0/24: a tunnel",
    "docker0 172.17.0.0/24: a network of containers",
    "br-0123456789ab 172.18.0.0/24: a network of containers",
  ]);
});

Deno.test("a Java server that opts out while it waits to be queried again is not queried", async () => {
  const lasts = Array.from({ length: 200 }, (_, i) => 20 + i);
  /** The times of the connections after the sweep, if all servers opt out at a time. */
  const queriedAt = async (optOutAt?: number) => {
    const network = new FakeNetwork(1);
    const { streams, sweep } = javaServers(network, ...lasts);
    const openGroup = () => {
      const socket = network.open(4, 0);
      const bytes = utf8("[MOTD]§b§d§f§d§b[/MOTD][AD]51234[/AD]");
      for (const last of optOutAt === undefined ? [] : lasts) {
        network.inject({ address: at(last).address, port: 4000 }, socket, bytes, optOutAt! - 1000);
      }
      return Promise.resolve(socket);
    };
    const controller = new AbortController();
    network.after(25_000, () => controller.abort());
    await lookAround(network, {
      ...{ sweep, openGroup, signal: controller.signal },
      ...{ continuous: true, listenMs: Infinity, servers: new FoundServers() },
    });
    return streams.begun.map(({ at }) => at).filter((at) => at > 15_000);
  };
  const times = await queriedAt();
  const [first] = times;
  assert(times.length >= 200 && times.at(-1)! > first + 1000, `${first} to ${times.at(-1)}`);
  const before = times.filter((at) => at < first + 300).length;
  assertEquals((await queriedAt(first + 300)).length, before);
});
