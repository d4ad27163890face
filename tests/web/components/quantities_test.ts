import { assertEquals } from "@std/assert";
import {
  ageText,
  countText,
  durationText,
  latencyText,
  percentText,
  shortCount,
  timeText,
} from "../../../src/web/components/quantities.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

Deno.test("counts have separators, unknown ones a dash", () => {
  assertEquals([0, 1234567, 0.4, null].map(countText), ["0", "1,234,567", "0", "–"]);
});

Deno.test("short counts have a suffix, also where rounding reaches the next one", () => {
  const values = [-12_345, 999.94, 999.95, 1_500_000, 2e9, 1e15, 1e18];
  assertEquals(values.map(shortCount), ["-12.3k", "999.9", "1k", "1.5M", "2G", "1P", "1000P"]);
});

Deno.test("only exact shares are 0 % and 100 %", () => {
  const shares = [0, 0.00001, 0.5, 0.9995, 0.9999999, 1, null, NaN];
  assertEquals(shares.map(percentText), [
    ...["0 %", "< 0.1 %", "50 %", "99.95 %", "> 99.99 %", "100 %", "–", "–"],
  ]);
});

Deno.test("durations have two units at most", () => {
  const durations = [0, 400, 59_600, 3_725_000, 26 * 3_600_000, 1000 * DAY, -5];
  assertEquals(durations.map(durationText), [
    ...["0 s", "0 s", "1 min", "1 h 2 min", "1 d 2 h", "1,000 d", "0 s"],
  ]);
});

Deno.test("ages have one unit, of the past or the future", () => {
  const now = 1e12;
  const ages = [0, 4000, 6000, 119_000, 120_000, 119 * MINUTE, 47 * 60 * MINUTE, 48 * 60 * MINUTE];
  assertEquals(ages.map((age) => ageText(now - age, now)), [
    ...["just now", "just now", "6 s ago", "119 s ago", "2 min ago", "119 min ago"],
    ...["47 h ago", "2 d ago"],
  ]);
  assertEquals(ageText(now + 3 * 60 * MINUTE, now), "in 3 h");
});

Deno.test("times are in UTC, times that no date has are empty", () => {
  assertEquals(timeText(0), "1970-01-01 00:00:00");
  assertEquals([9e15, NaN].map(timeText), ["", ""]);
});

Deno.test("latencies have two digits below 10 ms", () => {
  assertEquals([0.44, 9.96, 12.4, 1250, null].map(latencyText), [
    ...["0.4 ms", "10 ms", "12 ms", "1.3 s", "–"],
  ]);
});
