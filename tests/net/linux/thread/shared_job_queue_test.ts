/** Covers src/net/linux/thread/job_memory.ts and src/net/linux/thread/job_server.ts. */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { Endpoints } from "../../../../src/core/endpoints.ts";
import { readTargets, TargetBatch } from "../../../../src/net/linux/batch/target_batch.ts";
import {
  type ArrivedBlock,
  type ArrivedTargets,
  microseconds,
  type SendJob,
  templateAt,
  writeTemplate,
} from "../../../../src/net/linux/thread/job_memory.ts";
import { type JobReport, JobServer } from "../../../../src/net/linux/thread/job_server.ts";
import { SharedJobQueue } from "../../../../src/net/linux/thread/shared_job_queue.ts";
import { DatagramBatch, noErrors, type Template } from "../../../../src/net/socket.ts";

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

/** Runs the submitted jobs, which are all lists, until the queue is closed. */
function runAll(
  jobs: SharedJobQueue,
  run: (job: ArrivedTargets, report: JobReport) => number = ({ count }) => count,
): void {
  jobs.close();
  const reason = new JobServer(jobs.memory).serve((one, report) => {
    assert(one.kind === "targets");
    return run(one, report);
  });
  assertEquals(reason, "end");
}

Deno.test("jobs are done in order, each with its own parameters and targets", async () => {
  const jobs = new SharedJobQueue();
  const sent = [job(1, 256), job(2, 256, 6), job(3, 2, 6)]
    .map((one) => jobs.send(one, noErrors()));
  assertEquals(jobs.pending, 3);
  const words = new Int32Array(jobs.memory);
  const done: unknown[] = [];
  runAll(jobs, ({ socket, method, template, count, port, at, waited }, { refuse }) => {
    done.push([socket, method, count, port]);
    const batch = new DatagramBatch({ template: new Uint8Array(8), tokenAt: 0, clockAt: 4 }, 256);
    const family = method === "ipv6" ? 6 : 4;
    assert(waited < 1_000_000);
    readTargets(words, at, count, family, 1000 * socket, batch);
    const wanted = { ...KINDS[socket % 3], clockAt: -1, tokenText: true };
    assertEquals(templateAt(jobs.memory, template), wanted);
    assertEquals(batch.addresses, Array(count).fill(ENDS[family === 4 ? 0 : 1].address));
    assertEquals(batch.ports, Array(count).fill(ENDS[family === 4 ? 0 : 1].port));
    const hex = (n: number) => (n >>> 0).toString(16);
    for (let i = 0; i < count; i++) {
      const marks = hex(0x8000_0000 + i) + hex(0xffff_0000 + i + 1000 * socket);
      assertEquals(batch.datagram(i).toHex(), marks);
    }
    for (let i = 0; i < socket; i++) refuse(1);
    return count;
  });
  assertEquals(done, [[1, "packet", 256, 7], [2, "ipv6", 256, 14], [3, "ipv6", 2, 21]]);
  assertEquals(await Promise.all(sent), [255, 254, -1]);
  assertEquals(jobs.pending, 0);
});

Deno.test("a template arrives with its transport", () => {
  const { memory } = new SharedJobQueue();
  const all: Template[] = [
    { template: Uint8Array.of(1, 2), tokenAt: 0, clockAt: 1, tokenText: false, transport: "tcp" },
    { template: Uint8Array.of(3), tokenAt: 0, clockAt: -1, tokenText: true },
  ];
  all.forEach((one, number) => writeTemplate(memory, number, one));
  assertEquals(all.map((_, number) => templateAt(memory, number)), all);
});

Deno.test("a block arrives with its positions, and reports those that were left out", async () => {
  const jobs = new SharedJobQueue();
  const blocks = [
    { from: 0, count: 1792, stamp: -1 },
    { from: 2 ** 48 - 5, count: 5, stamp: 2 ** 31 - 1 },
    { from: 2 ** 32 - 1, count: 1, stamp: 7 },
  ];
  const sent = blocks.map((block) => jobs.sendBlock(block, noErrors()));
  jobs.close();
  const arrived: ArrivedBlock[] = [];
  new JobServer(jobs.memory).serve((block, { leave }) => {
    assert(block.kind === "block");
    arrived.push(block);
    for (let i = 0; i < block.count; i += 2) leave(i);
    return Math.floor(block.count / 2);
  });
  assertEquals(arrived.map(({ from, count, stamp }) => ({ from, count, stamp })), blocks);
  const outcomes = await Promise.all(sent);
  assertEquals(outcomes.map((one) => one.sent), [896, 2, 0]);
  assertEquals(Array.from(outcomes[0].left), Array.from({ length: 896 }, (_, i) => 2 * i));
  assertEquals(outcomes.slice(1).map(({ left }) => Array.from(left)), [[0, 2, 4], [0]]);
});

Deno.test("the worker goes on after a message, with the jobs behind it", async () => {
  const jobs = new SharedJobQueue();
  const sent = [jobs.send(job(1, 3), noErrors())];
  jobs.interrupt();
  sent.push(jobs.send(job(2, 4), noErrors()));
  jobs.close();
  const server = new JobServer(jobs.memory);
  const ran: number[] = [];
  const run = ({ count }: { count: number }) => {
    ran.push(count);
    return count;
  };
  assertEquals([server.serve(run), [...ran]], ["message", [3]]);
  assertEquals([server.serve(run), ran], ["end", [3, 4]]);
  assertEquals(await Promise.all(sent), [3, 4]);
});

