/**
 * Scans and queries of SQP, which other protocols suppress.
 *
 * Covers src/scan/sweep_stage/, src/scan/query_server.ts and src/inspect/suppressed_endpoints.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { type Endpoint, formatEndpoint } from "../../src/core/address.ts";
import { audit } from "../../src/fleet/judge/audit.ts";
import { drawFleet } from "../../src/fleet/simulate/draw_fleet.ts";
import { HOSTILE_BEHAVIOURS, HostileHost } from "../../src/fleet/simulate/hostile/hostile_hosts.ts";
import { drawIdentity } from "../../src/fleet/simulate/server_identity.ts";
import { Random } from "../../src/fleet/random.ts";
import type { Responder } from "../../src/fleet/simulate/responder.ts";
import { SqpServer } from "../../src/fleet/simulate/sqp/sqp_server.ts";
import { SQP_STYLES } from "../../src/fleet/simulate/sqp/sqp_styles.ts";
import * as sqp from "../../src/protocols/sqp/mod.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { queryServer, type QueryServerOptions } from "../../src/scan/query_server.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { FakeStreams } from "../../src/testing/fake_streams.ts";
import { type Result, SCAN_ID, scanFleet, type Setting } from "./scan_harness.ts";
import { longTest } from "../long.ts";

const RANGE = { start: 0x7f100000, end: 0x7f100400 };
const SQP = Object.keys(SQP_STYLES);
/** Software with every form of RakNet, also with Query beside it. */
const RAKNET = ["bds", "pocketmine", "nukkit", "dragonfly", "raknetNode", "banned", "mute"];
/** SQP's port and RakNet's, for all protocols. */
const BOTH = () => [9000, 19132];
const UNITY = { servers: 60, range: RANGE, seed: 5, software: SQP };
const MIXED = { servers: 120, range: RANGE, seed: 6, software: [...SQP, ...RAKNET, "vanilla"] };

/** Scans a fleet with a log. */
async function logged(setting: Setting): Promise<Result & { faults: string[] }> {
  const result = await scanFleet({ ...setting, prepare: (network) => network.record = true });
  return { ...result, faults: audit(result.network.lines, {}) };
}

function complete({ verdict, state, end, faults }: Result & { faults: string[] }): void {
  assertEquals(verdict.faults, []);
  assertEquals([verdict.found, verdict.right], [verdict.expected, verdict.expected]);
  assertEquals([end.reason, state.written, faults], ["done", verdict.expected, []]);
}

const isSqp = ({ bytes }: { bytes: Uint8Array }) => bytes.length === 5 || bytes.length === 8;
const isPing = ({ bytes }: { bytes: Uint8Array }) => bytes.length === 33;

/**
 * Fails if SQP was sent to a RakNet server, or to an endpoint that was not pinged at least a second
 * before.
 */
function suppressedHosts({ network, hosts }: Result): void {
  const speakers = new Set(
    hosts.filter(({ entry }) => "raknet" in entry.truth).map(({ endpoint }) =>
      formatEndpoint(endpoint)
    ),
  );
  const pinged = new Map<string, number>();
  for (const one of network.sent) {
    const to = formatEndpoint(one.to);
    if (isPing(one) && !pinged.has(to)) pinged.set(to, one.at);
    if (!isSqp(one)) continue;
    assert(!speakers.has(to), `${to} speaks RakNet`);
    assert(one.at - (pinged.get(to) ?? Infinity) >= 1000, `${to} was not pinged before`);
  }
}

Deno.test("sqp: a scan finds every server, with each chunk correct, in one packet or several", async () => {
  const result = await logged({ fleet: UNITY, protocolNames: ["sqp"] });
  complete(result);
  suppressedHosts(result);
  assertEquals(new Set(result.hosts.map(({ entry }) => entry.software)), new Set(SQP));
  assertEquals(result.end.marks.udp, { pass: 3, position: 0 }); // detection passes have no number
  const { replies, total, visited, pass, passes } = result.state;
  assertEquals([replies.valid, replies.unverified, replies.suppressing], [60, 0, 0]);
  assertEquals([total, visited, pass, passes], [4 * 1024, 4 * 1024, 2, 2]);
});

