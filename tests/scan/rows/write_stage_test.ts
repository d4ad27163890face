import { assertEquals } from "@std/assert";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { encodePong } from "../../../src/protocols/raknet/codec.ts";
import { Aliases } from "../../../src/scan/rows/aliases.ts";
import { RowMaker, type RowSource } from "../../../src/scan/rows/row_maker.ts";
import type { MakingThread } from "../../../src/scan/rows/thread_start.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";
import { WriteStage } from "../../../src/scan/rows/write_stage.ts";
import type { MadeRows, Sink } from "../../../src/sinks/sink.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";

/** A stage with one output. The test ends each write. */
function scene(thread?: MakingThread) {
  const log: string[] = [];
  const writes: PromiseWithResolvers<void>[] = [];
  const write = (what: string) => {
    log.push(what);
    writes.push(Promise.withResolvers());
    return writes.at(-1)!.promise;
  };
  const sink: Sink = {
    write: (records) => write(`write ${records.length}`),
    writeMade: ({ ids }, index) => write(`write ${ids.length} made for ${index}`),
    flush: () => Promise.resolve(),
    position: () => 0,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const checkpoint = {
    accepted: (ids: readonly string[]) => {
      log.push(`accepted ${ids.length}`);
      return Promise.resolve();
    },
    optedOut: () => Promise.resolve(),
    save: () => Promise.resolve(),
  };
  const state = { ...newState("", 0), written: 7 };
  const clock = new FakeNetwork(1);
  const failures: string[] = [];
  const stop = { fail: ({ message }: Error) => void failures.push(message) };
  const options = { scanId: "", allProtocols: PROTOCOLS, players: true };
  const maker = new RowMaker(options, new Aliases(new Uint8Array(8), PROTOCOLS));
  const io = { sinks: [sink], checkpoint, clock, state };
  const noted: number[] = [];
  const note = (rows: number) => {
    noted.push(rows);
    return thread;
  };
  const start = { note, [Symbol.dispose]: () => thread?.close() };
  const stage = new WriteStage(io, stop, maker, start);
  const add = (count: number) => {
    for (let i = 0; i < count; i++) stage.add(ROW, () => log.push("onAccepted"));
  };
  return { log, writes, stage, add, failures, state, clock, noted };
}

const ROW: RowSource = {
  endpoint: { address: 0x7f000001, port: 19132 },
  seenAt: 1000,
  latencyMs: null,
  requestedAs: null,
  isCutShort: false,
  replies: [{ protocol: "raknet", statement: { columns: {}, flags: [], facts: {} } }],
};

/** A thread whose batches the test ends. */
class FakeThread implements MakingThread {
  readonly isReady = true;
  readonly sizes: number[] = [];
  readonly batches: PromiseWithResolvers<MadeRows>[] = [];

  begin(): void {}

  make(sources: readonly RowSource[]): Promise<MadeRows> {
    this.sizes.push(sources.length);
    this.batches.push(Promise.withResolvers());
    return this.batches.at(-1)!.promise;
  }

  /** Ends a batch, in which one row is an alias. */
  end(i: number): void {
    const ids = Array(this.sizes[i]).fill("127.0.0.1:19132");
    const counts = new Map([[null, this.sizes[i]]]);
    const tallies = { software: counts, versions: counts };
    this.batches[i].resolve({ ids, texts: [], aliases: 1, ...tallies, latest: [] });
  }

  close(): void {}
}

/** Waits until all promises that are already resolved have run their reactions. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

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

Deno.test("a thread makes batches ahead, and each is written and accepted in its order", async () => {
  const thread = new FakeThread();
  const { log, writes, stage, add, state } = scene(thread);
  add(1); // made here, and then the thread is ready
  writes[0].resolve();
  await settled();
  assertEquals(log.splice(0), ["write 1", "accepted 1", "onAccepted"]);
  add(600); // the first row at once, then 512; the others wait
  assertEquals(thread.sizes, [1, 512]);
  thread.end(1);
  await settled();
  assertEquals(log, []);
  thread.end(0);
  await settled();
  assertEquals([log.splice(0), thread.sizes], [["write 1 made for 0"], [1, 512]]);
  writes[1].resolve();
  await settled();
  // The thread makes the next batch while the one before it is written.
  assertEquals(log.splice(0), ["accepted 1", "onAccepted", "write 512 made for 0"]);
  assertEquals([thread.sizes, state.written, state.aliases], [[1, 512, 87], 7 + 2, 1]);
  thread.end(2);
  writes[2].resolve();
  await settled();
  writes[3].resolve();
  await stage.idle();
  assertEquals([state.written, state.aliases, log.at(-1)], [7 + 601, 3, "onAccepted"]);
});

Deno.test("the queue before a thread is bounded by rows and by bytes", async () => {
  for (const [source, most] of [[ROW, 2048], [LARGE, 64], [DECODED, 64]] as const) {
    const thread = new FakeThread();
    const { writes, stage, add } = scene(thread);
    add(1);
    writes[0].resolve();
    await settled();
    let rows = 0;
    for (; stage.whenFree === undefined; rows++) stage.add(source, () => {});
    assertEquals(rows, most);
    let isFree = false;
    void stage.whenFree!.then(() => isFree = true);
    thread.end(0);
    await settled();
    assertEquals(isFree, false);
    writes[1].resolve();
    await settled();
    assertEquals([isFree, stage.whenFree], [true, undefined]);
  }
});

/** A server whose interview had two large replies. */
const DECODED: RowSource = {
  ...ROW,
  replies: ["query", "slp"].map((protocol) => ({
    protocol,
    raw: new Uint8Array(32_768),
  })) as unknown as RowSource["replies"],
};
const LARGE: RowSource = { ...ROW, replies: { protocol: "raknet", raw: new Uint8Array(65_536) } };

Deno.test("when the thread dies, all rows that no output has are lost, and the scan fails", async () => {
  const thread = new FakeThread();
  const { log, writes, stage, add, failures, state } = scene(thread);
  add(1);
  writes[0].resolve();
  await settled();
  add(600);
  for (const { reject } of thread.batches) reject(new Error("Cannot make rows"));
  await stage.idle();
  add(1);
  assertEquals([state.written, state.lost, failures], [8, 601, ["Cannot make rows"]]);
  assertEquals([stage.whenFree, log.includes("write 1 made for 0")], [undefined, false]);
});

Deno.test("when an output refuses rows that a thread made, the rows behind them are lost too", async () => {
  const thread = new FakeThread();
  const { log, writes, stage, add, failures, state } = scene(thread);
  add(1);
  writes[0].resolve();
  await settled();
  add(1500);
  thread.end(0);
  thread.end(1);
  await settled();
  writes[1].reject(new Error("disk full"));
  await stage.idle();
  assertEquals([state.written, state.lost, failures], [8, 1500, ["disk full"]]);
  assertEquals([stage.whenFree, log.at(-1)], [undefined, "write 1 made for 0"]);
});

Deno.test("only rows whose reply was not decoded make a thread worthwhile", async () => {
  const { writes, stage, noted } = scene();
  const raw = encodePong({ advertise: false, time: 1n, guid: 2n, text: undefined });
  for (const replies of [ROW.replies, { protocol: "raknet", raw }, ROW.replies]) {
    stage.add({ ...ROW, replies }, () => {});
  }
  for (let i = 0; i < 2; i++) { // the first row, and then the others
    while (writes.length === i) await undefined;
    writes[i].resolve();
  }
  await stage.idle();
  assertEquals(noted, [0, 1]);
});
