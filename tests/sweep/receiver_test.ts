/**
 * Covers src/sweep/receiver.ts, src/sweep/probe_kind.ts and
 * src/sweep/reply_counts.ts.
 */
import { assert, assertEquals } from "@std/assert";
import * as raknet from "../../src/protocols/raknet/mod.ts";
import * as sqp from "../../src/protocols/sqp/mod.ts";
import { Stamp } from "../../src/net/socket.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import type { Sighting } from "../../src/core/record.ts";
import { decodeRawReply, firstReplyOf } from "../../src/inspect/protocol_reply.ts";
import { FloodingHosts, noFloods } from "../../src/sweep/flooding_hosts.ts";
import { type ReceiverOptions, ReplyReceiver } from "../../src/sweep/receiver.ts";
import { noReplies } from "../../src/sweep/reply_counts.ts";
import { stampClock } from "../../src/sweep/probe_kind.ts";
import { Responders } from "../../src/sweep/responders.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { Tokens } from "../../src/targets/token.ts";

const ENDPOINT = { address: 0x7f000001, port: 19132 };
const KEY = new Uint8Array(8).fill(3);
const { probe } = PROTOCOLS.find(({ name }) => name === "raknet")!;

/**
 * The sightings of a pong to a ping that an earlier process of the scan stamped at a time. The next
 * datagram overwrites the pong in the socket's buffer.
 */
function sight(
  stampedAt: number,
  begun: number,
  now: number,
  defers?: ReceiverOptions["defers"],
): Sighting[] {
  const sightings: Sighting[] = [];
  let time = begun;
  const tokens = new Tokens(KEY);
  const receiver = new ReplyReceiver({
    kinds: [{ protocol: "raknet", probe: probe!, kind: 0 }],
    tokens,
    targets: { has: () => true, hasHost: () => true },
    responders: new Responders(1),
    floods: new FloodingHosts(1, noFloods()),
    clock: {
      now: () => time,
      wall: () => time,
      after: () => () => {},
      yieldToEvents: () => Promise.resolve(),
      pollSockets: () => Promise.resolve(),
    },
    counts: noReplies(),
    sightings: { push: (sighting) => sightings.push(sighting), pushWhenHeld: () => {} },
    defers,
  });
  const ping = probe!.template.slice();
  const mac = tokens.of(0, ENDPOINT) & probe!.macMask;
  new Stamp(probe!).write(new DataView(ping.buffer), 0, mac, stampClock(stampedAt));
  time = now;
  const text = new TextEncoder().encode("MCPE;A;766;1.21.50;0;10;");
  const { time: echoed } = raknet.decodePing(ping)!;
  const pong = raknet.encodePong({ advertise: false, time: echoed, guid: 7n, text });
  receiver.receive(pong, ENDPOINT, 0);
  pong.fill(0);
  return sightings;
}

Deno.test("a sighting keeps its reply, decoded or not, when the socket's buffer is overwritten", () => {
  const [decoded] = sight(1100, 1000, 1150);
  const asked: unknown[] = [];
  const [deferred] = sight(1100, 1000, 1150, (datagram, from) => asked.push(datagram[0], from) > 0);
  assertEquals(asked, [0x1c, ENDPOINT]);
  assertEquals([deferred.status, deferred.raw], [undefined, decoded.raw]);
  const { name: protocol } = PROTOCOLS[0];
  const reply = decodeRawReply({ protocol, raw: deferred.raw! }, PROTOCOLS);
  assertEquals(firstReplyOf(decoded, PROTOCOLS), reply);
  assertEquals(reply.statement.columns.motd, "A");
});

