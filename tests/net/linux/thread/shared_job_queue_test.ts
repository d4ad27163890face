import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { Endpoints } from "../../../../src/core/endpoints.ts";
import {
  type ArrivedSendJob,
  type SendJob,
  serveJobs,
  SharedJobQueue,
  templateAt,
} from "../../../../src/net/linux/thread/shared_job_queue.ts";
import { readTargets, TargetBatch } from "../../../../src/net/linux/batch/target_batch.ts";
import { DatagramBatch, type Template } from "../../../../src/net/socket.ts";

const quiet = () => {};
const KINDS = [1, 2, 3].map((length) => ({
  template: new Uint8Array(length),
  tokenAt: length,
  tokenText: true,
}));
const ENDS = [{ address: 0xfffe_fdfc, port: 65_535 }, { address: (1n << 128n) - 2n, port: 1 }];

/** A job with `count` targets. */
function job(socket: number, count: number, family: 4 | 6 = 4): SendJob {
  const targets = new TargetBatch(KINDS[socket % 3], 256, family);
  const endpoints = Endpoints.of(ENDS[family === 4 ? 0 : 1]);
  for (let i = 0; i < count; i++) targets.add(endpoints, 0, 0x8000_0000 + i, 0xffff_0000 + i);
  return { socket, method: family === 4 ? "packet" : "ipv6", targets, port: 7 * socket };
}

Deno.test("jobs are done in order, each with its own parameters and targets", async () => {
  const jobs = new SharedJobQueue();
  const sent = [
    jobs.send(job(1, 256), 0, quiet),
    jobs.send(job(2, 256, 6), 0, quiet),
    jobs.send(job(3, 5, 6), 3, quiet),
  ];
  jobs.close();
  const words = new Int32Array(jobs.memory);
  const done: unknown[] = [];
  serveJobs(jobs.memory, (one, { refuse }) => {
    const { socket, method, template, count, port } = one;
    done.push([socket, method, count, port]);
    const batch = new DatagramBatch({ template: new Uint8Array(8), tokenAt: 0, clockAt: 4 }, 256);
    const family = method === "ipv6" ? 6 : 4;
    assert(one.waited < 1_000_000);
    readTargets(words, one.at, count, family, 1000 * socket, batch);
    const wanted = { ...KINDS[socket % 3], clockAt: -1, tokenText: true };
    assertEquals(templateAt(jobs.memory, template), wanted);
    assertEquals(batch.addresses, Array(count).fill(ENDS[family === 4 ? 0 : 1].address));
    assertEquals(batch.ports, Array(count).fill(ENDS[family === 4 ? 0 : 1].port));
    const first = socket === 3 ? 3 : 0;
    const hex = (n: number) => (n >>> 0).toString(16);
    for (let i = 0; i < count; i++) {
      const marks = hex(0x8000_0000 + first + i) + hex(0xffff_0000 + first + i + 1000 * socket);
      assertEquals(batch.datagram(i).toHex(), marks);
    }
    for (let i = 0; i < socket; i++) refuse(1);
    return count;
  });
  assertEquals(done, [[1, "packet", 256, 7], [2, "ipv6", 256, 14], [3, "ipv6", 2, 21]]);
  assertEquals((await Promise.all(sent)).map(({ taken }) => taken), [255, 254, -1]);
});

Deno.test("the number of templates and their length are bounded", async () => {
  const jobs = new SharedJobQueue();
  const send = (template: Template) => {
    const targets = new TargetBatch(template, 1, 4);
    targets.add(Endpoints.of(ENDS[0]), 0, 0, 0);
    return jobs.send({ socket: 0, method: "ipv4", targets }, 0, quiet);
  };
  const kinds = Array.from({ length: 33 }, (_, i) => ({ template: new Uint8Array(i) }));
  const sent = kinds.slice(0, 31).map(send);
  jobs.close();
  serveJobs(jobs.memory, ({ count }) => count);
  await Promise.all(sent);
  const waiting = [30, 31].map((i) => send(kinds[i]));
  await assertRejects(() => send(kinds[32]), RangeError, "too many templates");
  jobs.fail(new Error("done"));
  await Promise.allSettled(waiting);
  const others = new SharedJobQueue();
  const long = new TargetBatch({ template: new Uint8Array(2037) }, 1, 4);
  const job = { socket: 0, method: "ipv4", targets: long } as const;
  await assertRejects(() => others.send(job, 0, quiet), RangeError, "too long");
});

Deno.test("refusals are reported once, by error and number, with their job", async () => {
  const jobs = new SharedJobQueue();
  const reported: [job: number, errno: number, times: number][] = [];
  const sent = [0, 1, 2].map((number) =>
    jobs.send(job(0, 5), 0, (errno, times) => reported.push([number, errno, times]))
  );
  jobs.close();
  let number = 0;
  serveJobs(jobs.memory, ({ count }, { refuse }) => {
    if (number++ === 1) [1, 22, 1, 4711].forEach(refuse);
    return count;
  });
  assertEquals((await Promise.all(sent)).map(({ taken }) => taken), [5, 1, 5]);
  assertEquals(reported, [[1, 1, 2], [1, 22, 1], [1, 255, 1]]);
});

Deno.test("the error that stops a job, and its position, are returned", async () => {
  const jobs = new SharedJobQueue();
  const sent = jobs.send(job(0, 5), 0, quiet);
  jobs.close();
  serveJobs(jobs.memory, (_: ArrivedSendJob, { refuse, stop }) => {
    refuse(1);
    stop(100);
    return 3;
  });
  assertEquals(await sent, { taken: 2, tried: 3, errno: 100 });
});

Deno.test("pending and later jobs of a failed thread are rejected", async () => {
  const jobs = new SharedJobQueue();
  const waiting = [1, 2].map((i) => jobs.send(job(0, i), 0, quiet));
  jobs.fail(new Error("gone"));
  for (const one of waiting) await assertRejects(() => one, Error, "gone");
  await assertRejects(() => jobs.send(job(0, 1), 0, quiet), Error, "gone");
});

Deno.test("the number of pending jobs is bounded by the memory", async () => {
  const jobs = new SharedJobQueue();
  const waiting = Array.from({ length: 64 }, () => jobs.send(job(0, 1), 0, quiet));
  await assertRejects(() => jobs.send(job(0, 1), 0, quiet), Error, "64 batches are pending");
  assertThrows(() => new TargetBatch(KINDS[0], 257, 4), RangeError, "257");
  jobs.fail(new Error("done"));
  await Promise.allSettled(waiting);
});

Deno.test("the waiting time of a resubmitted job counts from its first submission", async () => {
  const jobs = new SharedJobQueue();
  const one = job(1, 2);
  const { now } = performance;
  let ms = now.call(performance);
  performance.now = () => ms;
  try {
    const sent = [jobs.send(one, 0, quiet)];
    ms += 3000; // an interface was down
    sent.push(jobs.send(one, 1, quiet));
    sent.push(jobs.send(job(2, 1), 0, quiet));
    jobs.close();
    const waited: number[] = [];
    serveJobs(jobs.memory, (arrived) => {
      waited.push(arrived.waited);
      return arrived.count;
    });
    await Promise.all(sent);
    // A wait of three seconds in the queue means that the wall clock was set.
    assertEquals(waited.map((us) => Math.round(us / 1e6)), [0, 3, 0]);
  } finally {
    performance.now = now;
  }
});
