import { assertEquals } from "@std/assert";
import { CAMPAIGN_NAME } from "../../src/app/options/groups/campaign.ts";
import {
  campaignKey,
  leaseKey,
  leaseKeys,
  optOutKey,
  parseOptOutKey,
  parseResultSubject,
  resultConsumer,
  resultSubject,
  taskConsumer,
  taskSubject,
  WORKER_KEYS,
  workerKey,
} from "../../src/campaign/names.ts";

Deno.test("subjects, consumers and keys contain the campaign and the part", () => {
  assertEquals(taskSubject("may"), "bs.tasks.may");
  assertEquals(taskConsumer("may"), "work-may");
  assertEquals(resultConsumer("0a1b"), "collect-0a1b");
  assertEquals(resultConsumer("0a1b", "may"), "collect-0a1b-may");
  assertEquals(resultSubject("may", 7, "rows"), "bs.results.may.7.rows");
  assertEquals([campaignKey("may"), leaseKey("may", 7)], ["campaign.may", "lease.may.7"]);
  assertEquals(leaseKeys("may"), "lease.may.*");
  assertEquals([workerKey("w1"), WORKER_KEYS], ["worker.w1", "worker.*"]);
});

Deno.test("the subject of a result is read back, and others are refused", () => {
  for (const kind of ["rows", "done", "poisoned", "cancelled"] as const) {
    const parts = { campaign: "may-2", part: 4096, kind };
    assertEquals(parseResultSubject(resultSubject("may-2", 4096, kind)), parts);
  }
  const rows = { campaign: "may", part: 1, kind: "rows", vantage: "fra-1" } as const;
  assertEquals(parseResultSubject(resultSubject("may", 1, "rows", "fra-1")), rows);
  for (
    const subject of [
      "bs.results.may.0.rows",
      "bs.results.may.4097.rows",
      "bs.results.may.01.rows",
      "bs.results.may.1.other",
      "bs.results.MAY.1.rows",
      "bs.results.may.1.rows.FRA",
      "bs.results.may.1.rows.fra.1",
      "bs.results.may.1.done.fra",
      "bs.tasks.may",
      "",
    ]
  ) assertEquals(parseResultSubject(subject), undefined, subject);
});

Deno.test("the key of an opt-out has 8 digits for IPv4, and 32 for IPv6", () => {
  assertEquals(optOutKey(0x0a000001), "0a000001");
  assertEquals(optOutKey(1n), "00000000000000000000000000000001");
  for (const address of [0, 0xffffffff, 0n, 2n ** 128n - 1n]) {
    assertEquals(parseOptOutKey(optOutKey(address)), address);
  }
  for (const key of ["", "optout.0a000001", "0a00000", "0A000001", "0a000001.x", "a"]) {
    assertEquals(parseOptOutKey(key), undefined, key);
  }
});

Deno.test("a campaign's name is one word of at most 40 characters", () => {
  const valid = ["a", "2026-11-26-0235", "a".repeat(40)];
  const invalid = ["", "-a", "A", "a.b", "a*", "a b", "a\n", "a".repeat(41)];
  assertEquals(valid.filter((name) => !CAMPAIGN_NAME.test(name)), []);
  assertEquals(invalid.filter((name) => CAMPAIGN_NAME.test(name)), []);
});
