/**
 * Tests of the outbox in files, with simulated kills after each write and within writes.
 *
 * Covers src/watch/webhook/outbox_file.ts.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { Random } from "../../../src/fleet/random.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import type { WatchEvent } from "../../../src/store/events/watch_event.ts";
import { EventOutbox, type EventOutboxOptions } from "../../../src/watch/webhook/event_outbox.ts";
import { openOutboxFile } from "../../../src/watch/webhook/outbox_file.ts";
import { add, numbers, upTo } from "../../watch/webhook/outboxes.ts";
import { inFolder } from "../resume/stopped_programs.ts";

const open = (path: string, options: Partial<EventOutboxOptions> = {}) =>
  EventOutbox.open({ path, onWriteError: unexpected, ...options });

function unexpected(reason: string): never {
  throw new Error(reason);
}

/** The bytes of an outbox file and of its log. */
interface Files {
  readonly file: Uint8Array;
  readonly log: Uint8Array;
}

/** The bytes, as another process sees them now. Reading releases the lock of the file. */
function filesOf(path: string): Files {
  return { file: Deno.readFileSync(path), log: Deno.readFileSync(`${path}-wal`) };
}

/** Opens a copy of an outbox. */
async function openCopy(path: string, { file, log }: Files): Promise<EventOutbox> {
  Deno.writeFileSync(path, file);
  Deno.writeFileSync(`${path}-wal`, log);
  return await open(path);
}

/** What a kill in the middle of a write leaves. */
function torn(before: Uint8Array, after: Uint8Array, at: number): Uint8Array {
  const bytes = new Uint8Array(Math.max(at, before.length));
  bytes.set(before);
  bytes.set(after.subarray(0, at));
  return bytes;
}

/** Opens a file whose log is moved to the database often. */
async function withShortLog(path: string) {
  const file = await openOutboxFile(path);
  await file.database.script("pragma wal_autocheckpoint = 6");
  return file;
}

Deno.test("events are queued in order and recovered when the file is opened again", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/outbox`;
    const outbox = await open(path);
    add(outbox, 1, 250);
    assertEquals(outbox.accept("w:100"), 100);
    assertEquals(outbox.accept("w:50"), 0);
    assertEquals([outbox.size, ...outbox.oldest(3).map(({ id }) => id)], [
      ...[150, "w:101", "w:102", "w:103"],
    ]);
    assertEquals(await outbox.close(), 0);
    const again = await open(path);
    assertEquals([again.recovered, again.damaged, numbers(again)], [150, 0, upTo(101, 250)]);
    assertEquals(Deno.statSync(path).mode! & 0o777, 0o600);
    again.accept("w:250");
    assertEquals(await again.close(), 0);
    assertEquals([...Deno.readDirSync(folder)], []); // an empty outbox leaves no file
  });
});

Deno.test("after a kill at any time, written events are recovered in order, without duplicates", async () => {
  await inFolder(async (folder) => {
    const [path, copy] = [`${folder}/outbox`, `${folder}/copy`];
    const outbox = await open(path, { openFile: withShortLog, maxBytes: 800 });
    let before = filesOf(path);
    let isMoved = false;
    for (let number = 1; number <= 40; number++) {
      const [first] = outbox.oldest(1).map(({ id }) => Number(id.slice(2)));
      add(outbox, number, number);
      if (number % 3 === 0) outbox.accept(`w:${number - 2}`, number % 2 === 0 ? "00" : undefined);
      assert(await outbox.written());
      const after = filesOf(path);
      isMoved ||= after.file.length !== before.file.length;
      const lengths = [0, 1, 24, 300, after.log.length >> 1, after.log.length - 1];
      const killed = [
        ...lengths.map((at) => ({ file: before.file, log: torn(before.log, after.log, at) })),
        ...[4096, 5000].map((at) => ({
          file: torn(before.file, after.file, at),
          log: after.log,
        })),
        after,
      ];
      for (const files of killed) {
        const left = await openCopy(copy, files);
        const waiting = numbers(left);
        assertEquals(left.damaged, 0, `${number}`);
        assertEquals(waiting, waiting.length === 0 ? [] : upTo(waiting[0], waiting.at(-1)!));
        assert(number === 1 || waiting.length === 0 || waiting[0] >= first, `${number}`);
        assert((waiting.at(-1) ?? number) >= number - 1, `${number}: ${waiting}`);
        if (files === after) assertEquals(waiting, numbers(outbox));
        await left.close(true);
      }
      before = after;
    }
    assert(isMoved, "the log was never moved to the file");
    await outbox.close();
  });
});

Deno.test("after a system crash that loses parts of the log, no event is mistaken for another", async () => {
  await inFolder(async (folder) => {
    const [path, copy] = [`${folder}/outbox`, `${folder}/copy`];
    const outbox = await open(path);
    for (let number = 1; number <= 40; number++) {
      add(outbox, number, number);
      if (number % 5 === 0) outbox.accept(`w:${number - 3}`, "00");
      await outbox.written();
    }
    const { file, log } = filesOf(path);
    await outbox.close();
    const random = new Random(3);
    let incomplete = 0;
    for (let i = 0; i < 100; i++) {
      const lost = log.slice();
      const at = 4096 * random.below(log.length / 4096);
      lost.fill(0, at, at + 512);
      const left = await openCopy(copy, { file, log: lost }).catch((error) => {
        assert(/no such table|not an outbox/.test(error.message), error); // it was lost with all events
        Deno.removeSync(copy);
      });
      if (left === undefined) continue;
      const waiting = numbers(left);
      if (waiting.length > 0) assertEquals(waiting, upTo(waiting[0], waiting.at(-1)!));
      if (waiting.at(-1) !== 40) incomplete++;
      await left.close(true);
    }
    assert(incomplete > 20, `${incomplete}`);
  });
});

Deno.test("one watch at a time uses a file", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/outbox`;
    const outbox = await open(path);
    await assertRejects(() => open(path), InputError, "another watch uses it");
    add(outbox, 1, 40);
    await outbox.written();
    await assertRejects(() => open(path), InputError, "another watch uses it");
    await outbox.close();
    const next = await open(path);
    await assertRejects(() => open(path), InputError, "another watch uses it");
    assertEquals(numbers(next), upTo(1, 40));
    await next.close();
  });
});

