/** Covers src/store/rows/server_tags.ts. */
import { assertEquals } from "@std/assert";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { writeImportedRecords } from "../../../src/store/writers/import_writer.ts";
import { identityOf } from "../../../src/store/rows/identity.ts";
import { addTags, isTag, tagsIn } from "../../../src/store/rows/server_tags.ts";
import { selectServers } from "../../../src/store/server_queries.ts";
import { Store } from "../../../src/store/store.ts";
import { all, onEngines } from "../databases.ts";
import { writePolled } from "../polls.ts";
import { record } from "../records.ts";

/** The tags of each server, by port: by `server_list`, and by the query of the command `servers`. */
async function tags(db: Database): Promise<Record<string, readonly string[]>> {
  const listed = await all(db, "select port, tags from server_list order by port");
  const byView = listed.map(({ port, tags }) => [port, JSON.parse(String(tags))]);
  const selected = await Array.fromAsync(selectServers(db, { sort: "address" }));
  assertEquals(selected.map(({ port, tags }) => [port, tags]), byView);
  return Object.fromEntries(byView);
}

onEngines("scans, polls and imports add their tags to those that a server has", async (db) => {
  const scope = { protocols: [], allProtocols: PROTOCOLS, follow: true, verify: true };
  const store = (tags: readonly string[]) =>
    new Store(db, () => Promise.resolve(), { ...scope, tags });
  await store([]).write([record(1), record(2)]);
  assertEquals(await tags(db), { 1: [], 2: [] });
  await store(["new", "Zone, a"]).write([record(2, { seen_at: 2000 }), record(3)]);
  await store(["old"]).write([record(2, { seen_at: 1500 })]);
  const polled = record(1, { seen_at: 3000 });
  await writePolled(db, [{ identity: identityOf(polled)!, at: 3000, record: polled }], [], {
    tags: ["watched", "é"],
  });
  assertEquals(await tags(db), {
    1: ["watched", "é"],
    2: ["Zone, a", "new", "old"],
    3: ["Zone, a", "new"],
  });
  const state = { online: true, missed_scans: 0, first_seen: 1, probed_at: 1 };
  const imported = [
    { ...record(3, { seen_at: 1 }), ...state, tags: ["new", "row"] },
    { ...record(4, { protocol: "", protocols: [] }), ...state, tags: ["row"] },
    { ...record(1, { protocol: "", protocols: [] }), ...state },
  ];
  await writeImportedRecords(db, imported, PROTOCOLS, ["file", "new"]);
  assertEquals(await tags(db), {
    1: ["file", "new", "watched", "é"],
    2: ["Zone, a", "new", "old"],
    3: ["Zone, a", "file", "new", "row"],
    4: ["file", "new", "row"],
  });
});

onEngines("two transactions that tag the same servers add both tags", async (db) => {
  const store = new Store(db, () => Promise.resolve());
  await store.write([record(1), record(2)]);
  const add = (tag: string, ids: readonly number[]) =>
    db.transaction(() => addTags(db, ids.map((id) => ({ id, tags: [tag] }))));
  await Promise.all([add("a", [1, 2]), add("b", [2, 1]), add("a", [2])]);
  assertEquals(await tags(db), { 1: ["a", "b"], 2: ["a", "b"] });
});

Deno.test("a tag has 1 to 64 characters, none of them invisible, and no space at its ends", () => {
  for (const text of ["a", "Zone, a", "🎮".repeat(64)]) assertEquals(isTag(text), true, text);
  for (
    const text of [
      "",
      " a",
      "a ",
      "a\n",
      "\u001b[2J",
      "\u2028",
      "\ud800",
      "x".repeat(65),
      "\u200b",
      "a\u202eb",
    ]
  ) {
    assertEquals(isTag(text), false, text);
  }
  assertEquals(tagsIn('["a","",1]'), []);
  assertEquals(tagsIn('["a","","\\u0000"]'), ["a"]);
  for (const text of [null, "", "{}", "a", '"a"']) assertEquals(tagsIn(text), []);
});
