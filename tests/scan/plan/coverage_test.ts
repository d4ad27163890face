import { assertEquals } from "@std/assert";
import { parseEndpoint } from "../../../src/core/address.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { coverageOf, type CoverageOptions } from "../../../src/scan/plan/coverage.ts";
import { compose } from "../../../src/targets/compose.ts";
import { Shards } from "../../../src/targets/shards.ts";
import { selectionFor } from "../scan_harness.ts";

const PORTS: Record<string, readonly number[]> = { raknet: [19132], query: [25565, 25566] };

const inclusion = (start: number | bigint, size: number, port?: number) => ({
  range: { start, end: typeof start === "bigint" ? start + BigInt(size) : start + size },
  port,
});

const TARGETS = {
  addresses: compose([
    inclusion(0x7f000000, 256),
    inclusion(0x7f000205, 1, 7777),
    inclusion(1n, 1),
  ], { never: [], private: [], chosen: [{ start: 0x7f000003, end: 0x7f000004 }] }),
  protocols: PROTOCOLS.filter(({ name }) => name in PORTS),
  ports: (name: string) => PORTS[name],
  optedOut: [{ start: 0x7f000009, end: 0x7f00000a }],
};
const ASKING: CoverageOptions = selectionFor(TARGETS);

function queries(asking: CoverageOptions, endpoint: string, ...protocols: string[]): boolean {
  const { address, port } = parseEndpoint(endpoint)!;
  return coverageOf(asking).includes(address, port, protocols);
}

Deno.test("the coverage contains probed addresses, ports and protocols", () => {
  assertEquals(queries(ASKING, "127.0.0.1:19132", "raknet"), true);
  assertEquals(queries(ASKING, "127.0.0.1:19132", "raknet", "query"), true);
  // Query was then used as a follow-up of a pong
  assertEquals(queries(ASKING, "127.0.0.1:19132", "query"), false);
  assertEquals(queries(ASKING, "127.0.0.1:25566", "query", "slp"), true);
  assertEquals(queries(ASKING, "127.0.0.1:25566", "slp"), false);
  assertEquals(queries(ASKING, "127.0.0.1:25566"), true); // the server never replied
  assertEquals(queries(ASKING, "127.0.0.1:7777", "raknet"), false);
  assertEquals(queries(ASKING, "127.0.2.5:7777", "raknet"), true);
  assertEquals(queries(ASKING, "127.0.2.5:19132", "raknet"), false);
  assertEquals(queries(ASKING, "[::1]:19132", "raknet"), true);
  assertEquals(queries(ASKING, "[::2]:19132", "raknet"), false);
});

/** A scan with two known servers that have the same known protocols. */
function knowing(protocols: string[], queriesKnown = false, limit?: number): CoverageOptions {
  const first = ["127.0.2.5:7777", "127.0.0.8:19132"].map((text) => parseEndpoint(text)!);
  const known = first.map((endpoint) => ({ endpoint, protocols }));
  return selectionFor({ ...TARGETS, known, queriesKnown }, { first, limit });
}

Deno.test("a known server is covered when it was queried in all its known protocols", () => {
  const both = knowing(["raknet", "query"]);
  assertEquals(queries(both, "127.0.2.5:7777", "raknet", "query"), true);
  assertEquals(queries(both, "127.0.2.5:7777", "raknet", "slp"), false);
  assertEquals(queries(both, "127.0.0.8:19132", "raknet", "query"), false); // query only on 25565
  assertEquals(queries(both, "127.0.0.7:19132", "raknet", "query"), true); // not known before
  // it was queried in all protocols of the scan
  assertEquals(queries(knowing([]), "127.0.2.5:7777"), true);
  assertEquals(queries(knowing(["slp"]), "127.0.2.5:7777", "slp"), false); // no protocol of the scan
});

Deno.test("a known server is not covered in a protocol that was not known", () => {
  for (const queriesKnown of [true, false]) {
    const raknet = { ...knowing(["raknet"]), queriesKnown };
    assertEquals(queries(raknet, "127.0.2.5:7777", "raknet"), true);
    // the protocol was found meanwhile
    assertEquals(queries(raknet, "127.0.2.5:7777", "raknet", "query"), false);
  }
});

Deno.test("a known server that was interviewed is covered in its known protocols", () => {
  const sqp = knowing(["sqp"], true);
  assertEquals(queries(sqp, "127.0.2.5:7777", "sqp"), true);
  assertEquals(queries(knowing(["sqp"]), "127.0.2.5:7777", "sqp"), false);
  assertEquals(queries(knowing(["sqp"], true, 0), "127.0.2.5:7777", "sqp"), false);
  const slp = knowing(["sqp", "slp"], true);
  assertEquals(queries(slp, "127.0.2.5:7777", "slp", "sqp"), true);
  const suppressed = knowing(["raknet", "sqp"], true);
  assertEquals(queries(suppressed, "127.0.2.5:7777", "raknet", "sqp"), true); // raknet suppresses sqp
});

