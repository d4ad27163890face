/** Covers src/scan/lan/. */
import { assert, assertEquals } from "@std/assert";
import * as lan from "../../../src/protocols/lan/mod.ts";
import * as raknet from "../../../src/protocols/raknet/mod.ts";
import { decodeQueryRequest } from "../../../src/protocols/query/mod.ts";
import {
  ATTACHMENTS,
  type RecordWithAttachments,
  type ServerRecord,
} from "../../../src/core/record.ts";
import { FoundServers } from "../../../src/scan/lan/found_servers.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { HOME, lookAround, OFFICE, put } from "./lan_harness.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

/** Watches for a number of milliseconds. Returns the list at these times. */
async function discoverContinuously(
  network: FakeNetwork,
  looks: readonly number[],
  over: Parameters<typeof lookAround>[1] = {},
): Promise<{ seen: ServerRecord[][]; found: ServerRecord[] }> {
  const servers = new FoundServers();
  const controller = new AbortController();
  const seen: ServerRecord[][] = [];
  for (const ms of looks) {
    network.after(ms, () => seen.push(servers.listed().map(({ row }) => row)));
  }
  network.after(looks.at(-1)! + 1, () => controller.abort());
  const options = { servers, continuous: true, listenMs: Infinity, signal: controller.signal };
  return { found: await lookAround(network, { ...options, ...over }), seen };
}

/**
 * A server whose number of players increases with every ping, and which stops replying after some
 * pings.
 */
function counting(network: FakeNetwork, last: number, pings: number) {
  let count = 0;
  network.host({ address: 0xc0a80100 + last, port: 19132 }, {
    respond(datagram) {
      const ping = raknet.decodePing(datagram);
      if (ping === undefined || count === pings) return [];
      const text = utf8(`MCPE;Counting;766;1.21.50;${++count};100;${last};world;Survival;`);
      return [
        raknet.encodePong({ advertise: false, time: ping.time, guid: BigInt(last), text }),
      ];
    },
  });
}

Deno.test("in a continuous discovery, player counts change and expired servers disappear", async () => {
  const network = new FakeNetwork(1);
  counting(network, 10, 5);
  const { seen, found } = await discoverContinuously(network, [900, 2900, 7000, 22_000, 30_000]);
  const counts = seen.map((rows) => rows.map((row) => row.players_online));
  assertEquals(counts, [[1], [3], [4], [5], []]);
  assertEquals(found.map(({ players_online }) => players_online), [1]);
});

Deno.test("later records of a server are reported when they differ, and an equal one after a minute", async () => {
  const network = new FakeNetwork(1);
  const names = (now: number) => now < 20_000 ? "first" : "second";
  network.host({ address: 0xc0a8010a, port: 19132 }, {
    respond(datagram, _, now) {
      const ping = raknet.decodePing(datagram);
      const text = utf8(`MCPE;${names(now)};766;1.21.50;1;100;7;world;Survival;`);
      return ping === undefined
        ? []
        : [raknet.encodePong({ advertise: false, time: ping.time, guid: 7n, text })];
    },
  });
  const changes: RecordWithAttachments[] = [];
  const { found } = await discoverContinuously(network, [150_000], {
    onChange: (record) => changes.push(record),
    attach: true,
  });
  assertEquals(found.map(({ name }) => name), ["first"]);
  assertEquals(changes.map(({ name }) => name), ["second", "second", "second"]);
  const times = [found[0], ...changes].map(({ seen_at: at }) => at);
  const pauses = times.slice(1).map((at, i) => at - times[i]);
  assert(pauses[0] < 24_000 && pauses.slice(1).every((ms) => ms >= 60_000 && ms < 64_000));
  assertEquals(Object.keys(changes[0][ATTACHMENTS]!.replies!), ["raknet"]);
});

Deno.test("a Java world expires five seconds after its last announcement, and can be found again", async () => {
  const network = new FakeNetwork(1);
  const words = [0, 1500, 3000, 20_000];
  const openGroup = () => {
    const socket = network.open(4, 0);
    for (const ms of words) {
      const bytes = utf8("[MOTD]a[/MOTD][AD]51234[/AD]");
      network.inject({ address: 0xc0a8010a, port: 4000 }, socket, bytes, ms);
    }
    return Promise.resolve(socket);
  };
  const { seen, found } = await discoverContinuously(network, [100, 7000, 12_000, 20_100], {
    openGroup,
  });
  assertEquals(seen.map(({ length }) => length), [1, 1, 0, 1]);
  assertEquals(found.length, 2);
});

