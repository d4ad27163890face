/** Covers src/campaign/status/status.ts. */
import { assertEquals } from "@std/assert";
import { campaignStatus } from "../../../src/campaign/status/status.ts";
import type { StoredLease } from "../../../src/campaign/stored_leases.ts";
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

function status(parts: readonly Leased[], entry = ENTRY) {
  const leases = parts.map(([part, lease]) => ({ ...lease, part }));
  return campaignStatus({ name: "lab", entry, budget: 500, leases }, 10_000);
}

Deno.test("parts are counted by state; counters, rates and the end are sums of all leases", () => {
  const { held, poisoned, ...numbers } = status([
    [4, lease("held", 50, { rate: 40 })],
    [2, lease("done", 100, { rate: 7 })],
    [3, lease("released", 20)],
    [1, lease("held", 0, { rate: 60, worker: "w2", why: "a crash" })],
  ]);
  assertEquals(numbers, {
    name: "lab",
    state: "running",
    submittedAt: 1000,
    parts: { waiting: 2, held: 2, done: 1, poisoned: 0, cancelled: 0 },
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
  assertEquals(poisoned, []);
});

Deno.test("a campaign is finished when each part has ended, and cancelled parts do not make it so", () => {
  const ended = ([[1, "done"], [2, "done"], [3, "poisoned"], [4, "done"], [5, "done"]] as const)
    .map(([part, state]) => [part, lease(state, 60)] as Leased);
  const finished = status(ended);
  assertEquals([finished.state, finished.endsAt], ["finished", undefined]);
  assertEquals(finished.poisoned.map(({ part, tries }) => [part, tries]), [[3, 1]]);
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
