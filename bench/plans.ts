// deno-lint-ignore-file no-console
/**
 * Fills databases with a million servers, and measures the queries of pages and the queries of
 * docs/database.md while a watch writes.
 *
 *     deno run -A bench/plans.ts [--servers 1000000] [--observations 20000000] [--rounds 20]
 *         [--engines sqlite,postgres] [--folder DIR] [--sqlite FILE] [--postgres URL] [--polls 500]
 *
 * It needs about 12 GB in the folder; the default is the system's folder for temporary files. For
 * PostgreSQL it needs Debian's `postgresql`, and starts a server of its own with the default
 * settings. `--sqlite` and `--postgres` name databases of an earlier run or empty ones, which are kept.
 * Few servers have many players, and few kinds of software, versions and ports have many servers.
 * No statistics are made but those of PostgreSQL's autovacuum, for which the benchmark waits.
 *
 * Each page has 50 servers, and is read by the function that the command `servers` calls. `--polls`
 * servers per second are polled meanwhile by another process; one in ten has other players. A cell
 * has the 95th percentile of the rounds, milliseconds, with the first one. Exits with 1 if one is above
 * 50 ms.
 */
import type { Database } from "../src/store/database/database.ts";
import { createTables } from "../src/store/schema/create_tables.ts";
import { createTextIndex } from "../src/store/schema/text_index.ts";
import { selectServers } from "../src/store/server_queries.ts";
import { startPostgres } from "../tests/postgres/server.ts";
import { fill } from "./plans/fill.ts";
import { openPlace } from "./plans/places.ts";
import { documentedQueries, FILTERS, ORDERS, TEXT_FILTERS } from "./plans/queries.ts";
import { readOptions } from "./shared/options.ts";
import { table } from "./shared/table.ts";

const options = readOptions("query times of a large database while a watch writes", {
  servers: "1000000",
  observations: "20000000",
  rounds: "20",
  engines: "sqlite,postgres",
  folder: "",
  sqlite: "",
  postgres: "",
  polls: "500",
});
const PAGE = 50;
const MOST_MS = 50;

/** Fills an empty database and makes its text index; waits for the statistics of autovacuum. */
async function prepare(database: Database): Promise<void> {
  await createTables(database);
  const [{ n }] = await database.rows(
    "select count(*) as n from (select 1 from servers limit 1) s",
  );
  if (Number(n) === 0) {
    const amounts = { servers: +options.servers, observations: +options.observations };
    const seconds = await fill(database, amounts);
    console.log(`${database.engine}: filled in ${seconds.toFixed(0)} s`);
  }
  const begun = performance.now();
  await createTextIndex(database);
  const seconds = (performance.now() - begun) / 1000;
  if (seconds > 1) console.log(`${database.engine}: text index in ${seconds.toFixed(0)} s`);
  if (database.engine === "sqlite") return;
  const missing =
    "select 1 from pg_stat_user_tables where relname in ('servers', 'server_state', " +
    "'observations', 'rollups') and last_autoanalyze is null";
  while ((await database.rows(missing)).length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

/** The 95th percentile of the times of some runs, milliseconds. */
async function measure(run: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    const begun = performance.now();
    await run();
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b)[Math.ceil(times.length * 0.95) - 1];
}

/** Measures all queries. Returns the slowest 95th percentile. */
async function show(database: Database): Promise<number> {
  const all: number[] = [];
  const cell = async (run: () => Promise<unknown>) => {
    const ms = await measure(run);
    all.push(ms);
    return ms.toFixed(1);
  };
  const pages: string[][] = [];
  for (const [name, filters] of [...FILTERS, ...TEXT_FILTERS]) {
    const cells: string[] = [];
    for (const sort of ORDERS) {
      // The names of servers that have a word in their names are near each other.
      const isByText = "text" in filters && sort === "name";
      const page = { ...filters, sort, limit: PAGE };
      const read = () => Array.fromAsync(selectServers(database, page));
      cells.push(isByText ? (await measure(read)).toFixed(1) : await cell(read));
    }
    pages.push([name, ...cells]);
  }
  console.log(table([`${database.engine}: page, by`, ...ORDERS], pages));
  const queries: string[][] = [];
  for (const sql of await documentedQueries(database.engine, true)) {
    queries.push([await cell(() => database.rows(sql)), sql.replace(/\s+/g, " ").slice(0, 100)]);
  }
  console.log(table(["ms", "documented query"], queries), "\n");
  return Math.max(...all);
}

async function run(place: string): Promise<number> {
  await using database = await openPlace(place);
  await prepare(database);
  const writer = new URL("plans/write_polls.ts", import.meta.url).pathname;
  const watch = new Deno.Command("deno", {
    args: ["run", "-A", writer, place, options.polls],
    stdin: "null",
    stdout: "null",
  }).spawn();
  try {
    return await show(database);
  } finally {
    watch.kill();
    await watch.status;
  }
}

let slowest = 0;
await using stack = new AsyncDisposableStack();
for (const engine of options.engines.split(",")) {
  let place = engine === "sqlite" ? options.sqlite : options.postgres;
  if (place === "" && engine === "sqlite") {
    const folder = await Deno.makeTempDir({ dir: options.folder || undefined });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    place = `${folder}/list.db`;
  } else if (place === "") {
    place = `${stack.use(await startPostgres("on")).url}postgres`;
  }
  slowest = Math.max(slowest, await run(place));
}
await stack.disposeAsync();
console.log(`the slowest 95th percentile: ${slowest.toFixed(1)} ms`);
Deno.exit(slowest > MOST_MS ? 1 : 0);
