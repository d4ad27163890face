/**
 * Scans that verify servers.
 *
 * Covers src/inspect/run_interview.ts and src/inspect/verify_joinable.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { formatEndpoint } from "../../src/core/address.ts";
import { audit } from "../../src/fleet/judge/audit.ts";
import { drawFleet, type FleetHost } from "../../src/fleet/simulate/draw_fleet.ts";
import { Random } from "../../src/fleet/random.ts";
import type { WitnessLine } from "../../src/fleet/witness_log.ts";
import * as raknet from "../../src/protocols/raknet/mod.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { queryServer } from "../../src/scan/query_server.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { FakeStreams } from "../../src/testing/fake_streams.ts";
import { scanFleet, type Setting } from "./scan_harness.ts";

const RANGE = { start: 0x7f100000, end: 0x7f101000 };
const FLEET = { servers: 400, hostile: 40, range: RANGE, seed: 12 };
const BEDROCK = { servers: 20, range: RANGE, seed: 3, software: ["bds"] };

/** Records the datagrams of hosts in the form of a fleet's log. */
function witnessed(lines: WitnessLine[]): Setting["prepare"] {
  return (network, hosts) => {
    for (const { endpoint, responder } of hosts) {
      if (responder === undefined) continue;
      network.host(endpoint, {
        respond(datagram, from, now) {
          const note = (way: "in" | "out", bytes: Uint8Array) =>
            lines.push({
              at: now,
              way,
              host: formatEndpoint(endpoint),
              peer: formatEndpoint(from),
              lost: false,
              hex: bytes.subarray(0, 64).toHex(),
              size: bytes.length,
            });
          note("in", datagram);
          const replies = responder.respond(datagram, from, now);
          for (const reply of replies) note("out", reply);
          return replies;
        },
      });
    }
  };
}

/** The datagrams with these first bytes that hosts of the fleet received. */
const got = (lines: readonly WitnessLine[], ...ids: readonly string[]) =>
  lines.filter(({ way, hex }) => way === "in" && ids.includes(hex.slice(0, 2)));

Deno.test("a scan with --verify finds joinable servers, and leaves no half-open connection", async () => {
  const lines: WitnessLine[] = [];
  const { verdict, rows } = await scanFleet({
    fleet: FLEET,
    verify: true,
    prepare: witnessed(lines),
  });
  assertEquals(verdict.faults, []);
  assertEquals([verdict.found, verdict.right], [verdict.expected, verdict.expected]);
  // An echo of a hostile host is not a pong, and leads to no connection request.
  assertEquals(audit(lines, {}).filter((fault) => !/ms: a (ping|handshake) /.test(fault)), []);
  assert(got(lines, "05").length > 100);
  assertEquals(got(lines, "07", "09", "84", "80", "c0", "a0"), []);
  const flags = new Set(rows.flatMap((row) => row.flags));
  for (const flag of ["full", "banned", "advertOnly"]) assert(flags.has(flag), flag);
  const protocols = new Set(rows.map((row) => row.raknet_protocol));
  assertEquals(protocols, new Set([null, 11, 10, 5, 6]));
});

Deno.test("without --verify no connection request is sent", async () => {
  const lines: WitnessLine[] = [];
  const { rows } = await scanFleet({ fleet: FLEET, prepare: witnessed(lines) });
  assert(rows.length > 300 && rows.every(({ joinable, mtu }) => joinable === null && mtu === null));
  assertEquals(got(lines, "05", "07"), []);
});

Deno.test("--verify works with delayed, duplicated and reordered datagrams", async () => {
  const faults = { loss: 0, duplication: 0.3, delay: 10, jitter: 60 };
  const { verdict } = await scanFleet({
    fleet: FLEET,
    faults,
    verify: true,
    protocolNames: ["raknet"],
  });
  assertEquals(verdict.faults, []);
  assertEquals(verdict.right, verdict.expected);
});

Deno.test("with packet loss --verify leaves values unknown, and none wrong", async () => {
  const faults = { loss: 0.05, duplication: 0, delay: 5, jitter: 20 };
  const { rows, hosts, verdict } = await scanFleet({
    fleet: FLEET,
    faults,
    verify: true,
    retries: 3,
  });
  assertEquals(verdict.faults.filter((fault) => !fault.includes(": missing")), []);
  let right = 0;
  for (const row of rows.filter(({ protocol }) => protocol === "raknet")) {
    const { entry } = hosts.find(({ entry }) => entry.host === row.host)!;
    const truth = entry.verified?.columns.joinable ?? null;
    assert(row.joinable === truth || row.joinable === null, entry.software);
    if (row.joinable === truth) right++;
  }
  assert(right > 150, String(right));
});

