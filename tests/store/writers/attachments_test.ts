import { assertEquals } from "@std/assert";
import { ATTACHMENTS, type RecordWithAttachments } from "../../../src/core/record.ts";
import { type Database, hexColumn } from "../../../src/store/database/database.ts";
import { identityOf } from "../../../src/store/rows/identity.ts";
import { selectServers } from "../../../src/store/server_queries.ts";
import { Store } from "../../../src/store/store.ts";
import { all, onEngines } from "../databases.ts";
import { writePolled } from "../polls.ts";
import { NASTY, record, scanId, watchId } from "../records.ts";

const reply = (text: string) => ({ size: text.length, data: btoa(text) });
const HASH = "ab".repeat(32);
/** The text of bytes in hexadecimal form. */
const textOf = (hex: unknown) => new TextDecoder().decode(Uint8Array.fromHex(String(hex)));
const dataOf = (db: Database) => `${hexColumn(db, "data")} as data`;

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
  assertEquals(await all(db, `select hash, ${dataOf(db)}, first_seen from favicons`), [
    { hash: HASH, data: new TextEncoder().encode("icon").toHex(), first_seen: 10 },
  ]);
  const replies = await all(
    db,
    `select key, seen_at, size, ${dataOf(db)} from replies join servers on id = server ` +
      "where replies.protocol = 'slp' order by key",
  );
  assertEquals(replies.map(({ key, seen_at, size, data }) => [key, seen_at, size, textOf(data)]), [
    ["127.0.0.1:1", 20, 6, "second"],
    ["127.0.0.1:2", 11, 5, "other"],
  ]);
});

onEngines("icons and raw replies are stored as the bytes that were received", async (db) => {
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
  const server = (port: number, data: Uint8Array): RecordWithAttachments => ({
    ...record(port, { favicon_hash: `${port}` }),
    [ATTACHMENTS]: {
      replies: { slp: { size: data.length, data: data.toBase64() } },
      icon: data.toBase64(),
    },
  });
  const sent = [bytes, new Uint8Array(), Uint8Array.of(0), new Uint8Array(65_536).fill(255)];
  const many = Array.from({ length: 20 }, (_, i) => bytes.subarray(i)); // a whole block, and single rows
  const files = [...sent, ...many];
  await new Store(db, () => Promise.resolve()).write(files.map((data, i) => server(i + 1, data)));
  const stored = (sql: string) =>
    all(db, sql.replace("data", `${dataOf(db)}, length(data) as size`));
  const expected = files.map((data) => ({ data: data.toHex(), size: data.length }));
  assertEquals(await stored("select data from favicons order by length(hash), hash"), expected);
  const replies = "select data from replies join servers on id = server order by port";
  assertEquals(await stored(replies), expected);
});

onEngines("attachments of a spill file that are not base64 are left out of the row", async (db) => {
  const server: RecordWithAttachments = {
    ...record(1, { favicon_hash: HASH }),
    [ATTACHMENTS]: {
      replies: { slp: { size: 1, data: "!" }, query: { size: 1, data: "A" }, raknet: reply("r") },
      icon: "no base64!",
    },
  };
  await new Store(db, () => Promise.resolve()).write([server]);
  assertEquals(await all(db, "select hash from favicons"), []);
  assertEquals(await all(db, "select protocol from replies"), [{ protocol: "raknet" }]);
  assertEquals(await all(db, "select favicon_hash from servers"), [{ favicon_hash: HASH }]);
});

onEngines("the query of docs/database.md makes data: URLs of icons", async (db) => {
  const icon = Uint8Array.from({ length: 256 }, (_, i) => i).toBase64();
  const server: RecordWithAttachments = {
    ...record(1, { favicon_hash: HASH }),
    [ATTACHMENTS]: { replies: {}, icon },
  };
  await new Store(db, () => Promise.resolve()).write([server]);
  const text = await Deno.readTextFile(new URL("../../../docs/database.md", import.meta.url));
  const section = text.split("\nThe icon of a server as a `data:` URL")[1];
  const [postgres, sqlite] = [...section.matchAll(/```\w+\n([^]*?);?\n```/g)].map(([, sql]) => sql);
  const sql = (db.engine === "postgres" ? postgres : sqlite)
    .replace("play.example.org:25565", "127.0.0.1:1");
  const [{ url, data }] = await all(db, sql);
  const encoded = `data:image/png;base64,${icon}`;
  if (db.engine === "postgres") assertEquals(url, encoded);
  else assertEquals(data, Uint8Array.fromBase64(icon) as unknown);
});

onEngines("the icon of a server with another MOTD in each reply is stored", async (db) => {
  for (let i = 0; i < 20; i++) {
    const reply = {
      ...record(1, { seen_at: 1 + i * 60_000, motd: `"favicon_hash":${i}`, scan_id: watchId(1) }),
      ...(i === 19 && { favicon_hash: HASH, [ATTACHMENTS]: { replies: {}, icon: btoa("icon") } }),
    };
    const [identity, at] = [identityOf(reply)!, reply.seen_at];
    const observation = { scanId: watchId(1), identity, at, record: reply };
    await writePolled(db, [{ identity, at, record: reply }], [observation]);
  }
  assertEquals(await all(db, "select hash from favicons"), [{ hash: HASH }]);
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
    (await all(db, `select ${dataOf(db)} from favicons order by hash`)).map(({ data }) =>
      Number(textOf(data).slice(5))
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
