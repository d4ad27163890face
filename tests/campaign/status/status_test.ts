/** Covers src/campaign/status/status.ts. */
import { assertEquals } from "@std/assert";
import { type CampaignLimits, campaignStatus } from "../../../src/campaign/status/status.ts";
import type { StoredLease, StoredWorker } from "../../../src/campaign/stored_leases.ts";
import type { CampaignEntry } from "../../../src/campaign/control.ts";
import type { LeaseValue } from "../../../src/campaign/lease_value.ts";

const ENTRY: CampaignEntry = {
  state: "running",
  spec: "0".repeat(64),
  program: "0.1.0",
  order: "1".repeat(64),
  parts: 5,
  submittedAt: 1000,
};

/** The lease of a part at a position of 100. */
function lease(state: LeaseValue["state"], position: number, more?: Partial<LeaseValue>) {
  const counters = { sent: 10, replies: 3, found: 2, position, total: 100 };
  const marks = { udp: { pass: 1, position: 0 }, tcp: { pass: 1, position: 0 } };
  const value = { state, worker: "w1", tries: 1, at: 0, marks, counters, rate: 0, ...more };
  return { value, at: 4000, campaign: "lab", revision: 1 };
}

type Leased = [part: number, lease: Omit<StoredLease, "part">];

function status(parts: readonly Leased[], entry = ENTRY, more?: Partial<CampaignLimits>) {
  const leases = parts.map(([part, lease]) => ({ ...lease, part }));
  const spec = { rate: 500, ackWaitMs: 6000, maxRunning: 5, ...more };
  return campaignStatus({ name: "lab", entry, spec, leases, workers: [] }, 10_000);
}

Deno.test("parts are counted by state; counters, rates and the end are sums of all leases", () => {
  const { held, lost, failed, poisoned, ...numbers } = status([
    [4, lease("held", 50, { rate: 40 })],
    [2, lease("done", 100, { rate: 7 })],
    [3, lease("released", 20)],
    [1, lease("held", 0, { rate: 60, worker: "w2", why: "a crash" })],
  ]);
  assertEquals(numbers, {
    name: "lab",
    state: "running",
    submittedAt: 1000,
    parts: { waiting: 2, held: 2, lost: 0, done: 1, poisoned: 0, cancelled: 0 },
    sent: 40,
    replies: 12,
    found: 8,
    // 170 of 400 positions, and 100 of a part that no worker has begun
    share: 170 / 500,
    rate: 100,
    budget: 500,
    // 50 + 80 + 100 + 100 positions are left, at 100 packets per second
    endsAt: 10_000 + 3300,
  });
  assertEquals(held.map(({ part, worker, rate, why }) => [part, worker, rate, why]), [
    [1, "w2", 60, "a crash"],
    [4, "w1", 40, undefined],
  ]);
  assertEquals([lost, failed, poisoned], [[], [], []]);
});

Deno.test("a part whose worker has not reported for the ack-wait is lost: it has no rate, and no end", () => {
  const leased: Leased[] = [
    [1, lease("held", 50, { rate: 40 })],
    [2, { ...lease("held", 20, { rate: 60, worker: "w2" }), at: 3999 }],
  ];
  const { parts, rate, held, lost } = status(leased);
  assertEquals([parts.waiting, parts.held, parts.lost, rate], [3, 1, 1, 40]);
  assertEquals(held.map(({ part }) => part), [1]);
  assertEquals(lost.map((one) => [one.part, one.worker, one.rate]), [[2, "w2", 0]]);
  assertEquals(status(leased.slice(1)).endsAt, undefined);
  const unusable = { name: "lab", entry: ENTRY, spec: undefined, workers: [] };
  const [[part, only]] = leased.slice(1);
  const unknown = campaignStatus({ ...unusable, leases: [{ ...only, part }] }, 10_000);
  assertEquals([unknown.parts.held, unknown.rate, unknown.budget], [1, 60, undefined]);
});

Deno.test("a part that was given back after a failure has failed, and one that never failed has not", () => {
  const { parts, failed } = status([
    [1, lease("released", 50, { tries: 4, why: "no route" })],
    [2, lease("released", 50, { tries: 0 })],
    [3, lease("held", 50, { tries: 2, why: "no route" })],
  ]);
  assertEquals(parts.waiting, 4);
  assertEquals(failed.map(({ part, tries, why }) => [part, tries, why]), [[1, 4, "no route"]]);
});