Deno.test("sqp: no SQP is sent to RakNet servers, and they get no row, proved or not", async () => {
  const result = await logged({ fleet: MIXED, protocolNames: ["sqp"], ports: BOTH });
  complete(result);
  suppressedHosts(result);
  const { network, rows, hosts, state } = result;
  assert(rows.every(({ protocols }) => protocols.join() === "sqp"));
  const speakers = hosts.filter(({ entry }) => "raknet" in entry.truth).length;
  assertEquals([state.replies.suppressing, speakers > 40], [speakers, true]);
  // Unresponsive endpoints get two pings and two challenge requests, and nothing else.
  const dark = network.sent.filter(({ to }) => to.address === RANGE.end - 1 && to.port === 9000);
  const unresponsive = !hosts.some(({ endpoint }) => endpoint.address === RANGE.end - 1);
  assertEquals(unresponsive && dark.map(({ bytes }) => bytes.length), [33, 33, 5, 5]);
});

for (const names of [["raknet", "sqp"], ["query", "sqp"], ["raknet", "query", "sqp"]]) {
  Deno.test(`sqp: no SQP is sent to RakNet servers, with ${names.slice(0, -1).join(" and ")} too`, async () => {
    const result = await logged({ fleet: MIXED, protocolNames: names, ports: BOTH });
    complete(result);
    suppressedHosts(result);
    assert(result.rows.some(({ protocols }) => protocols.join() === "sqp"));
    const both = result.rows.some(({ protocols }) => protocols.join() === names.slice(0, 2).join());
    assertEquals(both, names.length === 3);
  });
}

Deno.test("sqp: the ports of SQP are pinged before SQP is sent", async () => {
  const result = await logged({ fleet: MIXED, protocolNames: ["raknet", "sqp"] });
  complete(result);
  suppressedHosts(result);
  const pinged = result.network.sent.filter((one) => isPing(one) && one.to.port === 9000);
  assert(pinged.length >= 1024);
});

Deno.test("sqp: a scan resumed after RakNet's passes repeats the detecting pass", async () => {
  for (const protocolNames of [["sqp"], ["raknet", "sqp"]]) {
    const from = { pass: protocolNames.length * 2 - 1, position: 100 };
    const setting = { fleet: MIXED, protocolNames, ports: BOTH, from };
    const result = await logged(setting);
    suppressedHosts(result);
    assertEquals([result.faults, result.end.reason], [[], "done"]);
    assert(result.rows.length > 5);
    assert(result.rows.every(({ protocols }) => protocols.join() === "sqp"));
  }
});

Deno.test("sqp: a scan interrupted in the detecting pass resumes at the start", async () => {
  const controller = new AbortController();
  const { end, network } = await scanFleet({
    fleet: UNITY,
    protocolNames: ["sqp"],
    rates: { rate: 1000, netRate: undefined, hostRate: undefined },
    signal: controller.signal,
    prepare: (fake) => {
      fake.record = true;
      fake.after(500, () => controller.abort());
    },
  });
  assertEquals([end.reason, end.marks.udp], ["interrupted", { pass: 1, position: 0 }]);
  assert(network.sent.length > 0 && network.sent.every(isPing));
});

/** A Query server that replies to no ping before a stat request. */
function shy(query: Responder, raknet: Responder): Responder {
  let queried = false;
  return {
    respond: (datagram, from, now) => {
      if (datagram.length === 15) queried = true;
      if (datagram[0] === 0xfe) return query.respond(datagram, from, now);
      return queried ? raknet.respond(datagram, from, now) : [];
    },
  };
}

for (const software of ["bds", "raknetNode", "banned", "cutPong"]) {
  Deno.test(`sqp: a server that replies to Query, and late to pings as ${software}, gets no SQP`, async () => {
    const fleet = { servers: 2, range: { start: 1, end: 3 }, seed: 2 };
    let queried: Endpoint | undefined;
    const { network, rows } = await scanFleet({
      fleet: { ...fleet, software: ["vanilla"] },
      range: { start: 1, end: 3 },
      protocolNames: ["raknet", "query", "sqp"],
      ports: () => [25565],
      prepare: (fake, [first, second]) => {
        fake.record = true;
        const other = raknetOf(software);
        queried = first.endpoint;
        fake.host(queried, shy(first.responder!, other));
        void second; // this server supports only Query
      },
    });
    assertEquals([rows.length, network.sent.filter(isSqp)], [2, []]);
    assertEquals(audit(network.lines, {}), []);
    const row = rows.find(({ host }) => formatEndpoint(queried!).startsWith(`${host}:`));
    assertEquals(row?.protocols, software in HOSTILE_BEHAVIOURS ? ["query"] : ["raknet", "query"]);
  });
}

