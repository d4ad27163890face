import { isIP } from "node:net";
import { assert, assertEquals } from "@std/assert";
import {
  compareHosts,
  endpointKey,
  endpointOfKey,
  family,
  formatAddress,
  formatEndpoint,
  isLoopback,
  parseAddress,
  parseEndpoint,
  parseHost,
} from "../../src/core/address.ts";
import { Random } from "../../src/fleet/random.ts";

Deno.test("addresses of both families are parsed, and other texts rejected", () => {
  assertEquals(parseAddress("255.255.255.255"), 0xffffffff);
  assertEquals(parseAddress("0.0.0.0"), 0);
  assertEquals(parseAddress("::"), 0n);
  assertEquals(parseAddress("1:2:3:4:5:6:7:8"), 0x00010002000300040005000600070008n);
  assertEquals(parseAddress("::ffff:1.2.3.4"), 0xffff01020304n);
  assertEquals(parseAddress("64:ff9b::1.2.3.4"), (0x64ff9bn << 96n) + 0x01020304n);
  for (
    const wrong of ["", "1.2.3", "010.0.0.1", "1.2.3.4 ", "::1%lo", "[::1]", "1.2.3.256", ":::"]
  ) {
    assertEquals(parseAddress(wrong), undefined, wrong);
  }
});

Deno.test("parseAddress() accepts the addresses of the runtime except zones", () => {
  const random = new Random(20_261_121);
  const pick = <T>(from: readonly T[]) => from[random.below(from.length)];
  const parts = ["0", "00", "1", "9", "10", "99", "100", "199", "249", "255", "256", "999", "f"];
  const more = ["ffff", "abcd", "12345", "g", "", ":", "::", ".", ":", ".", "%", " ", "1.2.3.4"];
  const seeds = [
    "1.2.3.4",
    "::",
    "1::8",
    "1:2:3:4:5:6:7:8",
    "::ffff:1.2.3.4",
    "1:2:3:4:5:6:1.2.3.4",
  ];
  let valid = 0;
  for (let i = 0; i < 200_000; i++) {
    let text = i % 2 === 0
      ? Array.from({ length: random.below(16) }, () => pick([...parts, ...more])).join("")
      : pick(seeds);
    for (let edits = random.below(4); edits > 0; edits--) {
      const at = random.below(text.length + 1);
      text = text.slice(0, at) + pick([...parts, ...more]) + text.slice(at + random.below(3));
    }
    const address = parseAddress(text);
    const wanted = text.includes("%") ? 0 : isIP(text);
    assertEquals(address === undefined ? 0 : family(address), wanted, text);
    if (address === undefined) continue;
    valid++;
    const host = new URL(wanted === 4 ? `http://${text}` : `http://[${text}]`).hostname;
    assertEquals(parseAddress(host.replace(/^\[|\]$/g, "")), address, text);
  }
  assert(valid > 10_000, `only ${valid} were addresses`);
});

Deno.test("IPv6 is formatted as in RFC 5952", () => {
  const text = (groups: string) => formatAddress(parseAddress(groups)!);
  assertEquals(text("2001:0DB8:0:0:0:0:0:1"), "2001:db8::1");
  assertEquals(text("2001:db8:0:1:1:1:1:1"), "2001:db8:0:1:1:1:1:1"); // a single zero group stays
  assertEquals(text("2001:0:0:1:0:0:0:1"), "2001:0:0:1::1"); // the longest run
  assertEquals(text("2001:db8:0:0:1:0:0:1"), "2001:db8::1:0:0:1"); // the first of equal runs
  assertEquals([text("::"), text("1::"), text("::1")], ["::", "1::", "::1"]);
  assertEquals(text("::ffff:c000:201"), "::ffff:192.0.2.1");
});

Deno.test("endpoints survive formatting and parsing", () => {
  for (
    const text of [
      "127.0.0.1:19132",
      "[::1]:19133",
      "[2001:db8::1]:1",
      "255.255.255.255:65535",
      "[fe80::1%eth0]:19132",
    ]
  ) {
    assertEquals(formatEndpoint(parseEndpoint(text)!), text);
  }
  for (
    const wrong of ["127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "[127.0.0.1]:1", "::1:1", "a:1"]
  ) {
    assertEquals(parseEndpoint(wrong), undefined, wrong);
  }
});

Deno.test("a link-local address may have a zone, and no other host may", () => {
  const address = 0xfe80n << 112n | 1n;
  assertEquals(parseHost("FE80::1%eth0.5"), { address, zone: "eth0.5" });
  assertEquals(parseHost("fe80::1"), { address });
  for (
    const wrong of ["fe80::1%", "fe80::1%a b", "fe80::1%\x1b[m", "::1%lo", "127.0.0.1%lo", "%lo"]
  ) {
    assertEquals(parseHost(wrong), undefined, wrong);
  }
  const hosts = ["fe80::1%eth1", "fe80::2", "fe80::1%eth0", "fe80::1", "10.0.0.2", "10.0.0.1"];
  assertEquals(hosts.sort(compareHosts), [
    "10.0.0.1",
    "10.0.0.2",
    "fe80::1",
    "fe80::1%eth0",
    "fe80::1%eth1",
    "fe80::2",
  ]);
});

Deno.test("endpointKey() differs for all endpoints of both families", () => {
  const endpoints = [[0, 1], [0, 2], [1, 1], [0xffffffff, 65535], [0n, 1], [1n, 1], [1n, 2]]
    .map(([address, port]) => ({ address, port: Number(port) }));
  const keys = endpoints.map(endpointKey);
  assertEquals(keys.map(endpointOfKey), endpoints);
  assertEquals(new Set(keys).size, keys.length);
  assert(keys.filter((key) => typeof key === "number").every(Number.isSafeInteger));
  assertEquals(endpointKey({ address: 5n, port: 6 }), endpointKey({ address: 5n, port: 6 }));
});

Deno.test("family() and isLoopback() classify addresses", () => {
  assertEquals([family(1), family(1n)], [4, 6]);
  assertEquals([isLoopback(0x7f000001), isLoopback(0x7fffffff), isLoopback(1n)], [
    true,
    true,
    true,
  ]);
  assertEquals([isLoopback(0x80000000), isLoopback(0xff000001), isLoopback(2n)], [
    false,
    false,
    false,
  ]);
});
