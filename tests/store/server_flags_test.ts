/** Covers src/store/rows/server_flags.ts. */
import { assertEquals } from "@std/assert";
import { Store } from "../../src/store/store.ts";
import { writeImportedRecords } from "../../src/store/writers/import_writer.ts";
import { all, onEngines } from "./databases.ts";
import { record } from "./records.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

onEngines("server_flags has the flags of each row of servers, after every change", async (db) => {
  const store = new Store(db, () => Promise.resolve());
  const flags = async () =>
    (await all(
      db,
      "select f.flag, s.port from server_flags f join servers s on s.id = f.server " +
        "order by f.flag, s.port",
    )).map(({ flag, port }) => `${flag} ${port}`);
  await store.write([record(1, { flags: ["a", "b"] }), record(2, { flags: ["a"] }), record(3)]);
  assertEquals(await flags(), ["a 1", "a 2", "b 1"]);
  await store.write([
    record(1, { flags: ["b", "c", "\0"], seen_at: 2000 }),
    record(2, { flags: [], seen_at: 2000 }),
    record(3, { players_online: 2 ** 40, seen_at: 2000 }),
    record(4, { flags: ["b"], seen_at: 2000 }),
  ]);
  assertEquals(await flags(), ["b 1", "b 4", "c 1", "countClamped 3", "␀ 1"]);
  const known = { online: true, missed_scans: 0, first_seen: 1, probed_at: 1 };
  await writeImportedRecords(
    db,
    [{ ...record(2, { flags: ["old"], seen_at: 1 }), ...known }],
    PROTOCOLS,
  );
  assertEquals(await flags(), ["b 1", "b 4", "c 1", "countClamped 3", "␀ 1"]);
});
