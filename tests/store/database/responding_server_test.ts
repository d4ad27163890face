import { assertEquals, assertRejects } from "@std/assert";
import { CANCELLED_MS, whileResponding } from "../../../src/store/database/responding_server.ts";
import { ManualClock } from "../../fakes/manual_clock.ts";

const SILENCE_MS = 5000;

/** A statement on a connection whose server may be away. */
function statement() {
  const clock = new ManualClock();
  const state = { received: 0, checks: 0, isReachable: true, cancelled: 0 };
  const { promise: reply, resolve, reject } = Promise.withResolvers<string>();
  const link = {
    received: () => state.received,
    isReachable: (signal: AbortSignal) => {
      state.checks++;
      signal.addEventListener("abort", () => state.cancelled++);
      return Promise.resolve(state.isReachable);
    },
  };
  const stop = new AbortController();
  const waits = { silenceMs: SILENCE_MS, clock, cancelled: stop.signal };
  const result = whileResponding(reply, link, waits);
  const pass = async (ms: number) => {
    clock.move(ms);
    for (let i = 0; i < 10; i++) await undefined;
  };
  return { stop, state, clock, resolve, reject, result, pass };
}

Deno.test("a statement may take hours while its server accepts connections", async () => {
  const { state, clock, resolve, result, pass } = statement();
  for (let i = 0; i < 1000; i++) await pass(SILENCE_MS);
  assertEquals(state.checks, 1000);
  resolve("done");
  assertEquals(await result, "done");
  assertEquals(clock.timers, 0);
});

Deno.test("a statement fails when its server is silent and accepts no connection", async () => {
  const { state, clock, result, pass } = statement();
  const failed = assertRejects(() => result, Error, "the server does not respond");
  await pass(SILENCE_MS - 1);
  assertEquals(state.checks, 0);
  state.isReachable = false;
  await pass(1);
  await failed;
  assertEquals([state.checks, clock.timers], [1, 0]);
});

Deno.test("a server that sends bytes is not checked, and no failed check counts", async () => {
  const { state, resolve, result, pass } = statement();
  state.isReachable = false;
  for (let i = 0; i < 10; i++) {
    state.received++;
    await pass(SILENCE_MS);
  }
  assertEquals(state.checks, 0);
  resolve("done");
  assertEquals(await result, "done");
});

Deno.test("the end of a statement ends its check", async () => {
  const { state, clock, reject, result, pass } = statement();
  const failed = assertRejects(() => result, Error, "refused");
  await pass(SILENCE_MS);
  reject(new Error("refused"));
  await failed;
  assertEquals([state.cancelled, clock.timers], [1, 0]);
});

Deno.test("after an interrupt a statement fails in time, though its server accepts connections", async () => {
  const { stop, state, clock, result, pass } = statement();
  const failed = assertRejects(() => result, Error, "no reply within 10 seconds of the interrupt");
  for (let i = 0; i < 10; i++) await pass(SILENCE_MS);
  stop.abort();
  await pass(CANCELLED_MS - 1);
  assertEquals(state.isReachable, true);
  await pass(1);
  await failed;
  assertEquals(clock.timers, 0);
});
