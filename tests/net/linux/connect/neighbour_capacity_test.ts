import { assert, assertEquals } from "@std/assert";
import {
  NeighbourCapacity,
  PAUSE_MS,
} from "../../../../src/net/linux/connect/neighbour_capacity.ts";

/** A table whose entries stay, and a count of its readings. */
class Table {
  entries = 3;
  readonly capacity = 1024;
  added = 0xffff_fffe;
  readings = 0;
  readonly limit = new NeighbourCapacity(() => {
    this.readings++;
    return this;
  });

  /** Begins connections at a time while they may begin. Returns their number. */
  begin(most: number, now: number, addsEntries: boolean): number {
    for (let count = 0; count < most; count++) {
      if (!this.limit.has(now)) return count;
      this.limit.use();
      if (!addsEntries) continue;
      this.entries++;
      this.added = this.added + 1 >>> 0;
    }
    return most;
  }
}

Deno.test("connections fill half of the table at once, and the rest at 160/s", () => {
  const table = new Table();
  const begun = Array.from({ length: 5 }, (_, i) => table.begin(1e6, i * PAUSE_MS / 2, true));
  assertEquals(begun, [509 + 16, 0, 16, 0, 16]);
  assertEquals(table.readings, 4);
  table.entries = 12;
  assertEquals(table.begin(1e6, 1000, true), 500 + 16);
});

Deno.test("connections behind gateways do not wait, also if others have filled the table", () => {
  const table = new Table();
  assertEquals(table.begin(100_000, 0, false), 100_000);
  assert(table.readings < 200);
  table.entries = 1024;
  assertEquals(table.begin(100_000, 0, false), 100_000);
  table.entries = 3;
  table.begin(1000, 0, true);
  table.entries = 1024;
  const begun = Array.from({ length: 3 }, (_, i) => table.begin(1000, (i + 1) * PAUSE_MS, false));
  assertEquals(begun, [16, 1000, 1000]);
});

Deno.test("connections do not wait if the system does not report the table", () => {
  let readings = 0;
  const limit = new NeighbourCapacity(() => void readings++);
  for (let i = 0; i < 10_000; i++) {
    assert(limit.has(0));
    limit.use();
  }
  assertEquals(readings, 1);
});
