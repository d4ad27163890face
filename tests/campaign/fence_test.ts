import { assertEquals } from "@std/assert";
import { Fence, momentOf } from "../../src/campaign/fence.ts";
import { ManualClock } from "../fakes/manual_clock.ts";

/** A clock whose wall clock can jump. */
class JumpingClock extends ManualClock {
  jump = 1_000_000;
  override wall = () => this.now() + this.jump;
}

const isCurrent = () => Promise.resolve(true);

/** Renews a fence, and lets the check after a closure end. */
async function renew(fence: Fence, clock: ManualClock): Promise<void> {
  fence.renew(momentOf(clock));
  await Promise.resolve();
}

Deno.test("the fence is open while the last renewal is fresh", async () => {
  const clock = new JumpingClock();
  const fence = new Fence(clock, 100, isCurrent);
  assertEquals(fence.isOpen(), false);
  await renew(fence, clock);
  clock.move(99);
  assertEquals(fence.isOpen(), true);
  clock.move(1);
  assertEquals(fence.isOpen(), false);
});

Deno.test("the fence closes when the wall clock jumps by more than a renewal is fresh", async () => {
  // Forwards: the machine was suspended, and the monotonic clock stood still.
  for (const [jump, isOpen] of [[99, true], [100, false], [-99, true], [-100, false]] as const) {
    const clock = new JumpingClock();
    const fence = new Fence(clock, 100, isCurrent);
    await renew(fence, clock);
    clock.jump += jump;
    assertEquals(fence.isOpen(), isOpen, `${jump}`);
  }
});

Deno.test("those who wait at the fence go on after a renewal, and end when it closes for good", async () => {
  const clock = new JumpingClock();
  const fence = new Fence(clock, 100, isCurrent);
  const waiting = [fence.whenOpen(), fence.whenOpen()];
  await renew(fence, clock);
  assertEquals(await Promise.all([...waiting, fence.whenOpen()]), [true, true, true]);
  clock.move(100);
  const late = fence.whenOpen();
  fence.close();
  assertEquals([await late, await fence.whenOpen(), fence.isOpen()], [false, false, false]);
  await renew(fence, clock);
  assertEquals([await fence.whenOpen(), fence.isOpen()], [false, false]);
});

Deno.test("a renewal that began too long ago opens nothing", async () => {
  const clock = new JumpingClock();
  const fence = new Fence(clock, 100, isCurrent);
  const start = momentOf(clock);
  clock.move(150);
  fence.renew(start);
  await Promise.resolve();
  assertEquals(fence.isOpen(), false);
});

Deno.test("a fence that holds back until a time opens then by itself", async () => {
  const clock = new JumpingClock();
  const fence = new Fence(clock, 100, isCurrent);
  await renew(fence, clock);
  fence.holdUntil(clock.now() + 50);
  const waiting = fence.whenOpen();
  clock.move(49);
  await renew(fence, clock);
  assertEquals(fence.isOpen(), false);
  clock.move(1);
  assertEquals([await waiting, fence.isOpen(), clock.timers], [true, true, 0]);
});

Deno.test("a fence that was closed or interrupted opens only after a check that began afterwards", async () => {
  const clock = new JumpingClock();
  const checks: PromiseWithResolvers<boolean>[] = [];
  const fence = new Fence(clock, 100, () => {
    checks.push(Promise.withResolvers());
    return checks.at(-1)!.promise;
  });
  const resolve = async (index: number, isCurrent: boolean) => {
    checks[index].resolve(isCurrent);
    await checks[index].promise;
  };
  await renew(fence, clock);
  assertEquals(fence.isOpen(), false);
  await resolve(0, true);
  clock.move(50);
  await renew(fence, clock);
  assertEquals([fence.isOpen(), checks.length], [true, 1]); // it was never closed
  clock.move(100);
  await renew(fence, clock);
  fence.interrupt();
  const opened = fence.whenOpen();
  await resolve(1, true);
  assertEquals([fence.isOpen(), checks.length], [false, 3]); // that check began before
  await renew(fence, clock);
  await resolve(2, true);
  assertEquals([await opened, fence.isOpen()], [true, true]);
  fence.interrupt();
  await resolve(3, false);
  assertEquals(fence.isOpen(), false);
});
