import { assert, assertEquals } from "@std/assert";
import { Random } from "../../src/fleet/random.ts";
import { InspectionPool, interviewsAtOnce } from "../../src/inspect/inspection_pool.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";

Deno.test("InspectionPool runs a limited number of tasks at once, and never two of one address", async () => {
  const clock = new FakeNetwork(1);
  const random = new Random(3);
  for (const concurrency of [1, 3, 50]) {
    const pool = new InspectionPool(concurrency, (error) => {
      throw error;
    });
    const running = new Map<number, number>();
    let [now, most, done] = [0, 0, 0];
    for (let i = 0; i < 3000; i++) {
      const address = random.below(40);
      pool.add(address, async () => {
        running.set(address, (running.get(address) ?? 0) + 1);
        assertEquals(running.get(address), 1);
        most = Math.max(most, ++now);
        await new Promise<void>((resolve) => clock.after(random.below(20), resolve));
        now--;
        done++;
        running.set(address, 0);
      });
    }
    await clock.run(pool.idle());
    assertEquals([done, pool.load], [3000, 0]);
    assertEquals(most, Math.min(concurrency, 40));
  }
});

Deno.test("InspectionPool runs some tasks of one address at once, the first proved endpoint alone in its lane", async () => {
  const clock = new FakeNetwork(1);
  const pool = new InspectionPool(50, (error) => {
    throw error;
  }, 4);
  const running = { proved: 0, unproved: 0 };
  const most = { proved: 0, unproved: 0, both: 0 };
  let ended = 0;
  for (let i = 0; i < 60; i++) {
    const lane = i % 2 === 0 ? "proved" : "unproved";
    pool.add(7, async () => {
      most[lane] = Math.max(most[lane], ++running[lane]);
      if (lane === "proved" && ended === 0) assertEquals(running.proved, 1);
      most.both = Math.max(most.both, running.proved + running.unproved);
      await new Promise<void>((resolve) => clock.after(10, resolve));
      running[lane]--;
      if (lane === "proved") ended++;
    }, lane === "proved");
  }
  await clock.run(pool.idle());
  assertEquals(most, { proved: 4, unproved: 4, both: 8 });
  assertEquals([0.5, 1, 5, 100, undefined].map(interviewsAtOnce), [1, 1, 5, 16, 16]);
});

Deno.test("InspectionPool keeps the order of one address", async () => {
  const pool = new InspectionPool(4, () => {});
  const order: number[] = [];
  for (let i = 0; i < 10; i++) pool.add(1, () => Promise.resolve(void order.push(i)));
  await pool.idle();
  assertEquals(order, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

Deno.test("InspectionPool reports the error of a task, and continues", async () => {
  const errors: string[] = [];
  const pool = new InspectionPool(1, (error) => errors.push(error.message));
  let ran = false;
  pool.add(1, () => Promise.reject(new Error("broken")));
  pool.add(1, () => Promise.resolve(void (ran = true)));
  await pool.idle();
  assertEquals([errors, ran], [["broken"], true]);
});

Deno.test("InspectionPool continues after an error of its error handler, which is reported", async () => {
  const reported = Promise.withResolvers<unknown>();
  const report = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    reported.resolve(event.reason);
  };
  globalThis.addEventListener("unhandledrejection", report);
  try {
    const thrown = new Error("from onError");
    const pool = new InspectionPool(1, () => {
      throw thrown;
    });
    const ran: number[] = [];
    pool.add(1, () => Promise.reject(new Error("broken")));
    pool.add(1, () => Promise.resolve(void ran.push(1)));
    pool.add(2, () => Promise.resolve(void ran.push(2)));
    await pool.idle();
    assertEquals([ran, pool.load, await reported.promise], [[2, 1], 0, thrown]);
  } finally {
    globalThis.removeEventListener("unhandledrejection", report);
  }
});

/** The number of array elements that were moved by removals while a pool ran tasks. */
async function movedBy(tasks: number): Promise<number> {
  const { shift, splice } = Array.prototype;
  let moved = 0;
  const pool = new InspectionPool(4, () => {}, 4);
  try {
    Array.prototype.shift = function () {
      moved += this.length;
      return shift.call(this);
    };
    Array.prototype.splice = function (...args: Parameters<typeof splice>) {
      moved += this.length;
      return splice.apply(this, args);
    };
    for (let i = 0; i < tasks; i++) pool.add(i % 2, () => Promise.resolve(), i % 3 === 0);
    await pool.idle();
  } finally {
    Object.assign(Array.prototype, { shift, splice });
  }
  return moved;
}

Deno.test("InspectionPool does no more work per task when more tasks of its address wait", async () => {
  const [some, twice] = [await movedBy(2000), await movedBy(4000)];
  assert(twice <= 2 * some, `${some} elements moved for 2,000 tasks, ${twice} for 4,000`);
});
