/**
 * Covers src/scan/, src/scan/setup/, src/scan/plan/, src/scan/tables/, src/inspect/, src/scan/inspect_stage/, src/scan/sweep_stage/,
 * and src/sweep/sweep.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { type Endpoint, formatEndpoint, parseIpv4 } from "../../src/core/address.ts";
import { audit } from "../../src/fleet/judge/audit.ts";
import { Random } from "../../src/fleet/random.ts";
import * as query from "../../src/protocols/query/mod.ts";
import * as raknet from "../../src/protocols/raknet/mod.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { serverId } from "../../src/core/record.ts";
import { OutputLostError, WriteError } from "../../src/sinks/sink.ts";
import { Tokens } from "../../src/targets/token.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { MemorySink, type Result, scanFleet, type Setting } from "./scan_harness.ts";
import { longTest } from "../long.ts";

const KEY = new Uint8Array(8).fill(7);
const RANGE = { start: 0x7f100000, end: 0x7f101000 };
const FLEET = { servers: 300, hostile: 60, range: RANGE, seed: 11 };
const BEDROCK = { servers: 40, range: RANGE, seed: 3, software: ["bds"] };

/** The lines of the fleet's log for a recorded scan. */
function witness({ network }: Result, sources: (port: number) => boolean = () => true) {
  return network.sent.filter(({ from }) => sources(from.port)).map(({ at, from, to, bytes }) => ({
    at,
    way: "in" as const,
    host: formatEndpoint(to),
    peer: formatEndpoint(from),
    lost: false,
    hex: bytes.toHex(),
    size: bytes.length,
  }));
}

function complete({ verdict, state, end }: Result): void {
  assertEquals(verdict.faults, []);
  assertEquals([verdict.found, verdict.right], [verdict.expected, verdict.expected]);
  assertEquals([end.reason, state.written, state.lost], ["done", verdict.expected, 0]);
}

Deno.test("a scan finds every server of a fleet once, with every field correct", async () => {
  const result = await scanFleet({ fleet: FLEET });
  complete(result);
  assert(result.verdict.expected > 250);
  assertEquals(result.end.marks.udp, { pass: 5, position: 0 });
  const { replies, tcp: { counts } } = result.state;
  assert(
    counts.refused > 0 && counts.invalid > 0 && counts.unresponsive > 0 && counts.valid > 100,
  );
  assert(
    replies.unsolicited > 0 && replies.malformed > 0 && replies.forged > 0 && replies.duplicate > 0,
  );
  const { firstProbeAt, lastRowAt } = result.state;
  assert(firstProbeAt! <= Math.min(...result.rows.map((row) => row.seen_at)));
  assert(lastRowAt! >= Math.max(...result.rows.map((row) => row.seen_at)));
});

const FAULTS = { loss: 0, duplication: 0, delay: 20, jitter: 0 };

Deno.test("delayed, duplicated and reordered datagrams lose no server", async () => {
  const faults = { loss: 0, duplication: 0.3, delay: 10, jitter: 60 };
  const { verdict, state } = await scanFleet({ fleet: FLEET, faults });
  assertEquals(verdict.faults, []);
  assertEquals(verdict.found, verdict.expected);
  // If a token is valid for one request, a duplicate handshake invalidates the first token.
  assert(verdict.right >= 0.99 * verdict.expected, `${verdict.right} of ${verdict.expected} whole`);
  assert(state.replies.duplicate > 0);
});

longTest(
  "with 5 % loss in each direction and three retries hardly any server is missed",
  async () => {
    const faults = { loss: 0.05, duplication: 0.02, delay: 5, jitter: 20 };
    const fleet = { ...FLEET, servers: 1000, hostile: 0 };
    let [expected, found, right] = [0, 0, 0];
    for (const networkSeed of [1, 2, 3, 4]) {
      const { verdict } = await scanFleet({
        fleet,
        faults,
        networkSeed,
        retries: 3,
        timeoutMs: 500,
      });
      assertEquals(verdict.faults.filter((fault) => !fault.includes("missing")), []);
      expected += verdict.expected;
      found += verdict.found;
      right += verdict.right;
    }
    assert(found >= expected * 0.999, `${found} of ${expected}`);
    // 999 of 1,000 rows are complete on average of many seeds.
    assert(right >= expected * 0.9975, `${right} of ${expected} whole`);
  },
);

