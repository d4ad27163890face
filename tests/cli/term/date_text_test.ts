import { assertEquals } from "@std/assert";
import { dateText } from "../../../src/cli/term/date_text.ts";

Deno.test("dateText() writes date and time in UTC, and nothing for times that no date can have", () => {
  assertEquals(dateText(Date.UTC(2026, 0, 31, 23, 59, 59, 999)), "2026-01-31 23:59:59");
  assertEquals(dateText(null), "");
  for (const at of [9_007_199_254_740_000, -9e15, Infinity, NaN]) assertEquals(dateText(at), "");
});
