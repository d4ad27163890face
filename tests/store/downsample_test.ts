import { assert, assertEquals } from "@std/assert";
import { Random } from "../../src/fleet/random.ts";
import type { Database, Value } from "../../src/store/database/database.ts";
import { downsampleCutoffs, downsampleObservations } from "../../src/store/downsample.ts";
import { INSERT_OBSERVATION } from "../../src/store/writers/observation_rows.ts";
import { all, onEngines } from "./databases.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = 1.9e12 + 12_345_678;
const KEEP = 10 * DAY;

/** An observation: in the order in which ties are kept, and the number of its polls. */
type Seen = readonly [server: number, at: number, scan: number, polls: number | null];

function draw(random: Random, count: number): Seen[] {
  const seen = new Map<string, Seen>();
  for (let i = 0; i < count; i++) {
    const server = 1 + random.below(5);
    const scan = 1 + random.below(3);
    // Many observations at equal times, and many at the borders of hours and days.
    const at = random.below(2) === 0
      ? NOW - random.below(60) * DAY - random.below(DAY)
      : Math.floor((NOW - random.below(60 * 24) * HOUR) / HOUR) * HOUR - random.below(3);
    seen.set(`${server} ${scan} ${at}`, [
      server,
      at,
      scan,
      random.below(20) === 0 ? null : random.below(60),
    ]);
  }
  return [...seen.values()];
}

/** The observations that remain, with the polls of those that do not, by a naive computation. */
function oracle(seen: readonly Seen[], now: number): Seen[] {
  const hourly = Math.floor((now - KEEP) / HOUR) * HOUR;
  const daily = Math.floor((now - 4 * KEEP) / DAY) * DAY;
  const kept = new Map<string, Seen>();
  for (const one of seen.toSorted(compare)) {
    const [server, at, scan, polls] = one;
    const span = at >= hourly
      ? `${at} ${scan}`
      : at >= daily
      ? `h${Math.floor(at / HOUR)}`
      : `d${Math.floor(at / DAY)}`;
    const before = kept.get(`${server} ${span}`)?.[3];
    const isUnknown = before === null || polls === null;
    const sum = isUnknown ? null : (before ?? 0) + polls;
    kept.set(`${server} ${span}`, [server, at, scan, sum]);
  }
  return [...kept.values()].toSorted(compare);
}

function compare(a: Seen, b: Seen): number {
  for (let i = 0; i < a.length; i++) {
    if (a[i] !== b[i]) return a[i]! < b[i]! ? -1 : 1;
  }
  return 0;
}

async function write(database: Database, seen: readonly Seen[]): Promise<void> {
  const rows = seen.map(([server, at, scan, polls]): Value[] => [
    ...[server, at, scan, 1, 1, 2, 3.5, "ab", polls],
  ]);
  await database.transaction(() => database.bulk(INSERT_OBSERVATION, rows));
}

async function read(database: Database): Promise<Seen[]> {
  const rows = await all(database, "select * from observations");
  return rows.map((row): Seen => [
    ...[Number(row.server), Number(row.at), Number(row.scan)] as const,
    row.polls as number | null,
  ]).toSorted(compare);
}

onEngines(
  "downsampling leaves what a naive computation leaves, however often it runs",
  async (db) => {
    const random = new Random(3);
    for (let round = 0; round < 12; round++) {
      await db.script("delete from observations");
      const seen = draw(random, round === 11 ? 6000 : 1 + random.below(400));
      await write(db, seen);
      let pauses = 0;
      const between = () => Promise.resolve(void pauses++);
      const deleted = await downsampleObservations(db, downsampleCutoffs(NOW, KEEP), between);
      const left = await read(db);
      assertEquals(left, oracle(seen, NOW), `round ${round}`);
      assertEquals(deleted, seen.length - left.length);
      assertEquals(await downsampleObservations(db, downsampleCutoffs(NOW, KEEP), between), 0);
      const later = NOW + random.below(50) * DAY + random.below(DAY);
      await downsampleObservations(db, downsampleCutoffs(later, KEEP), between);
      assertEquals(await read(db), oracle(seen, later), `round ${round}, later`);
      assert(round < 11 || pauses > 0);
    }
  },
);

onEngines("recent observations are all kept, and a signal cancels downsampling", async (db) => {
  const seen = draw(new Random(5), 300).map(([server, at, scan, polls], i): Seen => [
    ...[server, Math.max(at, NOW - KEEP + HOUR) + i, scan, polls] as const,
  ]);
  await write(db, seen);
  assertEquals(
    await downsampleObservations(db, downsampleCutoffs(NOW, KEEP), () => Promise.resolve()),
    0,
  );
  assertEquals(
    await downsampleObservations(
      db,
      downsampleCutoffs(NOW * 2, 1),
      () => Promise.resolve(),
      AbortSignal.abort(),
    ),
    0,
  );
  assertEquals((await read(db)).length, seen.length);
});
