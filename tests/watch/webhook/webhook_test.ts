import { createHmac } from "node:crypto";
import { assert, assertEquals } from "@std/assert";
import type { WatchEvent } from "../../../src/store/events/watch_event.ts";
import { newReceiver } from "../../../src/watch/webhook/receivers.ts";
import { Webhook } from "../../../src/watch/webhook/webhook.ts";
import { eachKind } from "./events.ts";
import { type MemoryFile, memoryFile, outboxIn } from "./outboxes.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";

const event = (at: number): WatchEvent => ({
  event: "offline",
  at,
  host: "127.0.0.1",
  port: 1,
  requested_as: null,
  scan_id: "s",
  id: `s:${at}`,
  name: null,
  misses: 3,
  replied_at: null,
  unresponsive_since: null,
});

/** The receiver's response: a status, optionally with `Retry-After`; an error; or none. */
type Reply = number | { readonly status: number; readonly after: string } | Error | "hangs";

/** A webhook with a fake receiver that returns the given responses. */
async function hooked(reply: (queried: number, now: number) => Reply, given: {
  /** The file of the outbox; `null`: none. */
  readonly file?: MemoryFile | null;
  readonly clock?: FakeNetwork;
} = {}) {
  const { file = await memoryFile(), clock = new FakeNetwork(1) } = given;
  /** The accepted ids and numbers, per request. */
  const bodies: { readonly id: string; readonly at: number }[][] = [];
  const times: number[] = [];
  const lines: string[] = [];
  const report = (line: string) => lines.push(line);
  const outbox = await outboxIn(file ?? undefined, { onWriteError: report });
  const start = clock.now();
  const hook = new Webhook(newReceiver("json", SECRET), {
    clock,
    outbox,
    report,
    fetch: (_, { body, signal }) => {
      times.push(clock.now() - start);
      const given = reply(times.length - 1, clock.now() - start);
      if (given instanceof Error) return Promise.reject(given);
      if (given === "hangs") {
        return new Promise((_, reject) =>
          signal!.addEventListener("abort", () => reject(signal!.reason))
        );
      }
      const { status, after } = typeof given === "number" ? { status: given } : given;
      const list = JSON.parse(new TextDecoder().decode(body as Uint8Array));
      if (status === 200) bodies.push(list);
      const headers = after === undefined ? undefined : { "retry-after": after };
      return Promise.resolve(new Response("", { status, statusText: SECRET, headers }));
    },
  });
  const add = (from: number, to: number) => {
    for (let i = from; i <= to; i++) hook.add(event(i));
  };
  return { hook, file: file!, clock, bodies, times, lines, add };
}

const SECRET = "http://user:hunter2@127.0.0.1/hooks/T0K3N?key=s3cr3t";
const upTo = (most: number) => Array.from({ length: most }, (_, i) => i + 1);

Deno.test("events are delivered in order, in arrays, each with a unique id", async () => {
  const { hook, clock, bodies, lines, add } = await hooked(() => 200);
  add(1, 250);
  await clock.run(hook.idle());
  const sent = bodies.flat();
  assertEquals(sent.map(({ at }) => at), upTo(250));
  assertEquals(new Set(sent.map(({ id }) => id)).size, 250);
  assert(bodies.every((list) => list.length <= 100));
  assertEquals([hook.delivered, hook.waiting, hook.lost, lines], [250, 0, 0, []]);
  await clock.run(hook.close());
});

Deno.test("text of servers is escaped in the outbox and in requests", async () => {
  const raw = "\u009b\u0090\u009c\u0085\u007f\u202e\u2066\u2028";
  const { hook, clock, file, bodies } = await hooked((i) => i === 0 ? 503 : 200);
  const reported = {
    at: 1,
    host: "127.0.0.1",
    port: 1,
    requested_as: null,
    scan_id: "s",
    id: "1",
    name: null,
  };
  hook.add({ ...reported, event: "changed", changes: { motd: [raw, null] } });
  await clock.run(hook.idle());
  const sent = bodies.flat() as unknown as { readonly changes: { readonly motd: unknown } }[];
  assertEquals(sent.map(({ changes }) => changes.motd), [[raw, null]]);
  await clock.run(hook.close());
  const stored = file.written.filter((value) => String(value).includes("motd")).join();
  assert(/^[\x20-\x7e]+$/.test(stored), stored);
});