Deno.test("verification counts for the caps", async () => {
  const lines: WitnessLine[] = [];
  const { verdict } = await scanFleet({
    fleet: { servers: 30, range: { start: 0x0a000000, end: 0x0a000100 }, seed: 4 },
    rates: { rate: 1000, netRate: 40, hostRate: 2 },
    verify: true,
    prepare: witnessed(lines),
  });
  assertEquals(verdict.faults, []);
  const excess = audit(lines, { hostRate: 2, netRate: 40 });
  assertEquals(excess.filter((fault) => fault.includes("within a second")), []);
});

Deno.test("no connection request is sent to an opted-out server", async () => {
  const lines: WitnessLine[] = [];
  const fleet = { ...FLEET, hostile: 0, software: ["bdsOptedOut"] };
  const { rows } = await scanFleet({ fleet, verify: true, prepare: witnessed(lines) });
  assertEquals([rows, got(lines, "05")], [[], []]);
});

/** Puts a recording responder in front of each host. */
const guarded =
  (door: (datagram: Uint8Array) => readonly Uint8Array[] | undefined): Setting["prepare"] =>
  (network, hosts) => {
    for (const { endpoint, responder } of hosts) {
      if (responder === undefined) continue;
      network.host(endpoint, {
        respond: (datagram, from, now) => door(datagram) ?? responder!.respond(datagram, from, now),
      });
    }
  };

Deno.test("an interrupted scan does not report servers as not joinable", async () => {
  const controller = new AbortController();
  const { rows } = await scanFleet({
    fleet: BEDROCK,
    faults: { loss: 0, duplication: 0, delay: 2000, jitter: 0 }, // timeouts of 16 seconds
    protocolNames: ["raknet"],
    cooldownMs: 5000,
    verify: true,
    signal: controller.signal,
    prepare: (network, hosts, streams) => {
      guarded((datagram) => datagram[0] === 0x05 ? [] : undefined)!(network, hosts, streams);
      network.after(6000, () => controller.abort());
    },
  });
  assertEquals(rows.length, 20);
  for (const { flags, joinable } of rows) {
    assert(flags.includes("cutShort") && !flags.includes("advertOnly") && joinable === null);
  }
});

Deno.test("a malformed reply is flagged, and the row is written", async () => {
  const broken = raknet.encodeOpenReply1({ guid: 1n, security: undefined, mtu: 1400 });
  const { rows } = await scanFleet({
    fleet: BEDROCK,
    verify: true,
    prepare: guarded((datagram) => datagram[0] === 0x05 ? [broken.subarray(0, 20)] : undefined),
  });
  assertEquals(rows.length, 20);
  for (const { flags, joinable, name } of rows) {
    assert(flags.includes("verifyMalformed") && joinable === null && name !== null);
  }
});

Deno.test("a server whose reply lacks the time of the ping is verified when it is confirmed", async () => {
  const { rows } = await scanFleet({
    fleet: { ...BEDROCK, software: ["raknetNode"] },
    verify: true,
  });
  assertEquals(rows.length, 20);
  assert(rows.every(({ flags, joinable }) => flags.includes("timeNotEchoed") && joinable));
});

/** Queries one server in all protocols. */
async function query(software: string, verify: boolean) {
  const network = new FakeNetwork(1);
  const random = new Random(1);
  const plan = { ...BEDROCK, servers: 1, software: [software] };
  const [{ endpoint, responder }]: FleetHost[] = drawFleet(plan);
  network.host(endpoint, responder!);
  const { record } = await network.run(
    queryServer(endpoint, {
      allProtocols: PROTOCOLS,
      protocols: PROTOCOLS,
      timeoutMs: 1000,
      retries: 1,
      open: (family) => network.open(family),
      dialer: new FakeStreams(network, 1),
      nonce: () => random.u64() >> 1n,
      clock: network,
      signal: new AbortController().signal,
      requestedAs: null,
      scanId: "scan",
      verify,
    }),
  );
  const { joinable, mtu, raknet_protocol, extras } = record!;
  return [joinable, mtu, raknet_protocol, extras?.raknet?.security];
}

Deno.test("a single server can be verified too", async () => {
  assertEquals(await query("pocketmine", false), [null, null, null, undefined]);
  assertEquals(await query("pocketmine", true), [true, 1492, 11, "none"]);
  assertEquals(await query("nukkit", true), [true, 1400, 11, "cookie"]);
  assertEquals(await query("banned", true), [null, null, null, undefined]);
  assertEquals(await query("bdsAdvertises", true), [false, null, null, undefined]);
});
