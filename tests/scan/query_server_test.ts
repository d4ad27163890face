/** Queries to one server over TCP, and over UDP. */
import { STREAM_LIMITS } from "../../src/net/stream_link.ts";
import { assert, assertEquals } from "@std/assert";
import { type Endpoint, parseEndpoint } from "../../src/core/address.ts";
import { audit } from "../../src/fleet/judge/audit.ts";
import type { StreamAct, StreamResponder } from "../../src/fleet/simulate/responder.ts";
import { Random } from "../../src/fleet/random.ts";
import * as raknet from "../../src/protocols/raknet/mod.ts";
import * as slp from "../../src/protocols/slp/mod.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { slpProtocol } from "../../src/protocols/slp/mod.ts";
import { Closed, type Protocol } from "../../src/protocols/protocol.ts";
import { queryServer, type QueryServerOptions } from "../../src/scan/query_server.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { IDENTITY, slpServer } from "../fakes/slp.ts";
import {
  type EndpointBehaviour,
  FakeStreams,
  NO_STREAM_FAULTS,
} from "../../src/testing/fake_streams.ts";

const SLP = slpProtocol as Protocol;
const named = (...names: string[]) => PROTOCOLS.filter(({ name }) => names.includes(name));

/** The behaviour of an endpoint over UDP. */
type UdpHost = Parameters<FakeNetwork["host"]>[1];

/** A server that answers RakNet pings. */
const RAKNET_HOST: UdpHost = {
  respond(datagram) {
    const ping = raknet.decodePing(datagram);
    const text = new TextEncoder().encode("MCPE;A server;766;1.21.50;3;20;1;w;Survival;");
    const pong = { advertise: false, guid: 1n, text };
    return ping === undefined ? [] : [raknet.encodePong({ ...pong, time: ping.time })];
  },
};

/** Queries an endpoint with the given behaviour. */
async function query(
  door: EndpointBehaviour | ((streams: FakeStreams, endpoint: Endpoint) => EndpointBehaviour),
  over: Partial<QueryServerOptions> = {},
  at = "127.0.0.1:25565",
  udp?: UdpHost,
) {
  const network = new FakeNetwork(1);
  network.record = true;
  if (udp !== undefined) network.host(parseEndpoint(at)!, udp);
  const streams = new FakeStreams(network, 1, { ...NO_STREAM_FAULTS, delay: 20, largest: 100 });
  const endpoint = parseEndpoint(at)!;
  streams.host(endpoint, typeof door === "function" ? door(streams, endpoint) : door);
  const random = new Random(1);
  const start = network.now();
  const queried = await network.run(
    queryServer(endpoint, {
      allProtocols: PROTOCOLS,
      protocols: [SLP],
      timeoutMs: 1500,
      retries: 1,
      open: (bits) => network.open(bits),
      dialer: streams,
      nonce: () => random.u64() >> 1n,
      clock: network,
      signal: new AbortController().signal,
      requestedAs: null,
      scanId: "scan",
      ...over,
    }),
  );
  const went = queried.outcomes.map(({ protocol, outcome }) =>
    `${protocol} ${outcome.kind}${outcome.kind === "noReply" ? ` ${outcome.why}` : ""}`
  );
  assertEquals(streams.open, 0);
  assertEquals(audit(network.lines, { hostRate: 5 }), []);
  return { ...queried, went, network, streams, took: network.now() - start };
}

const acts = (...all: StreamAct[]): StreamResponder => ({
  accept: () => ({ opening: [], receive: () => all }),
});
const text = (words: string) => ({ bytes: new TextEncoder().encode(words) });

Deno.test("a query reports whether a reply contains an opt-out", async () => {
  const status = { version: { name: "1.21", protocol: 767 }, description: "§b§d§f§d§bA server" };
  const json = new TextEncoder().encode(JSON.stringify(status));
  const bytes = slp.encodeStatusResponse({ json, trailing: new Uint8Array() });
  assertEquals((await query(acts({ bytes }))).hasOptedOut, true);
  assertEquals((await query(slpServer("vanilla"))).hasOptedOut, false);
  const network = new FakeNetwork(1);
  const endpoint = { address: 0x7f000001, port: 19132 };
  network.host(endpoint, {
    respond(datagram) {
      const ping = raknet.decodePing(datagram);
      const text = new TextEncoder().encode("MCPE;§b§d§f§d§b;766;1.21.50;3;20;1;w;Survival;");
      const pong = { advertise: false, guid: 1n, text };
      return ping === undefined ? [] : [raknet.encodePong({ ...pong, time: ping.time })];
    },
  });
  const { record, hasOptedOut } = await network.run(
    queryServer(endpoint, {
      allProtocols: PROTOCOLS,
      protocols: named("sqp"), // the ping before SQP only detects RakNet
      timeoutMs: 1500,
      retries: 0,
      open: (bits) => network.open(bits),
      dialer: new FakeStreams(network, 1),
      nonce: () => 1n,
      clock: network,
      signal: new AbortController().signal,
      requestedAs: null,
      scanId: "scan",
    }),
  );
  assertEquals([record, hasOptedOut], [undefined, true]);
});

