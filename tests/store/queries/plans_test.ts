/** Covers src/store/queries/: the query plans of both engines. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import { conditionsOf, type ServerFilters } from "../../../src/store/queries/filters.ts";
import { SERVER_ORDERS, type ServerOrder } from "../../../src/store/queries/orders.ts";
import {
  countUpTo,
  pageOf,
  type PageSteps,
  STEPS as USUAL_STEPS,
} from "../../../src/store/queries/page.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { Store } from "../../../src/store/store.ts";
import { connect, onEngines, postgresTest } from "../databases.ts";
import { record } from "../records.ts";

const FILTERS: readonly ServerFilters[] = [
  { software: ["paper"] },
  { version: ["1.2"] },
  { protocol: ["query"] },
  { port: [19132] },
  { network: ["10.0.0.0/8"] },
  { flag: ["cutShort"] },
  { minPlayers: 5 },
  { since: 1000 },
];
/** Limits that compare all entries of the order's index with the servers of the condition. */
const STEPS = { ...USUAL_STEPS, first: 0, next: 0, few: 0, many: 1000, entries: 1000 };

/** A statement with which a page is found, and its plan. */
interface Statement {
  readonly sql: string;
  readonly plan: string;
}

/** The statements with which a page is found. */
async function statementsOf(
  database: Database,
  filters: ServerFilters,
  sort: ServerOrder,
  steps: PageSteps = STEPS,
): Promise<Statement[]> {
  const statements: Statement[] = [];
  const explain = database.engine === "sqlite" ? "explain query plan" : "explain";
  const rows: Database["rows"] = async (sql, values) => {
    const lines = await database.rows(`${explain} ${sql}`, values);
    const plan = lines.map((one) => String(one.detail ?? one["QUERY PLAN"])).join("\n");
    statements.push({ sql, plan });
    return await database.rows(sql, values);
  };
  const explaining = Object.create(database, {
    engine: { value: database.engine },
    rows: { value: rows },
  });
  const conditions = await conditionsOf(database, filters);
  await pageOf(explaining, { conditions, sort, limit: 5 }, steps);
  return statements;
}

onEngines(
  "if the servers that match come last in the order, few entries of its index are read",
  async (database) => {
    const store = new Store(database, () => Promise.resolve());
    await store.write(
      Array.from({ length: 100 }, (_, i) => record(i + 1, { version: i < 90 ? "1.2" : "1.3" })),
    );
    const steps = { ...STEPS, next: 1, entries: 0.5 };
    const statements = await statementsOf(database, { version: ["1.3"] }, "address", steps);
    const read = statements.flatMap(({ sql }) => [...sql.matchAll(/order by .*? limit (\d+)/g)])
      .map(([, entries]) => Number(entries));
    assertEquals(read.filter((entries) => entries > 25), [], Deno.inspect(statements));
    assert(statements.at(-1)!.sql.includes("order by"), "the rows of the servers are not sorted");
  },
);

onEngines(
  "a page reads only the rows of servers that fulfil the rarest condition",
  async (database) => {
    const store = new Store(database, () => Promise.resolve());
    const matching = {
      software: "Paper",
      version: "1.2",
      flags: ["cutShort"],
      players_online: 9,
    };
    await store.write(
      Array.from(
        { length: 20 },
        (_, i) => record(19132, { ...matching, host: `10.0.0.${i}`, seen_at: 1001 + i }),
      ),
    );
    if (database.engine === "postgres") {
      // A small table is read as a whole otherwise.
      await database.script("vacuum analyze servers, server_state, server_flags");
      await database.script("set enable_seqscan = off; set enable_bitmapscan = off");
    }
    for (const filters of FILTERS) {
      for (const sort of Object.keys(SERVER_ORDERS) as ServerOrder[]) {
        const { index } = SERVER_ORDERS[sort];
        if (index === undefined) continue; // the rows of the servers are sorted
        const statements = await statementsOf(database, filters, sort);
        const plans = statements.map(({ plan }) => plan);
        const last = plans.at(-1)!;
        const message = `${Deno.inspect(filters)} by ${sort}: ${plans.join("\n\n")}`;
        if (last.includes("hashed") || last.includes("LIST SUBQUERY")) {
          assert(
            new RegExp(`(COVERING INDEX|Index Only Scan.*) (using )?${index}`).test(last),
            message,
          );
          assert(!last.includes("TEMP B-TREE") && !last.includes("Sort"), message);
        } else {
          // The condition is a part of the order's index: of players, in each of the two states, above and within the slots.
          const parts = filters.minPlayers !== undefined && index === "server_state_players"
            ? 4
            : 1;
          assert(plans.length <= parts && plans.every((one) => one.includes(index)), message);
        }
        assert(!/Seq Scan|^SCAN [st]$/m.test(last), message);
      }
    }
  },
);