/** A responder with the RakNet behaviour of this software, or with this trick. */
function raknetOf(software: string): Responder {
  if (software in HOSTILE_BEHAVIOURS) return new HostileHost(software, new Random(1));
  const range = { start: 9, end: 10 };
  return drawFleet({ servers: 1, range, seed: 1, software: [software] })[0].responder!;
}

Deno.test("sqp: a pause of a second precedes a protocol that follows one without a reply", async () => {
  const names = ["raknet", "query", "sqp"];
  const ports = () => [9000, 25565];
  const fleet = { ...UNITY, software: [...SQP, "vanilla"] };
  const faults = { loss: 0, duplication: 0, delay: 20, jitter: 0 };
  const result = await logged({ fleet, protocolNames: names, ports, faults });
  complete(result);
});

Deno.test("sqp: an echo is not taken for a server", async () => {
  const fleet = { ...UNITY, software: ["sqpEcho"] };
  const { rows, state, faults } = await logged({ fleet, protocolNames: ["sqp"] });
  assertEquals([rows, faults], [[], []]);
  // The first datagram shows that the endpoint is not an SQP server.
  assertEquals([state.replies.malformed, state.replies.unsolicited], [0, 60]);
});

Deno.test("sqp: any datagram other than an SQP reply suppresses SQP, in sweeps and queries", async () => {
  const magic = "00ffff00fefefefefdfdfdfd12345678";
  const printed: Record<string, string> = {
    "a token of Query": "0901020304343200",
    "a pong that is cut": "1c0000",
    "a pong with a wrong magic": `1c${"00".repeat(16)}${magic.replace("12", "13")}`,
    "a broken challenge before it was requested": "0000",
    "one byte": "ff",
    nothing: "",
  };
  for (const [what, hex] of Object.entries(printed)) {
    const shy: Responder = {
      respond: (datagram) => datagram.length === 33 ? [Uint8Array.fromHex(hex)] : [],
    };
    for (const protocolNames of [["sqp"], ["raknet", "sqp"], ["query", "sqp"]]) {
      const { network, rows, hosts } = await scanFleet({
        fleet: { ...UNITY, servers: 2, software: ["sqpFull"] },
        protocolNames,
        ports: BOTH,
        prepare: (fake, [{ endpoint }]) => {
          fake.record = true;
          fake.host(endpoint, shy);
        },
      });
      const to = hosts.map(({ endpoint }) =>
        network.sent.filter((one) =>
          isSqp(one) && formatEndpoint(one.to) === formatEndpoint(endpoint)
        )
      );
      assertEquals([to[0], rows.length], [[], 1], what);
      assert(to[1].length > 0);
      assertEquals(audit(network.lines, {}), []);
    }
    const { sent, lines } = await askWith({}, shy, "sqp");
    assertEquals(sent.filter(isSqp), [], what);
    assertEquals(audit(lines, {}), []);
  }
});

Deno.test("sqp: another datagram during an exchange ends the exchange", async () => {
  const drawn = drawFleet({ ...UNITY, servers: 1, software: ["sqpFull"] })[0].responder!;
  let queries = 0;
  const turns: Responder = {
    respond: (datagram, from, now) => {
      if (datagram.length === 8 && ++queries === 2) return [Uint8Array.of(0x1c, 1, 2)];
      return drawn.respond(datagram, from, now);
    },
  };
  const { record, went, lines } = await askWith({ retries: 3 }, turns, "sqp");
  assertEquals([record, went, queries], [undefined, ["raknet noReply", "sqp malformed"], 2]);
  assertEquals(audit(lines, {}), []);
});

Deno.test("sqp: a challenge that arrives before SQP is sent leads to no datagram", async () => {
  const { rows, network, hosts } = await scanFleet({
    fleet: { ...UNITY, servers: 1, software: ["bds"] },
    protocolNames: ["sqp"],
    prepare: (fake, [{ endpoint, responder }]) => {
      fake.record = true;
      for (let port = 40000; port < 40004; port++) {
        fake.inject({ ...endpoint, port: 9000 }, { port }, sqp.encodeSqpChallenge(7), 1);
      }
      fake.host({ ...endpoint, port: 9000 }, responder!);
    },
  });
  assertEquals([rows, hosts.length], [[], 1]);
  const { address } = hosts[0].endpoint;
  assertEquals(network.sent.filter((one) => isSqp(one) && one.to.address === address), []);
});