Deno.test("replies that repeat the token and become no sighting are searched for opt-outs", () => {
  const taken: string[] = [];
  const clock = new FakeNetwork(1);
  const tokens = new Tokens(KEY);
  let suppresses = true;
  const receiver = new ReplyReceiver({
    kinds: [{ protocol: "raknet", probe: probe!, kind: 0 }],
    tokens,
    targets: { has: ({ port }) => port !== 1, hasHost: () => true },
    responders: new Responders(1),
    floods: new FloodingHosts(1, noFloods()),
    clock,
    counts: noReplies(),
    notes: { isActive: true, note: () => suppresses, noteStray: () => {} },
    sightings: { push: () => {}, pushWhenHeld: () => {} },
    optOuts: { take: ({ endpoint, protocol }) => taken.push(`${protocol} ${endpoint.port}`) },
  });
  const pong = (from: typeof ENDPOINT, mac = tokens.of(0, from) & probe!.macMask) => {
    const ping = probe!.template.slice();
    new Stamp(probe!).write(new DataView(ping.buffer), 0, mac, 0);
    const { time } = raknet.decodePing(ping)!;
    return raknet.encodePong({ advertise: false, time, guid: 7n, text: new Uint8Array() });
  };
  const elsewhere = { ...ENDPOINT, port: 1 };
  receiver.receive(pong(ENDPOINT), ENDPOINT, 0); // only detects
  suppresses = false;
  receiver.receive(pong(ENDPOINT), ENDPOINT, 0); // a sighting
  assertEquals(taken, ["raknet 19132"]);
  receiver.receive(pong(ENDPOINT), ENDPOINT, 0); // a duplicate
  receiver.receiveLate(pong(ENDPOINT), ENDPOINT);
  assertEquals(taken, ["raknet 19132", "raknet 19132", "raknet 19132"]);
  receiver.receiveLate(pong(ENDPOINT, 1), ENDPOINT); // forged
  receiver.receiveLate(pong(elsewhere), elsewhere); // not probed
  receiver.receiveLate(Uint8Array.of(28), ENDPOINT); // broken
  assertEquals(taken.length, 3);
  for (let i = 0; i < 5000; i++) receiver.receiveLate(pong(ENDPOINT), ENDPOINT);
  assert(taken.length < 100, "the others are dropped as a flood");
  const long = new Uint8Array(1600);
  const other = { ...ENDPOINT, port: 19133 };
  long.set(pong(other));
  receiver.receiveLate(long, other);
  assert(taken.length < 100);
});

Deno.test("a late reply to an earlier run of the scan is valid, without a round-trip time", () => {
  const ours = sight(1100, 1000, 1150.5);
  assertEquals(ours.map(({ verified, latencyMs }) => [verified, latencyMs]), [[true, 50.5]]);
  // The clock of the other process was ahead, or far behind.
  for (const stampedAt of [90_000, 3_600_000, 5]) {
    const [{ verified, latencyMs }] = sight(stampedAt, 1000, 1150);
    assertEquals([verified, latencyMs], [true, undefined], `${stampedAt}`);
  }
});

Deno.test("without a free hold, endpoints wait only in a protocol that echoes no token", () => {
  const pong = raknet.encodePong({ advertise: false, time: 5n, guid: 7n, text: undefined });
  for (const [name, datagram] of [["raknet", pong], ["sqp", sqp.encodeSqpChallenge(9)]] as const) {
    const counts = noReplies();
    const floods = new FloodingHosts(1, noFloods());
    const [sighted, waiting]: [Sighting[], Sighting[]] = [[], []];
    const time = { now: () => 5, wall: () => 5, after: () => () => {} };
    const receiver = new ReplyReceiver({
      kinds: [{
        protocol: name,
        probe: PROTOCOLS.find((one) => one.name === name)!.probe!,
        kind: 0,
      }],
      tokens: new Tokens(KEY),
      targets: { has: () => true, hasHost: () => true },
      responders: new Responders(1),
      floods,
      clock: {
        ...time,
        yieldToEvents: () => Promise.resolve(),
        pollSockets: () => Promise.resolve(),
      },
      counts,
      sightings: {
        push: (sighting) => sighted.push(sighting),
        pushWhenHeld: (sighting) => waiting.push(sighting),
      },
    });
    for (let port = 1; port <= 70; port++) receiver.receive(datagram, { ...ENDPOINT, port }, 0);
    receiver.receive(datagram, { ...ENDPOINT, port: 1 }, 0);
    const { unverified, forged, duplicate } = { ...counts };
    assertEquals([sighted.length, unverified, duplicate], [64, name === "raknet" ? 64 : 70, 1]);
    assertEquals(Object.values(counts).reduce((sum, one) => sum + one, 0), 71);
    const last = { ...ENDPOINT, port: 71 }; // here nothing stores waiting endpoints
    for (let i = 1; i <= 512; i++) {
      assertEquals(floods.has(last.address), false, `${i}`);
      receiver.receive(datagram, last, 0);
    }
    assertEquals(floods.has(last.address), true);
    const ports = waiting.slice(0, 6).map(({ endpoint }) => endpoint.port);
    if (name === "raknet") assertEquals([forged, ports], [6, []]);
    else assertEquals([forged, ports], [0, [65, 66, 67, 68, 69, 70]]);
  }
});