Deno.test("a Java server sends its status and a pong on one connection", async () => {
  for (const at of ["127.0.0.1:25570", "[::1]:25570"]) {
    const server = slpServer("vanilla");
    const { record, went, streams } = await query(server, { requestedAs: "play.example.org" }, at);
    assertEquals(went, ["slp replied"]);
    assertEquals([record!.protocols, record!.version, record!.requested_as, record!.flags], [
      ["slp"],
      IDENTITY.version,
      "play.example.org",
      [],
    ]);
    assertEquals(record!.latency_ms! >= 40, true);
    assertEquals(streams.begun.length, 1);
    const [request, ping] = server.received;
    const { host, port } = slp.decodeStatusRequest(request)!;
    assertEquals([host, port], ["play.example.org", 25570]);
    assert(slp.decodeSlpPing(ping) !== undefined);
  }
});

Deno.test("without a name, the handshake has the address", async () => {
  for (const [at, wanted] of [["127.0.0.1:1", "127.0.0.1"], ["[::1]:1", "::1"]]) {
    const server = slpServer("vanilla");
    const { record } = await query(server, {}, at);
    assertEquals(slp.decodeStatusRequest(server.received[0])!.host, wanted);
    assertEquals(record!.requested_as, null);
  }
});

Deno.test("after an SRV record, the row has its target, and the handshake has the requested name", async () => {
  const server = slpServer("vanilla");
  const service = { host: "mc1.example.org", port: 25570 };
  const requestedAs = "play.example.org";
  const { record } = await query(server, { requestedAs, service }, "10.0.0.7:25570");
  assertEquals(record!.requested_as, "play.example.org SRV mc1.example.org:25570");
  const { host, port } = slp.decodeStatusRequest(server.received[0])!;
  assertEquals([host, port], ["play.example.org", 25565]); // as the game sends them
});

Deno.test("a server that closes on unspecified clients gets a request with a protocol number", async () => {
  const { record, streams } = await query(slpServer("wantsProtocol"));
  assertEquals([record?.protocols, streams.begun.length], [["slp"], 2]);
});

Deno.test("the outcome has the reason why a connection ended", async () => {
  const cases: [EndpointBehaviour, string][] = [
    ["refused", "slp noReply refused"],
    ["unreachable", "slp noReply unreachable"],
    ["timeout", "slp noReply timeout"],
    [acts("close"), "slp noReply closed"],
    [acts("reset"), "slp noReply reset"],
    [acts(), "slp noReply slow"],
    [acts(text("HTTP/1.1 400 Bad Request\r\n\r\n"), "close"), "slp malformed"],
  ];
  for (const [door, wanted] of cases) {
    const { record, went } = await query(door);
    assertEquals([record, went], [undefined, [wanted]]);
  }
});

Deno.test("connections have the timeouts of real clients, or those of the limits", async () => {
  assertEquals((await query("timeout")).took, 3000);
  const streamLimits = {
    ...STREAM_LIMITS,
    ...{ connectMs: 100, firstByteMs: 200, totalMs: 300, maxBytes: 1000 },
  };
  assertEquals((await query("timeout", { streamLimits })).took, 100);
  const { took } = await query(acts(), { streamLimits });
  assert(took >= 200 && took < 300, `${took}`); // the status request and a legacy ping
});

Deno.test("an old server that neither replies to a status request nor closes is found", async () => {
  const reply = slp.encodeLegacyReply({ text: "§1\x0078\x001.6.4\0Old but alive\x003\x0020" });
  const { record, took } = await query({
    accept: () => ({
      opening: [],
      receive: (bytes) => bytes[0] === 0xfe ? [{ bytes: reply }] : [],
    }),
  });
  assertEquals([record?.motd, record?.version], ["Old but alive", "1.6.4"]);
  assert(took < 6000, `${took}`);
});

Deno.test("a follow-up over TCP has the timeout of any follow-up", async () => {
  const over = { protocols: named("raknet"), followUps: [SLP] };
  const followed = await query("timeout", over, "127.0.0.1:25565", RAKNET_HOST);
  assertEquals(followed.went, ["raknet replied", "slp noReply timeout"]);
  assertEquals(followed.record!.protocols, ["raknet"]);
  assert(followed.took >= 250 && followed.took < 1000, `${followed.took}`);
  const { network, streams } = await query("refused", { protocols: [], followUps: [SLP] });
  assertEquals([network.sent, streams.begun], [[], []]); // without a reply there are no follow-ups
});

