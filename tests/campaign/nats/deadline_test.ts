/** Covers src/campaign/nats/deadline.ts. */
import { assertEquals, assertRejects } from "@std/assert";
import { withDeadline } from "../../../src/campaign/nats/deadline.ts";
import { ManualClock } from "../../fakes/manual_clock.ts";

Deno.test("work that ends in time gives its result, and leaves no timer", async () => {
  const clock = new ManualClock();
  assertEquals(await withDeadline(Promise.resolve(1), 5, clock), 1);
  assertEquals(clock.timers, 0);
});

Deno.test("work that never ends is given up", async () => {
  const clock = new ManualClock();
  const given = assertRejects(
    () => withDeadline(new Promise(() => {}), 5, clock),
    Error,
    "NATS does not reply",
  );
  clock.move(4);
  assertEquals(clock.timers, 1);
  clock.move(1);
  await given;
});
