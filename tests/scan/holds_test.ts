import { assert, assertEquals } from "@std/assert";
import { type Endpoint, formatAddress, formatEndpoint } from "../../src/core/address.ts";
import { drawFleet } from "../../src/fleet/simulate/draw_fleet.ts";
import { drawIdentity } from "../../src/fleet/simulate/server_identity.ts";
import { Random } from "../../src/fleet/random.ts";
import type { Responder } from "../../src/fleet/simulate/responder.ts";
import { SqpServer } from "../../src/fleet/simulate/sqp/sqp_server.ts";
import { SQP_STYLES } from "../../src/fleet/simulate/sqp/sqp_styles.ts";
import * as sqp from "../../src/protocols/sqp/mod.ts";
import { serverId } from "../../src/core/record.ts";
import { FakeDisk } from "../fakes/disk.ts";
import type { FakeNetwork } from "../../src/testing/fake_network.ts";
import { noReplies } from "../../src/sweep/reply_counts.ts";
import { NO_STREAM_FAULTS } from "../../src/testing/fake_streams.ts";
import { type Result, scanFleet, type Setting } from "./scan_harness.ts";
import { resumeScan, startScan } from "./checkpoint/resumable_scan.ts";
import { readNdjson } from "../../src/fleet/judge/verify_rows.ts";

const FIRST = 0x7f200000;
const FIRST_PORT = 9000;

/** Consecutive hosts with consecutive ports that all respond in the same way. */
interface Crowd {
  readonly hosts: number;
  readonly ports: number;
  readonly responder: (random: Random) => Responder;
}

const server = (random: Random) => new SqpServer(SQP_STYLES.sqpInfo, drawIdentity(random), random);

/** Replies to every request for a challenge, but to no query. */
const forger = (random: Random): Responder => ({
  respond: (datagram) => datagram.length === 5 ? [sqp.encodeSqpChallenge(random.u32() || 1)] : [],
});

/** The endpoints of all crowds, in order. */
function endpointsOf(crowds: readonly Crowd[]): Endpoint[][] {
  let next = FIRST;
  return crowds.map(({ hosts, ports }) =>
    Array.from({ length: hosts }, () => next++).flatMap((address) =>
      Array.from({ length: ports }, (_, i) => ({ address, port: FIRST_PORT + i }))
    )
  );
}

/** Options of a scan of crowds for SQP. */
function settingOf(crowds: readonly Crowd[], over: Partial<Setting> = {}): Setting {
  const hosts = crowds.reduce((sum, one) => sum + one.hosts, 0);
  const most = Math.max(...crowds.map(({ ports }) => ports));
  return {
    fleet: { servers: 0, range: { start: FIRST, end: FIRST + hosts }, seed: 1 },
    protocolNames: ["sqp"],
    ports: () => Array.from({ length: most }, (_, i) => FIRST_PORT + i),
    retries: 0,
    prepare: (network: FakeNetwork) => {
      const random = new Random(3);
      for (const [i, endpoints] of endpointsOf(crowds).entries()) {
        for (const endpoint of endpoints) network.host(endpoint, crowds[i].responder(random));
      }
    },
    ...over,
  };
}

/** Endpoints to which a query was sent, by address. */
function interviewed({ network }: Result): Map<string, number> {
  const queried = network.sent.filter(({ bytes }) => bytes.length === 8);
  const endpoints = new Map(queried.map(({ to }) => [formatEndpoint(to), to]));
  const counts = new Map<string, number>();
  for (const { address } of endpoints.values()) {
    const host = formatAddress(address);
    counts.set(host, (counts.get(host) ?? 0) + 1);
  }
  return counts;
}

for (const ports of [120, 300]) {
  Deno.test(`sqp: ${ports} servers of one host are all found`, async () => {
    const { rows, state, end } = await scanFleet(
      settingOf([{ hosts: 1, ports, responder: server }]),
    );
    assertEquals(new Set(rows.map(serverId)).size, ports);
    assertEquals([rows.length, state.replies], [ports, { ...noReplies(), valid: ports }]);
    assertEquals([end.reason, end.marks.udp], ["done", { pass: 2, position: 0 }]);
  });
}

Deno.test("sqp: on many hosts, more servers than holds are all found", async () => {
  const { rows, state } = await scanFleet(
    settingOf([{ hosts: 70, ports: 80, responder: server }]),
  );
  assertEquals([rows.length, state.replies.omitted], [5600, 0]);
});

Deno.test("sqp: a host that forges replies gets 64 interviews, and hides no other host", async () => {
  for (const retries of [0, 2]) {
    const crowds = [{ hosts: 1, ports: 300, responder: forger }, {
      hosts: 20,
      ports: 100,
      responder: server,
    }];
    const result = await scanFleet(settingOf(crowds, { retries }));
    const { rows, state, end } = result;
    assertEquals(interviewed(result).get(formatAddress(FIRST)), 64);
    // Later passes probe endpoints again whose interviews got no reply.
    const duplicate = retries === 0 ? 0 : state.replies.duplicate;
    const replies = { ...noReplies(), valid: 2000, forged: 64, omitted: 236, duplicate };
    assertEquals([rows.length, state.replies], [2000, replies]);
    assertEquals(state.omittedAt.length, 236);
    assert(state.omittedAt.every(({ endpoint }) => endpoint.address === FIRST));
    assertEquals([end.reason, end.marks.udp.pass], ["done", retries + 2]);
    // Endpoints that wait or were omitted have replied. Later passes skip them.
    const requests = new Map<number, number>();
    for (const { to, bytes } of result.network.sent) {
      if (to.address !== FIRST || bytes.length !== 5) continue;
      requests.set(to.port, (requests.get(to.port) ?? 0) + 1);
    }
    assertEquals(requests.size, 300);
    assertEquals([...requests.values()].filter((count) => count === 1).length, 236);
  }
});

