import { assert, assertEquals, assertRejects } from "@std/assert";
import type { ServerIndexMemory } from "../../../../src/web/server_index/server_index.ts";
import type { Question, ThreadMessage } from "../../../../src/web/data/threads/answers.ts";
import { sentGroups } from "../../../../src/web/data/threads/publications.ts";
import { DataError } from "../../../../src/web/queries/dashboard_data.ts";
import {
  LIMITS,
  type ThreadEvents,
  ThreadPool,
} from "../../../../src/web/data/threads/thread_pool.ts";
import { ManualClock } from "../../../fakes/manual_clock.ts";

/** A thread that a test controls. */
class FakeThread {
  readonly messages: ThreadMessage[] = [];
  isEnded = false;

  constructor(readonly events: ThreadEvents) {}

  post(message: ThreadMessage): void {
    assert(!this.isEnded, "a message for an ended thread");
    this.messages.push(message);
  }

  end(): void {
    this.isEnded = true;
  }

  get questions(): Question[] {
    return this.messages.flatMap((message) => "question" in message ? message.question : []);
  }

  /** Answers the last question with its values. */
  answer(): void {
    const { id, values } = this.questions.at(-1)!;
    this.events.onAnswer({ id, result: values });
  }
}

function newPool() {
  const [clock, threads]: [ManualClock, FakeThread[]] = [new ManualClock(), []];
  const start = (events: ThreadEvents) => {
    const thread = new FakeThread(events);
    threads.push(thread);
    return thread;
  };
  const pool = new ThreadPool(start, clock);
  const ask = (n: number) => pool.ask("scan", [n]);
  return { clock, threads, pool, ask };
}

Deno.test("a thread gets one question after the other", async () => {
  const { clock, threads, pool, ask } = newPool();
  using _ = pool;
  const [first, second] = [ask(1), ask(2)];
  assertEquals([threads.length, threads[0].questions.length], [1, 1]);
  threads[0].answer();
  assertEquals(await first, [1]);
  threads[0].answer();
  assertEquals(await second, [2]);
  assertEquals([threads.length, clock.timers], [1, 0]);
});

Deno.test("a thread that answers too late is not ended, and answers the next question", async () => {
  const { clock, threads, pool, ask } = newPool();
  using _ = pool;
  const slow = ask(1);
  clock.move(LIMITS.answerMs);
  assertEquals((await assertRejects(() => slow, DataError)).trouble, "slow");
  clock.move(LIMITS.workMs - LIMITS.answerMs - 1);
  threads[0].answer();
  assertEquals(clock.timers, 0);
  const next = ask(2);
  threads[0].answer();
  assertEquals([await next, threads.length, threads[0].isEnded], [[2], 1, false]);
});

Deno.test("a thread that works far too long is ended, and the next question is answered", async () => {
  const { clock, threads, pool, ask } = newPool();
  using _ = pool;
  const slow = ask(1);
  clock.move(LIMITS.answerMs);
  assertEquals((await assertRejects(() => slow, DataError)).trouble, "slow");
  assert(!threads[0].isEnded);
  clock.move(LIMITS.workMs - LIMITS.answerMs);
  assert(threads[0].isEnded);
  const next = ask(2);
  assertEquals(threads.length, 2);
  threads[0].events.onAnswer({ id: 1, result: "late" });
  threads[1].answer();
  assertEquals(await next, [2]);
});

Deno.test("a question that waits gets a further thread, and at most three exist, ended ones included", async () => {
  const { clock, threads, pool, ask } = newPool();
  using _ = pool;
  const slow = Array.from({ length: 5 }, (_, i) => ask(i));
  clock.move(LIMITS.waitMs);
  assertEquals(threads.length, 3);
  clock.move(LIMITS.answerMs);
  clock.move(LIMITS.workMs - LIMITS.answerMs);
  const results = await Promise.allSettled(slow);
  assert(results.every(({ status }) => status === "rejected"));
  const waiting = ask(9);
  assertEquals([threads.length, threads.every(({ isEnded }) => isEnded)], [3, true]);
  clock.move(LIMITS.queueMs);
  await assertRejects(() => waiting, DataError);
  clock.move(LIMITS.endingMs);
  const next = ask(10);
  assertEquals(threads.length, 4);
  threads[3].answer();
  assertEquals(await next, [10]);
});

