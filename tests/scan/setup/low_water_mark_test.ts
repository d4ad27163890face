import { assert, assertEquals } from "@std/assert";
import { Random } from "../../../src/fleet/random.ts";
import { LowWaterMark } from "../../../src/scan/setup/low_water_mark.ts";

const at = (position: number) => ({
  udp: { pass: 1, position },
  tcp: { pass: 1, position: 2 * position },
});

Deno.test("a mark becomes the low-water mark when all earlier sightings are finished", () => {
  const low = new LowWaterMark(at(0));
  assertEquals(low.note(at(10)), at(10));
  const [first, second] = [low.begin(), low.begin()];
  assertEquals(low.note(at(20)), at(10));
  const third = low.begin();
  second();
  assertEquals(low.note(at(30)), at(10));
  first();
  assertEquals(low.note(at(40)), at(20), "the third began before the mark of 30");
  third();
  assertEquals(low.note(at(50)), at(50));
});

Deno.test("an unfinished sighting stops the low-water mark, in bounded memory", () => {
  const low = new LowWaterMark(at(0));
  low.note(at(1));
  low.begin();
  for (let position = 2; position < 100_000; position++) {
    assertEquals(low.note(at(position)), at(1));
  }
});

Deno.test("no low-water mark passes an unfinished sighting, in any order of finishing", () => {
  const random = new Random(3);
  const low = new LowWaterMark(at(0));
  const open: { position: number; through: () => void }[] = [];
  for (let position = 1; position < 5000; position++) {
    if (random.chance(0.5)) open.push({ position, through: low.begin() });
    while (open.length > 0 && random.chance(0.6)) {
      open.splice(random.below(open.length), 1)[0].through();
    }
    if (!random.chance(0.2)) continue;
    const { udp } = low.note(at(position));
    assert(open.every((sighting) => udp.position < sighting.position));
    assert(open.length > 0 || udp.position === position);
  }
});