Deno.test("short parts, which report no rate, count by the packets of those that were done lately", () => {
  const counters = { sent: 600, replies: 0, found: 0, position: 100, total: 100 };
  const short: Leased[] = [
    [1, lease("done", 100, { counters })],
    [2, lease("done", 100, { counters })],
    [3, lease("held", 0)],
  ];
  // 9 s have passed since the submit
  assertEquals(status(short).rate, 1200 / 9);
  assertEquals(status(short).endsAt, 10_000 + 1000 * 300 / (1200 / 9));
  // A part cannot have sent more than its share of the budget lately
  assertEquals(status(short, ENTRY, { rate: 50 }).rate, 2 * 50 / 5);
  const earlier = { ...ENTRY, submittedAt: -1e6 };
  assertEquals(status(short, earlier).rate, 1200 / 60);
  const old = short.map(([part, one]) => [part, { ...one, at: -50_001 }] as Leased);
  assertEquals(status(old, earlier).rate, 0);
  // Without a budget, a long part could have sent its packets at any time
  const reports: Leased[] = [...short, [4, lease("held", 1, { rate: 3 })]];
  assertEquals(status(short, ENTRY, { rate: null }).rate, 1200 / 9);
  assertEquals(status(reports, ENTRY, { rate: null }).rate, 3);
  assertEquals(status(reports).rate, 1200 / 9);
  assertEquals(status(short, { ...ENTRY, state: "paused" }).rate, 0);
  assertEquals(status(short.slice(0, 2), { ...ENTRY, parts: 2 }).rate, 0);
});

Deno.test("a campaign is finished when each part is done, ended when parts are poisoned, or cancelled", () => {
  const states = (third: LeaseValue["state"]) =>
    ([[1, "done"], [2, "done"], [3, third], [4, "done"], [5, "done"]] as const)
      .map(([part, state]) => [part, lease(state, 60)] as Leased);
  const ended = states("poisoned");
  const finished = status(states("done"));
  assertEquals([finished.state, finished.endsAt], ["finished", undefined]);
  assertEquals([status(ended).state, status(ended).endsAt], ["ended", undefined]);
  assertEquals(status(ended).poisoned.map(({ part, tries }) => [part, tries]), [[3, 1]]);
  assertEquals(status(ended.slice(1)).state, "running");
  const cancelled = { ...ENTRY, state: "cancelled" } as const;
  assertEquals(status(ended, cancelled).state, "cancelled");
  assertEquals(status([], { ...ENTRY, state: "paused" }).state, "paused");
});

Deno.test("no end is estimated before a part has begun, at rate 0, and while the campaign is paused", () => {
  assertEquals(status([]).endsAt, undefined);
  assertEquals([status([]).share, status([]).rate], [0, 0]);
  assertEquals(status([[1, lease("held", 5)]]).endsAt, undefined);
  const paused = { ...ENTRY, state: "paused" } as const;
  assertEquals(status([[1, lease("held", 5, { rate: 9 })]], paused).endsAt, undefined);
});

Deno.test("a part waits for another vantage if those of all workers that report have done it", () => {
  const views = (...done: string[]) => {
    const before = { sent: 0, replies: 0, found: 0, position: 0, total: 0 };
    return { vantage: done[0], done, found: 0, before };
  };
  const parts = [
    { ...lease("released", 100, { views: views("fra") }), part: 1 },
    { ...lease("released", 100, { views: views("lon") }), part: 2 },
    { ...lease("held", 100, { views: views("fra") }), part: 3 },
    { ...lease("done", 100, { views: views("fra", "lon") }), part: 4 },
  ];
  const worker = { id: "w1", slots: 4, program: "0.1.0", at: 9000 };
  const of = (workers: readonly StoredWorker[]) =>
    campaignStatus({
      ...{ name: "lab", entry: { ...ENTRY, views: 2 }, spec: undefined, leases: parts, workers },
    }, 40_000).views;
  const fra = { ...worker, vantage: "fra", at: 39_000 };
  const common = { each: 2, done: 5 };
  assertEquals(of([fra]), { ...common, vantages: ["fra", "lon"], waiting: 1 });
  assertEquals(of([fra, { ...fra, vantage: "lon" }])!.waiting, 0);
  // One that has not reported for 30 s is gone; one without a vantage is of a group of its own.
  assertEquals(of([fra, { ...worker, vantage: "lon" }])!.waiting, 1);
  assertEquals(of([fra, { ...worker, at: 39_000 }]), {
    ...{ ...common, vantages: ["default", "fra", "lon"], waiting: 0 },
  });
  assertEquals(of([])!.waiting, 2);
});

Deno.test("leases of parts that the campaign does not have do not count", () => {
  const own: Leased[] = [[1, lease("done", 100)]];
  const others: Leased[] = [0, 6, NaN].map((part) => [part, lease("held", 50, { rate: 40 })]);
  assertEquals(status([...own, ...others]), status(own));
});
