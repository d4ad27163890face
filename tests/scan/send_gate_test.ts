/**
 * A scan whose gate closes: nothing is sent meanwhile, and nothing is lost. Covers
 * src/net/send_gate.ts.
 */
import { assert, assertEquals } from "@std/assert";
import type { SendGate } from "../../src/net/send_gate.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { type Result, scanFleet, type Setting } from "./scan_harness.ts";

const RANGE = { start: 0x7f100000, end: 0x7f100400 };
const FLEET = { servers: 150, hostile: 0, range: RANGE, seed: 11 };
const FAULTS = { loss: 0, duplication: 0, delay: 20, jitter: 0 };
const CLOSED_MS = 40_000;

/** A gate that closes at the nth packet, and opens after a time. */
class TestGate implements SendGate {
  keptBack = 0;
  /** When the gate was closed, milliseconds of the network's clock. */
  readonly closed: { from: number; to: number }[] = [];
  #packets = 0;
  #isOpen = true;
  #waiting = Promise.withResolvers<boolean>();

  /**
   * @param closesAt Numbers of the packets at which the gate closes.
   * @param closedMs How long it stays closed; `undefined`: for good.
   * @param onClose Called when it closes.
   */
  constructor(
    private readonly network: FakeNetwork,
    private readonly closesAt: readonly number[],
    private readonly closedMs: number | undefined = CLOSED_MS,
    private readonly onClose: () => void = () => {},
  ) {}

  isOpen(): boolean {
    if (this.#isOpen && this.closesAt.includes(++this.#packets)) this.#close();
    return this.#isOpen;
  }

  whenOpen(): Promise<boolean> {
    return this.#isOpen ? Promise.resolve(true) : this.#waiting.promise;
  }

  #close(): void {
    this.#isOpen = false;
    const time = { from: this.network.now(), to: Infinity };
    this.closed.push(time);
    this.onClose();
    if (this.closedMs === undefined) return this.#waiting.resolve(false);
    this.network.after(this.closedMs, () => {
      time.to = this.network.now();
      this.#isOpen = true;
      const { resolve } = this.#waiting;
      this.#waiting = Promise.withResolvers();
      resolve(true);
    });
  }
}

/** Scans the fleet through a gate. */
async function scanThrough(
  gate: SendGate,
  network: FakeNetwork,
  setting: Partial<Setting> = {},
): Promise<Result> {
  return await scanFleet({
    fleet: FLEET,
    faults: FAULTS,
    network,
    openSockets: (family) => Array.from({ length: 4 }, () => network.open(family, undefined, gate)),
    openExclusive: (family) => network.open(family, undefined, gate),
    gate,
    ...setting,
  });
}

/** The packets that were sent at the given times. */
function sentIn({ network, streams }: Result, times: TestGate["closed"]): unknown[] {
  return [...network.sent, ...streams.begun, ...streams.written]
    .filter(({ at }) => times.some(({ from, to }) => at > from && at < to));
}

function foundAll({ verdict, end, rows }: Result): void {
  assertEquals(verdict.faults, []);
  assertEquals([verdict.found, verdict.right], [verdict.expected, verdict.expected]);
  assertEquals(end.reason, "done");
  assertEquals(new Set(rows.map(({ host, port }) => `${host}:${port}`)).size, rows.length);
}

// Each scan sends about 7,000 packets: pings, handshakes, connections.
for (
  const closesAt of [[1], [100], [257, 258], [700, 1500, 2500, 4000], [5000, 5001, 5002, 6000]]
) {
  Deno.test(`a gate that closes at packets ${closesAt} and opens again loses no server`, async () => {
    const network = new FakeNetwork(1, FAULTS);
    const gate = new TestGate(network, closesAt);
    const result = await scanThrough(gate, network);
    assertEquals(gate.closed.length, closesAt.length);
    assert(gate.keptBack >= closesAt.length);
    assertEquals(sentIn(result, gate.closed), []);
    foundAll(result);
  });
}

Deno.test("round trips do not contain the time for which the gate was closed", async () => {
  const network = new FakeNetwork(1, FAULTS);
  const gate = new TestGate(network, [30, 60, 90, 120, 400, 1000, 2000]);
  const { rows } = await scanThrough(gate, network, { protocolNames: ["raknet"] });
  assertEquals(gate.closed.length, 7);
  assert(rows.length > 10);
  for (const { host, latency_ms } of rows) assert(latency_ms! < 100, `${host} ${latency_ms}`);
});