Deno.test("sqp: forging hosts get 4,096 interviews in all, and omitted endpoints are counted", async () => {
  const crowds = [{ hosts: 70, ports: 70, responder: forger }, {
    hosts: 3,
    ports: 70,
    responder: server,
  }];
  const result = await scanFleet(settingOf(crowds));
  const { rows, state: { replies, omittedAt } } = result;
  const counts = interviewed(result);
  const [forging] = endpointsOf(crowds);
  const hosts = new Set(forging.map(({ address }) => formatAddress(address)));
  const forged = [...counts].filter(([host]) => hosts.has(host)).map(([, count]) => count);
  assert(forged.every((count) => count <= 64));
  assertEquals(forged.reduce((sum, one) => sum + one, 0), 4096);
  const omitted = 73 * 70 - 4096 - rows.length;
  assertEquals(replies, { ...noReplies(), valid: rows.length, forged: 4096, omitted });
  assertEquals(omittedAt.length, replies.omitted);
  assert(rows.length >= 70, `${rows.length}`);
});

Deno.test("sqp: an opted-out server is not counted as omitted", async () => {
  const shy = (random: Random) => {
    const identity = { ...drawIdentity(random), motd: { text: "§b§d§f§d§bShy", plain: "Shy" } };
    return new SqpServer(SQP_STYLES.sqpInfo, identity, random);
  };
  const { rows, state } = await scanFleet(settingOf([{ hosts: 1, ports: 150, responder: shy }]));
  assertEquals([rows.length, state.optedOut, state.replies.omitted], [0, 1, 0]);
});

Deno.test("sqp: a waiting server that replies over TCP is not counted as omitted", async () => {
  const crowds = [{ hosts: 1, ports: 80, responder: forger }];
  const last = { address: FIRST, port: FIRST_PORT + 79 };
  const range = { start: FIRST, end: FIRST + 1 };
  const [java] = drawFleet({ servers: 1, range, seed: 1, software: ["vanilla"] });
  const setting = settingOf(crowds, { protocolNames: ["slp", "sqp"], seed: undefined });
  const { rows, state } = await scanFleet({
    ...setting,
    // Four connections to a host are open at once. The last connections begin after the replies to
    // SQP.
    streamFaults: { ...NO_STREAM_FAULTS, delay: 500 },
    prepare: (network, hosts, streams) => {
      setting.prepare!(network, hosts, streams);
      streams.host(last, java.streams!);
    },
  });
  assertEquals(rows.map(({ port, protocols }) => [port, protocols]), [[last.port, ["slp"]]]);
  assertEquals([state.replies.forged, state.replies.omitted], [64, 15]);
});

Deno.test("sqp: no endpoint is omitted for lack of descriptors, and the scan can be resumed", async () => {
  const setting = settingOf([{ hosts: 1, ports: 120, responder: server }]);
  const { state, end } = await scanFleet({
    ...setting,
    openExclusive: () => {
      throw Object.assign(new Error("Too many open files"), { code: "EMFILE" });
    },
  });
  assertEquals([state.uninspected, state.replies.omitted], [120, 0]);
  assertEquals([end.reason, end.marks.udp], ["incomplete", { pass: 1, position: 0 }]);
});

/**
 * 150 servers on one host, whose interviews take half a minute, and a host that forges replies.
 */
const SLOW = settingOf([
  { hosts: 1, ports: 150, responder: server },
  { hosts: 1, ports: 80, responder: forger },
], {
  rates: { rate: undefined, netRate: undefined, hostRate: 20 },
  capLoopback: true,
  timeoutMs: 300,
});

Deno.test("sqp: a server that waits when a scan is interrupted is found by the resumed scan", async () => {
  const controller = new AbortController();
  const first = await scanFleet({
    ...SLOW,
    signal: controller.signal,
    prepare: (network, ...rest) => {
      SLOW.prepare!(network, ...rest);
      network.after(10_000, () => controller.abort());
    },
  });
  assertEquals([first.end.reason, first.end.marks.udp.pass], ["interrupted", 1]);
  assert(first.rows.length > 5 && first.rows.length < 86, `${first.rows.length}`);
  assertEquals(first.state.replies.omitted, 0);
  const responders = first.rows.map(({ host, port }) => {
    assertEquals(host, formatAddress(FIRST));
    return { address: FIRST, port };
  });
  const second = await scanFleet({ ...SLOW, from: first.end.marks.udp, responders });
  assertEquals(second.end.reason, "done");
  assertEquals(new Set([...first.rows, ...second.rows].map(serverId)).size, 150);
  assertEquals(second.state.replies.omitted, 16);
});

Deno.test("sqp: a scan of a host with many servers that is killed at any time and resumed finds every server", async () => {
  const whole = new FakeDisk();
  await startScan(whole, SLOW);
  const ids = (disk: FakeDisk) => readNdjson(disk.text("rows.ndjson")!).map(serverId).toSorted();
  assertEquals(ids(whole).length, 150);
  const saved = whole.operations.flatMap(({ kind }, i) => kind === "rename" ? [i + 1] : []);
  assert(saved.length > 20);
  for (let i = 0; i < saved.length; i += 4) {
    const disk = FakeDisk.after(whole.operations, saved[i]);
    await resumeScan(disk, SLOW);
    assertEquals(ids(disk), ids(whole), `save ${i}`);
  }
});