Deno.test("excluded and opted-out addresses are not covered", () => {
  assertEquals(queries(ASKING, "127.0.0.3:19132", "raknet"), false);
  assertEquals(queries(ASKING, "127.0.0.9:19132", "raknet"), false);
  assertEquals(queries(ASKING, "127.0.1.0:19132", "raknet"), false);
});

Deno.test("hosts that flooded, or whose address was forged in a flood, are not covered", () => {
  const flooded = { ...ASKING, flooding: ["127.0.0.1", "::1"] };
  assertEquals(queries(flooded, "127.0.0.1:19132", "raknet"), false);
  assertEquals(queries(flooded, "127.0.0.1:25565"), false);
  assertEquals(queries(flooded, "[::1]:19132", "raknet"), false);
  assertEquals(queries(flooded, "127.0.0.2:19132", "raknet"), true);
});

Deno.test("a protocol is not covered when floods disturbed all its passes", () => {
  const disturbed = { ...ASKING, disturbed: ["raknet"], interviewsDisturbed: true };
  const ports = (name: string) => [19132, ...PORTS[name]];
  const more = { ...disturbed, ...selectionFor({ ...TARGETS, ports }) };
  assertEquals(queries(disturbed, "127.0.0.1:19132", "raknet"), false);
  assertEquals(queries(disturbed, "127.0.0.1:19132"), false); // the server may speak any protocol
  assertEquals(queries(more, "127.0.0.1:19132", "raknet", "query"), false);
  assertEquals(queries(more, "127.0.0.1:19132", "query"), true);
  assertEquals(queries(disturbed, "127.0.0.1:25565"), true); // no RakNet ping was sent there
  const known = (...protocols: string[]) => ({ ...knowing(protocols), disturbed: ["raknet"] });
  assertEquals(queries(known("raknet"), "127.0.2.5:7777", "raknet"), false);
  assertEquals(queries(known("raknet", "query"), "127.0.2.5:7777", "raknet", "query"), false);
  assertEquals(queries(known("query"), "127.0.2.5:7777", "query"), true);
});

Deno.test("servers interviewed during a disturbed pass are not covered", () => {
  const sqp = knowing(["sqp"], true);
  assertEquals(queries({ ...sqp, interviewsDisturbed: true }, "127.0.2.5:7777", "sqp"), false);
  const raknet = { ...knowing(["raknet"]), interviewsDisturbed: true };
  assertEquals(queries(raknet, "127.0.2.5:7777", "raknet"), true); // a later pass was undisturbed
});

Deno.test("a protocol without an echo is not covered when replies were omitted", () => {
  const ports: Record<string, readonly number[]> = { raknet: [19132], sqp: [9000] };
  const targets = {
    ...TARGETS,
    protocols: PROTOCOLS.filter(({ name }) => name in ports),
    ports: (name: string) => ports[name],
  };
  const asking = selectionFor(targets);
  const omitted = { ...asking, omitted: true };
  assertEquals(queries(asking, "127.0.0.1:9000", "sqp"), true);
  assertEquals(queries(omitted, "127.0.0.1:9000", "sqp"), false);
  assertEquals(queries(omitted, "127.0.0.1:9000"), false);
  assertEquals(queries(omitted, "127.0.0.1:19132", "raknet"), true);
  const endpoint = parseEndpoint("127.0.0.1:9000")!;
  const known = [{ endpoint, protocols: ["sqp"] }];
  const interviewed = {
    ...selectionFor({ ...targets, known, queriesKnown: true }, { first: [endpoint] }),
    omitted: true,
  };
  assertEquals(queries(interviewed, "127.0.0.1:9000", "sqp"), true);
});

Deno.test("the coverage of a shard contains the targets of its networks", () => {
  const parts = new Shards(TARGETS.addresses, 3, 5);
  const shards = [1, 2, 3].map((index) =>
    selectionFor({ ...TARGETS, addresses: parts.cut(index) })
  );
  for (const host of ["127.0.0.1", "127.0.0.2", "127.0.0.255", "[::1]"]) {
    const covered = shards.map((shard) => queries(shard, `${host}:19132`, "raknet"));
    const own = parts.indexOf(parseEndpoint(`${host}:19132`)!.address);
    assertEquals(covered, [1, 2, 3].map((index) => index === own));
  }
});

Deno.test("a scan with a limit covers as many endpoints as the limit", () => {
  const { includes } = coverageOf(selectionFor(TARGETS, { limit: 50 }));
  const hosts = Array.from({ length: 256 }, (_, i) => 0x7f000000 + i);
  const raknet = [
    ...hosts.map((one) => includes(one, 19132, ["raknet"])),
    includes(1n, 19132, ["raknet"]),
  ];
  const other = includes(0x7f000205, 7777, ["raknet"]);
  const optedOut = coverageOf(selectionFor({ ...TARGETS, optedOut: [] }, { limit: 50 }))
    .includes(0x7f000009, 19132, ["raknet"]);
  assertEquals([...raknet, other, optedOut].filter((one) => one).length, 50);
});

Deno.test("the ranges contain all targets", () => {
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
