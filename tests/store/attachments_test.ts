import { assertEquals } from "@std/assert";
import { ATTACHMENTS, type RecordWithAttachments } from "../../src/core/record.ts";
import { identityOf } from "../../src/store/rows/identity.ts";
import { selectServers } from "../../src/store/server_queries.ts";
import { Store } from "../../src/store/store.ts";
import { all, onEngines } from "./databases.ts";
import { writePolled } from "./polls.ts";
import { NASTY, record, scanId, watchId } from "./records.ts";

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

onEngines("a server that sends another icon with each reply stores 12 in an hour", async (db) => {
  const MINUTE = 60_000;
  const reply = (at: number, icon: number): RecordWithAttachments => ({
    ...record(1, { seen_at: at, favicon_hash: `${icon}`.padStart(64, "0"), scan_id: watchId(1) }),
    [ATTACHMENTS]: { replies: {}, icon: btoa(`icon ${icon}`) },
  });
  const poll = async (at: number, ...icons: readonly number[]) => {
    const replies = icons.map((icon) => reply(at, icon));
    const identity = identityOf(replies[0])!;
    const observations = replies.map((one) => ({ scanId: watchId(1), identity, at, record: one }));
    await writePolled(db, [{ identity, at, record: replies.at(-1)! }], observations);
  };
  const stored = async () =>
    (await all(db, "select data from favicons order by hash")).map(({ data }) =>
      Number(atob(String(data)).slice(5))
    );
  const [first, ...changes] = Array.from({ length: 40 }, (_, i) => i);
  for (const i of [first, ...changes]) await poll(1 + i * MINUTE, i);
  assertEquals(await stored(), [first, ...changes.slice(0, 12)]);
  await poll(40 * MINUTE, 39); // sent twice
  assertEquals((await stored()).length, 13);
  await poll(80 * MINUTE, 39);
  assertEquals((await stored()).at(-1), 39);
  await poll(200 * MINUTE, 50, 51, 52); // replies of one batch
  assertEquals((await stored()).slice(-2), [39, 52]);
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
      (await Array.fromAsync(selectServers(db, { sort: "players", software: [software], limit })))
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
