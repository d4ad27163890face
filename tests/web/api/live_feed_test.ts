/** Tests of src/web/api/live_feed.ts, and of its route. */
import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../../src/net/clock.ts";
import type { StoredScan } from "../../../src/store/scans/scan_list.ts";
import { LiveFeed, MAX_STREAMS } from "../../../src/web/api/live_feed.ts";
import { type DashboardData, DataError } from "../../../src/web/queries/dashboard_data.ts";
import { serveDashboard } from "../../../src/web/http/serve_dashboard.ts";
import { ManualClock } from "../../fakes/manual_clock.ts";
import { fakeData, NOW, SCAN, SCAN_ID } from "../fake_data.ts";

/** A feed of scans that a test changes. */
function feedOf(more: Partial<DashboardData> = {}) {
  const clock = new ManualClock();
  const scans: StoredScan[] = [SCAN];
  const counts = { reads: 0 };
  const data = fakeData({
    runningScans: (ids) => {
      counts.reads++;
      return Promise.resolve(
        scans.filter(({ state, scan_id }) => state === "running" || ids.includes(scan_id)),
      );
    },
    ...more,
  });
  const reported: unknown[] = [];
  const feed = new LiveFeed({
    ...{ data, clock, report: (error) => reported.push(error) },
    status: () => Promise.resolve([{ file: "a.json", state: { sent: 1 } }]),
  });
  const controller = new AbortController();
  const open = (scan?: string) => reader(feed.stream(scan, controller.signal));
  const set = (more: Partial<StoredScan>) => scans.splice(0, 1, { ...scans[0], ...more });
  return { feed, clock, open, set, counts, reported, end: () => controller.abort() };
}

/** Reads the parts of a stream one by one. */
function reader(stream: AsyncGenerator<Uint8Array>) {
  const next = async () => {
    const { value, done } = await stream.next();
    return done ? undefined : new TextDecoder().decode(value);
  };
  // deno-lint-ignore no-explicit-any
  const state = async (): Promise<any> => {
    const text = await next();
    const [, data] = /^event: state\ndata: (.*)\n\n$/.exec(text ?? "") ?? [];
    assert(data !== undefined, text);
    return JSON.parse(data);
  };
  return { next, state };
}

Deno.test("a stream begins with the state, and gets another one when the state has changed", async () => {
  const { open, clock, set, end, counts } = feedOf();
  const { next, state } = open();
  assertEquals(await next(), "retry: 2000\n\n");
  const first = await state();
  assertEquals(first.scans[0].scan_id, SCAN_ID);
  assertEquals(first.scans[0].finds.length, 5);
  assertEquals([first.scans[0].probes_per_second, first.error], [null, null]);
  assertEquals(first.status, [{ file: "a.json", state: { sent: 1 } }]);
  const second = state();
  clock.move(1000); // nothing has changed
  await systemClock.pollSockets();
  assertEquals(counts.reads, 2);
  set({ heartbeat_at: NOW + 10_000, probes_sent: 6000, replies: 10 });
  clock.move(1000);
  const [scan] = (await second).scans;
  assertEquals([scan.probes_per_second, scan.replies_per_second], [500, 0.5]);
  const third = state();
  set({ state: "finished", finished_at: NOW + 11_000 });
  clock.move(1000);
  const [ended] = (await third).scans;
  assertEquals([ended.state, ended.probes_per_second], ["finished", 500]);
  const last = next();
  end();
  assertEquals(await last, undefined);
});

Deno.test("a quiet stream gets a comment every 15 s", async () => {
  const { open, clock, end } = feedOf();
  const { next, state } = open();
  await next();
  await state();
  const comment = next();
  for (let second = 0; second < 15; second++) {
    clock.move(1000);
    await systemClock.pollSockets();
  }
  assertEquals(await comment, ": alive\n\n");
  end();
  await next();
});

