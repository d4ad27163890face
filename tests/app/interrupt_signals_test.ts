/** What counts as a second Ctrl-C. tests/cli/commands/terminal_test.ts presses it on a terminal. */
import { assertEquals } from "@std/assert";
import { InterruptCount } from "../../src/app/interrupt_signals.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { sleep } from "../../src/net/clock.ts";

/**
 * Which handlers run when a command gets signals.
 *
 * @param signals Each with its time, milliseconds from the first.
 * @param firstTakesMs Duration of the handler of the first Ctrl-C.
 */
async function handled(
  signals: readonly (readonly [number, Deno.Signal])[],
  firstTakesMs = 0,
): Promise<string> {
  const clock = new FakeNetwork(1);
  const done: string[] = [];
  let spent = 0;
  const count = new InterruptCount(
    { now: () => clock.now() + spent },
    () => {
      done.push("first");
      spent = firstTakesMs;
    },
    () => done.push("second"),
  );
  const began = clock.now();
  for (const [at, name] of signals) {
    await clock.run(sleep(clock, began + at - clock.now()));
    spent = 0;
    count.add(name);
  }
  assertEquals(count.signal.aborted, true);
  return done.join();
}

Deno.test("a signal that deno task or npx repeats within 100 ms is one Ctrl-C", async () => {
  assertEquals(await handled([[0, "SIGINT"], [30, "SIGINT"]]), "first");
  assertEquals(await handled([[0, "SIGINT"], [0.2, "SIGINT"], [26, "SIGINT"]]), "first");
  assertEquals(await handled([[0, "SIGTERM"], [30, "SIGTERM"]]), "first");
});

Deno.test("a signal 200 ms after the first is the second Ctrl-C, however long the first took", async () => {
  assertEquals(await handled([[0, "SIGINT"], [200, "SIGINT"]]), "first,second");
  assertEquals(await handled([[0, "SIGINT"], [30, "SIGINT"], [200, "SIGINT"]]), "first,second");
  assertEquals(await handled([[0, "SIGINT"], [200, "SIGINT"]], 150), "first,second");
});

Deno.test("another signal within 100 ms is the second; SIGHUP is never", async () => {
  assertEquals(await handled([[0, "SIGINT"], [30, "SIGTERM"]]), "first,second");
  assertEquals(await handled([[0, "SIGINT"], [200, "SIGHUP"]]), "first");
  assertEquals(await handled([[0, "SIGHUP"], [200, "SIGHUP"], [300, "SIGINT"]]), "first,second");
});
