import { assertEquals } from "@std/assert";
import { Random } from "../../../src/fleet/random.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { packRows, unpackRows } from "../../../src/scan/rows/packed_rows.ts";
import type { RowSource } from "../../../src/scan/rows/row_maker.ts";
import { longTest } from "../../long.ts";

/** Random bytes, often of a length at a limit. */
function drawBytes(random: Random): Uint8Array {
  const length = [0, 1, 33, random.below(1500), 65_507][random.below(5)];
  return Uint8Array.from({ length }, () => random.below(256));
}

/** A random source of a row: a reply over IPv4 or IPv6 that was not decoded, or decoded replies. */
function drawSource(random: Random): RowSource {
  const { name: protocol } = PROTOCOLS[random.below(PROTOCOLS.length)];
  const number = random.below(2 ** 32);
  const statement = { columns: { motd: `${number}` }, flags: [], facts: {} };
  return {
    endpoint: {
      address: random.below(4) === 0 ? BigInt(number) << 96n | 1n : number,
      port: random.below(65_536),
    },
    seenAt: 1_700_000_000_000 + number,
    latencyMs: random.below(3) === 0 ? null : number / 1000,
    requestedAs: random.below(8) === 0 ? "play.example.org" : null,
    isCutShort: random.below(8) === 0,
    replies: random.below(4) === 0
      ? [{ protocol, statement }]
      : { protocol, raw: drawBytes(random) },
  };
}

longTest("sources of rows with any replies arrive as they were sent, in their order", () => {
  const random = new Random(42);
  for (let i = 0; i < 200; i++) {
    const sources = Array.from({ length: random.below(20) }, () => drawSource(random));
    const packed = structuredClone(packRows(sources, PROTOCOLS));
    assertEquals([...unpackRows(packed, PROTOCOLS)], sources);
  }
});
