import { assertEquals } from "@std/assert";
import { parseEndpoint } from "../../src/address.ts";
import { PROTOCOLS } from "../../src/protocols/mod.ts";
import { type Asking, coverageOf } from "../../src/scan/coverage.ts";
import { compose } from "../../src/targets/compose.ts";

const PORTS: Record<string, readonly number[]> = { raknet: [19132], query: [25565, 25566] };

const inclusion = (start: number | bigint, size: number, port?: number) => ({
  range: { start, end: typeof start === "bigint" ? start + BigInt(size) : start + size },
  port,
});

const ASKING: Asking = {
  targets: compose([
    inclusion(0x7f000000, 256),
    inclusion(0x7f000205, 1, 7777),
    inclusion(1n, 1),
  ], { never: [], private: [], chosen: [{ start: 0x7f000003, end: 0x7f000004 }] }),
  protocols: PROTOCOLS.filter(({ name }) => name in PORTS),
  ports: (name) => PORTS[name],
  seed: 5,
  shard: { index: 1, count: 1 },
  maxTargets: Infinity,
  optedOut: [{ start: 0x7f000009, end: 0x7f00000a }],
};

function asks(asking: Asking, endpoint: string, ...protocols: string[]): boolean {
  const { address, port } = parseEndpoint(endpoint)!;
  return coverageOf(asking).asked(address, port, protocols);
}

Deno.test("who was asked is told by address, port and protocol", () => {
  assertEquals(asks(ASKING, "127.0.0.1:19132", "raknet"), true);
  assertEquals(asks(ASKING, "127.0.0.1:19132", "raknet", "query"), true);
  assertEquals(asks(ASKING, "127.0.0.1:19132", "query"), false); // it followed a pong then
  assertEquals(asks(ASKING, "127.0.0.1:25566", "query", "slp"), true);
  assertEquals(asks(ASKING, "127.0.0.1:25566", "slp"), false);
  assertEquals(asks(ASKING, "127.0.0.1:25566"), true); // it never answered
  assertEquals(asks(ASKING, "127.0.0.1:7777", "raknet"), false);
  assertEquals(asks(ASKING, "127.0.2.5:7777", "raknet"), true);
  assertEquals(asks(ASKING, "127.0.2.5:19132", "raknet"), false);
  assertEquals(asks(ASKING, "[::1]:19132", "raknet"), true);
  assertEquals(asks(ASKING, "[::2]:19132", "raknet"), false);
});

Deno.test("a server that was known before was asked when all that it spoke was, or it was interviewed", () => {
  const first = ["127.0.2.5:7777", "127.0.0.8:19132"].map((text) => parseEndpoint(text)!);
  const known = { ...ASKING, first };
  assertEquals(asks(known, "127.0.2.5:7777", "raknet", "query"), true);
  assertEquals(asks(known, "127.0.2.5:7777", "raknet", "slp"), false);
  assertEquals(asks(known, "127.0.0.8:19132", "raknet", "query"), false); // query on 25565 alone
  assertEquals(asks(known, "127.0.0.7:19132", "raknet", "query"), true); // not known before
  const interviewed = [{ endpoint: first[0], protocol: "sqp" }];
  assertEquals(asks({ ...known, interviewed, asksKnown: true }, "127.0.2.5:7777", "sqp"), true);
  assertEquals(asks({ ...known, interviewed }, "127.0.2.5:7777", "sqp"), false);
  const limited = { ...known, interviewed, asksKnown: true, maxTargets: 0 };
  assertEquals(asks(limited, "127.0.2.5:7777", "sqp"), false);
});

Deno.test("nobody was asked who is excluded, or has opted out", () => {
  assertEquals(asks(ASKING, "127.0.0.3:19132", "raknet"), false);
  assertEquals(asks(ASKING, "127.0.0.9:19132", "raknet"), false);
  assertEquals(asks(ASKING, "127.0.1.0:19132", "raknet"), false);
});

Deno.test("no host was asked that flooded, or in whose name a flood was forged", () => {
  const flooded = { ...ASKING, flooding: ["127.0.0.1", "::1"] };
  assertEquals(asks(flooded, "127.0.0.1:19132", "raknet"), false);
  assertEquals(asks(flooded, "127.0.0.1:25565"), false);
  assertEquals(asks(flooded, "[::1]:19132", "raknet"), false);
  assertEquals(asks(flooded, "127.0.0.2:19132", "raknet"), true);
});

Deno.test("where replies were omitted, nobody was asked in a protocol that echoes nothing", () => {
  const ports: Record<string, readonly number[]> = { raknet: [19132], sqp: [9000] };
  const asking = {
    ...ASKING,
    protocols: PROTOCOLS.filter(({ name }) => name in ports),
    ports: (name: string) => ports[name],
  };
  const omitted = { ...asking, omitted: true };
  assertEquals(asks(asking, "127.0.0.1:9000", "sqp"), true);
  assertEquals(asks(omitted, "127.0.0.1:9000", "sqp"), false);
  assertEquals(asks(omitted, "127.0.0.1:9000"), false);
  assertEquals(asks(omitted, "127.0.0.1:19132", "raknet"), true);
  const endpoint = parseEndpoint("127.0.0.1:9000")!;
  const interviewed = [{ endpoint, protocol: "sqp" }];
  const known = { ...omitted, interviewed, first: [endpoint], asksKnown: true };
  assertEquals(asks(known, "127.0.0.1:9000", "sqp"), true);
});

Deno.test("of the parts of a scan, one asked a host on all its ports", () => {
  const parts = [1, 2, 3].map((index) => ({ ...ASKING, shard: { index, count: 3 } }));
  for (let host = 10; host < 40; host++) {
    const raknet = parts.map((part) => asks(part, `127.0.0.${host}:19132`, "raknet"));
    assertEquals(raknet.filter((one) => one).length, 1);
  }
});

Deno.test("with a limit, as many were asked as it says", () => {
  const { asked } = coverageOf({ ...ASKING, maxTargets: 50 });
  const hosts = Array.from({ length: 256 }, (_, i) => 0x7f000000 + i);
  const raknet = [
    ...hosts.map((one) => asked(one, 19132, ["raknet"])),
    asked(1n, 19132, ["raknet"]),
  ];
  const other = asked(0x7f000205, 7777, ["raknet"]);
  const optedOut = coverageOf({ ...ASKING, maxTargets: 50, optedOut: [] })
    .asked(0x7f000009, 19132, ["raknet"]);
  assertEquals([...raknet, other, optedOut].filter((one) => one).length, 50);
});

Deno.test("the ranges hold all targets", () => {
  assertEquals(
    coverageOf(ASKING).ranges.map(({ start, end }) => `${start}-${end}`).sort(),
    [
      "1-2",
      `${0x7f000000}-${0x7f000003}`,
      `${0x7f000004}-${0x7f000100}`,
      `${0x7f000205}-${0x7f000206}`,
    ]
      .sort(),
  );
});
