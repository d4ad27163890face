/** Covers src/scan/lan/. */
import { assert, assertEquals } from "@std/assert";
import type { Endpoint } from "../../../src/core/address.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { ANNOUNCEMENTS } from "../../../src/fleet/simulate/lan_worlds.ts";
import * as lan from "../../../src/protocols/lan/mod.ts";
import { NO_USUAL_PORTS } from "../../../src/protocols/usual_ports.ts";
import type { Protocol } from "../../../src/protocols/protocol.ts";
import { request } from "../../../src/protocols/protocol.ts";
import { STREAM_LIMITS, StreamLink } from "../../../src/net/stream_link.ts";
import { Throttle } from "../../../src/net/throttle.ts";
import type { LocalLink } from "../../../src/scan/lan/discovery_setup.ts";
import { FoundServers } from "../../../src/scan/lan/found_servers.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { FakeStreams } from "../../../src/testing/fake_streams.ts";
import { HOME, LINK, lookAround, lookAroundWell, OFFICE, put } from "./lan_harness.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);
const at = (last: number, port: number) => ({ address: 0xc0a80100 + last, port });

/** A socket for announcements that receives these datagrams at the given times, milliseconds. */
function announce(
  network: FakeNetwork,
  ...datagrams: readonly (readonly [from: number, text: string | Uint8Array, ms: number])[]
) {
  return () => {
    const socket = network.open(4, 0);
    for (const [address, text, ms] of datagrams) {
      const bytes = typeof text === "string" ? utf8(text) : text;
      network.inject({ address, port: 50000 }, socket, bytes, ms);
    }
    return Promise.resolve(socket);
  };
}

const WORLD = "[MOTD]§aSteve - World[/MOTD][AD]51234[/AD]";
const STEVE = 0xc0a8010a;

Deno.test("a Java world is listed once, by its sender and the announced port", async () => {
  const network = new FakeNetwork(1);
  const openGroup = announce(
    network,
    [STEVE, WORLD, 100],
    [STEVE, WORLD, 1600],
    [STEVE + 1, "[MOTD]x[/MOTD][AD]8.8.8.8:25565[/AD]", 200],
  );
  const [steve, other, ...more] = await lookAround(network, { openGroup });
  assertEquals(more, []);
  assertEquals([steve.host, steve.port, steve.protocol], ["192.168.1.10", 51234, "lan"]);
  assertEquals([steve.edition, steve.name, steve.motd], [
    "java",
    "Steve - World",
    "§aSteve - World",
  ]);
  assertEquals([steve.latency_ms, steve.extras], [null, { lan: { address: "51234" } }]);
  assertEquals([other.host, other.port, other.flags], ["192.168.1.11", 25565, ["hostIgnored"]]);
});

Deno.test("announcements from other networks, malformed ones and opt-outs are dropped", async () => {
  const network = new FakeNetwork(1);
  const openGroup = announce(
    network,
    [0x08080808, WORLD, 100],
    [STEVE, "[MOTD]x[/MOTD][AD]99999[/AD]", 100],
    [STEVE, "[MOTD]x[/MOTD]y[/MOTD][AD]1[/AD]", 100],
    [STEVE, "hello", 100],
    [STEVE, "[MOTD]§b§d§f§d§b[/MOTD][AD]1[/AD]", 100],
  );
  assertEquals(await lookAround(network, { openGroup }), []);
});

Deno.test("a modded Java world announces itself to the IPv6 group, from an address of a link", async () => {
  const network = new FakeNetwork(1);
  const [prefix, foreign] = [0xfd00_0077n << 96n, 0xfd00_0078n << 96n];
  const link = { ...LINK, networks: [{ start: prefix, end: prefix + (1n << 64n) }] };
  const opened: (4 | 6)[] = [];
  const openGroup = (bits: 4 | 6) => {
    opened.push(bits);
    const socket = network.open(bits);
    const senders = bits === 4 ? [STEVE] : [prefix + 9n, foreign + 9n];
    for (const address of senders) {
      network.inject({ address, port: 50000 }, socket, utf8(WORLD), 100);
    }
    return Promise.resolve(socket);
  };
  const found = await lookAround(network, { networks: [HOME, link], openGroup });
  assertEquals(opened, [4, 6]);
  assertEquals(found.map(({ host, port, name }) => [host, port, name]), [
    ["192.168.1.10", 51234, "Steve - World"],
    ["fd00:77::9", 51234, "Steve - World"],
  ]);
});

/** A simplified Server List Ping: one request, one reply. */
const slp: Protocol<string> = {
  name: "slp",
  transport: "tcp",
  ...{ finds: "toys", probeText: "toys" },
  ports: NO_USUAL_PORTS,
  playerFacts: [],
  *exchange() {
    return yield* request(utf8("?"), (bytes) => new TextDecoder().decode(bytes), { resend: false });
  },
  record: (version) => ({ columns: { version, players_online: 1 }, flags: [], facts: {} }),
};