for (const concurrency of [1, 16, 2000]) {
  Deno.test(`a concurrency of ${concurrency} gives the same rows`, async () => {
    complete(await scanFleet({ fleet: FLEET, concurrency, faults: FAULTS }));
  });
}

Deno.test("--no-follow writes the status of the first reply", async () => {
  complete(await scanFleet({ fleet: FLEET, follow: false }));
});

for (const name of ["raknet", "query"]) {
  Deno.test(`a scan with only ${name} finds the servers of that protocol`, async () => {
    const result = await scanFleet({ fleet: FLEET, protocolNames: [name] });
    complete(result);
    assert(result.rows.every(({ protocols }) => protocols.join() === name));
  });
}

Deno.test("all shards together find every server once", async () => {
  const found: string[] = [];
  for (const index of [1, 2, 3]) {
    const { rows } = await scanFleet({ fleet: FLEET, shard: { index, count: 3 } });
    assert(rows.length > 50);
    found.push(...rows.map(serverId));
  }
  const { rows } = await scanFleet({ fleet: FLEET });
  assertEquals(found.toSorted(), rows.map(serverId).toSorted());
});

Deno.test("a scan without a cooldown finds servers that reply at once", async () => {
  complete(await scanFleet({ fleet: BEDROCK, protocolNames: ["raknet"], cooldownMs: 0 }));
});

Deno.test("a slow disk slows a scan down, and no responder is lost", async () => {
  const network = new FakeNetwork(1);
  const batches: number[] = [];
  class SlowDisk extends MemorySink {
    override async write(records: Parameters<MemorySink["write"]>[0]): Promise<void> {
      batches.push(records.length);
      await new Promise<void>((resolve) => network.after(5000, resolve)); // longer than the cooldown
      await super.write(records);
    }
  }
  const slow = new SlowDisk();
  const { end, state } = await scanFleet({
    fleet: { ...BEDROCK, servers: 3600 },
    network,
    protocolNames: ["raknet"],
    retries: 0,
    sinks: [slow],
  });
  assertEquals([end.reason, slow.rows.length, state.written, state.lost], ["done", 3600, 3600, 0]);
  assertEquals(new Set(slow.rows.map(serverId)).size, 3600);
  assertEquals(Math.max(...batches), 256); // no more rows wait in memory
  assertEquals(state.replies.valid, 3600);
});

Deno.test("an interrupted scan is resumed at its mark", async () => {
  const controller = new AbortController();
  const rates = { rate: 2000, netRate: undefined, hostRate: undefined };
  const first = await scanFleet({
    fleet: FLEET,
    rates,
    cooldownMs: 1000, // the time for late replies after an interruption
    signal: controller.signal,
    prepare: (network) => void network.after(2900, () => controller.abort()),
  });
  assertEquals(first.end.reason, "interrupted");
  assert(first.end.marks.udp.pass === 1 && first.end.marks.udp.position > 1000);
  assert(first.end.marks.tcp.pass === 1 && first.end.marks.tcp.position > 500);
  const ids = first.rows.map(({ host, port }) => ({ host, port }));
  const responders = first.hosts.map(({ endpoint }) => endpoint)
    .filter((endpoint) => ids.some((id) => serverId(id) === formatEndpoint(endpoint)));
  const { udp: from, tcp: fromTcp } = first.end.marks;
  const second = await scanFleet({ fleet: FLEET, from, fromTcp, responders });
  const whole = await scanFleet({ fleet: FLEET });
  const both = [...first.rows, ...second.rows].map(serverId);
  assertEquals(both.toSorted(), whole.rows.map(serverId).toSorted());
  assert(first.rows.length > 20 && second.rows.length > 20);
});

Deno.test("a resumed scan repeats probes that may have had a late reply", async () => {
  const controller = new AbortController();
  const slow = {
    fleet: BEDROCK,
    faults: { loss: 0, duplication: 0, delay: 1200, jitter: 0 }, // in each direction
    rates: { rate: 500, netRate: undefined, hostRate: undefined },
    protocolNames: ["raknet"],
    retries: 0,
  };
  const first = await scanFleet({
    ...slow,
    signal: controller.signal,
    prepare: (network) => void network.after(4000, () => controller.abort()),
  });
  // 3,000 ms before the end, a thousand after the interruption, four seconds after the start
  assert(Math.abs(first.end.marks.udp.position - 1000) < 100, `${first.end.marks.udp.position}`);
  const known = new Set(first.rows.map(serverId));
  const responders = first.hosts.map(({ endpoint }) => endpoint)
    .filter((endpoint) => known.has(formatEndpoint(endpoint)));
  const second = await scanFleet({ ...slow, from: first.end.marks.udp, responders });
  const both = [...first.rows, ...second.rows].map(serverId);
  assertEquals(both.toSorted(), first.hosts.map(({ endpoint }) => formatEndpoint(endpoint)).sort());
});