onEngines(
  "lists of server_list by players, uptime and time read an index in their order",
  async (db) => {
    const store = new Store(db, () => Promise.resolve());
    await store.write(Array.from({ length: 200 }, (_, i) => record(i + 1, { players_online: i })));
    // PostgreSQL sorts small tables, unless it is kept from sorting what an index has in order.
    if (db.engine === "postgres") {
      await db.script(
        "set enable_sort = off; set enable_seqscan = off; set enable_bitmapscan = off",
      );
    }
    const explain = db.engine === "sqlite" ? "explain query plan" : "explain";
    for (
      const order of [
        "players_online desc nulls last",
        "uptime_30d desc nulls last",
        "first_seen desc",
      ]
    ) {
      for (
        const where of ["", "where online", "where online = true"]
      ) {
        const sql = `select * from server_list ${where} order by ${order} limit 5`;
        const lines = await db.rows(`${explain} ${sql}`);
        const plan = lines.map((one) => String(one.detail ?? one["QUERY PLAN"])).join("\n");
        assert(!/FOR ORDER BY|\bSort\b/.test(plan), `${sql}\n${plan}`);
      }
    }
  },
);

postgresTest("PostgreSQL: the planner knows that no address has opted out", async (url) => {
  await using database = await connect(url);
  await createTables(database);
  const [{ "QUERY PLAN": plan }] = await database.rows("explain select * from opt_outs");
  assertStringIncludes(String(plan), "rows=1 ");
});

onEngines(
  "server_totals has the number of servers, and the players of those online",
  async (db) => {
    const read = async () =>
      Object.values((await db.rows("select * from server_totals"))[0]).map(Number);
    assertEquals(await read(), [0, 0, 0]);
    const store = new Store(db, () => Promise.resolve());
    const players = [4, 7, null, 90];
    await store.write(players.map((players_online, i) => record(i + 1, { players_online })));
    await db.script("update server_state set online = false where players_online = 90");
    assertEquals(await read(), [4, 3, 11]);
  },
);

onEngines("a page by players begins in the range of a filter by players", async (database) => {
  const store = new Store(database, () => Promise.resolve());
  await store.write(
    Array.from({ length: 300 }, (_, i) => record(i + 1, { name: "Skyblock", players_online: i })),
  );
  for (const online of [undefined, true]) {
    const filters = { text: ["sky"], maxPlayers: 9, online };
    const statements = await statementsOf(database, filters, "players", USUAL_STEPS);
    assertEquals(statements.length, 1, Deno.inspect(statements));
  }
});

onEngines(
  "a page of one version's text or network, in its order, reads only its range",
  async (database) => {
    const store = new Store(database, () => Promise.resolve());
    await store.write(
      Array.from({ length: 300 }, (_, i) =>
        i < 297
          ? record(1, {
            host: `10.0.${i % 9}.${i % 200}`,
            version: "Paper 1.2",
            requested_as: `s${i}.example`,
          })
          : record(1, { host: `10.9.0.${i % 3}`, version: "Paper 1.3" })),
    );
    const cases = [["version", { version: ["Paper 1.3"] }], ["address", {
      network: ["10.9.0.0/16"],
    }]] as const;
    for (const [sort, filters] of cases) {
      const statements = await statementsOf(database, filters, sort, USUAL_STEPS);
      assertEquals(statements.length, 1, Deno.inspect(statements));
      const conditions = await conditionsOf(database, filters);
      assertEquals((await pageOf(database, { conditions, sort, limit: 5 })).length, 3);
    }
  },
);

onEngines("servers of one condition are counted with one query", async (database) => {
  const store = new Store(database, () => Promise.resolve());
  await store.write([1, 2, 3].map((port) => record(port, { version: `1.${port}` })));
  let queries = 0;
  const rows: Database["rows"] = async (sql, values) => {
    queries++;
    return await database.rows(sql, values);
  };
  const counted = Object.create(database, {
    engine: { value: database.engine },
    rows: { value: rows },
  });
  for (const filters of [{}, { version: ["1.2"] }, { minPlayers: 2 }]) {
    const conditions = await conditionsOf(database, filters);
    const all = Object.keys(filters).length === 0 ? 3 : "version" in filters ? 1 : 2;
    queries = 0;
    assertEquals(await countUpTo(counted, { conditions, sort: "new", limit: 9 }), all);
    assertEquals(queries, 1, Deno.inspect(filters));
  }
});