Deno.test("an unresponsive NetherNet world expires after fifteen seconds", async () => {
  const network = new FakeNetwork(1);
  network.host({ address: 0xc0a8010a, port: 7551 }, {
    respond: (datagram, _, now) =>
      now < 3000 && lan.openPacket(datagram) !== undefined
        ? [lan.sealPacket({ type: "response", sender: 7n, data: Uint8Array.of(99) })]
        : [],
  });
  const { seen } = await discoverContinuously(network, [100, 15_000, 20_000]);
  assertEquals(seen.map(({ length }) => length), [1, 1, 0]);
});

Deno.test("in a continuous discovery, a server is queried only in the protocols of its replies, a duplicate in none", async () => {
  const network = new FakeNetwork(1);
  put(network, 0xc0a8010a, "bds", "pocketmine");
  put(network, 0x0a00000a, "bds"); // the same server in the other network
  await discoverContinuously(network, [20_000], { networks: [HOME, OFFICE] });
  const queried = (address: number) =>
    network.sent.filter(({ to, bytes }) =>
      to.address === address && decodeQueryRequest(bytes) !== undefined
    ).map(({ at }) => at);
  assert(
    queried(0xc0a8010a).every((at) => at < 3000) && queried(0x0a00000a).every((at) => at < 3000),
  );
  const pocketmine = queried(0xc0a8010b);
  assert(pocketmine.some((at) => at > 15_000));
  for (let i = 2; i < pocketmine.length; i++) assert(pocketmine[i] - pocketmine[i - 2] > 4000);
});

Deno.test("an opted-out server is not queried again", async () => {
  const network = new FakeNetwork(1);
  put(network, 0xc0a8010a, "bdsOptedOut");
  const { seen, found } = await discoverContinuously(network, [1000, 10_000]);
  assertEquals([seen, found], [[[], []], []]);
  assertEquals(network.sent.filter(({ to }) => to.address === 0xc0a8010a), []);
});

/** A Bedrock server that replies to pings. */
function putBedrock(network: FakeNetwork, port: number, motd: string): void {
  network.host({ address: 0xc0a8010a, port }, {
    respond(datagram) {
      const ping = raknet.decodePing(datagram);
      const text = utf8(`MCPE;${motd};766;1.21.50;3;20;${port};w;Survival;`);
      const pong = { advertise: false, guid: BigInt(port), text };
      return ping === undefined ? [] : [raknet.encodePong({ ...pong, time: ping.time })];
    },
  });
}

const MARKER = "§b§d§f§d§b";

Deno.test("an opt-out of the 33rd server of an address, which is not listed, applies to all of them", async () => {
  const network = new FakeNetwork(1);
  const ports = Array.from({ length: 40 }, (_, i) => 19200 + i);
  for (const port of ports) putBedrock(network, port, port === ports.at(-1) ? MARKER : "A server");
  const { seen } = await discoverContinuously(network, [1000, 10_000], {
    ports: { 4: ports, 6: [] },
  });
  assertEquals(seen, [[], []]);
  assertEquals(network.sent.filter(({ to }) => to.address === 0xc0a8010a), []);
});

Deno.test("an opt-out in an announcement is read on arrival, even during twenty interviews", async () => {
  const network = new FakeNetwork(1);
  const ports = Array.from({ length: 20 }, (_, i) => 19200 + i);
  for (const port of ports) putBedrock(network, port, "A server");
  const openGroup = () => {
    const socket = network.open(4, 0);
    const announcement = utf8(`[MOTD]${MARKER}[/MOTD][AD]4000[/AD]`);
    network.inject({ address: 0xc0a8010a, port: 50_000 }, socket, announcement, 60);
    return Promise.resolve(socket);
  };
  const start = network.now();
  const { seen } = await discoverContinuously(network, [10_000], {
    openGroup,
    ports: { 4: ports, 6: [] },
  });
  assertEquals(seen, [[]]);
  const later = network.sent.filter(({ to, at }) => to.address === 0xc0a8010a && at > start + 60);
  assertEquals(later, []);
});

Deno.test("a continuous discovery ends at once when its signal is aborted", async () => {
  const network = new FakeNetwork(1);
  put(network, 0xc0a8010a, "bds"); // its Query exchange is pending at the end
  await discoverContinuously(network, [10]);
  assert(network.now() < 1000 + 50);
});