Deno.test("connections neither wait for the pause between datagrams, nor shorten it", async () => {
  const options = { protocols: named("raknet", "slp", "query"), timeoutMs: 100, retries: 0 };
  const { went, network, streams } = await query("refused", options);
  assertEquals(went, [
    "raknet noReply undefined",
    "query noReply undefined",
    "slp noReply refused",
  ]);
  const [ping, handshake] = network.sent;
  assert(streams.begun[0].at - ping.at < 200);
  assert(handshake.at - ping.at >= 1000);
});

Deno.test("UDP and TCP are used at the same time; after a reply the other has 250 ms", async () => {
  const protocols = named("raknet", "slp");
  const both = await query(slpServer("vanilla"), { protocols }, "127.0.0.1:25565", RAKNET_HOST);
  assertEquals(both.record!.protocols, ["raknet", "slp"]);
  const { went, took } = await query(slpServer("vanilla"), { protocols });
  assertEquals(went, ["raknet cancelled", "slp replied"]);
  assert(took >= 250 && took < 800, `${took}`);
  const stalled = await query(acts(), { protocols }, "127.0.0.1:25565", RAKNET_HOST);
  assertEquals(stalled.went, ["raknet replied", "slp cancelled"]);
  assert(stalled.took >= 250 && stalled.took < 500, `${stalled.took}`);
});

Deno.test("after a reply over TCP, protocols over UDP that were not used yet follow", async () => {
  const protocols = named("raknet", "slp", "query");
  const { went } = await query(slpServer("vanilla"), { protocols, retries: 0 });
  assertEquals(went, ["raknet cancelled", "slp replied", "query noReply undefined"]);
});

Deno.test("an endpoint with a reply over TCP, or without connections, gets no other TCP protocol", async () => {
  const first: Protocol = { ...SLP, name: "first" };
  const protocols = [first, SLP];
  assertEquals((await query(slpServer("vanilla"), { protocols })).went, ["first replied"]);
  assertEquals((await query("refused", { protocols })).went, ["first noReply refused"]);
  const elsewhere = await query("refused", { protocols }, "127.0.0.1:4000");
  assertEquals(elsewhere.went, ["first noReply refused", "slp noReply refused"]);
});

Deno.test("a protocol that other servers log comes last on a port that is not its own", async () => {
  const noisy: Protocol = { ...SLP, name: "noisy", lastElsewhere: true, ports: { 4: [1], 6: [1] } };
  const { went } = await query(acts(), { protocols: [noisy, SLP], retries: 0 });
  assertEquals(went.map((one) => one.split(" ")[0]), ["slp", "noisy"]);
});

Deno.test("a reply that is too little evidence makes a record only with another one", async () => {
  const weak: Protocol = { ...SLP, name: "weak", siblings: ["raknet"], isWeak: () => true };
  const protocols = [named("raknet")[0], weak];
  const alone = await query(slpServer("vanilla"), { protocols, retries: 0 });
  assertEquals([alone.record, alone.went.at(-1)], [undefined, "weak replied"]);
  const both = await query(slpServer("vanilla"), { protocols }, "127.0.0.1:25565", RAKNET_HOST);
  assertEquals(both.record!.protocols, ["raknet", "weak"]);
});

Deno.test("an aborted signal closes the connection", async () => {
  const ending = new AbortController();
  const door: StreamResponder = {
    accept: () => ({
      opening: [],
      receive: () => {
        ending.abort();
        return [];
      },
    }),
  };
  const { went, took } = await query(door, { signal: ending.signal });
  assertEquals(went, ["slp cancelled"]);
  assert(took < 1000);
});

Deno.test("a server that closes connections of one protocol is queried in the other", async () => {
  const door = slpServer("vanilla");
  const closing: Protocol = {
    ...SLP,
    name: "first",
    ports: { 4: [19132], 6: [19132] },
    *exchange() {
      yield { bytes: Uint8Array.of(0x47), resend: false };
      throw new Closed();
    },
  };
  const { went } = await query(door, { protocols: [closing, SLP] }, "127.0.0.1:19132");
  assertEquals(went.at(-1), "slp replied");
});

Deno.test("a weak reply does not shorten the time of the others", async () => {
  const weak: Protocol = { ...SLP, name: "weak", isWeak: () => true };
  let pings = 0;
  const late: UdpHost = { // its first reply is lost
    respond: (...ping) => pings++ === 0 ? [] : RAKNET_HOST.respond(...ping),
  };
  const protocols = [named("raknet")[0], weak];
  const { record } = await query(slpServer("vanilla"), { protocols }, "127.0.0.1:25565", late);
  assertEquals(record?.protocols, ["raknet", "weak"]);
});
