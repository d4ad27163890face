/** Covers src/net/caps.ts. */
import { assert, assertEquals } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import type { Address } from "../../src/core/address.ts";
import { Random } from "../../src/fleet/random.ts";
import { CAP_PERIOD_MS } from "../../src/net/caps.ts";
import { Throttle } from "../../src/net/throttle.ts";

const NONE = { rate: undefined, netRate: undefined, hostRate: undefined };

/** Maximum number of send times in any second. */
function maxInASecond(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  let most = 0;
  for (let first = 0, last = 0; last < sorted.length; last++) {
    while (sorted[last] - sorted[first] >= 1000) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

Deno.test("Throttle without limits delays no datagram", () => {
  const throttle = new Throttle(NONE);
  assertEquals([1, 2, 3, 1].map((address) => throttle.reserve(address, 7)), [7, 7, 7, 7]);
});

Deno.test("Throttle keeps caps in every second, for any order of hosts", () => {
  const steps = fc.array(
    fc.record({ host: fc.nat(12), after: fc.integer({ min: 0, max: 400 }) }),
    { minLength: 50, maxLength: 300 },
  );
  fc.assert(
    fc.property(
      steps,
      fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 1, max: 20 }),
      (all, hostRate, netRate) => {
        const throttle = new Throttle({ rate: undefined, netRate, hostRate });
        const perHost = new Map<Address, number[]>();
        const perNet = new Map<Address, number[]>();
        let now = 0;
        for (const { host, after } of all) {
          now += after;
          const address = 0x0a000000 + host * 128; // two hosts per network
          const at = throttle.reserve(address, now);
          assert(at >= now);
          perHost.set(address, [...perHost.get(address) ?? [], at]);
          perNet.set(address >>> 8, [...perNet.get(address >>> 8) ?? [], at]);
        }
        for (const times of perHost.values()) assert(maxInASecond(times) <= hostRate);
        for (const times of perNet.values()) assert(maxInASecond(times) <= netRate);
      },
    ),
    { seed: 1, numRuns: 300 },
  );
});

Deno.test("Throttle keeps caps in every second if datagrams are sent late", () => {
  for (let seed = 1; seed <= 100; seed++) {
    const random = new Random(seed);
    const throttle = new Throttle({ rate: undefined, netRate: 7, hostRate: 5 });
    const sent: number[] = [];
    for (let now = 0; now < 20_000;) {
      const granted = throttle.reserve(7, now);
      now = Math.max(now, granted) + (random.below(4) === 0 ? random.below(900) : 0);
      throttle.sent(7, granted, now);
      sent.push(now);
    }
    const most = maxInASecond(sent);
    assertEquals(most, 5, `seed ${seed}`);
  }
});

/** The send time of a datagram by only the caps, computed from all earlier send times. */
function oracle(before: readonly number[], cap: number): number {
  return before.length < cap ? 0 : before[before.length - cap] + CAP_PERIOD_MS;
}

Deno.test("Throttle keeps the caps of thousands of hosts of both families", () => {
  const random = new Random(5);
  const throttle = new Throttle({ rate: undefined, netRate: 9, hostRate: 3 });
  const departures = new Map<Address, number[]>();
  const of = (key: Address) => departures.getOrInsertComputed(key, () => []);
  for (let i = 0, now = 0; i < 40_000; i++) {
    now += random.below(10) === 0 ? random.below(i % 7000 < 10 ? 1500 : 3) : 0;
    const low = random.below(3000) * 64;
    const wide = random.below(3) === 0;
    const address = wide ? BigInt(low) << 73n : 0xc0000000 + low;
    const net = typeof address === "number" ? -1 - (address >>> 8) : -1n - (address >> 80n);
    const due = Math.max(now, oracle(of(address), 3), oracle(of(net), 9));
    assertEquals(throttle.reserve(address, now), due);
    of(address).push(due);
    of(net).push(due);
  }
});

Deno.test("Throttle delays no datagram longer than its caps require", () => {
  const throttle = new Throttle({ ...NONE, hostRate: 5 });
  const times = Array.from({ length: 26 }, () => throttle.reserve(1, 0));
  assertEquals(times.at(-1), 5 * CAP_PERIOD_MS);
});

Deno.test("Throttle limits the rate of all hosts together, and catches up a little", () => {
  const throttle = new Throttle({ ...NONE, rate: 100 });
  assertEquals([1, 2, 3].map((address) => throttle.reserve(address, 1000)), [1000, 1010, 1020]);
  // After a long pause a sender may catch up ten milliseconds, not a second.
  const late = [1, 2, 3].map((address) => throttle.reserve(address, 9000));
  assertEquals(late, [9000, 9000, 9010]);
});