Deno.test("a slow host does not keep a scan from ending", async () => {
  const controller = new AbortController();
  const ports = Array.from({ length: 1000 }, (_, i) => 20000 + i);
  const address = 0x7f100001;
  const pong = (time: bigint) =>
    raknet.encodePong({
      advertise: false,
      time,
      guid: 7n,
      text: new TextEncoder().encode("MCPE;Tar;766;1.21.50;0;10;"),
    });
  const { end, rows, state, network } = await scanFleet({
    fleet: { ...BEDROCK, servers: 0 },
    range: { start: address, end: address + 1 },
    ports: () => ports,
    retries: 0,
    signal: controller.signal,
    prepare: (network) => {
      for (const port of ports) {
        network.host({ address, port }, {
          respond: (datagram) => {
            const ping = raknet.decodePing(datagram);
            return ping === undefined ? [] : [pong(ping.time)];
          },
        });
      }
      network.after(3000, () => controller.abort());
    },
  });
  assertEquals([end.reason, rows.length, state.lost], ["interrupted", 1000, 0]);
  assert(network.now() < 3000 + 5000 + 1500, `${network.now()}`);
  const cut = rows.filter(({ flags }) => flags.includes("cutShort"));
  assert(
    cut.length > 400 && cut.length < 1000,
    `${cut.length} rows lack columns that were not queried`,
  );
});

Deno.test("an earlier opt-out is not probed, and does not change the order of targets", async () => {
  const order = async (optedOut: readonly { start: number; end: number }[]) => {
    const { network, rows } = await scanFleet({
      fleet: BEDROCK,
      optedOut,
      retries: 0,
      protocolNames: ["raknet"],
      follow: false,
      prepare: (network) => network.record = true,
    });
    return {
      // A server that replied is queried again while nothing else replies.
      sent: [
        ...new Set(network.sent.filter(({ to }) => to.port === 19132).map(({ to }) => to.address)),
      ],
      rows,
    };
  };
  const all = await order([]);
  const { host } = all.rows[0];
  const shy = parseIpv4(host);
  const fewer = await order([{ start: shy, end: shy + 1 }]);
  assertEquals(fewer.sent, all.sent.filter((address) => address !== shy));
  assertEquals(fewer.rows.length, all.rows.length - 1);
});

Deno.test("a server that opts out is dropped at its first reply, recorded, and not probed again", async () => {
  const fleet = { ...FLEET, hostile: 0, software: ["bdsOptedOut", "vanillaOptedOut"] };
  const { rows, optedOut, hosts, state, network } = await scanFleet({
    fleet,
    prepare: (network) => network.record = true,
  });
  assertEquals(rows, []);
  assertEquals(state.optedOut, 300);
  assertEquals(new Set(optedOut).size, 300);
  const bedrock = hosts.filter(({ endpoint }) => endpoint.port === 19132);
  for (const { endpoint } of bedrock) {
    const requests = network.sent.filter(({ to }) => to.address === endpoint.address);
    assertEquals(requests.length, 1, "a ping, and nothing after its answer");
  }
});

Deno.test("nothing is sent to excluded addresses", async () => {
  const excluded = [{ start: RANGE.start + 100, end: RANGE.start + 900 }];
  const result = await scanFleet({
    fleet: FLEET,
    excluded,
    prepare: (network) => network.record = true,
  });
  const requests = result.network.sent.filter(({ to }) =>
    to.address >= excluded[0].start && to.address < excluded[0].end
  );
  assertEquals(requests, []);
  assertEquals(
    audit(witness(result), { excluded }).filter((fault) => fault.includes("excluded")),
    [],
  );
});

Deno.test("the sweep does not probe endpoints in an interview, unproved ones included", async () => {
  const faults = { loss: 0.05, duplication: 0, delay: 40, jitter: 80 };
  const fleet = { ...FLEET, software: ["raknetNode", "pocketmine", "banned"] };
  const { network } = await scanFleet({
    fleet,
    faults,
    retries: 3,
    prepare: (fake) => fake.record = true,
  });
  const last = new Map<string, { kind: number; at: number }>();
  for (const { to, bytes, at } of network.sent) {
    const [kind] = bytes;
    const before = last.get(formatEndpoint(to));
    // No ping is sent within a second of a handshake to the same host.
    if (kind === 0x01 && before?.kind === 0xfe) assert(at - before.at >= 950, formatEndpoint(to));
    last.set(formatEndpoint(to), { kind, at });
  }
});

