import { assertEquals, assertRejects } from "@std/assert";
import { SendJobs, serveJobs } from "../../src/net/send_jobs.ts";

const quiet = () => {};
const load = (socket: number, at: bigint, count: number) => ({
  ...{ socket, at, count },
  ...{ length: 7 * socket, stride: 64, isPatient: socket === 2 },
});

Deno.test("jobs are done in order, each with its own numbers and outcome", async () => {
  const jobs = new SendJobs();
  const high = 0x7fff_89ab_cdef_0123n; // both halves have their top bits set somewhere
  const sent = [1, 2, 3].map((i) => jobs.send(load(i, high + BigInt(i), 10 * i), quiet));
  jobs.close();
  const done: unknown[] = [];
  serveJobs(jobs.memory, (one, { refuse }) => {
    done.push(one);
    for (let i = 0; i < one.socket; i++) refuse(1);
    return one.count;
  });
  assertEquals(done, [1, 2, 3].map((i) => load(i, high + BigInt(i), 10 * i)));
  assertEquals((await Promise.all(sent)).map(({ taken }) => taken), [9, 18, 27]);
});

Deno.test("refusals are told once, by error and number, with the job that fell short", async () => {
  const jobs = new SendJobs();
  const told: [job: number, errno: number, times: number][] = [];
  const sent = [0, 1, 2].map((job) =>
    jobs.send(load(0, 0n, 5), (errno, times) => told.push([job, errno, times]))
  );
  jobs.close();
  let job = 0;
  serveJobs(jobs.memory, ({ count }, { refuse }) => {
    if (job++ === 1) [1, 22, 1, 4711].forEach(refuse);
    return count;
  });
  assertEquals((await Promise.all(sent)).map(({ taken }) => taken), [5, 1, 5]);
  assertEquals(told, [[1, 1, 2], [1, 22, 1], [1, 255, 1]]);
});

Deno.test("what stops a job, and where, is told", async () => {
  const jobs = new SendJobs();
  const sent = jobs.send(load(0, 0n, 5), quiet);
  jobs.close();
  serveJobs(jobs.memory, (_, { refuse, leave }) => {
    refuse(1);
    leave(100);
    return 3;
  });
  assertEquals(await sent, { taken: 2, tried: 3, errno: 100 });
});

Deno.test("who waits for a thread that failed is told, and who comes later", async () => {
  const jobs = new SendJobs();
  const waiting = [1, 2].map((i) => jobs.send(load(0, 0n, i), quiet));
  jobs.fail(new Error("gone"));
  for (const one of waiting) await assertRejects(() => one, Error, "gone");
  await assertRejects(() => jobs.send(load(0, 0n, 1), quiet), Error, "gone");
});

Deno.test("no more jobs wait than there is memory for", async () => {
  const jobs = new SendJobs();
  const waiting = Array.from({ length: 64 }, () => jobs.send(load(0, 0n, 1), quiet));
  await assertRejects(() => jobs.send(load(0, 0n, 1), quiet), Error, "64 batches wait");
  jobs.fail(new Error("done"));
  await Promise.allSettled(waiting);
});
