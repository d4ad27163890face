/**
 * Tests of the spool file with simulated crashes after each operation and within writes.
 *
 * Covers src/watch/webhook/event_spool.ts and src/watch/webhook/spool_format.ts.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { Random } from "../../../src/fleet/random.ts";
import { EventSpool } from "../../../src/watch/webhook/event_spool.ts";
import { FakeDisk } from "../../fakes/disk.ts";

const PATH = "servers.db.webhook";
const decoder = new TextDecoder();

const open = (disk: FakeDisk, most?: number) =>
  EventSpool.open({ path: PATH, disk, maxBytes: most, onWriteError: unexpected });

function unexpected(reason: string): never {
  throw new Error(reason);
}

const line = (id: number) =>
  JSON.stringify({
    ...{ id: `w:${id}`, event: "opted_out", at: 1, host: "127.0.0.1", port: 1, requested_as: null },
    ...{ scan_id: "w", name: "§ä".repeat(id % 7) },
  });

function add(spool: EventSpool, from: number, to: number): number {
  let dropped = 0;
  for (let id = from; id <= to; id++) dropped += spool.add(`w:${id}`, line(id));
  return dropped;
}

/** The numbers of the queued events. */
function numbers(spool: EventSpool): number[] {
  if (spool.size === 0) return [];
  return spool.oldest(Infinity).map((event) => {
    const { id } = JSON.parse(decoder.decode(event.line)) as { id: string };
    assertEquals(id, event.id);
    return Number(id.slice(2));
  });
}

const upTo = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);

Deno.test("events are queued in order and recovered when the file is reopened", async () => {
  const disk = new FakeDisk();
  const spool = await open(disk);
  add(spool, 1, 250);
  assertEquals(spool.removeUpTo("w:100"), 100);
  assertEquals(spool.removeUpTo("w:50"), 0);
  assertEquals([spool.size, ...spool.oldest(3).map(({ id }) => id)], [
    150,
    "w:101",
    "w:102",
    "w:103",
  ]);
  assertEquals(await spool.close(), true);
  const again = await open(disk);
  assertEquals([again.recovered, again.damaged, numbers(again)], [150, 0, upTo(101, 250)]);
  again.removeUpTo("w:250");
  await again.written();
  assertEquals(disk.text(PATH), "blocksweep webhook spool 1\n");
  await again.close();
  assertEquals(disk.text(PATH), undefined); // an empty queue leaves no file
});

Deno.test("after a kill at any time, written events are recovered in order, without duplicates", async () => {
  const disk = new FakeDisk();
  const spool = await open(disk, 400);
  const steps: { readonly operations: number; readonly done: number; readonly added: number }[] =
    [];
  for (let id = 1; id <= 40; id++) {
    add(spool, id, id);
    if (id % 3 === 0) spool.removeUpTo(`w:${id - 2}`);
    await spool.written();
    steps.push({ operations: disk.operations.length, done: Math.floor(id / 3) * 3 - 2, added: id });
  }
  assert(disk.operations.some(({ kind }) => kind === "rename"), "it was never replaced");
  for (let count = 1; count <= disk.operations.length; count++) {
    const next = disk.operations[count];
    const torns = next?.kind === "write" ? [0, 1, next.bytes.length >> 1] : [0];
    for (const torn of torns) {
      const killed = FakeDisk.after(disk.operations, count, torn);
      const left = await open(killed, 400);
      const waiting = numbers(left);
      assertEquals(killed.bytes(`${PATH}.part`), undefined);
      assertEquals(left.damaged, 0, `${count} ${torn}`);
      assertEquals(waiting, waiting.length === 0 ? [] : upTo(waiting[0], waiting.at(-1)!));
      const before = steps.findLast(({ operations }) => operations <= count);
      if (before === undefined) continue;
      assert((waiting.at(-1) ?? 0) >= before.added, `${count}: ${waiting} of ${before.added}`);
      assert(waiting.length > 0 && waiting[0] > Math.max(0, before.done - 3), `${count}`);
      await left.close();
    }
  }
});

