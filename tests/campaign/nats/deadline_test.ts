/** Covers src/campaign/nats/deadline.ts. */
import { assertEquals, assertRejects } from "@std/assert";
import { withDeadline } from "../../../src/campaign/nats/deadline.ts";

Deno.test("work that ends in time gives its result, and leaves no timer", async () => {
  assertEquals(await withDeadline(Promise.resolve(1)), 1);
});

Deno.test("work that never ends is given up", async () => {
  await assertRejects(() => withDeadline(new Promise(() => {}), 1), Error, "NATS does not reply");
});
