/** Covers src/store/scans/scan_ranges.ts and src/store/scans/scan_list.ts. */
import { assertEquals } from "@std/assert";
import { mergedRanges } from "../../../src/store/scans/scan_ranges.ts";
import { newestScans } from "../../../src/store/scans/scan_list.ts";
import { Store } from "../../../src/store/store.ts";
import { all, onEngines } from "../databases.ts";
import { scanId } from "../records.ts";

Deno.test("ranges are merged, and too many are widened to networks", () => {
  const touching = [{ start: 20, end: 30 }, { start: 10, end: 20 }, { start: 5n, end: 6n }];
  assertEquals(mergedRanges(touching), {
    ranges: [{ start: 10, end: 30 }, { start: 5n, end: 6n }],
    widened: false,
  });
  const single = (start: number) => ({ start, end: start + 1 });
  const scattered = [0x0a000001, 0x0a000003, 0x0a01ffff, 0xffffffff].map(single);
  assertEquals(mergedRanges(scattered, 3), {
    ranges: [{ start: 0x0a000000, end: 0x0a020000 }, { start: 0xffff0000, end: 2 ** 32 }],
    widened: true,
  });
  const network = 1n << 80n; // a /48
  const distant = [0n, 2n * network, 4n * network].map((start) => ({ start, end: start + 1n }));
  assertEquals(mergedRanges(distant, 2).ranges, [{ start: 0n, end: network << 16n }]);
});

Deno.test("100,000 ranges stay as they are, and one more are widened", () => {
  const ranges = Array.from({ length: 100_001 }, (_, i) => ({ start: 2 * i, end: 2 * i + 1 }));
  assertEquals(mergedRanges(ranges.slice(1)).ranges.length, 100_000);
  assertEquals(mergedRanges(ranges), { ranges: [{ start: 0, end: 0x40000 }], widened: true });
});

onEngines(
  "a scan stores its requested and its excluded addresses, also when resumed",
  async (db) => {
    const store = new Store(db, () => Promise.resolve());
    const requested = [{ start: 0x7f000000, end: 0x80000000 }];
    const start = { id: scanId(1), at: 1000, config: "{}" };
    const excluded = [{ start: 0x7f000001, end: 0x7f000002 }];
    await store.begin({ ...start, addresses: { requested, excluded, sampled: true } });
    const later = [...excluded, { start: 0x7f000005, end: 0x7f000007 }];
    await store.begin({ ...start, runAt: 2000, addresses: { requested, excluded: later } });
    const rows = await all(
      db,
      "select excluded, first, last, widened, sampled, noted_at from scan_ranges order by excluded, first",
    );
    assertEquals(rows.map((row) => Object.values(row).join(" ")), [
      "0 127.0.0.0 127.255.255.255 0 1 1000",
      "1 127.0.0.1 127.0.0.1 0 0 1000",
      "1 127.0.0.5 127.0.0.6 0 0 2000",
    ]);
  },
);

onEngines(
  "the list of scans has at most 1,000 ranges of each, by number, and shows that they are widened",
  async (db) => {
    const store = new Store(db, () => Promise.resolve());
    const shown = async () => {
      const [{ ranges, excluded, widened }] = await newestScans(db, 1);
      return [ranges.length, ranges.slice(0, 1), excluded, widened];
    };
    const single = (_: unknown, i: number) => ({ start: 2 * i, end: 2 * i + 1 });
    const requested = Array.from({ length: 1001 }, single);
    const start = { config: "{}", at: 1000 };
    await store.begin({ ...start, id: scanId(1), addresses: { requested, excluded: [] } });
    assertEquals(await shown(), [1000, ["0.0.0.0"], [], false]);
    const some = [{ start: 5n, end: 6n }, ...[0, 50, 4].map((n) => single(n, n))];
    await store.begin({
      ...start,
      id: scanId(2),
      at: 2000,
      addresses: { requested: some, excluded: some },
    });
    const [{ ranges, excluded: few }] = await newestScans(db, 1);
    assertEquals(ranges, ["0.0.0.0", "0.0.0.8", "0.0.0.100", "::5"]);
    assertEquals(few, ranges);
    const excluded = Array.from({ length: 100_001 }, single);
    const later = { ...start, at: 3000, id: scanId(3), addresses: { requested: [], excluded } };
    await store.begin(later);
    assertEquals(await shown(), [0, [], ["0.0.0.0-0.3.255.255"], true]);
  },
);
