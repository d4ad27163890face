import { assert, assertEquals } from "@std/assert";
import { type Endpoint, formatEndpoint } from "../../../src/core/address.ts";
import { scanStatus } from "../../../src/app/scan/scan_status.ts";
import type { Faults } from "../../../src/fleet/simulate/network/faults.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { audit } from "../../../src/fleet/judge/audit.ts";
import { estimateLoss, missedRange } from "../../../src/sweep/canaries/loss_estimate.ts";
import { scanFleet } from "../scan_harness.ts";
import { longTest } from "../../long.ts";

const RANGE = { start: 0x0a000000, end: 0x0a008000 };
const FLEET = { servers: 200, range: RANGE, seed: 4, software: ["bds", "vanilla"], tcp: false };
const MILD = { rate: 1000, netRate: 50, hostRate: 5 };

Deno.test("a scan estimates the packet loss", async () => {
  for (const loss of [0, 0.03]) {
    const faults = { loss, duplication: 0.01, delay: 20, jitter: 20 };
    const { state } = await scanFleet({
      ...{ fleet: FLEET, faults, rates: MILD, retries: 0 },
      protocolNames: ["raknet", "query"],
    });
    const { low, high } = estimateLoss(state.canaries)!;
    const truth = 1 - (1 - loss) ** 2;
    assert(low <= truth && truth <= high && high - low < 0.06, `${low} to ${high}`);
    assert(state.canaries.sent <= 0.01 * state.sent && state.canaries.sent > 400);
    assert(state.replies.canary > 0 && state.replies.forged === 0);
    const { sent } = scanStatus(state).loss as { sent: number };
    assertEquals(sent, state.canaries.sent);
  }
});

Deno.test("a scan whose retries find servers estimates the loss and the missed servers from them", async () => {
  for (const seed of [1, 2, 3]) {
    const { state, rows, verdict } = await scanFleet({
      fleet: { ...FLEET, servers: 400, range: { start: RANGE.start, end: RANGE.start + 4096 } },
      network: new FakeNetwork(seed, { loss: 0.2, duplication: 0, delay: 20, jitter: 20 }),
      rates: { rate: 1000, netRate: undefined, hostRate: undefined },
      protocolNames: ["raknet"],
    });
    const estimate = estimateLoss(state.canaries)!;
    const truth = 1 - (1 - 0.2) ** 2;
    assert(estimate.low <= truth && truth <= estimate.high, `${estimate.low} to ${estimate.high}`);
    assert(estimate.high - estimate.low < 0.3, `${estimate.low} to ${estimate.high}`);
    const { firstFound, secondFound } = state.canaries;
    assertEquals(firstFound + secondFound, rows.length);
    const missed = verdict.expected - rows.length;
    const range = missedRange(rows.length, estimate, 2);
    assert(range.low <= missed && missed <= range.high, `${missed}: ${range.low} to ${range.high}`);
  }
});

Deno.test("replies that take longer than the time between two passes show no loss", async () => {
  const found = async (protocol: string, loss: number) => {
    const { state: { canaries }, rows } = await scanFleet({
      fleet: { ...FLEET, range: { start: RANGE.start, end: RANGE.start + 4096 } },
      faults: { loss, duplication: 0, delay: 600, jitter: 50 },
      rates: { rate: 5000, netRate: undefined, hostRate: undefined },
      protocolNames: [protocol],
    });
    assert(rows.length > 50, `${rows.length}`);
    return { ...canaries, rows: rows.length };
  };
  const { firstFound, secondFound, rows } = await found("raknet", 0);
  assertEquals([firstFound, secondFound], [rows, 0]);
  const lossy = await found("raknet", 0.1);
  const { low, high } = estimateLoss(lossy)!;
  assert(lossy.secondFound > 0 && low <= 0.19 && 0.19 <= high, `${low} to ${high}`);
  const query = await found("query", 0); // no reply shows which pass it belongs to
  assertEquals([query.firstFound, query.secondFound], [0, 0]);
});