Deno.test("the number of templates and their length are bounded", async () => {
  const jobs = new SharedJobQueue();
  const send = (template: Template) => {
    const targets = new TargetBatch(template, 1, 4);
    targets.add(Endpoints.of(ENDS[0]), 0, 0, 0);
    return jobs.send({ socket: 0, method: "ipv4", targets }, noErrors());
  };
  const kinds = Array.from({ length: 33 }, (_, i) => ({ template: new Uint8Array(i) }));
  const sent = kinds.slice(0, 31).map(send);
  runAll(jobs);
  await Promise.all(sent);
  const waiting = [30, 31].map((i) => send(kinds[i]));
  await assertRejects(() => send(kinds[32]), RangeError, "too many templates");
  jobs.fail(new Error("done"));
  await Promise.allSettled(waiting);
  const others = new SharedJobQueue();
  const long = new TargetBatch({ template: new Uint8Array(2037) }, 1, 4);
  const one = { socket: 0, method: "ipv4", targets: long } as const;
  await assertRejects(() => others.send(one, noErrors()), RangeError, "too long");
});

Deno.test("refusals are reported once, by name and number, with their job", async () => {
  const jobs = new SharedJobQueue();
  const errors = [noErrors(), noErrors(), noErrors()];
  const sent = errors.map((one) => jobs.send(job(0, 5), one));
  let number = 0;
  runAll(jobs, ({ count }, { refuse }) => {
    if (number++ === 1) [1, 22, 1, 4711].forEach(refuse);
    return count;
  });
  assertEquals(await Promise.all(sent), [5, 1, 5]);
  assertEquals(errors.map(({ send }) => [...send]), [
    [],
    [["EPERM", 2], ["EINVAL", 1], ["errno 255", 1]],
    [],
  ]);
});

Deno.test("waits are counted, and end when they are cancelled; the job then fails", async () => {
  const jobs = new SharedJobQueue();
  const [errors, stop] = [noErrors(), new AbortController()];
  const sent = [1, 2].map(() => jobs.send(job(0, 5), errors, stop.signal));
  stop.abort();
  runAll(jobs, (_, { wait, fail }) => {
    assertEquals(wait(100), false);
    fail(100);
    return 3;
  });
  for (const one of sent) await assertRejects(() => one, Error, "the interface is down (ENETDOWN)");
  assertEquals([...errors.waits], [["ENETDOWN", 2]]);
});

Deno.test("pending and later jobs of a failed thread are rejected", async () => {
  const jobs = new SharedJobQueue();
  const waiting = [1, 2].map((i) => jobs.send(job(0, i), noErrors()));
  jobs.fail(new Error("gone"));
  for (const one of waiting) await assertRejects(() => one, Error, "gone");
  await assertRejects(() => jobs.send(job(0, 1), noErrors()), Error, "gone");
});

Deno.test("the number of pending jobs is bounded by the memory", async () => {
  const jobs = new SharedJobQueue();
  const waiting = Array.from({ length: 64 }, () => jobs.send(job(0, 1), noErrors()));
  await assertRejects(() => jobs.send(job(0, 1), noErrors()), Error, "64 batches are pending");
  assertThrows(() => new TargetBatch(KINDS[0], 257, 4), RangeError, "257");
  jobs.fail(new Error("done"));
  await Promise.allSettled(waiting);
});

for (const ahead of [0, 3_600_000_000, -3_600_000_000]) {
  const set = ahead === 0 ? "" : `, if the clock was set by ${ahead / 1e6} s between the starts`;
  Deno.test(`the time in the queue counts${set}`, async () => {
    const jobs = new SharedJobQueue();
    const { now } = performance;
    let ms = now.call(performance);
    performance.now = () => ms;
    try {
      jobs.setClock(microseconds() - ahead | 0);
      const sent = [jobs.send(job(2, 1), noErrors())];
      ms += 2500;
      sent.push(jobs.send(job(1, 2), noErrors()));
      ms += 500 - ahead / 1000; // the clock of the worker
      const waited: number[] = [];
      runAll(jobs, (arrived) => {
        waited.push(arrived.waited);
        return arrived.count;
      });
      await Promise.all(sent);
      assertEquals(waited.map((us) => Math.round(us / 1e5)), [30, 5]);
    } finally {
      performance.now = now;
    }
  });
}

Deno.test("a queue is idle when no job is pending, and blocks are cancelled for it", async () => {
  const jobs = new SharedJobQueue();
  const sent = jobs.sendBlock({ from: 0, count: 9, stamp: 0 }, noErrors());
  const idle = jobs.idle();
  jobs.close();
  new JobServer(jobs.memory).serve((_, { isCancelled, visit }) => {
    assertEquals(isCancelled(), true);
    visit(4);
    return 4;
  });
  await idle;
  assertEquals(jobs.pending, 0);
  const { sent: count, visited } = await sent;
  assertEquals([count, visited], [4, 4]);
});