Deno.test("after a system crash, no line is mistaken for another", async () => {
  const disk = new FakeDisk();
  const spool = await open(disk, 400);
  for (let id = 1; id <= 40; id++) {
    add(spool, id, id);
    if (id % 5 === 0) spool.removeUpTo(`w:${id - 3}`);
    await spool.written();
  }
  const random = new Random(3);
  for (let i = 0; i < 300; i++) {
    const count = 1 + random.below(disk.operations.length);
    const crashed = FakeDisk.crashed(disk.operations, count, random);
    if (crashed.bytes(PATH) === undefined) continue;
    const left = await open(crashed, 400);
    const waiting = numbers(left);
    assertEquals(waiting, waiting.toSorted((a, b) => a - b));
    assertEquals(new Set(waiting).size, waiting.length);
    await left.close();
  }
});

Deno.test("after a system crash, no written event is lost, and no removed one returns into an empty queue", async () => {
  const disk = new FakeDisk();
  const spool = await open(disk);
  const random = new Random(5);
  const recovered = async () => {
    const crashed = FakeDisk.crashed(disk.operations, disk.operations.length, random);
    return numbers(await open(crashed));
  };
  for (let id = 1; id <= 60; id++) {
    add(spool, id, id);
    await spool.written();
    assertEquals(await recovered(), numbers(spool), `after adding ${id}`);
    if (id % 10 !== 0) continue;
    spool.removeUpTo(`w:${id}`);
    await spool.written();
    assertEquals(await recovered(), [], `after removing ${id}`);
  }
});

Deno.test("a file that a rewrite has replaced is still used by one watch at a time", async () => {
  const disk = new FakeDisk();
  const spool = await open(disk, 400);
  add(spool, 1, 40);
  await spool.written();
  assert(disk.operations.some(({ kind }) => kind === "rename"), "it was never replaced");
  await assertRejects(() => open(disk, 400), InputError, "another watch uses it");
  await spool.close();
  await (await open(disk, 400)).close();
});

Deno.test("the queue and the file are bounded, and the oldest events are dropped", async () => {
  const disk = new FakeDisk();
  const spool = await open(disk, 1000);
  let dropped = 0;
  let largest = 0;
  for (let id = 1; id <= 500; id++) {
    dropped += add(spool, id, id);
    await spool.written();
    largest = Math.max(largest, disk.bytes(PATH)!.length);
  }
  assertEquals(dropped + spool.size, 500);
  assertEquals(numbers(spool), upTo(dropped + 1, 500));
  assert(largest <= 2100, String(largest));
  await spool.close();
  assertEquals(numbers(await open(disk, 1000)), upTo(dropped + 1, 500));
});

Deno.test("events that are removed from any place are in neither the queue nor the file", async () => {
  const disk = new FakeDisk();
  const spool = await open(disk);
  add(spool, 1, 20);
  spool.removeUpTo("w:2");
  const isRemoved = (text: string) => /"w:(3|7|20)"/.test(text);
  assertEquals([spool.removeMatching(isRemoved), spool.removeMatching(isRemoved)], [3, 0]);
  const left = [...upTo(4, 6), ...upTo(8, 19)];
  assertEquals(numbers(spool), left);
  assertEquals(await spool.close(), true);
  const again = await open(disk);
  assertEquals(numbers(again), left);
  assertEquals(again.removeMatching(() => true), left.length);
  await again.close();
  assertEquals((await open(disk)).recovered, 0);
});

Deno.test("a full disk is reported once, and the file is complete when space is free again", async () => {
  const disk = new FakeDisk();
  const troubles: string[] = [];
  const options = { path: PATH, disk, onWriteError: (reason: string) => troubles.push(reason) };
  const spool = await EventSpool.open(options);
  add(spool, 1, 10);
  await spool.written();
  disk.room = disk.bytes(PATH)!.length + 5;
  for (let id = 11; id <= 20; id++) {
    add(spool, id, id);
    assertEquals(await spool.written(), false);
  }
  assertEquals([troubles, spool.size], [["No space left on device"], 20]);
  disk.room = Infinity;
  add(spool, 21, 21);
  assertEquals(await spool.close(), true);
  assertEquals(numbers(await open(disk)), upTo(1, 21));
});

