/** Covers src/store/queries/ and src/store/schema/text_index.ts. */
import { assert, assertEquals } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { conditionsOf, type ServerFilters } from "../../../src/store/queries/filters.ts";
import { whereClause } from "../../../src/store/queries/order_index.ts";
import {
  orderBy,
  type PageStart,
  SERVER_ORDERS,
  type ServerOrder,
  sortKeys,
  startAfter,
} from "../../../src/store/queries/orders.ts";
import { countUpTo, pageOf, STEPS as USUAL_STEPS } from "../../../src/store/queries/page.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { createTextIndex, hasTextIndex } from "../../../src/store/schema/text_index.ts";
import { serversOfHost } from "../../../src/store/history_queries.ts";
import { canonicalHost } from "../../../src/store/rows/addresses.ts";
import { countServers, selectServers } from "../../../src/store/server_queries.ts";
import { Store } from "../../../src/store/store.ts";
import { longTest } from "../../long.ts";
import { onEngines, onSqlite } from "../databases.ts";
import { NASTY, record } from "../records.ts";

const SERVERS = 300;

/** Servers with frequent and rare values in each column that a filter reads. */
async function fill(database: Database): Promise<void> {
  const store = new Store(database, () => Promise.resolve());
  await store.write(
    Array.from({ length: SERVERS }, (_, i) =>
      record(i % 9 === 0 ? 25565 : i % 70 + 1, {
        host: i % 7 === 0 ? `2001:db8::${i.toString(16)}` : `10.0.${i % 3}.${i % 200}`,
        software: ["Paper", "Paper", "PocketMine-MP 5.1", `Rare ${i % 40}`][i % 4],
        version: `1.${i % 13}.${i % 3}`,
        name: i % 50 === 0 ? `Zebra ${i}` : `Skyblock ${(i * 7919) % SERVERS}`,
        motd_plain: i % 31 === 0 ? "100% Ärger" : "welcome",
        flags: i % 3 === 0 ? ["cutShort"] : i % 41 === 0 ? ["countClamped", "cutShort"] : [],
        players_online: i % 5 === 0 ? null : (i * 31) % 90,
        seen_at: 1000 + i,
      })),
  );
  await database.run("update server_state set online = false where server % 4 = 1");
}

const FILTERS: readonly ServerFilters[] = [
  { online: true },
  { online: false },
  { online: false, minPlayers: 0 },
  { protocol: ["query"], noAliases: true },
  { protocol: ["slp"] },
  { maxPlayers: 0 },
  { maxPlayers: 40 },
  { online: true, minPlayers: 40, maxPlayers: 60 },
  { minPlayers: 60, maxPlayers: 40 },
  { port: [3, 25565, 60000] },
  { port: [] },
  { flag: ["cutShort", "countClamped", "absent"] },
  { flag: [] },
  { network: ["10.0.1.0/24", "2001:db8::/32", "10.0.1.7"] },
  { network: [] },
  { network: ["10.0.0.0/24", "10.0.2.0/24"], port: [25565, 7], online: false },
  ...["paper", "rare 1", "rare", "absent"].map((software) => ({ software: [software] })),
  ...["1.2", "1.1", "1.12.0", "9"].map((version) => ({ version: [version] })),
  ...[25565, 3, 60000].map((port) => ({ port: [port] })),
  ...["10.0.1.0/24", "10.0.0.0/8", "10.0.2.7", "2001:db8::/64", "::/0", "0.0.0.0/0"]
    .map((text) => ({ network: [text] })),
  ...["cutShort", "countClamped", "absent"].map((flag) => ({ flag: [flag] })),
  ...[0, 40, 89].map((minPlayers) => ({ minPlayers })),
  ...["sky", "ZEBRA", "ärger", "0% ä", "ab", "absent"].map((text) => ({ text: [text] })),
  { since: 1100 },
  { software: ["paper"], version: ["1.2"], online: true },
  { network: ["10.0.0.0/8"], port: [25565], flag: ["cutShort"], minPlayers: 5 },
  { text: ["sky"], software: ["rare"], network: ["10.0.0.0/16"] },
];

/** Limits that lead to each method to find a page, with few servers. */
const STEPS = [0, 1, 1e6].flatMap((first) =>
  [[0, 1e6, 1], [0, 1e6, 1e6], [40, 100, 1], [1e6, 0, 1]].map(([few, many, entries]) => ({
    ...USUAL_STEPS,
    first,
    next: 3 * first,
    few,
    many,
    entries,
  }))
);
const LIMIT = 7;
const ORDERS = Object.keys(SERVER_ORDERS) as ServerOrder[];

