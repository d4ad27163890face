import { assertEquals, assertThrows } from "@std/assert";
import {
  formatLeaseValue,
  hasEnded,
  LEASE_STATES,
  type LeaseValue,
  parseLeaseValue,
  UNTAKEN,
} from "../../src/campaign/lease_value.ts";
import { FieldError } from "../../src/core/checked_values.ts";

const VALUE: LeaseValue = { ...UNTAKEN, worker: "w1", at: 5, marks: { udp: 7 }, rate: 1.5 };

Deno.test("the value of a lease is read back, with a long reason cut", () => {
  assertEquals(parseLeaseValue(formatLeaseValue(VALUE)), VALUE);
  const { why } = parseLeaseValue(formatLeaseValue({ ...VALUE, why: "x\n".repeat(1000) }));
  assertEquals(why, "x\n".repeat(250));
});

Deno.test("invalid values of a lease are refused", () => {
  for (
    const [field, value] of [
      ["state", "other"],
      ["worker", "a.b"],
      ["tries", -1],
      ["at", 0.5],
      ["rate", null],
      ["rate", -1],
      ["counters", {}],
      ["why", "x".repeat(501)],
      ["more", 1],
    ] as const
  ) {
    assertThrows(() => parseLeaseValue(JSON.stringify({ ...VALUE, [field]: value })), FieldError);
  }
  for (const json of ["", "[]", "null", "{}"]) {
    assertThrows(() => parseLeaseValue(json), FieldError);
  }
});

Deno.test("a part that is held or released has not ended", () => {
  assertEquals(LEASE_STATES.filter((state) => !hasEnded({ state })), ["held", "released"]);
});