Deno.test("failed requests are repeated at growing intervals, and reported once", async () => {
  const replies: Reply[] = [new Error("Connection refused (os error 111)"), 503, 429, 404, 200];
  const { hook, clock, bodies, times, lines, add } = await hooked((i) => replies[Math.min(i, 4)]);
  add(1, 3);
  await clock.run(hook.idle());
  assertEquals(bodies.flat().map(({ at }) => at), [1, 2, 3]);
  assertEquals(times.map(Math.round), [0, 1000, 3000, 7000, 15_000]);
  assertEquals(lines, [
    "webhook delivery failed (connection refused): events are queued",
    "the webhook responds again",
  ]);
  await clock.run(hook.close());
});

Deno.test("10,000 events survive an outage of an hour in order, and none is lost", async () => {
  const hour = 3_600_000;
  const { hook, clock, bodies, times, add } = await hooked((i, now) =>
    now > hour ? 200 : ([new Error("x"), 502, "hangs", 401] as const)[i % 4]
  );
  for (let i = 0; i < 100; i++) clock.after(i * hour / 100, () => add(i * 100 + 1, i * 100 + 100));
  await clock.run(new Promise<void>((resolve) => clock.after(hour, resolve)));
  assertEquals([hook.delivered, hook.waiting, hook.lost], [0, 10_000, 0]);
  assert(times.length < 90, `${times.length} requests in an hour`);
  await clock.run(hook.idle());
  assertEquals(bodies.flat().map(({ at }) => at), upTo(10_000));
  assert(times.at(-1)! < hour + 75_000);
  await clock.run(hook.close());
});

Deno.test("events queued at the end are sent first by the next watch, with equal ids", async () => {
  const first = await hooked(() => 503);
  first.add(1, 150);
  const closing = first.clock.run((async () => {
    await new Promise<void>((resolve) => first.clock.after(100, resolve));
    await first.hook.close();
  })());
  await closing;
  const { delivered, waiting, lost } = first.hook;
  assertEquals([delivered, waiting, lost], [0, 150, 0]);
  const next = await hooked(() => 200, { file: first.file });
  assertEquals(next.hook.recovered, 150);
  next.add(151, 160);
  await next.clock.run(next.hook.idle());
  const sent = next.bodies.flat();
  assertEquals(sent.map(({ at }) => at), upTo(160));
  assertEquals(sent.slice(0, 150).map(({ id }) => id), upTo(150).map((i) => `s:${i}`));
  await next.clock.run(next.hook.close());
});

Deno.test("each event is delivered, queued or lost, wherever the end cuts delivery off", async () => {
  for (const file of [undefined, null]) {
    for (let cutMs = 0; cutMs < 60_000; cutMs += 1777) {
      const run = await hooked(
        (i) => i % 2 === 0 ? i % 3 === 0 ? "hangs" : 500 : 200, // it fails alternately
        { file },
      );
      const { hook, clock, bodies, add } = run;
      let events = 0;
      let ended = false;
      const come = () => {
        if (!ended) add(events + 1, events += 30);
      };
      for (let i = 0; i < 20; i++) clock.after(i * 1000, come);
      await clock.run((async () => {
        await new Promise<void>((resolve) => clock.after(cutMs, resolve));
        ended = true;
        await hook.close();
      })());
      const { delivered, waiting, lost } = hook;
      assertEquals(delivered + waiting + lost, events);
      assertEquals(bodies.flat().map(({ at }) => at), upTo(delivered));
      assertEquals(file === null ? waiting : lost, 0);
    }
  }
});

Deno.test("at the end, events that a full disk keeps out of the outbox are lost, and no others", async () => {
  const { hook, file, clock, lines, add } = await hooked(() => 503);
  const pass = (ms: number) => clock.run(new Promise<void>((done) => clock.after(ms, done)));
  add(1, 3);
  await pass(1000);
  file.fault = "database or disk is full";
  add(4, 8);
  await pass(1000);
  file.fault = undefined;
  file.laterMs = 11_000;
  await pass(60_000); // requests are repeated, but there is no further event
  assertEquals((await file.database.rows("select id from outbox")).length, 8);
  file.fault = "database or disk is full";
  add(9, 10);
  await clock.run(hook.close());
  assertEquals([hook.delivered, hook.waiting, hook.lost], [0, 8, 2]);
  assertEquals(lines.at(-1), "webhook events are lost: the outbox cannot be written");
});

