/**
 * Covers src/app/service_state.ts. The commands run with a real socket in
 * tests/cli/commands/notify_test.ts.
 */
import { assertEquals, assertMatch } from "@std/assert";
import { ServiceState } from "../../src/app/service_state.ts";
import { sleep } from "../../src/net/clock.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";

/** A service whose messages are kept. Its watchdog expects a message every 10 s. */
function service(variables: Record<string, string> = { NOTIFY_SOCKET: "/x" }) {
  const clock = new FakeNetwork(1);
  const ending = new AbortController();
  const [sent, lines]: [string[], string[]] = [[], []];
  const socket = { accepts: () => Promise.resolve() };
  const state = new ServiceState({
    clock,
    signal: ending.signal,
    warn: (line) => lines.push(line),
    variable: (name) =>
      new Map(Object.entries({ WATCHDOG_USEC: "10000000", ...variables })).get(name),
    open: (address) => ({
      send: async (text) => {
        await socket.accepts();
        sent.push(text);
      },
      [Symbol.dispose]: () => sent.push(`closed ${address}`),
    }),
  });
  return { state, clock, ending, sent, lines, socket };
}

Deno.test("the watchdog gets a message in half of its time while there is progress, and none without", async () => {
  const { state, clock, sent, ending } = service();
  let polls = 0;
  let hasProgress = true;
  state.ready({ hasProgress: () => hasProgress, status: () => `${++polls} polls` });
  await clock.run(sleep(clock, 14_999));
  assertEquals(sent, [
    "READY=1\nSTATUS=1 polls",
    "WATCHDOG=1\nSTATUS=2 polls",
    "WATCHDOG=1\nSTATUS=3 polls",
  ]);
  hasProgress = false;
  await clock.run(sleep(clock, 60_000));
  assertEquals(sent.length, 3);
  hasProgress = true;
  await clock.run(sleep(clock, 5000));
  assertEquals(sent.length, 4);
  ending.abort();
  await state[Symbol.asyncDispose]();
  assertEquals(sent.slice(4), ["STOPPING=1", "closed /x"]);
  await clock.run(sleep(clock, 60_000));
  assertEquals(sent.length, 6);
});

Deno.test("a loop is up with its first round, and stuck without further ones", async () => {
  const { state, clock, sent } = service();
  state.round();
  state.round();
  await clock.run(sleep(clock, 5000));
  assertEquals(sent, ["READY=1", "WATCHDOG=1"]);
  await clock.run(sleep(clock, 20_000));
  assertEquals(sent.length, 2);
  state.round();
  await clock.run(sleep(clock, 5000));
  assertEquals(sent.length, 3);
  await state[Symbol.asyncDispose]();
});

Deno.test("nothing is sent without a socket, and no watchdog runs without its time", async () => {
  const none = service({});
  none.state.ready({ hasProgress: () => true });
  none.ending.abort();
  await none.state[Symbol.asyncDispose]();
  assertEquals([none.sent, none.lines], [[], []]);
  const timeless = service({ NOTIFY_SOCKET: "/x", WATCHDOG_USEC: "" });
  timeless.state.ready({ hasProgress: () => true });
  await timeless.clock.run(sleep(timeless.clock, 60_000));
  assertEquals(timeless.sent, ["READY=1"]);
  await timeless.state[Symbol.asyncDispose]();
});

Deno.test("a service manager that is not reachable is reported once, and ends nothing", async () => {
  const { state, clock, sent, lines, ending, socket } = service();
  const { accepts } = socket;
  socket.accepts = () => Promise.reject(new Error("No such file or directory (os error 2)"));
  state.ready({ hasProgress: () => true });
  await clock.run(sleep(clock, 14_999));
  assertEquals([sent, lines.length], [[], 1]);
  socket.accepts = accepts;
  await clock.run(sleep(clock, 10_000));
  assertEquals(sent, ["WATCHDOG=1", "WATCHDOG=1"]);
  ending.abort();
  await state[Symbol.asyncDispose]();
  assertEquals(lines.length, 1);
  assertMatch(lines[0], /^blocksweep: cannot notify the service manager: No such file/);
});

Deno.test("a full socket of the service manager delays the end by a second", async () => {
  const { state, clock, sent, lines, ending, socket } = service({
    NOTIFY_SOCKET: "/x",
    WATCHDOG_USEC: "",
  });
  const full = Promise.withResolvers<void>();
  socket.accepts = () => full.promise;
  state.ready({ hasProgress: () => true });
  ending.abort();
  const start = clock.now();
  await clock.run(state[Symbol.asyncDispose]());
  assertEquals([clock.now() - start, sent], [1000, ["closed /x"]]);
  full.reject(new Error("operation canceled"));
  await clock.run(sleep(clock, 60_000));
  assertEquals([sent.length, lines], [1, []]);
});