Deno.test("Throttle catches up in bursts of a batch, at twice the rate", () => {
  const throttle = new Throttle({ ...NONE, rate: 100_000 });
  throttle.reserve(1, 0);
  // After a pause of ten milliseconds a thousand datagrams are due; then the rate is as before.
  const times = Array.from({ length: 2400 }, () => throttle.reserve(1, 50));
  const until = (time: number) => times.filter((at) => at <= time + 1e-6).length;
  assertEquals([until(50), until(51), until(52)], [257, 457, 657]);
  assertEquals([until(57), until(58), until(60)], [1657, 1801, 2001]);
});

Deno.test("Throttle counts IPv6 networks as /48", () => {
  const throttle = new Throttle({ ...NONE, netRate: 1 });
  const network = 0x20010db80001n << 80n;
  assertEquals(throttle.reserve(network, 0), 0);
  assertEquals(throttle.reserve(network + 5n, 0), CAP_PERIOD_MS);
  assertEquals(throttle.reserve(network + (1n << 80n), 0), 0);
});

Deno.test("Throttle exempts addresses from caps, not from the rate limit", () => {
  const throttle = new Throttle({ rate: 10, netRate: 1, hostRate: 1 }, (address) => address === 7);
  const times = Array.from({ length: 4 }, () => throttle.reserve(7, 1000));
  assertEquals(times.slice(1).map((at, i) => at - times[i]).slice(1), [100, 100]);
});

Deno.test("Throttle changes its rate without a burst or a pause", () => {
  const random = new Random(6);
  const throttle = new Throttle({ ...NONE, rate: 1000 });
  const changes = [[1000, 32_000], [2000, 1000], [3000, 10], [4000, 100_000], [5000, 2000]];
  const times: number[] = [];
  let [now, rate, changed, late] = [0, 1000, 0, 20];
  while (now < 6000) {
    if (changes.length > 0 && now >= changes[0][0]) {
      changed = now;
      rate = changes.shift()![1];
      throttle.setRate(rate, now);
      times.length = 0;
    }
    const at = throttle.reserve(1, now);
    now = Math.max(now, at);
    if (now > late) { // a sender that is sometimes late, by less than it may catch up
      now += 5;
      late = now + 50 + random.below(50);
    }
    times.push(at);
    const due = rate * (at - changed) / 1000;
    assert(times.length <= due + 2, `${times.length} of ${due} after ${at - changed} ms`);
    assert(times.length >= due - rate * 0.006 - 2, `${times.length} of ${due}`);
  }
});

Deno.test("Throttle.lastTo() gives the time of the last datagram to a host, for a second", () => {
  const throttle = new Throttle({ ...NONE, hostRate: 2 });
  const v6 = 0x20010db8n << 96n;
  assertEquals(throttle.lastTo(7), -Infinity);
  throttle.reserve(7, 1000);
  throttle.reserve(v6, 1500);
  assertEquals([throttle.lastTo(7), throttle.lastTo(8), throttle.lastTo(v6)], [
    1000,
    -Infinity,
    1500,
  ]);
  throttle.reserve(7, 1100);
  throttle.reserve(7, 1200);
  assertEquals(throttle.lastTo(7), 1000 + CAP_PERIOD_MS, "its cap puts the third off");
  for (let host = 100; host < 200; host++) throttle.reserve(host, 4000);
  assertEquals([throttle.lastTo(7), throttle.lastTo(v6)], [-Infinity, -Infinity]);
  assertEquals(new Throttle(NONE).lastTo(7), -Infinity);
});

Deno.test("several times are reserved at once as they are one by one", () => {
  const random = new Random(11);
  for (const rate of [undefined, 1, 90, 1000, 77_777, 1e9]) {
    const limits = { rate, netRate: undefined, hostRate: undefined };
    const [single, block] = [new Throttle(limits), new Throttle(limits)];
    const dueAt = new Float64Array(1);
    let [now, pending] = [1000, false];
    for (let round = 0; round < 500; round++) {
      now += random.below(20) === 0 ? random.below(500) : random.below(3000) / 1000;
      if (pending && dueAt[0] > now) continue;
      const most = 1 + random.below(300);
      let expected = 0;
      let time = now;
      for (; expected < most && (time = single.reserve(1, now)) <= now; expected++);
      assertEquals(block.reserveDue(most, now, dueAt), expected, `${rate}/s`);
      pending = expected < most;
      if (pending) assertEquals(dueAt[0], time);
      assertEquals(block.granted, single.granted);
    }
  }
});

Deno.test("times that are given back are used again, without a burst after a pause", () => {
  const throttle = new Throttle({ rate: 1000, netRate: undefined, hostRate: undefined });
  const dueAt = new Float64Array(1);
  let [sent, given] = [0, 0];
  for (let now = 0; now < 10_000; now++) {
    const count = throttle.reserveDue(100, now, dueAt) + 1; // one is reserved for later
    const unsent = now < 5000 ? Math.floor(count / 2) : 0;
    throttle.giveBack(unsent);
    given += unsent;
    sent += count - unsent;
    assert(sent <= now + 300, `${sent} at ${now} ms`);
  }
  assert(given > 1000 && sent > 9900, `${given} ${sent}`);
  assertEquals(throttle.granted, sent);
});
