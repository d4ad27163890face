import { assert, assertEquals } from "@std/assert";
import { KeyedLimit, limitKey } from "../../../src/app/status_api/keyed_limit.ts";
import { parseAddress } from "../../../src/core/address.ts";

Deno.test("each key gets its burst, and then one request per interval", () => {
  const limit = new KeyedLimit({ perMinute: 30, burst: 3 });
  const take = (key: string, now: number) => limit.take(key, now);
  assertEquals([0, 0, 0, 0].map((now) => take("a", now)), [0, 0, 0, 2]);
  assertEquals(take("b", 0), 0);
  assertEquals([1000, 1999, 2000, 2000].map((now) => take("a", now)), [1, 1, 0, 2]);
  assertEquals([60_000, 60_000, 60_000, 60_000].map((now) => take("a", now)), [0, 0, 0, 2]);
});

Deno.test("keys expire, and the table has a maximum", () => {
  const limit = new KeyedLimit({ perMinute: 60, burst: 2 }, 100);
  for (let i = 0; i < 10_000; i++) assertEquals(limit.take(`${i}`, 0), 0);
  assertEquals(limit.size, 100);
  assertEquals([limit.take("9999", 0), limit.take("9999", 0)], [0, 1]); // the newest are kept
  limit.take("later", 5000);
  assertEquals(limit.size, 1);
  for (let second = 0; second < 1000; second++) {
    limit.take(`at ${second}`, 10_000 + second * 1000);
    assert(limit.size <= 2);
  }
});

Deno.test("networks of addresses", () => {
  const of = (text: string) => limitKey(parseAddress(text)!, { 4: 24, 6: 56 });
  assertEquals(of("192.0.2.77"), "192.0.2.0/24");
  assertEquals(of("255.255.255.255"), "255.255.255.0/24");
  assertEquals(of("2001:db8:1:2ff::1"), "2001:db8:1:200::/56");
  assertEquals(limitKey(parseAddress("192.0.2.77")!, { 4: 32, 6: 128 }), "192.0.2.77/32");
});