Deno.test("canary probes keep caps and rate, and skip opted-out addresses and running interviews", async () => {
  const fleet = { ...FLEET, software: ["bds", "bdsOptedOut"] };
  const { network, optedOut, rows, verdict } = await scanFleet({
    ...{ fleet, rates: { ...MILD, hostRate: 1 }, retries: 0 },
    protocolNames: ["raknet"],
    prepare: (fake) => fake.record = true,
  });
  assertEquals([verdict.faults, verdict.found], [[], verdict.expected]);
  const log = network.sent.map(({ at, from, to, bytes }) => ({
    ...{ at, way: "in" as const, lost: false, hex: bytes.toHex(), size: bytes.length },
    ...{ host: formatEndpoint(to), peer: formatEndpoint(from) },
  }));
  assertEquals(
    audit(log, { hostRate: 1, netRate: 50 }).filter((text) => text.includes("within")),
    [],
  );
  const queried = Map.groupBy(network.sent, ({ to }) => to.address);
  assert(optedOut.length > 10 && rows.length > 50);
  for (const address of optedOut) assertEquals(queried.get(address)!.length, 1);
  assert([...queried.values()].some((times) => times.length > 2), "some were probed again");
  // Canary probes count for the rate limit like all other datagrams.
  const times = network.sent.map(({ at }) => at).filter((at) => at > 3000 && at < 30_000);
  for (let i = 1000; i < times.length; i++) {
    const ms = times[i] - times[i - 1000];
    assert(ms > 990 && ms < 1010, `a thousand in ${ms} ms`);
  }
});

Deno.test("without responders there are no canary probes", async () => {
  const { state } = await scanFleet({ fleet: { ...FLEET, servers: 0 }, protocolNames: ["raknet"] });
  assertEquals([state.canaries.sent, scanStatus(state).loss], [0, null]);
});

/** A network that forwards at most a number of the scan's datagrams per second. */
class Policed extends FakeNetwork {
  #tokens = BUCKET;
  #filled = 0;

  constructor(seed: number, faults: Faults, private readonly limit: number) {
    super(seed, faults);
  }

  override transmit(from: Endpoint, to: Endpoint, bytes: Uint8Array): void {
    const now = this.now();
    this.#tokens = Math.min(BUCKET, this.#tokens + this.limit * (now - this.#filled) / 1000);
    this.#filled = now;
    if (this.#tokens < 1) return;
    this.#tokens--;
    super.transmit(from, to, bytes);
  }
}

const BUCKET = 40;

for (const loss of [0, 0.015]) {
  longTest(`--rate auto finds the limit of a path that loses ${loss} each way`, async () => {
    const network = new Policed(1, { loss, duplication: 0, delay: 10, jitter: 5 }, 4000);
    const { state, end } = await scanFleet({
      network,
      fleet: { ...FLEET, servers: 3000, range: { start: RANGE.start, end: RANGE.start + 2 ** 17 } },
      rates: { rate: 1000, netRate: undefined, hostRate: 5 },
      autoRate: { most: 1e6 },
      protocolNames: ["raknet"],
      retries: 0,
      maxRuntimeMs: 30_000,
    });
    assertEquals(end.reason, "max-runtime");
    const { rate, reason } = state.rate!;
    assert(Math.abs(rate / 4000 - 1) <= 0.1, `${rate} (${reason})`);
  });
}

Deno.test("--rate auto keeps the caps of networks, and reports them as the limit", async () => {
  const { state } = await scanFleet({
    fleet: { ...FLEET, range: { start: RANGE.start, end: RANGE.start + 2 ** 13 }, servers: 500 },
    rates: { rate: 1000, netRate: 20, hostRate: 5 },
    autoRate: { most: 1e6 },
    protocolNames: ["raknet"],
    retries: 0,
  });
  // 32 networks with 20 datagrams per second each.
  const { rate, reason } = state.rate!;
  assertEquals(reason, "sender");
  assert(rate < 800, `${rate}`);
});

Deno.test("--rate auto stays at its first rate without responders", async () => {
  const { state } = await scanFleet({
    fleet: { ...FLEET, servers: 1 },
    rates: { rate: 1000, netRate: undefined, hostRate: 5 },
    autoRate: { most: 1e6 },
    protocolNames: ["raknet"],
    retries: 0,
  });
  assertEquals([state.rate?.rate, state.rate?.reason], [1000, "unknown"]);
});