Deno.test("a Java world is queried by Server List Ping if that protocol is selected", async () => {
  const network = new FakeNetwork(1);
  const openGroup = announce(network, [STEVE, WORLD, 100], [STEVE + 1, WORLD, 100]);
  const queried: number[] = [];
  const dial = ({ address }: { address: number | bigint }) => {
    queried.push(Number(address));
    const replies = address === STEVE ? [utf8("1.21.4")] : [];
    return {
      send: () => Promise.resolve(true),
      next: () => Promise.resolve(replies.shift()),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  };
  const found = await lookAround(network, { openGroup, dial, protocols: [slp as Protocol] });
  const [one, two] = found.toSorted((a, b) => a.host < b.host ? -1 : 1);
  assertEquals([one.protocol, one.protocols, one.version], ["slp", ["slp", "lan"], "1.21.4"]);
  assertEquals([one.name, one.players_online], ["Steve - World", 1]);
  assert(one.latency_ms !== null);
  assertEquals([two.protocols, two.version], [["lan"], null]);
  assertEquals(new Set(queried), new Set([STEVE, STEVE + 1]));
});

Deno.test("a world at a link-local address has the zone of its link: the only one, or the one that replies", async () => {
  const address = LINK.address + 9n;
  const other = { ...LINK, address: LINK.address + 1n, zone: "eth1", index: 3 };
  const hostsOn = async (networks: LocalLink[], replying: string) => {
    const network = new FakeNetwork(1);
    const openGroup = (bits: 4 | 6) => {
      const socket = network.open(bits);
      network.inject({ address, port: 50000 }, socket, utf8(WORLD), 100);
      return Promise.resolve(socket);
    };
    const dial = ({ zone }: Endpoint) => {
      const replies = zone === replying ? [utf8("1.21.4")] : [];
      return {
        send: () => Promise.resolve(true),
        next: () => Promise.resolve(replies.shift()),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      };
    };
    const protocols = [slp as Protocol];
    const found = await lookAround(network, { networks, openGroup, dial, protocols });
    return found.map(({ host, protocols }) => `${host} ${protocols}`);
  };
  assertEquals(await hostsOn([LINK], ""), ["fe80::e%eth0 lan"]);
  assertEquals(await hostsOn([LINK], "eth0"), ["fe80::e%eth0 slp,lan"]);
  assertEquals(await hostsOn([LINK, other], "eth1"), ["fe80::e%eth1 slp,lan"]);
  assertEquals(await hostsOn([LINK, other], ""), ["fe80::e lan"]);
});

Deno.test("worlds that reply to NetherNet are found in all versions, and once in several networks", async () => {
  const network = new FakeNetwork(1, { loss: 0, duplication: 0.5, delay: 2, jitter: 0 });
  const kinds = [4, 5, 6, 7].map((version) => `netherNet${version}`);
  put(network, 0xc0a8010a, ...kinds);
  const range = { start: 0xc0a8010a, end: 0xc0a8010b };
  const [twin] = drawFleet({ servers: 1, range, seed: 5, software: ["netherNet4"] });
  network.host({ address: 0x0a00000a, port: 7551 }, twin.responder!);
  const found = await lookAround(network, { networks: [HOME, OFFICE] });
  assertEquals(found.length, 4);
  for (const [i, kind] of kinds.entries()) {
    const plan = { servers: 1, range: { start: 0xc0a8010a + i, end: 0xc0a8010b + i }, seed: 5 + i };
    const [{ entry }] = drawFleet({ ...plan, software: [kind] });
    const row = found.find(({ extras }) => extras?.nethernet.data_version === 4 + i)!;
    const { columns, flags, facts } = entry.truth.nethernet;
    assertEquals({ ...row, ...columns }, row);
    assertEquals([row.port, row.protocols, row.flags], [7551, ["nethernet"], flags]);
    assertEquals(row.extras?.nethernet, facts);
    assertEquals(row.latency_ms, 4);
  }
});

Deno.test("NetherNet requests are broadcast every two seconds, on every network", async () => {
  const network = new FakeNetwork(1);
  await lookAround(network, { networks: [HOME, OFFICE, LINK], listenMs: 5000 });
  const requests = network.sent.filter(({ to }) => to.port === 7551);
  assertEquals(
    requests.map(({ at, to }) => `${at - 1000} ${Number(to.address).toString(16)}`),
    [0, 2000, 4000].flatMap((at) => [
      `${at} ffffffff`,
      `${at} c0a801ff`,
      `${at} ffffffff`,
      `${at} affffff`,
    ]),
  );
  const packets = requests.map(({ bytes }) => lan.openPacket(bytes));
  assertEquals(packets.map((packet) => packet?.type), Array(12).fill("request"));
  assertEquals(new Set(packets.map((packet) => packet?.sender)).size, 1);
});

Deno.test("a world with malformed data is still listed", async () => {
  const network = new FakeNetwork(1);
  const datas = [Uint8Array.of(9, 1, 2), Uint8Array.of(6, 200), new Uint8Array()];
  for (const [i, data] of datas.entries()) {
    const response = lan.sealPacket({ type: "response", sender: BigInt(i), data });
    network.host(at(10 + i, 7551), {
      respond: (datagram) => lan.openPacket(datagram)?.type === "request" ? [response] : [],
    });
  }
  const found = await lookAround(network);
  assertEquals(found.map(({ flags }) => flags), [
    ["unknownVersion"],
    ["statusMalformed"],
    ["statusMalformed"],
  ]);
  assertEquals(found.map(({ edition, name }) => [edition, name]), Array(3).fill(["bedrock", null]));
});

Deno.test("other messages and invalid datagrams on the NetherNet port are not worlds", async () => {
  const network = new FakeNetwork(1);
  const noise = [
    lan.sealPacket({ type: "message", sender: 1n, recipient: 2n, text: utf8("Ping") }),
    lan.sealPacket({ type: "request", sender: 1n }),
    new Uint8Array(64),
    Uint8Array.of(0x1c),
  ];
  network.host(at(10, 7551), { respond: () => noise });
  assertEquals(await lookAround(network), []);
});

Deno.test("IPv6 pings follow the IPv4 pings, and a server with both is listed by IPv4", async () => {
  const network = new FakeNetwork(1);
  put(network, 0xc0a8010a, "bds");
  const range = { start: 0xc0a8010a, end: 0xc0a8010b };
  const [bds] = drawFleet({ servers: 1, range, seed: 5, software: ["bds"] });
  const [linkLocal] = drawFleet({ servers: 1, range, seed: 99, software: ["bds"] });
  network.host({ address: 0xfe80n << 112n | 10n, port: 19133 }, bds.responder!);
  network.host({ address: 0xfe80n << 112n | 11n, port: 19133 }, linkLocal.responder!);
  // an address outside of the link
  network.host({ address: 0x2001n << 112n | 1n, port: 19133 }, linkLocal.responder!);
  const found = await lookAround(network, { networks: [LINK, HOME] });
  assertEquals(found.map(({ host }) => host), ["192.168.1.10", "fe80::b%eth0"]);
  const pings = network.sent.filter(({ to, bytes }) => to.port === 19133 && bytes.length === 33);
  assertEquals(pings.map(({ at }) => at - 1000), [500, 1500, 2500]);
});

Deno.test("links that the system refuses are not reported, other refusals are", async () => {
  const network = new FakeNetwork(1);
  put(network, 0xc0a8010a, "bds");
  const refuse = (code: string) => Object.assign(new Error("no"), { code });
  const { found, refusals } = await lookAroundWell(network, {
    networks: [LINK, OFFICE, HOME],
    open: (one) => {
      if ("zone" in one) throw refuse("EINVAL");
      if (one === OFFICE) throw refuse("EADDRNOTAVAIL");
      return network.open(4, one.address);
    },
    openGroup: () => Promise.reject(new Deno.errors.AddrInUse("taken")),
  });
  assertEquals(found.map(({ host }) => host), ["192.168.1.10"]);
  assertEquals(refusals, ["EADDRNOTAVAIL", "AddrInUse"]);
});

Deno.test("a link without a free descriptor is reported", async () => {
  const network = new FakeNetwork(1);
  const { refusals } = await lookAroundWell(network, {
    networks: [HOME, LINK],
    open: (one) => {
      if ("zone" in one) throw Object.assign(new Error("no"), { code: "EMFILE" });
      return network.open(4, one.address);
    },
  });
  assertEquals(refusals, ["EMFILE"]);
});

Deno.test("given ports are probed instead of the usual ones", async () => {
  const network = new FakeNetwork(1);
  await lookAround(network, { ports: { 4: [19140, 19141], 6: [] }, listenMs: 500 });
  const ports = network.sent.filter(({ bytes }) => bytes.length === 33).map(({ to }) => to.port);
  assertEquals(ports, [19140, 19140, 19141, 19141]);
});

Deno.test("the fleet's worlds announce themselves as the game does", () => {
  const range = { start: STEVE, end: STEVE + 1 };
  const [{ entry, announcement, endpoint }] = drawFleet({
    ...{ servers: 1, range, seed: 3, software: ["openToLan"] },
  });
  const read = lan.decodeAnnouncement(announcement!)!;
  assertEquals(read.port, endpoint.port);
  assertEquals(lan.announcementStatement(read), entry.truth.lan);
  assertEquals(ANNOUNCEMENTS.groups, lan.ANNOUNCEMENT_GROUPS);
});

/** A NetherNet server over HTTP on port 19132, which also replies to LAN discovery. */
function joinable(network: FakeNetwork, address: number, { lan = true } = {}) {
  const streams = new FakeStreams(network, 1);
  const range = { start: address, end: address + 1 };
  const drawn = (software: string) =>
    drawFleet({ servers: 1, range, seed: 5, software: [software] })[0];
  const server = drawn("bdsNetherNet");
  streams.host({ address, port: 19132 }, server.streams!);
  if (lan) network.host({ address, port: 7551 }, drawn("netherNet7").responder!);
  const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: 5 });
  const limits = STREAM_LIMITS;
  const dial = (endpoint: Endpoint, signal: AbortSignal) =>
    new StreamLink(endpoint, { dialer: streams, throttle, clock: network, limits, signal });
  const sweep = { networks: [HOME], maxMs: Infinity, seed: 1, dialer: streams };
  return { streams, dial, sweep, truth: server.entry.truth.nethernet };
}

