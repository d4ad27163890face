/** Covers src/store/queries/: the query plans of both engines. */
import { assert } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import { conditionsOf, type ServerFilters } from "../../../src/store/queries/conditions.ts";
import { SERVER_ORDERS, type ServerOrder } from "../../../src/store/queries/orders.ts";
import { pageOf } from "../../../src/store/queries/page.ts";
import { Store } from "../../../src/store/store.ts";
import { parseTarget, type RangeTarget } from "../../../src/targets/parse.ts";
import { onEngines } from "../databases.ts";
import { record } from "../records.ts";

const FILTERS: readonly ServerFilters[] = [
  { software: "paper" },
  { version: "1.2" },
  { port: 1 },
  { network: (parseTarget("10.0.0.0/8") as RangeTarget).range },
  { flag: "cutShort" },
  { minPlayers: 5 },
  { since: 1000 },
];
/** Limits that compare all entries of the order's index with the servers of the condition. */
const STEPS = { first: 0, next: 0, few: 0, some: 0, many: 1000, entries: 1 };

/** The plans of the statements with which a page is found. */
async function plansOf(
  database: Database,
  filters: ServerFilters,
  sort: ServerOrder,
): Promise<string[]> {
  const plans: string[] = [];
  const explain = database.engine === "sqlite" ? "explain query plan" : "explain";
  const rows: Database["rows"] = async (sql, values) => {
    const plan = await database.rows(`${explain} ${sql}`, values);
    plans.push(plan.map((one) => String(one.detail ?? one["QUERY PLAN"])).join("\n"));
    return await database.rows(sql, values);
  };
  const explaining = Object.create(database, {
    engine: { value: database.engine },
    rows: { value: rows },
  });
  const conditions = await conditionsOf(database, filters);
  await pageOf(explaining, { conditions, sort, limit: 5 }, STEPS);
  return plans;
}

onEngines(
  "a page reads only the rows of servers that fulfil the rarest condition",
  async (database) => {
    const store = new Store(database, () => Promise.resolve());
    await store.write(Array.from({ length: 20 }, (_, i) => record(i + 1, { seen_at: 1000 + i })));
    if (database.engine === "postgres") {
      // A small table is read as a whole otherwise.
      await database.script("vacuum analyze servers, server_state, server_flags");
      await database.script("set enable_seqscan = off; set enable_bitmapscan = off");
    }
    for (const filters of FILTERS) {
      for (const sort of Object.keys(SERVER_ORDERS) as ServerOrder[]) {
        const { index } = SERVER_ORDERS[sort];
        const plans = await plansOf(database, filters, sort);
        const last = plans.at(-1)!;
        const message = `${Deno.inspect(filters)} by ${sort}: ${plans.join("\n\n")}`;
        if (last.includes("hashed") || last.includes("LIST SUBQUERY")) {
          assert(
            new RegExp(`(COVERING INDEX|Index Only Scan.*) (using )?${index}`).test(last),
            message,
          );
          assert(!last.includes("TEMP B-TREE") && !last.includes("Sort"), message);
        } else {
          // The condition is a part of the order's index.
          assert(plans.length === 1 && last.includes(index), message);
        }
        assert(!/Seq Scan|^SCAN [st]$/m.test(last), message);
      }
    }
  },
);
