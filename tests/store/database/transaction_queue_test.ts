/** Transactions and streams of one connection. */
import { assertEquals } from "@std/assert";
import { onEngines } from "../databases.ts";

onEngines("a stream and transactions of one connection run one after the other", async (db) => {
  await db.script("create table numbers (n integer)");
  const write = (n: number) =>
    db.transaction(async () => {
      await db.run("insert into numbers values (?)", [n]);
      await db.run("insert into numbers values (?)", [n + 1]);
    });
  await write(1);
  const rows = db.stream("select n from numbers order by n")[Symbol.asyncIterator]();
  const first = await rows.next();
  const writing = [write(3), write(5)];
  const read = [first.value.n];
  for (let next = await rows.next(); !next.done; next = await rows.next()) read.push(next.value.n);
  assertEquals(read, [1, 2]);
  await Promise.all(writing);
  const [{ count }] = await db.rows("select count(*) as count from numbers");
  assertEquals(count, 6);
});
