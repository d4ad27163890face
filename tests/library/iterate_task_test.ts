import { assertEquals, assertRejects } from "@std/assert";
import { iterateTask, type Results } from "../../src/library/iterate_task.ts";

/** Waits until all pending promises are settled. */
const settle = () => new Promise<void>((resolve) => setTimeout(resolve));

Deno.test("a task's results are yielded in order, and then its error", async () => {
  const results: number[] = [];
  const loop = async () => {
    const task = async ({ add }: Results<number>) => {
      await add(1);
      await add(2);
      throw new Error("the socket failed");
    };
    for await (const result of iterateTask(task)) results.push(result);
  };
  await assertRejects(loop, Error, "the socket failed");
  assertEquals(results, [1, 2]);
});

Deno.test("a task that fails while the loop is busy fails the loop, and not the process", async () => {
  const loop = async () => {
    const task = async ({ add }: Results<number>) => {
      await add(1);
      throw new Error("the socket failed");
    };
    for await (const _ of iterateTask(task)) await settle();
  };
  await assertRejects(loop, Error, "the socket failed");
});

Deno.test("leaving the loop aborts the task, drops its results, and waits for its end", async () => {
  const steps: string[] = [];
  const task = async ({ add, room, left }: Results<number>) => {
    for (let i = 0; !left.aborted; i++) await add(i);
    await room();
    await add(-1);
    await settle();
    steps.push("ended");
  };
  for await (const result of iterateTask(task)) if (result === 2) break;
  steps.push("left");
  assertEquals(steps, ["ended", "left"]);
});

Deno.test("a task may add one result while the loop is busy", async () => {
  const steps: string[] = [];
  const task = async ({ add, room }: Results<number>) => {
    await add(1);
    await room();
    steps.push("room for a second");
    void add(2);
    await room();
    steps.push("room for a third");
  };
  for await (const _ of iterateTask(task)) {
    await settle();
    steps.push("taken");
  }
  assertEquals(steps, ["room for a second", "taken", "room for a third", "taken"]);
});

Deno.test("a task starts when its first result is requested", async () => {
  let started = false;
  const results = iterateTask<number>(() => Promise.resolve(void (started = true)));
  await settle();
  assertEquals(started, false);
  assertEquals((await results.next()).done, true);
  assertEquals(started, true);
});
