import { assertEquals } from "@std/assert";
import { Random } from "../../src/fleet/random.ts";
import { Schedule } from "../../src/watch/schedule.ts";

Deno.test("Schedule returns items in sorted order for any sequence of calls", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = new Random(seed);
    const schedule = new Schedule<number>();
    let oracle: { at: number; what: number }[] = [];
    for (let step = 0; step < 200; step++) {
      if (random.chance(0.6)) {
        const at = random.below(50); // many equal times: items come in the order of their addition
        schedule.add(step, at);
        oracle.push({ at, what: step });
        oracle.sort((a, b) => a.at - b.at || a.what - b.what);
      } else {
        const now = random.below(60);
        const due = oracle[0]?.at <= now ? oracle[0].what : undefined;
        if (due !== undefined) oracle = oracle.slice(1);
        assertEquals(schedule.due(now), due, `seed ${seed}, step ${step}`);
      }
      assertEquals([schedule.size, schedule.next], [oracle.length, oracle[0]?.at ?? Infinity]);
    }
  }
});
