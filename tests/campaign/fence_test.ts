import { assertEquals } from "@std/assert";
import { Fence, momentOf } from "../../src/campaign/fence.ts";
import { ManualClock } from "../fakes/manual_clock.ts";

/** A clock whose wall clock can jump. */
class JumpingClock extends ManualClock {
  jump = 1_000_000;
  override wall = () => this.now() + this.jump;
}

Deno.test("the fence is open while the last renewal is fresh", () => {
  const clock = new JumpingClock();
  const fence = new Fence(clock, 100);
  assertEquals(fence.isOpen(), false);
  fence.renew(momentOf(clock));
  clock.move(99);
  assertEquals(fence.isOpen(), true);
  clock.move(1);
  assertEquals(fence.isOpen(), false);
});

Deno.test("the fence closes when the wall clock jumps by more than a renewal is fresh", () => {
  // Forwards: the machine was suspended, and the monotonic clock stood still.
  for (const [jump, isOpen] of [[99, true], [100, false], [-99, true], [-100, false]] as const) {
    const clock = new JumpingClock();
    const fence = new Fence(clock, 100);
    fence.renew(momentOf(clock));
    clock.jump += jump;
    assertEquals(fence.isOpen(), isOpen, `${jump}`);
  }
});

Deno.test("those who wait at the fence go on after a renewal, and end when it closes for good", async () => {
  const clock = new JumpingClock();
  const fence = new Fence(clock, 100);
  const waiting = [fence.whenOpen(), fence.whenOpen()];
  fence.renew(momentOf(clock));
  assertEquals(await Promise.all([...waiting, fence.whenOpen()]), [true, true, true]);
  clock.move(100);
  const late = fence.whenOpen();
  fence.close();
  assertEquals([await late, await fence.whenOpen(), fence.isOpen()], [false, false, false]);
  fence.renew(momentOf(clock));
  assertEquals([await fence.whenOpen(), fence.isOpen()], [false, false]);
});

Deno.test("a renewal that began too long ago opens nothing", () => {
  const clock = new JumpingClock();
  const fence = new Fence(clock, 100);
  const start = momentOf(clock);
  clock.move(150);
  fence.renew(start);
  assertEquals(fence.isOpen(), false);
});

Deno.test("a fence that holds back until a time opens then by itself", async () => {
  const clock = new JumpingClock();
  const fence = new Fence(clock, 100);
  fence.renew(momentOf(clock));
  fence.holdUntil(clock.now() + 50);
  const waiting = fence.whenOpen();
  clock.move(49);
  fence.renew(momentOf(clock));
  assertEquals(fence.isOpen(), false);
  clock.move(1);
  assertEquals([await waiting, fence.isOpen(), clock.timers], [true, true, 0]);
});
