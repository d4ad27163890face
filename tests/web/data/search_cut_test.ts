import { assertEquals } from "@std/assert";
import { Store } from "../../../src/store/store.ts";
import { onEngines } from "../../store/databases.ts";
import { record } from "../../store/records.ts";
import { indexedData } from "./indexed_data.ts";

onEngines("the ends of long texts are found in all servers that have them", async (database) => {
  const store = new Store(database, () => Promise.resolve());
  const ends = ["Needle", "Needle", "Needle", "Thread"];
  await store.write(
    Array.from(
      { length: 1600 },
      (_, i) => record(i + 1, { name: `${"n".repeat(300)} ${ends[i % 4]}` }),
    ),
  );
  const { data } = await indexedData(database);
  assertEquals((await data.facets({ text: ["needle"] })).servers, 1200);
  assertEquals((await data.facets({ text: ["thread"] })).servers, 400);
  assertEquals((await data.facets({ text: ["n"] })).servers, 1600);
});