Deno.test("a rewrite that fails leaves the old file, and no other one", async () => {
  for (const kind of ["make", "write", "sync", "rename"]) {
    const disk = new FakeDisk();
    const troubles: string[] = [];
    const options = { path: PATH, disk, onWriteError: (reason: string) => troubles.push(reason) };
    const spool = await EventSpool.open(options);
    add(spool, 1, 10);
    await spool.written();
    const before = disk.text(PATH);
    disk.fault = (operation) => operation.kind === kind ? new Error("full") : undefined;
    assertEquals(spool.removeMatching((text) => text.includes('"w:3"')), 1);
    assertEquals([await spool.written(), troubles], [false, ["full"]], kind);
    assertEquals([disk.text(PATH), disk.bytes(`${PATH}.part`)], [before, undefined], kind);
    disk.fault = () => undefined;
    assertEquals(await spool.close(), true);
    assertEquals(numbers(await open(disk)), [1, 2, ...upTo(4, 10)], kind);
  }
});

Deno.test("a file that is not a spool, or that another watch uses, is refused and unchanged", async () => {
  for (
    const text of ["SQLite format 3\0", "blocksweep rows {}\n", "blocksweep webhook spool 2\n"]
  ) {
    const disk = new FakeDisk();
    disk.put(PATH, text);
    await assertRejects(() => open(disk), InputError, `Cannot use "${PATH}": it is not a spool`);
    assertEquals(disk.text(PATH), text);
  }
  const disk = new FakeDisk();
  const first = await open(disk);
  await assertRejects(() => open(disk), InputError, "another watch uses it");
  await first.close();
  await (await open(disk)).close();
});

Deno.test("damaged lines are counted, a torn line is removed, other lines are read", async () => {
  const disk = new FakeDisk();
  const torn = "w".repeat(100); // longer than the line written after it
  const text = `blocksweep webhook spool 1\n${line(1)}\n\0\0\0\n{"id":5}\n- w:99\n${
    line(2)
  }\n{"id":"${torn}`;
  disk.put(PATH, text);
  const spool = await open(disk);
  assertEquals([numbers(spool), spool.damaged, spool.recovered], [[1, 2], 2, 2]);
  add(spool, 3, 3);
  await spool.written();
  assertEquals(disk.text(PATH), `${text.slice(0, text.lastIndexOf("\n"))}\n${line(3)}\n`);
});

/** Counts the elements that methods of arrays copy while a function runs. */
async function copiedElements(run: () => Promise<void>): Promise<number> {
  let copied = 0;
  const restores: (() => void)[] = [];
  const prototypes: unknown[] = [Array.prototype, Uint8Array.prototype];
  for (const prototype of prototypes as Record<string, Method>[]) {
    for (const name of ["slice", "splice", "filter", "concat"].filter((name) => prototype[name])) {
      const method = prototype[name];
      const isOwn = Object.hasOwn(prototype, name);
      prototype[name] = function (...args) {
        const result = method.apply(this, args) as ArrayLike<unknown>;
        copied += result.length;
        return result;
      };
      restores.push(() => isOwn ? prototype[name] = method : delete prototype[name]);
    }
  }
  try {
    await run();
  } finally {
    for (const restore of restores) restore();
  }
  return copied;
}

type Method = (...args: unknown[]) => unknown;

/** Reads a spool of events that are all removed but the last; returns the number of copied elements. */
async function copiedToRead(size: number): Promise<number> {
  const disk = new FakeDisk();
  const ids = upTo(1000, 1000 + size);
  const removed = ids.slice(0, size).map((id) => `- w:${id}`);
  disk.put(PATH, ["blocksweep webhook spool 1", ...ids.map(line), ...removed, ""].join("\n"));
  return await copiedElements(async () => assertEquals(numbers(await open(disk)), ids.slice(-1)));
}

Deno.test("the work to read a spool grows with its size, not with the square of it", async () => {
  const [once, twice] = [await copiedToRead(1000), await copiedToRead(2000)];
  assert(once > 1000 && twice < 2.1 * once, `${once} copied elements, then ${twice}`);
});

Deno.test("without a file, events are in memory only", async () => {
  const spool = await EventSpool.open({ path: undefined, onWriteError: unexpected });
  add(spool, 1, 3);
  assertEquals([spool.path, numbers(spool), await spool.close()], [undefined, [1, 2, 3], false]);
});
