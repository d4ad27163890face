/** Covers src/campaign/collector/collector.ts: failures of requests for messages. */
import { assertEquals } from "@std/assert";
import { Collector, type CollectorOptions } from "../../../src/campaign/collector/collector.ts";
import { systemClock } from "../../../src/net/clock.ts";

/** Runs a collector whose requests end in turn: `true` without signs of life. Returns its lines. */
async function linesAfter(missed: readonly boolean[]): Promise<string[]> {
  const lines: string[] = [];
  const end = new AbortController();
  let requests = 0;
  const fetch = () =>
    Promise.resolve({
      stop() {},
      [Symbol.asyncIterator]: () => ({
        next: () =>
          missed[requests++]
            ? Promise.reject(new Error("heartbeats missed"))
            : Promise.resolve({ done: true, value: undefined }),
      }),
    });
  const info = () => {
    if (requests >= missed.length) end.abort();
    return Promise.resolve({ num_pending: 0, num_ack_pending: 0 });
  };
  const broker = {
    urls: "nats://test",
    js: { consumers: { get: () => Promise.resolve({ fetch, info }) } },
    jsm: {
      consumers: { add: () => Promise.resolve(), async *list() {} },
      streams: {
        info: () =>
          Promise.resolve({
            config: { num_replicas: 1 },
            state: { first_seq: 1 },
          }),
      },
    },
  };
  const idle = {
    control: { optOuts: () => new Set() },
    leases: { take: () => [] },
    campaigns: { inDatabase: () => Promise.resolve(new Map()) },
  };
  const clock = { ...systemClock, now: () => 0, after: noWait };
  const options = { ...idle, broker, clock, identity: "1", signal: end.signal };
  const report = (line: string) => void lines.push(line);
  await new Collector({ ...options, report } as unknown as CollectorOptions).run();
  return lines;
}

function noWait(_ms: number, wake: () => void): () => void {
  queueMicrotask(wake);
  return () => {};
}

Deno.test("one missed heartbeat is no failure, and two in a row are reported once", async () => {
  assertEquals(await linesAfter([true, false, true, false]), []);
  assertEquals(await linesAfter([true, true, true, false]), [
    'blocksweep: Cannot use NATS at "nats://test": heartbeats missed',
    "blocksweep: NATS at nats://test replies again",
  ]);
});
