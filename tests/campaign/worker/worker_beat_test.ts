import { assertEquals, assertRejects } from "@std/assert";
import type { KV, KvEntry } from "../../../src/campaign/nats/client_types.ts";
import { WorkerBeat, type WorkerBeatOptions } from "../../../src/campaign/worker/worker_beat.ts";
import { InputError } from "../../../src/core/errors.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";

/** A bucket whose server has another clock, and the entries in it. */
function fakeBucket(network: FakeNetwork) {
  const entries = new Map<string, string>();
  const server = { offsetMs: 0, isAway: false };
  const answer = <T>(value: T) =>
    server.isAway ? Promise.reject(new Error("away")) : Promise.resolve(value);
  const bucket = {
    put: (key: string, value: string) => answer(void entries.set(key, value)),
    get: () =>
      answer({ created: new Date(network.wall() + server.offsetMs) } as unknown as KvEntry),
    delete: (key: string) => answer(void entries.delete(key)),
  } as unknown as KV;
  return { entries, server, broker: { bucket: () => Promise.resolve(bucket), urls: "here" } };
}

const FACTS = { slots: 4, engine: "portable", program: "1.0.0" };

/** Advances the clock. */
function pass(network: FakeNetwork, ms: number): Promise<void> {
  return network.run(new Promise<void>((resolve) => network.after(ms, resolve)));
}

Deno.test("a worker writes its entry every ten seconds, and removes it at the end", async () => {
  const network = new FakeNetwork(1);
  const { entries, broker } = fakeBucket(network);
  const options: WorkerBeatOptions = { worker: "w", facts: FACTS, clock: network, report() {} };
  const beat = await WorkerBeat.start(broker, options);
  const at = () => JSON.parse(entries.get("worker.w")!).at;
  const first = at();
  assertEquals(JSON.parse(entries.get("worker.w")!), { ...FACTS, at: first, clockOffsetMs: 0 });
  await pass(network, 25_000);
  assertEquals(at() - first, 20_000);
  await beat[Symbol.asyncDispose]();
  assertEquals(entries.size, 0);
});

Deno.test("a worker whose clock becomes wrong takes no parts until it is right", async () => {
  const network = new FakeNetwork(1);
  const { server, entries, broker } = fakeBucket(network);
  const lines: string[] = [];
  const report = (line: string) => void lines.push(line);
  const options: WorkerBeatOptions = { worker: "w", facts: FACTS, clock: network, report };
  server.offsetMs = 4999;
  await using beat = await WorkerBeat.start(broker, options);
  assertEquals(beat.hasRightClock, true);
  server.offsetMs = 5000;
  await pass(network, 10_001);
  assertEquals(beat.hasRightClock, false);
  server.isAway = true; // nothing is known about the clock meanwhile
  await pass(network, 20_000);
  assertEquals(beat.hasRightClock, false);
  server.isAway = false;
  server.offsetMs = -20;
  await pass(network, 20_000);
  assertEquals(beat.hasRightClock, true);
  assertEquals(JSON.parse(entries.get("worker.w")!).clockOffsetMs, 20);
  assertEquals(lines, [
    "blocksweep: takes no further parts: the clock of this machine is 5 s behind that of NATS; " +
    "set the clock, for example with NTP",
    "blocksweep: takes parts again: the clock is right",
  ]);
});

Deno.test("a worker with a wrong clock does not begin", async () => {
  const network = new FakeNetwork(1);
  const { server, broker } = fakeBucket(network);
  server.offsetMs = -5000;
  const options: WorkerBeatOptions = { worker: "w", facts: FACTS, clock: network, report() {} };
  await assertRejects(
    () => WorkerBeat.start(broker, options),
    InputError,
    "Cannot work: the clock of this machine is 5 s ahead of that of NATS",
  );
});