Deno.test("caps apply to sweep and inspection together", async () => {
  const range = { start: 0x0a000000, end: 0x0a000200 };
  const fleet = { servers: 60, range, seed: 4 };
  const rates = { rate: 1000, netRate: 40, hostRate: 3 };
  const result = await scanFleet({ fleet, rates, prepare: (network) => network.record = true });
  complete(result);
  const faults = audit(witness(result), { hostRate: 3, netRate: 40 });
  assertEquals(faults.filter((fault) => fault.includes("within a second")), []);
  const seconds = (result.network.sent.at(-1)!.at - result.network.sent[0].at) / 1000;
  assert(result.network.count / seconds < 85, "two networks of 40 a second");
});

Deno.test("the rate limit is kept", async () => {
  const rates = { rate: 500, netRate: undefined, hostRate: undefined };
  const { network } = await scanFleet({
    fleet: BEDROCK,
    rates,
    protocolNames: ["raknet"],
    retries: 0,
    prepare: (fake) => fake.record = true,
  });
  // A server that replied is queried again after the last probe, while nothing else replies.
  const probes = Map.groupBy(network.sent, ({ to }) => to.address);
  const times = [...probes.values()].map(([{ at }]) => at).toSorted((a, b) => a - b);
  const rate = (times.length - 1) / (times.at(-1)! - times[0]) * 1000;
  assert(Math.abs(rate - 500) < 5, `${rate} a second`);
  const most = Math.max(...times.map((at, i) => i - times.findIndex((other) => other > at - 100)));
  assert(most <= 56, `${most + 1} within 100 ms`);
});

Deno.test("limits on targets, results and time end a scan with their reason", async () => {
  const targets = await scanFleet({
    fleet: FLEET,
    maxTargets: 700,
    retries: 0,
    protocolNames: ["raknet"],
  });
  assertEquals([targets.end.reason, targets.state.sent], ["done", 700]);
  const results = await scanFleet({ fleet: FLEET, maxResults: 25 });
  assertEquals([results.end.reason, results.rows.length], ["max-results", 25]);
  const rates = { rate: 100, netRate: undefined, hostRate: undefined };
  const time = await scanFleet({ fleet: FLEET, maxRuntimeMs: 5000, rates });
  assertEquals(time.end.reason, "max-runtime");
  assert(time.network.now() < 1000 + 5000 + 3000 && time.state.sent <= 505, `${time.state.sent}`);
});

Deno.test("the loss of an output ends the scan within a second", async () => {
  const saved: number[] = [];
  const rates = { rate: 200, netRate: undefined, hostRate: undefined };
  let lostAt = Infinity;
  const checked = (at: number) => () =>
    network.now() < at ? Promise.resolve() : Promise.reject(new OutputLostError('"x"', "gone"));
  const network = new FakeNetwork(1);
  const checkpoint = {
    ...{ accepted: () => Promise.resolve(), optedOut: () => Promise.resolve() },
    save: () => Promise.resolve(void saved.push(network.now())),
  };
  network.after(3500, () => lostAt = network.now());
  const options = { network, fleet: FLEET, rates, checkpoint, checkOutputs: checked(4500) };
  const { end, rows } = await scanFleet(options);
  assertEquals([end.reason, end.error?.message], ["failed", 'Cannot write to "x": gone']);
  assert(network.now() - lostAt <= 1500, `${network.now() - lostAt} ms`);
  assert(saved.every((at) => at < lostAt) && saved.length === 3, `${saved}`);
  assert(rows.length > 10);
});

Deno.test("a failing sink ends the scan, and pending rows are counted as lost", async () => {
  class FullDisk extends MemorySink {
    override write(records: Parameters<MemorySink["write"]>[0]): Promise<void> {
      if (this.rows.length > 50) {
        throw new WriteError('Cannot write to "x": No space left on device');
      }
      return super.write(records);
    }
  }
  const full = new FullDisk();
  const { end, state } = await scanFleet({ fleet: FLEET, sinks: [full], faults: FAULTS });
  assertEquals([end.reason, end.error?.name], ["failed", "WriteError"]);
  assertEquals(state.written, full.rows.length);
  assert(state.lost > 0);
});

