import { assertEquals } from "@std/assert";
import { clockText, timeLabel, valueText } from "../../../src/web/browser/chart_texts.ts";

const DAY = 86_400_000;
const AT = Date.UTC(2026, 0, 31, 17, 13, 5);

Deno.test("a number of players has no decimals unless it is small", () => {
  assertEquals([5264.7, 12.4, 0.4].map((value) => valueText(value, true)), ["5,265", "12", "0.4"]);
  assertEquals(valueText(12.34, false), "12.3");
});

Deno.test("times are in UTC, as exact as the marks of the axis", () => {
  assertEquals([clockText(AT), clockText(AT, 1000)], ["17:13", "17:13:05"]);
  assertEquals([1000, DAY, 30 * DAY, 365 * DAY].map((step) => timeLabel(AT, step)), [
    "17:13:05",
    "17:13",
    "Jan 2026",
    "2026",
  ]);
  assertEquals(timeLabel(AT - AT % DAY, DAY), "31 Jan");
});
