/** How long a scan waits for addresses whose endpoints reply slowly and without valid replies. */
import { assert, assertEquals } from "@std/assert";
import type { Endpoint } from "../../../src/core/address.ts";
import { drawIdentity } from "../../../src/fleet/simulate/server_identity.ts";
import type { Responder } from "../../../src/fleet/simulate/responder.ts";
import { SqpServer } from "../../../src/fleet/simulate/sqp/sqp_server.ts";
import { SQP_STYLES } from "../../../src/fleet/simulate/sqp/sqp_styles.ts";
import { Random } from "../../../src/fleet/random.ts";
import * as raknet from "../../../src/protocols/raknet/mod.ts";
import * as sqp from "../../../src/protocols/sqp/mod.ts";
import type { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { scanFleet, type Setting } from "../scan_harness.ts";
import { longTest } from "../../long.ts";

const FIRST = 0x7f200000;
const FIRST_PORT = 9000;
const COOLDOWN_MS = 3000;
/** A delay just within the timeout of 1,500 ms. */
const LATE_MS = 1490;
/** Number of sockets of the sweep. Sockets of interviews have higher indexes. */
const SWEEP_PORTS = 40_004;
const MILD = { rate: 1000, netRate: 50, hostRate: 5 };

type Host = (network: FakeNetwork, endpoint: Endpoint, random: Random) => Responder;

/** Replies to requests for a challenge at once, but to no query. */
const forger: Host = (_network, _endpoint, random) => ({
  respond: (datagram) => datagram.length === 5 ? [sqp.encodeSqpChallenge(random.u32() || 1)] : [],
});

/** Makes an interview as long as possible: only repeated requests get a reply, which is late. */
const slowForger: Host = (network, endpoint, random) => {
  const requests = new Map<number, number>();
  return {
    respond(datagram, from) {
      const count = (requests.get(from.port) ?? 0) + 1;
      requests.set(from.port, count);
      const challenge = sqp.encodeSqpChallenge(random.u32() || 1);
      if (from.port < SWEEP_PORTS) return datagram.length === 5 ? [challenge] : [];
      if (datagram.length !== 5 || count > 1) network.inject(endpoint, from, challenge, LATE_MS);
      return [];
    },
  };
};

/** A server all of whose replies are late. */
const slowServer: Host = (network, endpoint, random) => {
  const server = new SqpServer(SQP_STYLES.sqpInfo, drawIdentity(random), random);
  return {
    respond(datagram, from) {
      const replies = server.respond(datagram, from);
      if (from.port < SWEEP_PORTS) return replies;
      for (const reply of replies) network.inject(endpoint, from, reply, LATE_MS);
      return [];
    },
  };
};

/** Replies to pings late and with the token, and replies to no query. */
const lateBedrock: Host = (network, endpoint) => ({
  respond(datagram, from) {
    const ping = raknet.decodePing(datagram);
    if (ping === undefined) return [];
    const text = new TextEncoder().encode(`MCPE;${endpoint.port};766;1.21.50;3;20;1;w;Survival;`);
    const pong = { advertise: false, time: ping.time, guid: BigInt(endpoint.port), text };
    network.inject(endpoint, from, raknet.encodePong(pong), LATE_MS);
    return [];
  },
});

/**
 * Scans hosts with a number of ports each, and measures how long interviews delay the end of the
 * scan.
 */
async function scanHosts(host: Host, hosts: number, ports: number, over: Partial<Setting> = {}) {
  const result = await scanFleet({
    fleet: { servers: 0, range: { start: FIRST, end: FIRST + hosts }, seed: 1 },
    protocolNames: ["sqp"],
    ports: () => Array.from({ length: ports }, (_, i) => FIRST_PORT + i),
    cooldownMs: COOLDOWN_MS,
    capLoopback: true,
    audited: false, // the log does not contain the late replies
    prepare: (network) => {
      const random = new Random(3);
      for (let i = 0; i < hosts * ports; i++) {
        const endpoint = { address: FIRST + i % hosts, port: FIRST_PORT + Math.floor(i / hosts) };
        network.host(endpoint, host(network, endpoint, random));
      }
    },
    ...over,
  });
  const { network, rows, state } = result;
  const lastProbe = network.sent.findLast(({ from }) => from.port < SWEEP_PORTS)!.at;
  const heldMs = network.now() - lastProbe - COOLDOWN_MS;
  return { heldMs, rows, replies: state.replies, network };
}

Deno.test("64 forgers on one address delay a scan by less than 15 s, and all are interviewed", async () => {
  const { heldMs, rows, replies } = await scanHosts(forger, 1, 64);
  assertEquals([rows.length, replies.forged, replies.omitted], [0, 64, 0]);
  assert(heldMs < 15_000, `${heldMs} ms`);
});

for (const hostRate of [1, 5, undefined]) {
  Deno.test(`the slowest forgers of one address delay a scan by at most 80 s, --host-rate ${hostRate ?? "off"}`, async () => {
    const rates = { ...MILD, hostRate };
    const { heldMs, replies } = await scanHosts(slowForger, 1, 64, { rates });
    assertEquals(replies.forged + replies.omitted, 64);
    assert(heldMs < 80_000, `${heldMs} ms`);
  });
}

longTest("4,096 slow forgers on 64 addresses delay a scan by at most 5 minutes", async () => {
  const { heldMs, replies } = await scanHosts(slowForger, 64, 64);
  assertEquals(replies.forged + replies.omitted, 4096);
  assert(heldMs < 300_000, `${heldMs} ms`);
});

longTest("4,096 slow servers on 64 addresses are all found within 5 minutes", async () => {
  const { heldMs, rows, replies } = await scanHosts(slowServer, 64, 64);
  assertEquals([rows.length, replies.omitted], [4096, 0]);
  assert(heldMs < 300_000, `${heldMs} ms`);
});

Deno.test("slow servers at the default limits are all found, although they take longer than a budget", async () => {
  const { rows, replies, network } = await scanHosts(slowServer, 1, 120, { rates: MILD });
  assertEquals([rows.length, replies.omitted, replies.forged], [120, 0, 0]);
  const sent = network.sent.map(({ at }) => at);
  assert(sent.every((at, i) => i < 5 || at - sent[i - 5] >= 999.9), "5 datagrams a second");
});

Deno.test("slow but proved servers of one address are interviewed five at once", async () => {
  const { rows, network } = await scanHosts(lateBedrock, 1, 50, {
    protocolNames: ["raknet", "query"],
    rates: MILD,
  });
  assertEquals(rows.length, 50);
  assert(network.now() < 150_000, `${network.now()} ms`);
  const sent = network.sent.map(({ at }) => at);
  assert(sent.every((at, i) => i < 5 || at - sent[i - 5] >= 999.9), "5 datagrams a second");
});
