import { assertEquals } from "@std/assert";
import { emptyRecord, type ServerRecord } from "../../src/core/record.ts";
import { newState } from "../../src/scan/scan_state.ts";
import { WriteStage } from "../../src/scan/write_stage.ts";
import type { Sink } from "../../src/sinks/sink.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";

/** A stage with one output. The test ends each write. */
function scene() {
  const log: string[] = [];
  const writes: PromiseWithResolvers<void>[] = [];
  const sink: Sink = {
    write(records) {
      log.push(`write ${records.length}`);
      writes.push(Promise.withResolvers());
      return writes.at(-1)!.promise;
    },
    flush: () => Promise.resolve(),
    position: () => 0,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const checkpoint = {
    accepted: (records: readonly ServerRecord[]) => {
      log.push(`accepted ${records.length}`);
      return Promise.resolve();
    },
    optedOut: () => Promise.resolve(),
    save: () => Promise.resolve(),
  };
  const state = { ...newState("", 0), written: 7 };
  const clock = new FakeNetwork(1);
  const failures: string[] = [];
  const stop = { fail: ({ message }: Error) => void failures.push(message) };
  const stage = new WriteStage({ sinks: [sink], checkpoint, clock, state }, stop);
  const add = (count: number) => {
    for (let i = 0; i < count; i++) stage.add(ROW, () => log.push("onAccepted"));
  };
  return { log, writes, stage, add, failures, state, clock };
}

const ROW = emptyRecord({ address: 0x7f000001, port: 19132 }, 1000);

Deno.test("a row is accepted when all outputs and the checkpoint's list contain it", async () => {
  const { log, writes, stage, add, state, clock } = scene();
  add(1);
  assertEquals(log, ["write 1"]);
  assertEquals(state.written, 7); // the rows of an earlier run
  writes[0].resolve();
  await stage.idle();
  assertEquals(log, ["write 1", "accepted 1", "onAccepted"]);
  assertEquals([state.written, state.lastRowAt], [8, clock.wall()]);
});

Deno.test("a full queue accepts rows again as soon as its rows are being written", async () => {
  const { log, writes, stage, add, state } = scene();
  add(256); // the first one is written at once
  assertEquals(stage.whenFree, undefined);
  add(1);
  const { whenFree } = stage;
  let isFree = false;
  void whenFree!.then(() => isFree = true);
  await Promise.resolve();
  assertEquals(isFree, false);
  writes[0].resolve();
  await whenFree;
  assertEquals([log.at(-1), stage.whenFree, writes.length], ["write 256", undefined, 2]);
  writes[1].resolve();
  await stage.idle();
  assertEquals(state.written, 7 + 257);
});

Deno.test("when an output fails, rows are counted as lost, and no caller waits", async () => {
  const { log, writes, stage, add, failures, state } = scene();
  add(257);
  const { whenFree } = stage;
  writes[0].reject(new Error("disk full"));
  await whenFree;
  await stage.idle();
  add(2);
  assertEquals([state.lost, state.written, stage.whenFree], [259, 7, undefined]);
  assertEquals([failures, log], [["disk full"], ["write 1"]]);
});
