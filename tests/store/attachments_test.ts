import { assertEquals } from "@std/assert";
import { ATTACHMENTS, type RecordWithAttachments } from "../../src/core/record.ts";
import { selectServers } from "../../src/store/server_queries.ts";
import { Store } from "../../src/store/store.ts";
import { all, onEngines } from "./databases.ts";
import { NASTY, record, scanId } from "./records.ts";

const reply = (text: string) => ({ size: text.length, data: btoa(text) });
const HASH = "ab".repeat(32);

function attached(port: number, seen: number, icon: string, text: string): RecordWithAttachments {
  return {
    ...record(port, { seen_at: seen, favicon_hash: HASH, scan_id: scanId(seen) }),
    [ATTACHMENTS]: { replies: { slp: reply(text), query: reply("q") }, icon },
  };
}

onEngines("servers with one icon share its row, and only the last reply is kept", async (db) => {
  const store = new Store(db, () => Promise.resolve());
  await store.write([attached(1, 10, "aWNvbg==", "first"), attached(2, 11, "aWNvbg==", "other")]);
  await store.write([attached(1, 20, "b3RoZXI=", "second"), record(3)]);
  await store.write([attached(1, 15, "b3RoZXI=", "older")]);
  assertEquals(await all(db, "select * from favicons"), [
    { hash: HASH, data: "aWNvbg==", first_seen: 10 },
  ]);
  const replies = await all(
    db,
    "select key, seen_at, size, data from replies join servers on id = server " +
      "where replies.protocol = 'slp' order by key",
  );
  assertEquals(replies.map((row) => Object.values(row)), [
    ["127.0.0.1:1", 20, 6, btoa("second")],
    ["127.0.0.1:2", 11, 5, btoa("other")],
  ]);
});

onEngines(
  "a part of a software's name finds the same servers with and without the index",
  async (db) => {
    const store = new Store(db, () => Promise.resolve());
    const names = ["Paper", "PAPER 1.21", "paperclip", "Purpur", null, "100%_sure", ...NASTY];
    await store.write(
      names.flatMap((software, i) =>
        [0, 1, 2].map((copy) => record(10 * i + copy + 1, { software, players_online: i + copy }))
      ),
    );
    const ids = async (software: string, limit: number | undefined) =>
      (await Array.fromAsync(selectServers(db, { sort: "players", software, limit })))
        .map(({ port }) => port);
    for (const part of ["paper", "PUR", "%", "_", "1", "🦆", "nobody has this", "\0", ""]) {
      const whole = await ids(part, undefined);
      for (const limit of [1, 4, 1000]) {
        assertEquals(await ids(part, limit), whole.slice(0, limit), JSON.stringify([part, limit]));
      }
    }
    assertEquals((await ids("paper", undefined)).length, 9);
    assertEquals((await ids("%_", 9)).length, 3 + 3);
    const many = Array.from({ length: 40 }, (_, i) => record(1000 + i, { software: `many ${i}` }));
    await store.write(many);
    assertEquals((await ids("many", 100)).length, 40);
  },
);