Deno.test("sqp: with packet loss rows lack chunks, and no value is wrong", async () => {
  const faults = { loss: 0.05, duplication: 0.05, delay: 5, jitter: 20 };
  const { verdict, rows } = await scanFleet({
    fleet: UNITY,
    protocolNames: ["sqp"],
    faults,
    retries: 3,
    timeoutMs: 500,
  });
  assertEquals(verdict.faults.filter((fault) => !fault.includes("missing")), []);
  assert(verdict.right > 30 && verdict.partial > 3, `${verdict.right}, ${verdict.partial} in part`);
  assert(verdict.found >= 58 && rows.length === verdict.found, `${verdict.found} of 60`);
});

Deno.test("sqp: forged challenges never make a row, and do not hide the servers", async () => {
  const random = new Random(3);
  const { verdict, state, rows } = await scanFleet({
    fleet: UNITY,
    protocolNames: ["sqp"],
    prepare: (network) => {
      for (let i = 0; i < 5000; i++) {
        const from = { address: RANGE.start + random.below(1024), port: 9000 };
        const forged = sqp.encodeSqpChallenge(random.u32() || 1);
        network.inject(from, { port: 40000 + random.below(4) }, forged, random.below(8000));
      }
    },
  });
  assertEquals([verdict.faults, rows.length], [[], 60]);
  assertEquals([state.replies.valid, state.replies.unverified], [60, 0]);
  assert(state.replies.forged > 100);
});

longTest("sqp: forged pongs suppress SQP at a bounded number of endpoints", async () => {
  const random = new Random(4);
  const magic = "00ffff00fefefefefdfdfdfd12345678";
  const pong = Uint8Array.fromHex(`1c${"00".repeat(8)}${"11".repeat(8)}${magic}`);
  const range = { start: 0x7f100000, end: 0x7f140000 };
  const { state } = await scanFleet({
    fleet: { ...UNITY, range },
    protocolNames: ["sqp"],
    retries: 0,
    prepare: (network) => {
      for (let i = 0; i < 70_000; i++) {
        const from = { address: range.start + i, port: 9000 };
        network.inject(from, { port: 40000 + random.below(4) }, pong, 10);
      }
    },
  });
  assertEquals(state.replies.suppressing, 70_000);
  // All servers are pinged or known before. SQP is sent to all except RakNet servers.
  const size = range.end - range.start;
  assert(state.sent > 2 * (size - 65_536) && state.sent < 2 * size - 65_536, `${state.sent}`);
});

Deno.test("sqp: a server with an opt-out marker is dropped, and names of players are left out on request", async () => {
  const [server] = ["§b§d§f§d§bShy"].map((text) => {
    const identity = { ...drawIdentity(new Random(1)), motd: { text, plain: "Shy" } };
    return new SqpServer(SQP_STYLES.sqpFull, identity, new Random(2));
  });
  const { rows, state } = await scanFleet({
    fleet: { ...UNITY, servers: 20, software: ["sqpFull"] },
    protocolNames: ["sqp"],
    players: false,
    prepare: (network, [{ endpoint }]) => network.host(endpoint, server),
  });
  assertEquals([rows.length, state.optedOut], [19, 1]);
  for (const { players, extras } of rows) {
    assertEquals([players, extras!.sqp.players, extras!.sqp.metrics], [null, undefined, [
      "60",
      "0.5",
    ]]);
  }
});

function responderOf(software: string): Responder {
  if (!(software in SQP_STYLES)) return raknetOf(software);
  return drawFleet({ ...UNITY, servers: 1, software: [software] })[0].responder!;
}

/** Queries one host of this software. */
async function sendQuery(software: string, ...names: string[]) {
  return await askWith({}, software, ...names);
}

/**
 * @param who The software of the host, or its behaviour.
 */
async function askWith(
  over: Partial<QueryServerOptions>,
  who: string | Responder,
  ...names: string[]
) {
  const network = new FakeNetwork(1);
  network.record = true;
  const endpoint = { address: RANGE.start, port: 9000 };
  network.host(endpoint, typeof who === "string" ? responderOf(who) : who);
  const random = new Random(1);
  const queried = await network.run(
    queryServer(endpoint, {
      allProtocols: PROTOCOLS,
      protocols: PROTOCOLS.filter(({ name }) => names.includes(name)),
      timeoutMs: 300,
      retries: 0,
      open: (bits) => network.open(bits),
      dialer: new FakeStreams(network, 1),
      nonce: () => random.u64() >> 1n,
      clock: network,
      signal: new AbortController().signal,
      requestedAs: null,
      scanId: SCAN_ID,
      ...over,
    }),
  );
  const went = queried.outcomes.map(({ protocol, outcome }) => `${protocol} ${outcome.kind}`);
  assertEquals(audit(network.lines, { hostRate: 5 }), []);
  return { ...queried, went, sent: network.sent, lines: network.lines };
}