Deno.test("streams share one reader, which stops with the last stream", async () => {
  const { open, clock, end, counts, feed } = feedOf();
  const streams = Array.from({ length: MAX_STREAMS }, () => open());
  for (const { next, state } of streams) {
    await next();
    await state();
  }
  assertEquals([counts.reads, feed.streams], [1, MAX_STREAMS]);
  const ends = streams.map(({ next }) => next());
  end();
  assertEquals(await Promise.all(ends), Array(MAX_STREAMS).fill(undefined));
  assertEquals(feed.streams, 0);
  clock.move(10_000);
  await systemClock.pollSockets();
  assertEquals(counts.reads, 1);
});

Deno.test("a stream of one scan has only that one, also after its end", async () => {
  const { open, set, clock, end } = feedOf();
  set({ state: "finished" });
  const [all, one, none] = [open(), open(SCAN_ID), open("another")];
  await all.next();
  assertEquals((await all.state()).scans, []);
  for (const { next } of [one, none]) await next();
  const states = Promise.all([one, none].map(({ state }) => state()));
  clock.move(1000);
  assertEquals((await states).map(({ scans }) => scans.length), [1, 0]);
  end();
  await Promise.all([all, one, none].map(({ next }) => next()));
});

Deno.test("a database that cannot be read is reported in the state, and read again", async () => {
  let isGone = true;
  const { open, clock, end, reported } = feedOf({
    runningScans: () =>
      isGone ? Promise.reject(new DataError("gone", "It was removed.")) : Promise.resolve([SCAN]),
  });
  const { next, state } = open();
  await next();
  assertEquals((await state()).error, "It was removed.");
  const again = state();
  isGone = false;
  clock.move(1000);
  const { error, scans } = await again;
  assertEquals([error, scans.length, reported], [null, 1, []]);
  end();
  await next();
});

Deno.test("a defect is reported, and the stream goes on without its reason", async () => {
  const { open, end, reported } = feedOf({ finds: () => Promise.reject(new TypeError("detail")) });
  const { next, state } = open();
  await next();
  assertEquals([(await state()).error, reported.length], ["The database cannot be read.", 1]);
  end();
  await next();
});

Deno.test("over HTTP, 50 streams are open, further ones get 503, and the shutdown ends them", async () => {
  const caller = { program: "blocksweep", location: "servers.db" };
  const site = {
    data: fakeData(),
    database: "servers.db",
    hasGeoip: false,
    attributions: [],
    caller,
  };
  const served = serveDashboard({
    ...{ site, hostname: "127.0.0.1", port: 0, allowedHosts: [], token: undefined },
    ...{ status: () => Promise.resolve([]), clock: systemClock },
    report: (error) => {
      throw error;
    },
  });
  const open = () => fetch(`http://127.0.0.1:${served.port}/api/live`);
  for (let i = 0; i <= MAX_STREAMS; i++) { // without a body, a stream does not stay open
    const url = `http://127.0.0.1:${served.port}/api/live`;
    assertEquals((await fetch(url, { method: "HEAD" })).status, 200);
  }
  const together = await Promise.all(Array.from({ length: 2 * MAX_STREAMS }, open));
  const [accepted, refused] = [200, 503].map((code) =>
    together.filter(({ status }) => status === code)
  );
  assertEquals([accepted.length, refused.length], [MAX_STREAMS, MAX_STREAMS]);
  for (const { body } of refused) await body!.cancel();
  const readers = [];
  for (const { headers, body } of accepted) {
    assertEquals(headers.get("content-type"), "text/event-stream");
    assertEquals(headers.get("x-accel-buffering"), "no");
    const reader = body!.getReader();
    await reader.read();
    readers.push(reader);
  }
  await readers.shift()!.cancel();
  for (;;) { // until the server has noticed the closed connection
    const { status, body } = await open();
    if (status === 200) {
      readers.push(body!.getReader());
      break;
    }
    await body!.cancel();
  }
  const further = await open();
  assertEquals([further.status, further.headers.get("retry-after")], [503, "5"]);
  await further.body?.cancel();
  const page = await fetch(`http://127.0.0.1:${served.port}/servers`);
  assertEquals(page.status, 200);
  await page.body?.cancel();
  await served[Symbol.asyncDispose]();
  for (const reader of readers) {
    const isEnded = async () => {
      while (!(await reader.read()).done);
    };
    await isEnded().catch(() => {}); // the connection ends without the end of the stream
  }
});
