import { assertEquals } from "@std/assert";
import { selectionLine } from "../../../src/app/databases/select_servers.ts";
import { Store } from "../../../src/store/store.ts";
import { onEngines } from "../../store/databases.ts";
import { record } from "../../store/records.ts";

onEngines("of more than 1,000 servers, the last line states no exact number", async (database) => {
  const store = new Store(database, () => Promise.resolve());
  const line = async (limit: number, written: number) => {
    const all = await selectionLine(database, { sort: "name", limit }, written);
    return all.split(` of ${database.name}`)[0];
  };
  const rows = Array.from({ length: 1002 }, (_, i) => record(i + 1));
  await store.write(rows.slice(0, 1000));
  assertEquals(await line(50, 50), "the first 50 of 1,000 servers");
  await store.write(rows.slice(1000, 1001));
  assertEquals(await line(50, 50), "the first 50 of more than 1,000 servers");
  assertEquals(await line(1001, 1001), "1,001 servers");
  await store.write(rows.slice(1001));
  assertEquals(await line(1001, 1001), "the first 1,001 of more than 1,001 servers");
  assertEquals(await line(2000, 1002), "1,002 servers");
});