/**
 * Compares pages with parts of all selected servers in the same order.
 *
 * @param step Of how many orders one is used for each filter. Each order is used with some filters.
 */
async function comparePages(database: Database, step: number): Promise<void> {
  const numbers = await database.rows("select id, address, port from servers");
  const ids = new Map(
    numbers.map(({ id, address, port }) => [`${canonicalHost(String(address))} ${port}`, id]),
  );
  const idsOf = (records: readonly { host: string; port: number }[]) =>
    records.map(({ host, port }) => Number(ids.get(`${host} ${port}`)));
  for (const [i, filters] of FILTERS.entries()) {
    for (const sort of ORDERS.filter((_, at) => (at + i) % step === 0)) {
      const all = await Array.fromAsync(selectServers(database, { ...filters, sort }));
      const sorted = idsOf(all);
      const conditions = await conditionsOf(database, filters);
      for (const steps of STEPS) {
        for (const from of [0, LIMIT]) {
          const after = from === 0 ? undefined : sorted[from - 1];
          if (from > 0 && after === undefined) continue;
          const start = after === undefined ? undefined : startAfter(database, sort, after);
          const page = await pageOf(database, { conditions, sort, limit: LIMIT, start }, steps);
          const message = Deno.inspect({ filters, sort, from, steps });
          const expected = sorted.slice(from, from + LIMIT);
          assertEquals(page.toSorted(), expected.toSorted(), message);
          for (const limit of [LIMIT, SERVERS]) {
            const count = await countUpTo(database, { conditions, sort, limit, start }, steps);
            assertEquals(count, Math.min(sorted.length - from, limit), message);
          }
        }
      }
      const limited = { ...filters, sort, limit: LIMIT };
      assertEquals(
        await Array.fromAsync(selectServers(database, limited)),
        all.slice(0, LIMIT),
      );
    }
  }
}

onEngines("pages one after another contain each server once", async (database) => {
  await fill(database);
  for (const sort of ORDERS) {
    const all = await Array.fromAsync(selectServers(database, { sort }));
    const found: unknown[] = [];
    let after: number | undefined;
    for (;;) {
      const page = await Array.fromAsync(selectServers(database, { sort, limit: 40, after }));
      if (page.length === 0) break;
      found.push(...page);
      const { host, port } = page.at(-1)!;
      const servers = await serversOfHost(database, host);
      after = servers.find((one) => one.port === port)!.id;
      assertEquals(
        await countServers(database, { sort, after }, 1e6),
        all.length - found.length,
      );
    }
    assertEquals(found, all, sort);
  }
});

/** Fills a database, creates the index of texts, and compares pages. */
async function compareByTextIndex(database: Database, step: number): Promise<void> {
  await fill(database);
  await createTextIndex(database);
  await createTextIndex(database); // does nothing
  if (database.engine === "postgres") {
    const statistics = await database.rows(
      "select attname from pg_stats where tablename = 'servers_text'",
    );
    assertEquals(statistics.length, 4, "the index is used only for rare texts");
  }
  await comparePages(database, step);
}

/** Fills a database, and compares pages. */
async function compareFilled(database: Database, step: number): Promise<void> {
  await fill(database);
  await comparePages(database, step);
}

onSqlite(
  "a page is the start of all selected servers, in one of six orders per filter",
  (database) => compareFilled(database, 6),
);

onEngines(
  "a page is the start of all selected servers, in every order",
  (database) => compareFilled(database, 1),
  longTest,
);

onSqlite(
  "with a text index, a page is the same, in one of six orders per filter",
  (database) => compareByTextIndex(database, 6),
);

onEngines(
  "with a text index, a page is the same, in every order",
  (database) => compareByTextIndex(database, 1),
  longTest,
);

