/** Covers src/watch/poll_loop.ts. */
import { assertEquals } from "@std/assert";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { newPollPool, PollLoop } from "../../src/watch/poll_loop.ts";
import { MIN_INTERVAL_MS } from "../../src/watch/schedule.ts";
import { WatchedServer } from "../../src/watch/watched_server.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

const SECOND = 1000;
const INTERVAL = 60 * SECOND;

/**
 * Polls one server, first at the start, until a time. Returns when its polls began, milliseconds from
 * the start.
 *
 * @param pollMs Duration of a poll.
 * @param canaryAt When the server is polled as a canary.
 */
async function pollTimes(
  pollMs: number,
  canaryAt: readonly number[],
  untilMs: number,
): Promise<readonly number[]> {
  const clock = new FakeNetwork(1);
  const rules = {
    intervalMs: INTERVAL,
    downAfter: 3,
    scanId: "watch",
    newEventId: () => "event",
    allProtocols: PROTOCOLS,
  };
  const server = new WatchedServer({ address: 0x7f000001, port: 1 }, null, rules);
  const [start, times] = [clock.now(), [] as number[]];
  let lateMs = 0;
  const controller = new AbortController();
  const loop = new PollLoop({
    clock,
    pool: newPollPool(4),
    random: () => 0.5,
    signal: controller.signal,
    isPaused: () => false,
    onIteration: () => {},
    async poll(_, dueAt) {
      times.push(clock.now() - start);
      lateMs += clock.now() - dueAt;
      await new Promise<void>((resolve) => clock.after(pollMs, resolve));
      return "scheduled";
    },
  });
  loop.add([server], 0);
  for (const ms of canaryAt) clock.after(ms, () => loop.pollCanaries([server]));
  clock.after(untilMs, () => controller.abort());
  await clock.run(loop.run());
  assertEquals(lateMs, 0);
  return times;
}

Deno.test("a canary is polled at once, and then at its interval", async () => {
  const times = await pollTimes(10, [20 * SECOND], 90 * SECOND);
  assertEquals(times, [0, 20 * SECOND, 80 * SECOND + 10]);
  // Also between two iterations of the loop, which are at most a second apart.
  assertEquals(await pollTimes(10, [20_300], 60 * SECOND), [0, 20_300]);
});

Deno.test("a canary whose last poll has just ended is polled 5 seconds after it", async () => {
  const times = await pollTimes(10, [SECOND, 2 * SECOND, 3 * SECOND], 20 * SECOND);
  assertEquals(times, [0, 10 + MIN_INTERVAL_MS]);
});

Deno.test("a canary that is being polled is not polled again", async () => {
  const times = await pollTimes(10 * SECOND, [SECOND, 7 * SECOND], 65 * SECOND);
  assertEquals(times, [0]);
});
