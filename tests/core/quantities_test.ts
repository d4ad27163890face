import { assertEquals } from "@std/assert";
import { clockTime, countOf, withCommas } from "../../src/core/quantities.ts";

Deno.test("withCommas() formats numbers as the runtime", () => {
  const numbers = [
    0,
    7,
    999,
    1000,
    65_536,
    123_456,
    1_234_567.891,
    0.5,
    0.0004,
    999.9996,
    1e15,
    -1234,
  ];
  const sizes = [10n ** 30n, -123_456n, 1n << 128n];
  for (const value of [...numbers, ...sizes]) {
    assertEquals(withCommas(value), value.toLocaleString("en-US"));
  }
  assertEquals(withCommas(2 ** 64), "18,446,744,073,709,551,616"); // equal to the last digit
});

Deno.test("countOf() and clockTime() format counts and durations", () => {
  assertEquals([countOf(1, "row"), countOf(2000, "row")], ["1 row", "2,000 rows"]);
  const addresses = (value: bigint) => countOf(value, "address", "addresses");
  assertEquals([addresses(1n), addresses(0n)], ["1 address", "0 addresses"]);
  assertEquals([clockTime(59.2), clockTime(3661), clockTime(Infinity)], [
    "00:01:00",
    "01:01:01",
    "?",
  ]);
});