Deno.test("a refused batch is halved until the refused event is alone", async () => {
  const clock = new FakeNetwork(1);
  const taken: number[] = [];
  const lines: string[] = [];
  const outbox = await outboxIn();
  const hook = new Webhook(newReceiver("json", SECRET), {
    clock,
    outbox,
    report: (line) => lines.push(line),
    fetch: (_, { body }) => {
      const list = JSON.parse(new TextDecoder().decode(body as Uint8Array)) as { at: number }[];
      if (list.some(({ at }) => at === 77)) {
        return Promise.resolve(new Response("", { status: 400 }));
      }
      taken.push(...list.map(({ at }) => at));
      return Promise.resolve(new Response(""));
    },
  });
  for (let i = 1; i <= 300; i++) hook.add(event(i));
  await clock.run(hook.idle());
  assertEquals(taken, upTo(300).filter((at) => at !== 77));
  assertEquals([hook.delivered, hook.lost], [299, 1]);
  assertEquals(lines, ["webhook events are lost: HTTP status 400"]);
  await clock.run(hook.close());
});

Deno.test("rejected requests are repeated at the same growing intervals as failed ones, and a rejected batch delays the others little", async () => {
  const all = await hooked(() => 400);
  all.add(1, 1000);
  await all.clock.run(new Promise<void>((resolve) => all.clock.after(3_600_000, resolve)));
  assert(all.times.length < 90, `${all.times.length} requests in an hour`);
  assertEquals(all.hook.lost + all.hook.waiting, 1000);
  assert(all.hook.lost > 50);
  await all.clock.run(all.hook.close());
  const first = await hooked((i) => i < 7 ? 422 : 200); // the batches of 100 to 1, of which the last is lost
  first.add(1, 100);
  await first.clock.run(first.hook.idle());
  assertEquals([first.hook.delivered, first.hook.lost], [99, 1]);
  assertEquals(
    first.times.slice(0, 8).map(Math.round),
    [0, 1, 2, 3, 4, 5, 6, 7].map((s) => 1000 * s),
  );
  await first.clock.run(first.hook.close());
});

Deno.test("Retry-After is honoured, in seconds and as a date, up to ten minutes", async () => {
  const dateIn = (ms: number) => new Date(new FakeNetwork(1).wall() + ms).toUTCString();
  for (
    const [after, waited] of [
      ["30", 30_000],
      ["2.345", 2345],
      ["0.5", 1000],
      ["999999", 600_000],
      ["-5", 1000],
      ["soon", 1000],
      ["0", 1000],
      [dateIn(45_000), 45_000],
      [dateIn(3_600_000), 600_000],
      [dateIn(-3_600_000), 1000],
    ] as const
  ) {
    for (const status of [429, 503]) {
      const { hook, clock, times, lines, add } = await hooked((i) =>
        i > 0 ? 200 : { status, after }
      );
      add(1, 1);
      await clock.run(hook.idle());
      assertEquals([Math.round(times[1]), times.length], [waited, 2], after);
      assertEquals(lines[0], `webhook delivery failed (HTTP status ${status}): events are queued`);
      await clock.run(hook.close());
    }
  }
});

Deno.test("no message contains any part of the URL, for any error of the runtime or the receiver", async () => {
  const errors = [
    `error sending request for url (${SECRET}): client error (Connect): Connection refused`,
    `${SECRET} is bad`,
    `invalid peer certificate: ${SECRET}`,
  ];
  const { hook, clock, file, lines, add } = await hooked((i) =>
    i < 3 ? new Error(errors[i]) : i === 3 ? 500 : i === 4 ? 200 : 413
  );
  add(1, 1);
  await clock.run(hook.idle());
  add(2, 2);
  await clock.run(hook.idle());
  await clock.run(hook.close());
  assertEquals(lines, [
    "webhook delivery failed (connection refused): events are queued",
    "the webhook responds again",
    "webhook events are lost: HTTP status 413",
  ]);
  for (const secret of ["hunter2", "T0K3N", "s3cr3t"]) {
    assert(!lines.join().includes(secret) && !JSON.stringify(file.written).includes(secret));
  }
});

