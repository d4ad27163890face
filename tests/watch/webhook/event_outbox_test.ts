import { assertEquals } from "@std/assert";
import { add, eventOf, memoryFile, numbers, outboxIn, upTo } from "./outboxes.ts";

const DAY_MS = 86_400_000;

Deno.test("an event counts as written when the log was synced after its transaction", async () => {
  const file = await memoryFile();
  const steps: string[] = [];
  const openFile = async () => {
    const { database, remove } = await file.openFile();
    const recording = new Proxy(database, {
      get(target, name) {
        const value = Reflect.get(target, name);
        if (name !== "transaction" && name !== "flush") return value;
        return async (...args: unknown[]) => {
          const result = await value.apply(target, args);
          steps.push(name);
          return result;
        };
      },
    });
    return { database: recording, remove };
  };
  const outbox = await outboxIn(file, { openFile });
  add(outbox, 1, 3);
  assertEquals([await outbox.written(), steps], [true, ["transaction", "flush"]]);
  outbox.accept("w:1");
  assertEquals([await outbox.written(), steps.slice(2)], [true, ["transaction", "flush"]]);
  await outbox.close();
});

Deno.test("a full disk is reported once, and the file is complete when space is free again", async () => {
  const file = await memoryFile();
  const troubles: string[] = [];
  const onWriteError = (reason: string) => troubles.push(reason);
  const outbox = await outboxIn(file, { onWriteError });
  add(outbox, 1, 10);
  await outbox.written();
  file.fault = "database or disk is full";
  for (let number = 11; number <= 20; number++) {
    add(outbox, number, number);
    assertEquals(await outbox.written(), false);
  }
  outbox.accept("w:12");
  assertEquals([await outbox.written(), troubles, outbox.size], [false, [file.fault], 8]);
  file.fault = undefined;
  add(outbox, 21, 21);
  assertEquals(await outbox.close(), 0);
  const again = await outboxIn(file, { onWriteError });
  assertEquals(numbers(again), upTo(13, 21));
  file.fault = "database or disk is full"; // a new failure is reported too
  add(again, 22, 22);
  assertEquals([await again.close(), troubles.length], [1, 2]);
});

Deno.test("while the disk is full, changes cause a write every 10 seconds at most", async () => {
  const file = await memoryFile();
  const outbox = await outboxIn(file, { onWriteError: () => {} });
  file.fault = "database or disk is full";
  for (let number = 1; number <= 100; number++) {
    add(outbox, number, number);
    await Promise.resolve();
    await new Promise((resolve) => queueMicrotask(() => resolve(undefined)));
  }
  assertEquals(file.writes, 1);
  [file.fault, file.laterMs] = [undefined, 10_000];
  add(outbox, 101, 101);
  assertEquals([await outbox.written(), file.writes], [true, 2]);
  await outbox.close();
  const again = await outboxIn(file);
  assertEquals(numbers(again), upTo(1, 101));
  await again.close();
});

Deno.test("damaged rows are counted and removed, other rows are read", async () => {
  const file = await memoryFile();
  const rows = [
    ["w:1", JSON.stringify(eventOf(1))],
    ["w:2", "\0\0"],
    ["w:3", '{"id":"w:3"}'],
    ["w:4", JSON.stringify(eventOf(5))], // another id
    ["w:5", JSON.stringify(eventOf(5))],
  ];
  for (const row of rows) {
    await file.database.run("insert into outbox (id, event) values (?, ?)", row);
  }
  const outbox = await outboxIn(file);
  assertEquals([numbers(outbox), outbox.damaged, outbox.recovered], [[1, 5], 3, 2]);
  await outbox.close();
  const again = await outboxIn(file);
  assertEquals([numbers(again), again.damaged], [[1, 5], 0]);
  await again.close();
});

Deno.test("waiting events of kinds that the webhook does not get any more are removed", async () => {
  const file = await memoryFile();
  const outbox = await outboxIn(file);
  outbox.add(eventOf(1));
  outbox.add(eventOf(2, "players"));
  outbox.add(eventOf(3));
  await outbox.close();
  const next = await outboxIn(file, { kinds: ["players"] });
  assertEquals([numbers(next), next.recovered, next.damaged], [[2], 1, 0]);
  await next.close();
  const last = await outboxIn(file);
  assertEquals(numbers(last), [2]);
  await last.close();
});

Deno.test("without a file, events are in memory only", async () => {
  const outbox = await outboxIn();
  add(outbox, 1, 3);
  assertEquals([outbox.path, numbers(outbox), await outbox.close()], [undefined, [1, 2, 3], 3]);
});

Deno.test("ids of accepted events that a database may get stay after a kill, for a week", async () => {
  const file = await memoryFile();
  const outbox = await outboxIn(file);
  outbox.add(eventOf(1));
  outbox.add(eventOf(2, "players"));
  outbox.add(eventOf(3));
  outbox.accept("w:2", "00");
  await outbox.written(); // and the program is killed
  const next = await outboxIn(file);
  assertEquals(["w:1", "w:2"].map((id) => next.handOver(id, "00")), [true, false]);
  assertEquals(next.handOver("w:1", "01"), false); // another webhook gets it
  assertEquals(numbers(next), [3]);
  assertEquals([next.handOver("w:3", "00"), next.size], [false, 0]); // the database sends it
  await next.close(true);
  const rows = () => file.database.rows("select id, event, sent is null as waits from outbox");
  assertEquals(await rows(), [{ id: "w:1", event: null, waits: 0 }]);
  await file.database.run("update outbox set sent = sent - ?", [8 * DAY_MS]);
  const late = await outboxIn(file);
  assertEquals([late.handOver("w:1", "00"), late.damaged], [false, 0]);
  await late.close(true);
  assertEquals(await rows(), []);
});

Deno.test("without a database, no ids of accepted events are kept", async () => {
  const file = await memoryFile();
  const outbox = await outboxIn(file);
  add(outbox, 1, 2);
  outbox.accept("w:1");
  await outbox.written();
  assertEquals(await file.database.rows("select id from outbox"), [{ id: "w:2" }]);
  await outbox.close();
});

Deno.test("the number of ids of accepted events is bounded", async () => {
  const file = await memoryFile();
  const outbox = await outboxIn(file);
  for (let from = 1; from <= 100_500; from += 1000) {
    add(outbox, from, from + 999);
    outbox.accept(`w:${from + 999}`, "00");
    await outbox.written();
  }
  assertEquals([outbox.handOver("w:1000", "00"), outbox.handOver("w:1001", "00")], [false, true]);
  const [{ n }] = await file.database.rows("select count(*) as n from outbox");
  assertEquals(n, 100_000);
  await outbox.close();
  assertEquals(await file.database.rows("select id from outbox"), []);
});