Deno.test("the time limit of an answer begins when a thread begins to work on the question", async () => {
  const { clock, threads, pool, ask } = newPool();
  using _ = pool;
  const first = Array.from({ length: 3 }, (_, i) => ask(i));
  clock.move(LIMITS.waitMs);
  const [waited, late] = [ask(3), ask(4)];
  clock.move(LIMITS.answerMs - LIMITS.waitMs - 1);
  threads.forEach((thread) => thread.answer());
  assertEquals(await Promise.all(first), [[0], [1], [2]]);
  clock.move(LIMITS.answerMs - 1); // they waited for 1,749 ms before
  threads[0].answer();
  assertEquals(await waited, [3]);
  clock.move(1);
  assertEquals((await assertRejects(() => late, DataError)).trouble, "slow");
  assertEquals(threads.map(({ isEnded }) => isEnded), [false, false, false]);
  const next = ask(5);
  threads[0].answer();
  threads[1].answer();
  assertEquals([await next, clock.timers], [[5], 0]);
});

Deno.test("a question that waits too long for a thread fails, and one behind too many others at once", async () => {
  const { clock, threads, pool, ask } = newPool();
  using _ = pool;
  const failures: number[] = [];
  const askAll = (count: number) =>
    Array.from({ length: count }, (_, i) => ask(i).catch(() => void failures.push(clock.now())));
  const start = clock.now();
  const asked = askAll(1 + LIMITS.queued);
  const [refused] = askAll(1);
  await refused;
  assertEquals(failures, [start]);
  clock.move(LIMITS.waitMs); // two further threads take a question each
  clock.move(LIMITS.queueMs - LIMITS.waitMs);
  await Promise.all(asked);
  assertEquals(threads.map(({ questions }) => questions.length), [1, 1, 1]);
  assertEquals(failures.length, 2 + LIMITS.queued);
});

Deno.test("a thread that fails rejects its question, and is replaced", async () => {
  const { threads, pool, ask } = newPool();
  using _ = pool;
  const [failed, next] = [ask(1), ask(2)];
  threads[0].events.onFailure(new Error("out of memory"));
  await assertRejects(() => failed, Error, "out of memory");
  threads[1].answer();
  assertEquals(await next, [2]);
});

Deno.test("errors of answers keep their kind", async () => {
  const { threads, pool, ask } = newPool();
  using _ = pool;
  const gone = ask(1);
  const error = { name: "DataError", message: "no file", trouble: "gone" } as const;
  threads[0].events.onAnswer({ id: 1, error });
  assertEquals((await assertRejects(() => gone, DataError, "no file")).trouble, "gone");
});

Deno.test("all threads get the server index and the groups, also later ones", () => {
  const { clock, threads, pool, ask } = newPool();
  const [first, second] = ["first", "second"].map((identity) =>
    ({ identity }) as ServerIndexMemory
  );
  const questions = [ask(1), ask(2)].map((question) => assertRejects(() => question));
  pool.publish({ serverIndex: first });
  const groups = sentGroups("first", new Map());
  pool.publish({ groups });
  clock.move(LIMITS.waitMs);
  pool.publish({ serverIndex: second });
  const published = threads.map(({ messages }) =>
    messages.filter((message) => !("question" in message) && Object.keys(message).length > 0)
  );
  assertEquals(published, [
    [{ serverIndex: first }, { groups }, { serverIndex: second }],
    [{ serverIndex: first, groups }, { serverIndex: second }],
  ]);
  pool[Symbol.dispose]();
  assert(threads.every(({ isEnded }) => isEnded));
  assertEquals(clock.timers, 0);
  return Promise.all(questions).then(() => {});
});