Deno.test("the list of servers is sorted, drops expired servers, and is bounded", () => {
  const servers = new FoundServers();
  const row = (host: string, port: number, guid: string | null = null) =>
    ({ host, port, guid }) as ServerRecord;
  const meet = (key: string, address = 1) => servers.getOrAdd(key, address, 100, 0);
  const places: [string, number][] = [
    ["fe80::1", 1],
    ["10.0.0.10", 2],
    ["10.0.0.9", 3],
    ["10.0.0.9", 2],
    ["2001::1", 1],
  ];
  for (const [host, port] of places) servers.list(meet(`${host} ${port}`)!, row(host, port));
  assertEquals(
    servers.listed().map(({ row }) => `${row.host} ${row.port}`),
    ["10.0.0.9 2", "10.0.0.9 3", "10.0.0.10 2", "2001::1 1", "fe80::1 1"],
  );
  const [before, after] = ["5335687477053034848", "6335687477053034848"];
  const first = meet("a", 2)!;
  assertEquals(servers.list(first, row("10.0.0.1", 1, before)), true);
  assertEquals(servers.list(meet("b", 3)!, row("10.0.0.2", 1, before)), false);
  assertEquals(servers.list(first, row("10.0.0.1", 1, after)), true); // the server was added again
  assertEquals(servers.list(meet("b", 3)!, row("10.0.0.2", 1, before)), true);
  servers.forget(99);
  assertEquals(servers.listed().length, 7);
  servers.forget(100);
  assertEquals(servers.listed(), []);
  const met = Array.from({ length: 5000 }, (_, i) => meet(`c${i}`, i % 1000));
  assertEquals(met.filter((one) => one !== undefined).length, 4096);
});

Deno.test("a GUID that another server copies hides no server; the same identity is listed once", () => {
  const guid = "5335687477053034848";
  const [v4, v6] = [0xc0a8010a, 0xfe80n << 112n | 10n];
  const usual = { host: "", port: 19132, guid, motd: "Ours", port_v4: null, port_v6: null };
  /** The listed rows, of one row per address. */
  const listed = (...received: [address: number | bigint, row: Partial<ServerRecord>][]) => {
    const servers = new FoundServers();
    return received.map(([address, row], i) =>
      servers.list(servers.getOrAdd(`${i}`, address, 100, 0)!, {
        ...usual,
        ...row,
      } as ServerRecord)
    );
  };
  const BDS = { port_v4: 19132, port_v6: 19133 };
  assertEquals(listed([v4, {}], [v4 + 1, {}]), [true, false]);
  assertEquals(listed([v4, {}], [v4 + 1, { motd: "Theirs" }]), [true, true]);
  assertEquals(listed([v4, {}], [v4, { port: 19140 }]), [true, true]);
  assertEquals(listed([v4, BDS], [v6, { ...BDS, port: 19133 }]), [true, false]);
  assertEquals(listed([v4, {}], [v6, { port: 19133 }]), [true, false]);
  assertEquals(listed([v6, { port: 19133 }], [v4, { port: 19140 }]), [true, true]);
  for (const shared of ["0", "1", "18446744073709551615"]) {
    assertEquals(listed([v4, { guid: shared }], [v4 + 1, { guid: shared }]), [true, true]);
  }
});

Deno.test("a server that opted out, or changed its identity, hides no other server", () => {
  const servers = new FoundServers();
  const row = (motd: string) =>
    ({ host: "", port: 19132, guid: "5335687477053034848", motd }) as ServerRecord;
  const [copy, real] = [1, 2].map((i) => servers.getOrAdd(`${i}`, i, 100, 0)!);
  servers.list(copy, row("Ours"));
  assertEquals([servers.list(real, row("Ours")), servers.isSettled(real)], [false, true]);
  servers.list(copy, row("Theirs"));
  assertEquals(servers.isSettled(real), false);
  servers.list(copy, row("Ours"));
  servers.optOut(copy.address);
  assertEquals([servers.isSettled(real), servers.list(real, row("Ours"))], [false, true]);
  assertEquals([1, 2].map((address) => servers.hasOptedOut(address)), [true, false]);
  for (let address = 10; address < 10 + 4096; address++) servers.optOut(address);
  assertEquals([1, 10].map((address) => servers.hasOptedOut(address)), [false, true]);
});

Deno.test("two hosts with GUID 0 are two servers", async () => {
  const network = new FakeNetwork(1);
  for (const address of [0xc0a8010a, 0xc0a8010b]) {
    network.host({ address, port: 19132 }, {
      respond(datagram) {
        const ping = raknet.decodePing(datagram);
        const text = utf8("MCPE;Same;766;1.21.50;0;10;0;world;Survival;");
        return ping === undefined
          ? []
          : [raknet.encodePong({ advertise: false, time: ping.time, guid: 0n, text })];
      },
    });
  }
  const hosts = (await lookAround(network)).map(({ host }) => host);
  assertEquals(hosts.sort(), ["192.168.1.10", "192.168.1.11"]);
});
