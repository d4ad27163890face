import { assertEquals } from "@std/assert";
import { ConnectionSlots } from "../../src/net/connection_slots.ts";

/** Whether a promise has already settled. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(() => settled = true);
  for (let i = 0; i < 5; i++) await Promise.resolve();
  return settled;
}

Deno.test("ConnectionSlots grants as many slots as there are, in order", async () => {
  const slots = new ConnectionSlots(2, 2);
  const first = await slots.acquire(1);
  await slots.acquire(2);
  const third = slots.acquire(3);
  const fourth = slots.acquire(4);
  assertEquals([await isSettled(third), slots.inUse], [false, 2]);
  first();
  assertEquals([await isSettled(third), await isSettled(fourth), slots.inUse], [true, false, 2]);
});

Deno.test("ConnectionSlots limits one host without delaying others", async () => {
  const slots = new ConnectionSlots(10, 1);
  const first = await slots.acquire(1);
  const second = slots.acquire(1);
  assertEquals(await isSettled(second), false);
  assertEquals(await isSettled(slots.acquire(2)), true);
  first();
  assertEquals([await isSettled(second), slots.inUse], [true, 2]);
});

Deno.test("ConnectionSlots.reduceLimit() sets the limit to the usable slots, at least one", async () => {
  const slots = new ConnectionSlots(10, 10);
  const free = [await slots.acquire(1), await slots.acquire(2), await slots.acquire(3)];
  slots.reduceLimit();
  assertEquals(slots.limit, 2);
  const next = slots.acquire(4);
  free[0]();
  assertEquals(await isSettled(next), false);
  free[1]();
  assertEquals(await isSettled(next), true);
  for (let i = 0; i < 5; i++) slots.reduceLimit();
  assertEquals(slots.limit, 1);
});
