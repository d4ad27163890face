import { assertEquals } from "@std/assert";
import { expectedMisses, lossText } from "../../../src/app/databases/expected_misses.ts";

const COMPLETE = { kind: "sweep", parts: 2, parts_done: 2, sampled: false };
const SCAN = { ...COMPLETE, packet_loss: 0.1, retries: null };
const COUNTS = { found: 2079, new: 99, back: 990, changed: 0, missed: 40, lost: 15 };

Deno.test("the expected misses are a share of the known servers, by the loss of all passes", () => {
  assertEquals(expectedMisses(SCAN, COUNTS), { missed: 20, lost: 10 }); // two passes: 1 of 100
  assertEquals(expectedMisses({ ...SCAN, retries: 0 }, COUNTS), { missed: 40, lost: 15 }); // all
  assertEquals(expectedMisses({ ...SCAN, packet_loss: 0 }, COUNTS), { missed: 0, lost: 0 });
});

Deno.test("nothing is expected of a scan whose loss or passes are not known", () => {
  for (
    const unknown of [
      ...[{ packet_loss: null }, { sampled: true }, { parts_done: 1 }, { kind: "lan" }],
    ]
  ) assertEquals(expectedMisses({ ...SCAN, ...unknown }, COUNTS), {});
});

Deno.test("expected misses are whole numbers from 1 on", () => {
  assertEquals([0, 0.04, 0.3, 0.96, 2.6, 1234.4].map(lossText), [
    ...["about none by packet loss", "about none by packet loss", "about 0.3 by packet loss"],
    ...["about 1 by packet loss", "about 3 by packet loss", "about 1,234 by packet loss"],
  ]);
});