Deno.test("a world that replies over HTTP too has the port that players type, and is listed once", async () => {
  for (const swept of [false, true]) {
    const network = new FakeNetwork(1);
    const { dial, sweep, truth } = joinable(network, 0xc0a8010a);
    const servers = new FoundServers();
    await lookAround(network, { dial, servers, ...(swept && { sweep }) });
    const [{ row }, ...others] = servers.listed();
    assertEquals([row.host, row.port, others], ["192.168.1.10", 19132, []]);
    assertEquals([row.protocols, row.name], [["nethernet"], truth.columns.name]);
    assertEquals(row.version, truth.columns.version);
  }
});

Deno.test("a world that does not reply over HTTP keeps the port of its reply", async () => {
  const network = new FakeNetwork(1);
  const { dial, streams } = joinable(network, 0xc0a8010a);
  streams.host({ address: 0xc0a8010a, port: 19132 }, "refused");
  const [row, ...others] = await lookAround(network, { dial });
  assertEquals([row.port, row.extras?.nethernet.data_version, others], [7551, 7, []]);
  assertEquals(streams.begun.map(({ to }) => to.port), [19132]);
});

Deno.test("the sweep finds a Bedrock server that neither replies to pings nor to LAN discovery", async () => {
  const network = new FakeNetwork(1);
  const { dial, sweep } = joinable(network, 0xc0a8010a, { lan: false });
  const [row, ...others] = await lookAround(network, { dial, sweep });
  assertEquals([row.host, row.port, row.protocols], ["192.168.1.10", 19132, ["nethernet"]]);
  assertEquals(others, []);
});