Deno.test("the waiting events and the file are bounded, and the oldest events are dropped", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/outbox`;
    const outbox = await open(path, { maxBytes: 1000 });
    let dropped = 0;
    let rest = 0;
    for (let number = 1; number <= 500; number++) {
      dropped += add(outbox, number, number);
      await outbox.written();
      rest = Math.max(rest, outbox.size);
    }
    assertEquals(dropped + outbox.size, 500);
    assertEquals(numbers(outbox), upTo(dropped + 1, 500));
    assert(rest <= 10, String(rest));
    await outbox.close();
    assert(Deno.statSync(path).size <= 16_384, String(Deno.statSync(path).size));
    const again = await open(path);
    assertEquals(numbers(again), upTo(dropped + 1, 500));
    await again.close();
  });
});

Deno.test("events that are removed from any place leave nothing in the file", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/outbox`;
    const outbox = await open(path);
    add(outbox, 1, 20);
    outbox.accept("w:2");
    await outbox.written();
    const isRemoved = ({ id }: WatchEvent) => /^w:(3|7|20)$/.test(id);
    assertEquals([outbox.removeMatching(isRemoved), outbox.removeMatching(isRemoved)], [3, 0]);
    const left = [...upTo(4, 6), ...upTo(8, 19)];
    assertEquals(numbers(outbox), left);
    assertEquals(await outbox.close(), 0);
    const bytes = new TextDecoder("latin1").decode(Deno.readFileSync(path));
    assertEquals(left.filter((number) => bytes.includes(`"w:${number}"`)), left);
    assertEquals([2, 3, 7, 20].filter((number) => bytes.includes(`w:${number}"`)), []);
    const again = await open(path);
    assertEquals(numbers(again), left);
    assertEquals(again.removeMatching(() => true), left.length);
    await again.close();
    assertEquals([...Deno.readDirSync(folder)], []);
  });
});

Deno.test("a file that is not an outbox is refused and unchanged", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/outbox`;
    for (const text of ["blocksweep rows {}\n", "SQLite format 3\0".repeat(64)]) {
      Deno.writeTextFileSync(path, text);
      await assertRejects(() => open(path), InputError, `Cannot open "${path}"`);
      assertEquals(Deno.readTextFileSync(path), text);
    }
    Deno.removeSync(path);
    {
      await using other = openSqlite(path);
      await other.script("create table outbox (seq integer, id text, event text, sent integer)");
    }
    const bytes = Deno.readFileSync(path);
    const message = `Cannot use "${path}": it is not an outbox of webhook events`;
    await assertRejects(() => open(path), InputError, message);
    assertEquals(Deno.readFileSync(path), bytes);
  });
});

Deno.test("a damaged file is an error that says so", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/outbox`;
    const outbox = await open(path);
    add(outbox, 1, 500);
    await outbox.close();
    const bytes = Deno.readFileSync(path);
    for (const damaged of [bytes.slice().fill(0x5a, 4096, 8192), bytes.subarray(0, 9000)]) {
      Deno.writeFileSync(path, damaged);
      await assertRejects(() => open(path), Error, "database disk image is malformed");
    }
  });
});