onEngines(
  "a page of servers that an index in memory matches is the start of all of them, in both directions",
  async (database) => {
    await fill(database);
    const methods = [
      { expected: 0 },
      { batch: 5, sorted: 0 },
      { batch: 5, sorted: 1e6 },
      { batch: 1e6 },
    ].map((some) => ({ ...USUAL_STEPS, ...some }));
    const idOf = async (filters: ServerFilters, sort: ServerOrder) => {
      const { sql, values } = whereClause(await conditionsOf(database, filters));
      const { table } = SERVER_ORDERS[sort];
      const tables = "servers s join server_state t on t.server = s.id";
      const order = orderBy(sort, sortKeys(database, sort));
      const id = table === "s" ? "s.id" : "t.server";
      const rows = await database.rows(`select ${id} as id from ${tables} ${sql} ${order}`, values);
      return rows.map((row) => Number(row.id));
    };
    for (
      const filters of [{}, { flag: ["cutShort"] }, { software: ["rare"] }, { minPlayers: 40 }]
    ) {
      const conditions = await conditionsOf(database, filters);
      for (const sort of ORDERS) {
        const sorted = await idOf(filters, sort);
        const matching = new Set(sorted);
        const matches = {
          ...{ count: matching.size, all: SERVERS },
          has: (id: number) => matching.has(id),
          ids: () => [...matching].sort((a, b) => a - b),
        };
        for (const steps of methods) {
          const find = (start?: PageStart) =>
            pageOf(database, { conditions, sort, limit: LIMIT, start, matches }, steps);
          const message = Deno.inspect({ filters, sort, steps });
          assertEquals(await find(), sorted.slice(0, LIMIT), message);
          for (const at of [0, LIMIT, sorted.length - 3]) {
            const start = startAfter(database, sort, sorted[at]);
            assertEquals(await find(start), sorted.slice(at + 1).slice(0, LIMIT), message);
            assertEquals(
              await find({ ...start, isBackwards: true }),
              sorted.slice(0, at).toReversed().slice(0, LIMIT),
              message,
            );
          }
        }
      }
    }
  },
);

onEngines("a text index has the texts of new, changed and removed servers", async (database) => {
  const store = new Store(database, () => Promise.resolve());
  await store.write([record(1, { name: "before" }), record(2, { name: "other" })]);
  await createTextIndex(database);
  assert(await hasTextIndex(database));
  await store.write([
    record(1, { name: "after", seen_at: 2000 }),
    ...NASTY.map((text, i) => record(10 + i, { name: text, motd_plain: text, map: text })),
  ]);
  await database.run("delete from servers where port = 2");
  const found = async (text: string) => {
    const [{ ids }] = await conditionsOf(database, { text: [text] });
    if (ids === undefined) return undefined;
    const rows = await database.rows(
      `select port from servers where id in (${ids.sql}) order by port`,
      ids.values,
    );
    return rows.map(({ port }) => port);
  };
  assertEquals(await found("before"), []);
  assertEquals(await found("AFTER"), [1]);
  assertEquals(await found("other"), []);
  assertEquals(await found("drop table"), [15]);
  assertEquals(await found('"\\%_'), [16]);
  assertEquals(await found("ab"), undefined);
});

onEngines(
  "a search by a text index finds only servers that contain the text",
  async (database) => {
    const names = ["Zombies", "zombi ombies", "\u017fpawn", "spawn"];
    await new Store(database, () => Promise.resolve())
      .write(names.map((name, i) => record(1 + i, { name })));
    await createTextIndex(database);
    for (const [text, ports] of Object.entries({ zombies: [1], SPAWN: [4], absent: [] })) {
      const selection = { text: [text], sort: "name", limit: LIMIT } as const;
      const found = await Array.fromAsync(selectServers(database, selection));
      assertEquals(found.map(({ port }) => port), ports, text);
      assertEquals(await countServers(database, selection, LIMIT), ports.length, text);
    }
  },
);

Deno.test("SQLite: the text index finds each letter in both cases, or is not used", async () => {
  await using database = openSqlite(":memory:");
  await createTables(database);
  await createTextIndex(database);
  const letters: string[] = [];
  for (let code = 1; code < 0x20000; code++) {
    const letter = code >= 0xd800 && code < 0xe000 ? "" : String.fromCodePoint(code);
    if (letter.toLowerCase() !== letter || letter.toUpperCase() !== letter) letters.push(letter);
  }
  assert(letters.length > 2500);
  await database.transaction(async () => {
    for (const [i, letter] of letters.entries()) {
      const values = [i + 1, `xx${letter}xx`];
      await database.run("insert into server_text (rowid, name) values (?, ?)", values);
    }
  });
  for (const [i, letter] of letters.entries()) {
    const [{ ids }] = await conditionsOf(database, { text: [`xx${letter}xx`] });
    const [end] = await conditionsOf(database, { text: [`xx${letter.toLowerCase()[0]}`] });
    assert(
      ids !== undefined || !/[A-Za-z\u00c0-\u017f\u0391-\u03c9\u0410-\u045f]/.test(letter),
      letter,
    );
    for (const query of [ids, end.ids]) {
      if (query === undefined || /^[\ud800-\udfff]/.test(letter)) continue;
      const found = await database.rows(query.sql, query.values);
      assert(found.some(({ id }) => id === i + 1), letter);
    }
  }
});
