/** Covers src/sweep/canaries/canary_schedule.ts. */
import { assert, assertEquals } from "@std/assert";
import { formatEndpoint } from "../../../src/core/address.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import type { Responder } from "../../../src/fleet/simulate/responder.ts";
import { Stamp } from "../../../src/net/socket.ts";
import { Throttle } from "../../../src/net/throttle.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { Canaries, type CanaryOptions } from "../../../src/sweep/canaries/canaries.ts";
import { estimateLoss, LossTally, noCanaries } from "../../../src/sweep/canaries/loss_estimate.ts";
import { FloodingHosts, noFloods } from "../../../src/sweep/flooding_hosts.ts";
import { ReplyReceiver } from "../../../src/sweep/receiver.ts";
import { noReplies } from "../../../src/sweep/reply_counts.ts";
import { type ProbeKind, stampClock } from "../../../src/sweep/probe_kind.ts";
import { Responders } from "../../../src/sweep/responders.ts";
import { Tokens } from "../../../src/targets/token.ts";
import { Endpoints } from "../../../src/core/endpoints.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { longTest } from "../../long.ts";

const RANGE = { start: 0x0a000000, end: 0x0a000000 + 2 ** 16 };
const kindOf = (protocol: string): ProbeKind => {
  const kind = PROTOCOLS.findIndex(({ name }) => name === protocol);
  return { protocol, probe: PROTOCOLS[kind].probe!, kind };
};

interface Setting extends Partial<CanaryOptions> {
  readonly servers?: number;
  readonly loss?: number;
  readonly duplication?: number;
  readonly seed?: number;
  readonly software?: string;
  /** Probes per second, and the duration, milliseconds. */
  readonly rate?: number;
  readonly forMs?: number;
  readonly hostRate?: number;
  /** Time after which a server stops, milliseconds. */
  readonly life?: (server: number) => number;
  readonly jitter?: number;
}

/** Sends canary probes to a simulated fleet, without a sweep. */
async function query(setting: Setting) {
  const { servers = 100, loss = 0, duplication = 0, seed = 1, rate = 1000, forMs = 20_000 } =
    setting;
  const { software = "bds", life, hostRate = 5, jitter = 10 } = setting;
  const network = new FakeNetwork(seed, { loss, duplication, delay: 20, jitter });
  network.record = true;
  const begun = network.now();
  const hosts = drawFleet({ servers, range: RANGE, seed, software: [software] });
  hosts.forEach(({ endpoint, responder }, i) => {
    const ends = life?.(i) ?? Infinity;
    const mortal: Responder = {
      respond: (bytes, from, now) => now - begun < ends ? responder!.respond(bytes, from, now) : [],
    };
    network.host(endpoint, mortal);
  });
  const throttle = new Throttle({ rate, netRate: 50, hostRate });
  const socket = network.open(4);
  const tokens = new Tokens(new Uint8Array(8).fill(seed));
  const counts = noCanaries();
  const options: CanaryOptions = {
    tokens,
    clock: network,
    share: 0.01,
    gapMs: 2000,
    timeoutMs: 5000,
    seed,
    tally: new LossTally(counts),
    mayProbe: () => "yes",
    lastTo: (address) => throttle.lastTo(address),
    ...setting,
  };
  const canaries = new Canaries(options);
  const row = new Endpoints(1);
  const again = () => {
    if (!canaries.choose(kind, row)) return;
    const to = row.get(0);
    throttle.reserve(to.address, network.now());
    const datagram = kind.probe.template.slice();
    const view = new DataView(datagram.buffer);
    new Stamp(kind.probe).write(view, 0, canaries.start(), stampClock(network.now()));
    void socket.send(datagram, to);
  };
  const replies = noReplies();
  const kind = kindOf(software === "bds" ? "raknet" : "query");
  const responders = new Responders(1);
  const receiver = new ReplyReceiver({
    kinds: [kind],
    tokens,
    responders,
    clock: network,
    counts: replies,
    targets: { has: () => true, hasHost: () => true },
    canaries,
    floods: new FloodingHosts(1, noFloods()),
    sightings: { push: () => {}, pushWhenHeld: () => {} },
  });
  void socket.listen((datagram, from) => receiver.receive(datagram, from, 0));
  for (const { endpoint } of hosts) {
    responders.add(endpoint);
    canaries.add(kind, endpoint);
  }
  await network.run(
    new Promise<void>((done) => {
      const tick = () => {
        if (network.now() - begun >= forMs) return done();
        for (let probe = 0; probe < rate / 100; probe++) {
          if (canaries.probed(1)) again();
        }
        canaries.settle();
        network.after(10, tick);
      };
      tick();
    }),
  );
  await network.run(new Promise<void>((done) => void network.after(5000, done)));
  canaries.end();
  return { counts, replies, network, hosts, canaries, probes: rate * forMs / 1000 };
}