Deno.test("sqp: a single server is pinged first, and queried a second later", async () => {
  const { record, went, suppressed, sent } = await sendQuery("sqpFull", "sqp");
  assertEquals([record?.protocols, suppressed], [["sqp"], []]);
  assertEquals(went, ["raknet noReply", "sqp replied"]);
  assert(isPing(sent[0]) && isSqp(sent[1]) && sent[1].at - sent[0].at >= 1000);
  const both = await sendQuery("sqpFull", "raknet", "sqp");
  assertEquals(both.went, ["raknet noReply", "sqp replied"]);
});

Deno.test("sqp: a single RakNet server is not queried", async () => {
  for (const software of ["bds", "raknetNode", "banned"]) {
    const { record, went, suppressed, sent } = await sendQuery(software, "sqp");
    assertEquals([record, went, suppressed], [undefined, ["raknet replied"], ["sqp"]]);
    assertEquals(sent.filter(isSqp), []);
  }
  const broken = await sendQuery("cutPong", "sqp");
  assertEquals([broken.went, broken.suppressed], [["raknet malformed"], ["sqp"]]);
  const { record, suppressed } = await sendQuery("bds", "raknet", "sqp");
  assertEquals([record?.protocols, suppressed], [["raknet"], ["sqp"]]);
});

Deno.test("sqp: a scan stopped in the detecting pass sends nothing more", async () => {
  const over = { signal: AbortSignal.abort() };
  const { record, went, suppressed, sent } = await askWith(over, "sqpFull", "sqp");
  assertEquals([record, went, suppressed], [undefined, ["raknet cancelled"], []]);
  assertEquals(sent.filter(isSqp), []);
});

Deno.test("sqp: a reply of the maximum number of packets is received", async () => {
  const drawn = drawIdentity(new Random(1));
  const { length } = sqp.encodeChunks(SQP_STYLES.sqpInfo.chunks(drawn));
  const text = drawn.motd.text + "x".repeat(16 * 8 - length);
  const identity = { ...drawn, motd: { text, plain: text } };
  const sixteen = { ...SQP_STYLES.sqpInfo, packetSize: 8 };
  const server = new SqpServer(sixteen, identity, new Random(2));
  const [challenge] = server.respond(sqp.encodeChallengeRequest(), { address: 1, port: 1 });
  const query = { challenge: sqp.decodeSqpChallenge(challenge)!, chunks: 1 };
  assertEquals(server.respond(sqp.encodeQuery(query), { address: 1, port: 1 }).length, 16);
  const { rows } = await scanFleet({
    fleet: { ...UNITY, servers: 1 },
    protocolNames: ["sqp"],
    prepare: (network, [{ endpoint }]) => network.host(endpoint, server),
  });
  assertEquals(rows.map(({ motd, flags }) => [motd, flags]), [[text, []]]);
});

Deno.test("sqp: a server that replies to a challenge request with a pong is sent nothing more", async () => {
  const magic = "00ffff00fefefefefdfdfdfd12345678";
  const pong = Uint8Array.fromHex(`1c${"00".repeat(8)}${"11".repeat(8)}${magic}`);
  let late: Endpoint | undefined;
  const { network, rows } = await scanFleet({
    fleet: { ...UNITY, servers: 2, software: ["sqpFull"] },
    protocolNames: ["sqp"],
    prepare: (fake, [{ endpoint, responder }]) => {
      fake.record = true;
      late = endpoint;
      fake.host(endpoint, {
        respond: (datagram, from, now) =>
          datagram.length === 5 ? [pong, ...responder!.respond(datagram, from, now)] : [],
      });
    },
  });
  assertEquals(rows.length, 1);
  const sent = network.sent.filter(({ to }) => formatEndpoint(to) === formatEndpoint(late!));
  assertEquals(sent.map(({ bytes }) => bytes.length), [33, 33, 5]);
});
