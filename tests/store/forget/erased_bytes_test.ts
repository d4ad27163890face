/** Covers src/store/forget/forget_servers.ts: no bytes of a forgotten server stay in a SQLite file. */
import { assertEquals } from "@std/assert";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { removeServers, writeTombstones } from "../../../src/store/forget/forget_servers.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { createTextIndex } from "../../../src/store/schema/text_index.ts";
import { Store } from "../../../src/store/store.ts";
import { forgettable, record } from "../records.ts";

const pause = () => Promise.resolve();

/** A server with texts that no other server has. */
const secret = record(77, {
  host: "127.8.8.8",
  name: "ZebraQuux",
  motd: "ZebraQuux motd",
  motd_plain: "ZebraQuux motd",
  players: ["PlayerQuux"],
});

Deno.test("no bytes of a forgotten server stay in the file, its text index or its log", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/a.db`;
    const found = async () => {
      const files = await Array.fromAsync(Deno.readDir(folder), ({ name }) => `${folder}/${name}`);
      const texts = await Promise.all(
        files.map(async (file) => new TextDecoder("latin1").decode(await Deno.readFile(file))),
      );
      const wanted = ["ZebraQuux", "PlayerQuux", "127.8.8.8"];
      return wanted.filter((text) => texts.some((bytes) => bytes.includes(text)));
    };
    await using database = openSqlite(path);
    await createTables(database);
    await createTextIndex(database);
    const store = new Store(database, pause);
    await store.write(Array.from({ length: 50 }, (_, i) => record(i + 1, { name: `plain ${i}` })));
    await store.write([secret]);
    assertEquals((await found()).length, 3);
    assertEquals(await trigramsIn(path), 2);
    const [{ id }] = await database.rows("select id from servers where port = 77");
    const servers = [forgettable(secret, Number(id))];
    await writeTombstones(database, servers, Date.now());
    assertEquals(await removeServers(database, servers, pause), true);
    assertEquals(await found(), []);
    assertEquals(await trigramsIn(path), 0);
    assertEquals((await database.rows("select count(*) as n from servers"))[0].n, 50);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** How many of two trigrams of the secret the pages of the text index contain. */
async function trigramsIn(path: string): Promise<number> {
  await using database = openSqlite(path, { readOnly: true });
  const sql = "select count(*) as n from server_text_data where instr(block, cast(? as blob)) > 0";
  let count = 0;
  for (const trigram of ["uux", "zeb"]) {
    const [{ n }] = await database.rows(sql, [trigram]);
    if (Number(n) > 0) count++;
  }
  return count;
}