Deno.test("canary probes are one hundredth of the probes", async () => {
  for (const [rate, forMs] of [[1000, 20_000], [100, 3000], [50, 1000], [20_000, 4000]]) {
    const { network, probes } = await query({ rate, forMs, servers: 2000 });
    const queried = network.sent.length;
    assert(queried <= 0.01 * probes, `${queried} beside ${probes}`);
    // No canary probe is sent in the first two seconds: all servers have just replied.
    const due = 0.01 * rate * Math.max(0, forMs - 2000) / 1000;
    assert(queried >= Math.min(due, queried) && queried >= 0.9 * due - 1, `${queried} of ${due}`);
  }
});

for (const software of ["bds", "vanilla"]) {
  const protocol = software === "bds" ? "RakNet" : "Query";
  Deno.test(`replies to canary probes are distinguished from others, over ${protocol}`, async () => {
    const { network, replies, counts } = await query({ software, duplication: 0.5 });
    assertEquals(counts.lost, 0);
    assertEquals(replies.canary, counts.sent);
    assertEquals(counts.sent, network.sent.length);
    assert(replies.duplicate > 50, "copies");
    assertEquals([replies.valid, replies.forged, replies.unsolicited, replies.unverified], [
      0,
      0,
      0,
      0,
    ]);
  });
}

Deno.test("a host gets a canary probe at most every two seconds, and all hosts take part", async () => {
  const { network } = await query({ servers: 12, rate: 5000 });
  const last = new Map<string, number>();
  for (const { at, to } of network.sent) {
    const before = last.get(formatEndpoint(to)) ?? -Infinity;
    assert(at - before >= 2000, `${at - before} ms`);
    last.set(formatEndpoint(to), at);
  }
  assertEquals(last.size, 12);
});

Deno.test("a host that was just sent a datagram gets no canary probe", async () => {
  const { network } = await query({ lastTo: () => 1e9 });
  assertEquals(network.sent, []);
});

Deno.test("an opted-out host gets no canary probe, and a host in an interview gets it later", async () => {
  const { network, hosts } = await query({
    mayProbe: ({ address }) =>
      Number(address) % 3 === 0 ? "never" : Number(address) % 3 === 1 ? "later" : "yes",
  });
  assert(hosts.some(({ endpoint }) => Number(endpoint.address) % 3 === 0));
  assert(network.sent.length > 100);
  assert(network.sent.every(({ to }) => Number(to.address) % 3 === 2));
});

for (const loss of [0, 0.005, 0.015, 0.05, 0.15]) {
  longTest(`a loss of ${loss} each way is within the interval in 19 of 20 runs`, async () => {
    const truth = 1 - (1 - loss) ** 2;
    let holds = 0;
    for (let seed = 1; seed <= 100; seed++) {
      const { counts } = await query({ seed, loss, forMs: 40_000 });
      const { low, high } = estimateLoss(counts)!;
      if (low <= truth && truth <= high) holds++;
    }
    assert(holds >= 95, `${holds} of 100`);
  });
}

Deno.test("servers that stop are removed and do not count as loss", async () => {
  const loss = 0.02;
  const { counts, canaries } = await query({
    loss,
    servers: 60,
    rate: 20_000,
    forMs: 100_000,
    life: (server) => server % 2 === 0 ? 500 * server : Infinity,
  });
  const truth = 1 - (1 - loss) ** 2;
  const { share, low, high } = estimateLoss(counts)!;
  assertEquals([counts.stopped, canaries.size], [30, 30]);
  assert(low <= truth && truth <= high && Math.abs(share - truth) < 0.01, `${share}`);
});

Deno.test("a late reply does not count as lost", async () => {
  const { counts } = await query({ jitter: 1800, forMs: 60_000, servers: 50 });
  assert(counts.sent > 300);
  assert(counts.lost <= 0.01 * counts.sent, `${counts.lost} of ${counts.sent}`);
});

Deno.test("the sample has a limited size, with one server per address", async () => {
  const { canaries } = await query({ servers: 9000, forMs: 100 });
  assertEquals(canaries.size, 4096);
  const kind = kindOf("raknet");
  const few = await query({ servers: 1, forMs: 100 });
  const { address } = few.hosts[0].endpoint;
  few.canaries.add(kind, { address, port: 7 });
  assertEquals(few.canaries.size, 1);
  few.canaries.add(kindOf("sqp"), { address: 5, port: 7 });
  assertEquals(few.canaries.size, 1, "a protocol without a token has no canaries");
});
