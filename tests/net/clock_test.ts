import { assertEquals } from "@std/assert";
import { systemClock, Waits } from "../../src/net/clock.ts";
import { ManualClock } from "../fakes/manual_clock.ts";

/** Fake timers, which fire on request. */
class Timers {
  readonly waits: number[] = [];
  readonly #callbacks = new Map<number, () => void>();

  set(callback: () => void, ms: number): number {
    this.#callbacks.set(this.waits.push(ms), callback);
    return this.waits.length;
  }

  clear(timer: number): void {
    this.#callbacks.delete(timer);
  }

  /** Fires all pending timers; returns whether there were any. */
  fire(): boolean {
    const callbacks = [...this.#callbacks.values()];
    this.#callbacks.clear();
    for (const callback of callbacks) callback();
    return callbacks.length > 0;
  }
}

function withTimers(test: (timers: Timers) => void): void {
  const { setTimeout, clearTimeout } = globalThis;
  const timers = new Timers();
  Object.assign(globalThis, {
    setTimeout: (callback: () => void, ms: number) => timers.set(callback, ms),
    clearTimeout: (timer: number) => timers.clear(timer),
  });
  try {
    test(timers);
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
  }
}

const MOST = 2 ** 31 - 1;

for (const ms of [0, 5, MOST, MOST + 1, 3 * MOST + 7]) {
  Deno.test(`a wait of ${ms} ms is split into timers that the runtime supports`, () =>
    withTimers((timers) => {
      let called = 0;
      systemClock.after(ms, () => called++);
      while (called === 0 && timers.fire());
      assertEquals(timers.waits.reduce((sum, wait) => sum + wait, 0), ms);
      assertEquals(timers.waits.every((wait) => wait <= MOST), true);
      assertEquals([called, timers.fire()], [1, false]);
    }));
}

Deno.test("a long wait can be cancelled in each of its timers", () => {
  for (const fired of [0, 1, 2]) {
    withTimers((timers) => {
      const cancel = systemClock.after(3 * MOST, () => assertEquals(true, false, "cancelled"));
      for (let i = 0; i < fired; i++) timers.fire();
      cancel();
      assertEquals([timers.fire(), timers.waits.length], [false, fired + 1]);
    });
  }
});

Deno.test("a negative time does not wait", () =>
  withTimers((timers) => {
    let done = false;
    systemClock.after(-0.5, () => done = true);
    assertEquals([timers.waits, timers.fire(), done], [[0], true, true]);
  }));

Deno.test("waits that end early share a timer, and each other one ends at its time", async () => {
  const clock = new ManualClock();
  const waits = new Waits(clock);
  const log: string[] = [];
  const wait = async (ms: number, name: string) => {
    await waits.for(ms);
    log.push(`${name} ${clock.now()}`);
  };
  const early = wait(100, "early");
  waits.end();
  await early;
  const later = wait(150, "later");
  assertEquals(clock.timers, 1);
  clock.move(100); // the timer fires, and is set again
  assertEquals([log.length, clock.timers], [1, 1]);
  clock.move(50);
  await later;
  const long = wait(1000, "long");
  waits.end();
  await long;
  const short = wait(10, "short"); // it ends before the timer would fire
  assertEquals(clock.timers, 1);
  clock.move(10);
  await short;
  const cut = wait(10, "cut");
  waits[Symbol.dispose]();
  await cut;
  assertEquals(clock.timers, 0);
  assertEquals(log, ["early 0", "later 150", "long 150", "short 160", "cut 160"]);
});
