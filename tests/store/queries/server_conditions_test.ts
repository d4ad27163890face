/** Covers src/store/queries/server_conditions.ts: the case of letters, in databases of any locale. */
import { assertEquals } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { createTextIndex } from "../../../src/store/schema/text_index.ts";
import { selectServers } from "../../../src/store/server_queries.ts";
import { Store } from "../../../src/store/store.ts";
import { connect, onEngines, postgresTest, SERVER } from "../databases.ts";
import { record } from "../records.ts";

const NAMES = ["ÜBER Server", "über uns", "МИР КРАФТ", "İstanbul", "plain"];
const FOUND: readonly (readonly [text: string, ports: readonly number[]])[] = [
  ["über", [1, 2]],
  ["ÜBER", [1, 2]],
  ["мир", [3]],
  ["Крафт", [3]],
  ["İSTAN", [4]],
  ["i\u0307stan", [4]],
  ["PLAIN", [5]],
];

async function check(database: Database): Promise<void> {
  const store = new Store(database, () => Promise.resolve());
  await store.write(NAMES.map((name, i) => record(i + 1, { name })));
  for (const hasIndex of [false, true]) {
    if (hasIndex) await createTextIndex(database);
    for (const [text, ports] of FOUND) {
      const found = await Array.fromAsync(
        selectServers(database, { sort: "address", text: [text] }),
        ({ port }) => port,
      );
      assertEquals(found, ports, `${text}, text index: ${hasIndex}`);
    }
  }
}

onEngines("texts are found in any case", check);

postgresTest(
  "PostgreSQL: texts are found in any case in a database with lc_ctype C",
  async () => {
    const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
    await using postgres = await connect(`${SERVER}postgres`);
    await postgres.script(`create database ${name} template template0 locale 'C' encoding 'UTF8'`);
    try {
      await using database = await connect(SERVER + name);
      await createTables(database);
      await check(database);
    } finally {
      await postgres.script(`drop database if exists ${name} with (force)`);
    }
  },
);