Deno.test("--no-players leaves out the names of players", async () => {
  const { rows } = await scanFleet({ fleet: FLEET, players: false });
  assert(rows.length > 0 && rows.every(({ players }) => players === null));
  assert(rows.some(({ players_online }) => (players_online ?? 0) > 0));
});

/** An attacker that does not receive the probes, but knows the targets and the source ports. */
function flood(
  network: FakeNetwork,
  targets: readonly Endpoint[],
  bytes: (random: Random, from: Endpoint) => Uint8Array,
) {
  const random = new Random(9);
  for (let i = 0; i < 20_000; i++) {
    const from = random.pick(targets);
    const at = random.below(4000);
    network.inject(from, { port: 40000 + random.below(4) }, bytes(random, from), at);
  }
}

const noReply = Array.from({ length: 8000 }, (_, i) => ({ address: RANGE.start + i, port: 19132 }));
const wide: Partial<Setting> = { range: { start: RANGE.start, end: RANGE.start + 8000 } };

Deno.test("forged pongs never make a row, and do not hide the servers", async () => {
  const guid = 99n;
  const text = new TextEncoder().encode("MCPE;forged;1;1;0;1;1;");
  const result = await scanFleet({
    fleet: BEDROCK,
    ...wide,
    protocolNames: ["raknet"],
    prepare: (network) =>
      flood(
        network,
        noReply,
        (random) => raknet.encodePong({ advertise: false, time: random.u64(), guid, text }),
      ),
  });
  complete(result);
  const { replies } = result.state;
  assertEquals([replies.valid, replies.unverified], [result.rows.length, 0]);
  // A server that was proved after a forged pong and before its probe is not probed.
  const counted = replies.forged + replies.duplicate + replies.valid;
  assert(counted > 20_000 && counted <= 20_000 + 40, String(counted));
});

Deno.test("forged handshakes never make a row, even if they contain the right token", async () => {
  const fleet = { ...BEDROCK, software: ["vanilla"] };
  const targets = noReply.map(({ address }) => ({ address, port: 25565 }));
  const tokens = new Tokens(KEY); // one in 65,536 would have the right token; here one in ten has
  const kind = PROTOCOLS.findIndex(({ name }) => name === "query");
  const result = await scanFleet({
    audited: false, // stats show the tokens that were forged
    fleet,
    ...wide,
    key: KEY,
    protocolNames: ["query"],
    prepare: (network) =>
      flood(network, targets, (random, from) => {
        const guess = random.below(10) === 0 ? tokens.of(kind, from) : random.u32();
        const session = guess & query.SESSION_MASK;
        return query.encodeQueryChallenge({ session, token: 1, raw: false, fill: 0 });
      }),
  });
  complete(result);
  const { replies } = result.state;
  // A guessed token does not make a reply valid, because no second query confirms it.
  assertEquals([replies.valid, replies.unverified], [result.rows.length, 0]);
  assert(replies.forged > 19_000, `${replies.forged}`);
});

Deno.test("replies from endpoints that were not probed are unsolicited", async () => {
  const outside = Array.from({ length: 100 }, (_, i) => ({ address: 0x08080800 + i, port: 19132 }));
  const { state, rows } = await scanFleet({
    fleet: { ...BEDROCK, servers: 1 },
    protocolNames: ["raknet"],
    prepare: (network) =>
      flood(
        network,
        outside,
        () => raknet.encodePong({ advertise: false, time: 5n, guid: 1n, text: undefined }),
      ),
  });
  assertEquals([rows.length, state.replies.unsolicited, state.replies.unverified], [1, 20_000, 0]);
});

Deno.test("a pause follows each pass that sent probes, and no other pass", async () => {
  const endpoint = { address: 0x7f102000, port: 7 };
  const range = { start: endpoint.address, end: endpoint.address + 1 };
  const lasted = async (name: string, responders: Endpoint[]) => {
    const { network } = await scanFleet({
      ...{ fleet: { ...BEDROCK, servers: 1 }, range, ports: () => [endpoint.port] },
      ...{ protocolNames: [name], retries: 3, cooldownMs: 0, responders },
    });
    return Math.round((network.now() - 1000) / 100) * 100; // its clock starts at 1000 ms
  };
  for (const name of ["query", "slp"]) {
    assertEquals([name, await lasted(name, [])], [name, 3000]);
    assertEquals([name, await lasted(name, [endpoint])], [name, 0]);
  }
});