Deno.test("the end waits three seconds for a receiver that hangs, and not at all for one that fails", async () => {
  for (const [reply, most] of [["hangs", 3000], [503, 10]] as const) {
    const { hook, clock, add } = await hooked(() => reply);
    add(1, 5);
    await clock.run(new Promise<void>((resolve) => clock.after(100, resolve)));
    const start = clock.now();
    await clock.run(hook.close());
    assert(clock.now() - start <= most, String(clock.now() - start));
    assertEquals([hook.delivered, hook.waiting, hook.lost], [0, 5, 0]);
  }
});

Deno.test("events of two seconds are one message to people, and the end sends them at once", async () => {
  const clock = new FakeNetwork(1);
  const texts: string[] = [];
  const outbox = await outboxIn();
  const hook = new Webhook(newReceiver("discord", SECRET), {
    clock,
    outbox,
    report: unexpected,
    fetch: (_, { body }) => {
      texts.push(JSON.parse(new TextDecoder().decode(body as Uint8Array)).content);
      return Promise.resolve(new Response(null, { status: 204 }));
    },
  });
  for (const ms of [0, 500, 1900, 3000]) clock.after(ms, () => hook.add(event(ms)));
  const after = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));
  await clock.run(after(2100));
  assertEquals([texts.length, hook.delivered], [1, 3]);
  assertEquals(texts[0].split("\n").length, 3);
  await clock.run(after(1000));
  const start = clock.now();
  await clock.run(hook.close());
  assertEquals([texts.length, hook.delivered, hook.waiting, hook.lost], [2, 4, 0, 0]);
  assert(clock.now() - start < 100, String(clock.now() - start));
});

Deno.test("requests have the given headers, and a signature of each attempt", async () => {
  const clock = new FakeNetwork(1);
  const requests: (readonly [Headers, string])[] = [];
  const outbox = await outboxIn();
  const hook = new Webhook(newReceiver("json", SECRET), {
    ...{ clock, outbox, report: () => {}, secret: "k3y" },
    headers: { authorization: "Bearer abc" },
    fetch: (_, { headers, body, redirect }) => {
      assertEquals(redirect, "manual");
      requests.push([new Headers(headers), new TextDecoder().decode(body as Uint8Array)]);
      return Promise.resolve(new Response("", { status: requests.length === 1 ? 503 : 200 }));
    },
  });
  hook.add(event(1));
  await clock.run(hook.idle());
  await clock.run(hook.close());
  const times = requests.map(([headers, body]) => {
    assertEquals(headers.get("authorization"), "Bearer abc");
    assertEquals(headers.get("content-type"), "application/json");
    const timestamp = headers.get("x-blocksweep-timestamp")!;
    const mac = createHmac("sha256", "k3y").update(`${timestamp}.${body}`).digest("hex");
    assertEquals(headers.get("x-blocksweep-signature"), `sha256=${mac}`);
    return Number(timestamp);
  });
  assertEquals(times[1] - times[0], 1);
});

Deno.test("with a list of kinds, other events are not sent", async () => {
  const clock = new FakeNetwork(1);
  const kinds: string[] = [];
  const outbox = await outboxIn();
  const hook = new Webhook(newReceiver("json", SECRET), {
    ...{ clock, outbox, report: unexpected, events: ["offline", "restarted"] },
    fetch: (_, { body }) => {
      const list = JSON.parse(new TextDecoder().decode(body as Uint8Array)) as WatchEvent[];
      kinds.push(...list.map((one) => one.event));
      return Promise.resolve(new Response(""));
    },
  });
  for (const one of eachKind()) hook.add(one);
  await clock.run(hook.close());
  assertEquals(kinds, ["offline", "restarted"]);
  assertEquals([hook.delivered, hook.waiting, hook.lost], [2, 0, 0]);
});

Deno.test("a redirect is a failure, and the message names the redirect", async () => {
  const { hook, clock, lines, add } = await hooked((i) => i === 0 ? 307 : 200);
  add(1, 1);
  await clock.run(hook.idle());
  await clock.run(hook.close());
  assertEquals(
    lines[0],
    "webhook delivery failed (HTTP status 307, a redirect, which is not followed): events are queued",
  );
  assertEquals(hook.delivered, 1);
});

function unexpected(reason: string): never {
  throw new Error(reason);
}
