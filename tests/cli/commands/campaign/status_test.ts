/** Of src/cli/commands/campaign/status.ts: a watch of the state through outages. */
import { assertEquals, assertRejects } from "@std/assert";
import type { SystemStatus } from "../../../../src/campaign/status/read_status.ts";
import { watchStatus } from "../../../../src/cli/commands/campaign/status.ts";
import { InputError } from "../../../../src/core/errors.ts";
import { ManualClock } from "../../../fakes/manual_clock.ts";

/** A state that its number of messages identifies. */
function state(messages: number): SystemStatus {
  const results = { messages, bytes: 0, limit: 1, isFull: false };
  return { at: messages, campaigns: [], workers: [], results, collectors: [] };
}

/** Watches states, or errors, until the last one is shown. */
async function shown(states: readonly (SystemStatus | Error)[]) {
  const clock = new ManualClock();
  const after = (ms: number, callback: () => void) => {
    queueMicrotask(() => clock.move(ms));
    return clock.after(ms, callback);
  };
  const end = new AbortController();
  const left = [...states];
  const lines: string[] = [];
  await watchStatus({
    clock: { ...clock, after },
    signal: end.signal,
    everyMs: 1000,
    read: () => {
      const next = left.shift()!;
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    },
    show: ({ results }, problem) => {
      lines.push(`${clock.now()} ${results.messages} ${problem ?? "ok"}`);
      if (left.length === 0) end.abort();
    },
  });
  return lines;
}

Deno.test("a watch goes on after an outage, and shows the last state and the reason meanwhile", async () => {
  const away = new InputError("no reply");
  assertEquals(await shown([state(1), state(2), away, away, state(3)]), [
    "0 1 ok",
    "1000 2 ok",
    "2000 2 no reply",
    "3000 2 no reply",
    "4000 3 ok",
  ]);
});

Deno.test("a watch ends with the error of its first reading, and with any defect", async () => {
  await assertRejects(() => shown([new InputError("no reply")]), InputError, "no reply");
  await assertRejects(() => shown([state(1), new TypeError("a defect")]), TypeError, "a defect");
});
