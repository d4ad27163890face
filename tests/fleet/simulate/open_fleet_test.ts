/**
 * Covers src/fleet/random.ts, src/fleet/simulate/, src/fleet/simulate/hostile/,
 * src/fleet/simulate/network/, src/fleet/simulate/query/, src/fleet/simulate/raknet/,
 * src/fleet/simulate/sqp/, src/net/deno/tcp_listener.ts and
 * src/fleet/simulate/slp/slp_connection.ts.
 */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { drawDelays } from "../../../src/fleet/simulate/network/faults.ts";
import { drawFleet, manifestEntries } from "../../../src/fleet/simulate/draw_fleet.ts";
import {
  HOSTILE_BEHAVIOURS,
  HostileHost,
} from "../../../src/fleet/simulate/hostile/hostile_hosts.ts";
import { HTTP_TRICKS } from "../../../src/fleet/simulate/hostile/http_tricks.ts";
import { Fleet, openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { ListenerPerHost } from "../../../src/fleet/simulate/network/socket_per_host.ts";
import { Random } from "../../../src/fleet/random.ts";
import { SOFTWARE } from "../../../src/fleet/simulate/software.ts";
import { type Endpoint, formatEndpoint } from "../../../src/core/address.ts";
import * as lan from "../../../src/protocols/lan/mod.ts";
import * as query from "../../../src/protocols/query/mod.ts";
import * as raknet from "../../../src/protocols/raknet/mod.ts";
import * as sqp from "../../../src/protocols/sqp/mod.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { openSocket } from "../../../src/net/deno/udp_socket.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";

const RANGE = { start: 0x7f100000, end: 0x7f110000 };
/** The endpoints of hosts. */
const OPENED = { start: 0x7f700000, end: 0x7f710000 };
const NOBODY = { respond: () => [] };
const US = { address: 0x7f000001, port: 40000 };

Deno.test("drawFleet() draws an equal fleet for an equal seed, with one host per address", () => {
  const plan = { servers: 1200, hostile: 300, range: RANGE, seed: 9 };
  const entries = drawFleet(plan).map(({ entry }) => entry);
  assertEquals(drawFleet(plan).map(({ entry }) => entry), entries);
  assertEquals(new Set(entries.map(({ host }) => host)).size, 1500);
  const kinds = new Set(entries.map(({ software }) => software));
  for (const { name, onlyNamed, twin, trick = "" } of SOFTWARE) {
    if (trick in HTTP_TRICKS) continue; // a hostile host may have any of many tricks
    assertEquals(kinds.has(name), !onlyNamed && !twin, `${name} among 1,500 hosts`);
  }
  assertEquals(entries.filter(({ listed }) => listed).length, 1200);
});

Deno.test("drawFleet() refuses too many hosts and unknown software", () => {
  const plan = { servers: 3, range: { start: 0x7f100000, end: 0x7f100002 }, seed: 1 };
  assertThrows(() => drawFleet(plan), InputError, "the range has 2 addresses");
  assertThrows(
    () => drawFleet({ ...plan, servers: 1, software: ["x"] }),
    InputError,
    "there is no such software; ",
  );
});

Deno.test("drawFleet() crowds hosts into few networks on request", () => {
  const plan = { servers: 800, range: { start: 0x7f100000, end: 0x7f200000 }, software: ["bds"] };
  const addressesOf = (seed: number, crowded: boolean) =>
    drawFleet({ ...plan, seed, crowded }).map(({ endpoint }) => endpoint.address as number);
  const sizes = (addresses: readonly number[], size: number) =>
    Object.values(Object.groupBy(addresses, (one) => Math.floor(one / size)))
      .map((net) => net!.length);
  for (const seed of [1, 2, 3, 4, 5]) {
    const [even, crowded] = [addressesOf(seed, false), addressesOf(seed, true)];
    assertEquals(addressesOf(seed, true), crowded);
    assertEquals(new Set(crowded).size, 800);
    assert(crowded.every((one) => one >= plan.range.start && one < plan.range.end));
    const nets = sizes(crowded, 256);
    const alone = nets.filter((servers) => servers === 1).length / nets.length;
    assert(alone > 0.75 && alone < 0.9, `${alone} of the /24s have one server`);
    const inLarge = nets.filter((servers) => servers >= 10).reduce((sum, one) => sum + one, 0);
    assert(inLarge > 60, `${inLarge} servers in /24s of ten and more`);
    assert(sizes(even, 256).every((servers) => servers < 10));
    assert(sizes(crowded, 4096).length < sizes(even, 4096).length * 0.7);
  }
});

Deno.test("drawFleet() fills every address of a crowded range once, and refuses IPv6", () => {
  const plan = { seed: 1, software: ["bds"], crowded: true };
  const range = { start: 0x7f1000f0, end: 0x7f100310 };
  const addresses = drawFleet({ ...plan, servers: 544, range })
    .map(({ endpoint }) => endpoint.address as number);
  assertEquals(addresses.toSorted(), Array.from({ length: 544 }, (_, i) => range.start + i));
  assertThrows(
    () => drawFleet({ ...plan, servers: 1, range: { start: 1n, end: 9n } }),
    InputError,
    "Cannot place servers in clusters at ::1: use IPv4",
  );
});

Deno.test("a server on every port has one manifest entry and the same reply on 201 ports", () => {
  const plan = { servers: 2, range: RANGE, seed: 1, software: ["bdsEveryPort"], crowded: true };
  const hosts = drawFleet(plan);
  assertEquals(hosts.length, 402);
  assertEquals(manifestEntries(hosts).map(({ port, everyPort }) => [port, everyPort]), [
    [19132, true],
    [19132, true],
  ]);
  const ping = raknet.encodePing({ openOnly: false, time: 1n, guid: 2n });
  const replies = hosts.slice(0, 201).map(({ responder }) => responder!.respond(ping, US, 0)[0]);
  for (const reply of replies) assertEquals(reply, replies[0]);
  const ports = hosts.slice(0, 201).map(({ endpoint }) => endpoint.port);
  assertEquals([new Set(ports).size, Math.min(...ports), Math.max(...ports)], [201, 19032, 19232]);
});

Deno.test("drawFleet() omits TCP on request", () => {
  const plan = { servers: 300, hostile: 60, range: RANGE, seed: 9, tcp: false };
  const hosts = drawFleet(plan);
  assert(hosts.every(({ responder, streams }) => responder && !streams));
  assert(hosts.every(({ entry }) => !("slp" in entry.truth)));
  const only = { ...plan, software: ["waterfall"] };
  assertThrows(() => drawFleet(only), InputError, "Cannot simulate waterfall without TCP");
  const twins = drawFleet({ ...plan, servers: 1, hostile: 0, software: ["geyserBesideJava"] });
  assertEquals(twins.map(({ entry }) => Object.keys(entry.truth)), [["raknet"], ["query"]]);
});

Deno.test("servers ignore the sender of a malformed ping as their software does", () => {
  const draw = (software: string) =>
    drawFleet({ servers: 1, range: RANGE, seed: 1, software: [software] })[0].responder!;
  const ping = raknet.encodePing({ openOnly: false, time: 1n, guid: 2n });
  for (const [software, seconds] of [["pocketmine", 5], ["dragonfly", 10], ["bds", 0]] as const) {
    const server = draw(software);
    assertEquals(server.respond(ping.subarray(0, 25), US, 0), []);
    assertEquals(server.respond(ping, US, seconds * 1000 - 1).length, seconds === 0 ? 1 : 0);
    assertEquals(server.respond(ping, US, seconds * 1000).length, 1);
  }
});

Deno.test("servers bind tokens as their software does", () => {
  const draw = (software: string) =>
    drawFleet({ servers: 1, range: RANGE, seed: 1, software: [software] })[0].responder!;
  const sendQuery = (software: string, from: { address: number; port: number }, times = 1) => {
    const server = draw(software);
    const [reply] = server.respond(query.encodeHandshake(1), US, 0);
    const { token } = query.decodeQueryChallenge(reply)!;
    const stat = query.encodeStatRequest(1, token, 4);
    return Array.from({ length: times }, () => server.respond(stat, from, 0).length).at(-1);
  };
  const otherPort = { ...US, port: 40001 };
  assertEquals([sendQuery("vanilla", US), sendQuery("vanilla", otherPort)], [1, 0]);
  assertEquals([sendQuery("velocity", US), sendQuery("velocity", otherPort)], [1, 1]);
  assertEquals([sendQuery("waterdog", US), sendQuery("waterdog", US, 2)], [1, 0]);
  const differs = (software: string) => {
    const server = draw(software);
    const [a, b] = [US, otherPort].map((from) =>
      server.respond(query.encodeHandshake(1), from, 0)[0]
    );
    return query.decodeQueryChallenge(a)!.token !== query.decodeQueryChallenge(b)!.token;
  };
  assertEquals([differs("pocketmine"), differs("velocity")], [false, true]);
});

Deno.test("go-raknet ignores a sender after an unknown datagram", () => {
  const [{ responder: server = NOBODY }] = drawFleet({
    servers: 1,
    range: RANGE,
    seed: 1,
    software: ["dragonfly"],
  });
  const ping = raknet.encodePing({ openOnly: false, time: 1n, guid: 2n });
  const handshake = query.encodeHandshake(1); // bit 7 is set: a late datagram
  assertEquals(server.respond(handshake, US, 0).length, 1);
  assertEquals(server.respond(ping, US, 0).length, 1);
  assertEquals(server.respond(sqp.encodeChallengeRequest(), US, 0), []);
  const otherPort = { ...US, port: 1 };
  assertEquals(server.respond(ping, otherPort, 9999), []);
  assertEquals(server.respond(ping, otherPort, 10_000).length, 1);
});

Deno.test("an SQP server's challenge is valid for one query of version 1 from one port", () => {
  const draw = () =>
    drawFleet({ servers: 1, range: RANGE, seed: 1, software: ["sqpSample"] })[0].responder!;
  const sendQuery = (chunks: number, version = 1, from = US, wrongFirst = false) => {
    const server = draw();
    const [reply] = server.respond(sqp.encodeChallengeRequest(), US, 0);
    const challenge = sqp.decodeSqpChallenge(reply)!;
    const question = sqp.encodeQuery({ challenge, version, chunks });
    if (wrongFirst) server.respond(question.with(1, ~question[1]), US, 0);
    return [server.respond(question, from, 0), server.respond(question, from, 0)]
      .map((replies) => replies.map(({ length }) => length));
  };
  const [[size], second] = sendQuery(0x01);
  assert(size > 11 && second.length === 0);
  assertEquals(sendQuery(0x01, 2)[0], []);
  assertEquals(sendQuery(0x01, 1, { ...US, port: 1 })[0], []);
  assertEquals(sendQuery(0x01, 1, US, true)[0], []);
  assertEquals(sendQuery(0x02)[0], [25]); // an empty reply, and an empty ServerInfo
  assertEquals(draw().respond(Uint8Array.of(0, 0), US, 0), []);
  assertEquals(draw().respond(Uint8Array.of(0xfe, 0xfd), US, 0), []);
});

Deno.test("hostile hosts respond, and never with a valid status", () => {
  const ping = raknet.encodePing({ openOnly: false, time: 7n, guid: 2n });
  const handshake = query.encodeHandshake(0x01020304);
  for (const name of Object.keys(HOSTILE_BEHAVIOURS)) {
    const host = new HostileHost(name, new Random(1));
    const replies = [ping, handshake].flatMap((datagram) => host.respond(datagram, US, 0));
    assert(replies.length > 0, name);
    for (const reply of replies) {
      let pong, challenge;
      try {
        pong = raknet.decodePong(reply);
        challenge = query.decodeQueryChallenge(reply, 0x01020304);
      } catch {
        continue; // malformed on purpose
      }
      assert((pong === undefined || pong.guid === 0n) && challenge === undefined, name);
    }
  }
});

Deno.test("drawDelays() loses, duplicates and delays datagrams at random", () => {
  const random = new Random(4);
  const faults = { loss: 0.2, duplication: 0.1, delay: 5, jitter: 10 };
  const drawn = Array.from({ length: 10_000 }, () => drawDelays(faults, random));
  const share = (copies: number) => drawn.filter(({ length }) => length === copies).length / 10_000;
  assert(Math.abs(share(0) - 0.2) < 0.02 && Math.abs(share(2) - 0.08) < 0.02);
  assert(drawn.flat().every((delay) => delay >= 5 && delay < 15));
});

Deno.test("a fleet responds from the probed address", async () => {
  const hosts = drawFleet({ servers: 5, range: OPENED, seed: 2, software: ["bds"] });
  await using fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  await using socket = openSocket({ ...US, port: 0 });
  const { promise, resolve } = Promise.withResolvers<string[]>();
  const from: string[] = [];
  socket.listen((_, peer) => {
    from.push(`${peer.address}:${peer.port}`);
    if (from.length === hosts.length) resolve(from);
  });
  const ping = raknet.encodePing({ openOnly: false, time: 7n, guid: 2n });
  for (const { endpoint } of hosts) await socket.send(ping, endpoint);
  const expected = hosts.map(({ endpoint }) => `${endpoint.address}:${endpoint.port}`);
  assertEquals((await promise).toSorted(), expected.toSorted());
  assertEquals([fleet.received, fleet.sent], [5, 5]);
});

Deno.test("a fleet refuses addresses outside loopback", async () => {
  const hosts = drawFleet({ servers: 1, range: { start: 1, end: 2 }, seed: 1 });
  const options = { clock: systemClock, seed: 1 };
  await assertRejects(() => openFleet(hosts, options), InputError, "not a loopback");
});

Deno.test("Java worlds announce themselves only in a laboratory, until the fleet is closed", async () => {
  const range = { start: 0x7f100000, end: 0x7f100001 };
  const hosts = drawFleet({ servers: 1, range, seed: 1, software: ["openToLan"] });
  const clock = new FakeNetwork(1);
  await assertRejects(() => openFleet(hosts, { clock, seed: 1 }), InputError, "needs --lab");
  const sent: [at: number, to: string][] = [];
  const front = {
    listen: () => Promise.resolve(),
    send: (_: Uint8Array, __: unknown, to: Endpoint) =>
      void sent.push([clock.now() - 1000, formatEndpoint(to)]),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const wait = (ms: number) => clock.run(new Promise<void>((done) => clock.after(ms, done)));
  const fleet = new Fleet(hosts, { datagrams: front, streams: new ListenerPerHost([]) }, {
    clock,
    seed: 1,
    lab: [],
  });
  await wait(3100);
  await fleet[Symbol.asyncDispose]();
  await wait(3100);
  assertEquals(sent, [0, 1500, 3000].map((at) => [at, "224.0.2.60:4445"]));
});

Deno.test("NetherNet worlds respond to discovery requests only", () => {
  const range = { start: 0x7f100000, end: 0x7f100001 };
  const [{ responder = NOBODY }] = drawFleet({
    servers: 1,
    range,
    seed: 1,
    software: ["netherNet7"],
  });
  const request = lan.sealPacket({ type: "request", sender: 1n });
  const message = lan.sealPacket({ type: "message", sender: 1n, recipient: 2n, text: request });
  const [response] = responder.respond(request, US, 0);
  assertEquals(lan.openPacket(response)?.type, "response");
  for (const other of [response, message, new Uint8Array(64), Uint8Array.of(1)]) {
    assertEquals(responder.respond(other, US, 0), []);
  }
});

Deno.test("the error for an address in use contains the address", async () => {
  const hosts = drawFleet({ servers: 1, range: OPENED, seed: 2 });
  await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  await assertRejects(
    () => openFleet(hosts, { clock: systemClock, seed: 1 }),
    InputError,
    "Cannot open 127.112.",
  );
});