Deno.test("other worlds of a host with a server keep their own rows, and the host is queried once", async () => {
  const network = new FakeNetwork(1);
  const { dial, streams } = joinable(network, 0xc0a8010a);
  const range = { start: 0xc0a8010a, end: 0xc0a8010b };
  const others = [6, 7, 8].map((seed) =>
    drawFleet({ servers: 1, range, seed, software: ["netherNet7"] })[0].responder!
  );
  const [own] = [drawFleet({ servers: 1, range, seed: 5, software: ["netherNet7"] })[0].responder!];
  network.host({ address: 0xc0a8010a, port: 7551 }, {
    respond: (...asked) => [own, ...others].flatMap((one) => one.respond(...asked)),
  });
  const found = await lookAround(network, { dial });
  assertEquals(found.map(({ port }) => port).toSorted(), [19132, 7551, 7551, 7551]);
  assertEquals(new Set(found.map(({ name }) => name)).size, 4);
  assertEquals(streams.begun.length, 1);
});

Deno.test("a web server on the port of a world does not make it joinable there", async () => {
  const network = new FakeNetwork(1);
  const { dial, streams } = joinable(network, 0xc0a8010a);
  const bytes = utf8("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK");
  streams.host({ address: 0xc0a8010a, port: 19132 }, {
    accept: () => ({ opening: [], receive: () => [{ bytes }, "close"] }),
  });
  assertEquals((await lookAround(network, { dial })).map(({ port }) => port), [7551]);
});

Deno.test("a server that hides its status is no world that its host announces", async () => {
  const network = new FakeNetwork(1);
  const { dial, streams } = joinable(network, 0xc0a8010a);
  const range = { start: 0xc0a8010a, end: 0xc0a8010b };
  const plan = { servers: 1, range, seed: 5, software: ["bdsNetherNetHidden"] };
  streams.host({ address: 0xc0a8010a, port: 19132 }, drawFleet(plan)[0].streams!);
  assertEquals((await lookAround(network, { dial })).map(({ port }) => port), [7551]);
});