for (const protocol of ["slp", "query", "raknet"]) {
  Deno.test(`a gate that closes at every 50th packet of ${protocol} loses no server`, async () => {
    const network = new FakeNetwork(1, FAULTS);
    const gate = new TestGate(network, Array.from({ length: 40 }, (_, i) => 50 * i + 1), 5000);
    const result = await scanThrough(gate, network, { protocolNames: [protocol], retries: 2 });
    assertEquals(gate.closed.length, 40);
    assertEquals(sentIn(result, gate.closed), []);
    foundAll(result);
  });
}

Deno.test("packets that waited are not sent faster than the limits", async () => {
  const network = new FakeNetwork(1, FAULTS);
  const gate = new TestGate(network, [200, 900, 2000, 3000], 10_000);
  const result = await scanThrough(gate, network, {
    rates: { rate: 500, netRate: undefined, hostRate: 5 },
    capLoopback: true,
  });
  foundAll(result);
  const { streams } = result;
  const all = [...network.sent, ...streams.begun, ...streams.written].map(({ at }) => at).sort(
    (a, b) => a - b,
  );
  const most = all.map((at, i) => all.findLastIndex((other) => other < at + 1000) - i + 1);
  assert(Math.max(...most) <= 510, `${Math.max(...most)} packets in a second`);
});

for (const closesAt of [1, 300, 2000, 5500]) {
  Deno.test(`a gate that closes for good at packet ${closesAt} ends the scan`, async () => {
    const network = new FakeNetwork(1, FAULTS);
    const abandon = new AbortController();
    const gate = new TestGate(network, [closesAt], undefined, () => abandon.abort());
    const result = await scanThrough(gate, network, { signal: abandon.signal });
    assertEquals(gate.closed.length, 1);
    assertEquals(sentIn(result, gate.closed), []);
    assertEquals(result.end.reason, "interrupted");
  });
}

Deno.test("an address that opts out while its packets wait gets none of them", async () => {
  const network = new FakeNetwork(1, FAULTS);
  const opted = new Set<number | bigint>();
  let optOut = (_address: number) => {};
  const gate = new TestGate(
    network,
    [40, 2000, 5000],
    CLOSED_MS,
    () =>
      network.after(CLOSED_MS / 2, () => {
        for (let address = RANGE.start + 1; address < RANGE.end; address += 3) {
          opted.add(address);
          optOut(address);
        }
      }),
  );
  const result = await scanThrough(gate, network, { onStart: (scan) => optOut = scan.optOut });
  const { streams, rows } = result;
  const later = [...network.sent, ...streams.begun, ...streams.written]
    .filter(({ at, to }) => at >= gate.closed[0].to && opted.has(to.address));
  assertEquals(later, []);
  assert(rows.length > 50);
});

Deno.test("nothing is sent after a jump of the wall clock until the gate is open again", async () => {
  const network = new FakeNetwork(1, FAULTS);
  let jump = 0;
  let renewedAt = network.wall();
  let wake = Promise.withResolvers<boolean>();
  const gate: SendGate = {
    keptBack: 0,
    isOpen: () => Math.abs(network.wall() + jump - renewedAt) < 15_000,
    whenOpen: () => wake.promise,
  };
  const renew = () => {
    renewedAt = network.wall() + jump;
    const { resolve } = wake;
    wake = Promise.withResolvers();
    resolve(true);
    network.after(5000, renew);
  };
  network.after(5000, renew);
  const closed: TestGate["closed"] = [];
  for (const at of [6000, 11_000]) {
    network.after(at, () => {
      jump += at === 6000 ? 3_600_000 : -7_200_000;
      closed.push({ from: network.now(), to: network.now() + 4000 });
    });
  }
  const result = await scanThrough(gate, network, {
    rates: { rate: 300, netRate: undefined, hostRate: undefined },
  });
  assertEquals(closed.length, 2);
  assert(gate.keptBack > 0);
  assertEquals(sentIn(result, closed), []);
  foundAll(result);
});
