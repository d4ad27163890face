// deno-lint-ignore-file no-console
/**
 * Fills databases with a million servers, and measures the queries of pages and the queries of
 * docs/database.md while a watch writes.
 *
 *     deno run -A bench/plans.ts [--servers 1000000] [--observations 20000000] [--rounds 20]
 *         [--engines sqlite,postgres] [--folder DIR] [--sqlite FILE] [--postgres URL] [--polls 500]
 *         [--orders players,name]
 *
 * It needs about 12 GB in the folder; the default is the system's folder for temporary files. For
 * PostgreSQL it needs Debian's `postgresql`, and starts a server of its own with the default
 * settings. `--sqlite` and `--postgres` name databases of an earlier run or empty ones, which are kept.
 * Few servers have many players, and few kinds of software, versions and ports have many servers.
 * No statistics are made but those of PostgreSQL's autovacuum, for which the benchmark waits.
 *
 * Each page has 50 servers, and is read by the function that the command `servers` calls. The
 * column `count` has the times of counting the servers that match, up to 1,001. `--polls`
 * servers per second are polled meanwhile by another process; in one of ten polls, the players differ. A
 * cell has the median and the 95th percentile of all rounds, and the mean CPU time of a round, in
 * milliseconds: the time of this process and, with PostgreSQL on this machine, of its process
 * for the connection. On a loaded machine, the CPU time shows which queries are slow in themselves.
 * Exits with 1 if a 95th percentile is above 50 ms.
 */
import process from "node:process";
import type { Database } from "../src/store/database/database.ts";
import { createTables } from "../src/store/schema/create_tables.ts";
import { createTextIndex } from "../src/store/schema/text_index.ts";
import { countServers, selectServers } from "../src/store/server_queries.ts";
import { startPostgres } from "../tests/postgres/server.ts";
import { fill } from "./plans/fill.ts";
import { openLocation } from "./plans/open_location.ts";
import type { ServerOrder } from "../src/store/queries/orders.ts";
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
  orders: ORDERS.join(","),
});
const SORTS = options.orders.split(",") as readonly ServerOrder[];
const PAGE = 50;
/** Up to this number the command `servers` counts the servers that filters match. */
const COUNT = 1001;
const MAX_MS = 50;
/** Number of the slowest queries that are listed. */
const WORST = 12;

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

/** Times of a query, milliseconds. */
interface Times {
  readonly name: string;
  readonly median: number;
  readonly p95: number;
  readonly cpu: number;
}

/** The CPU time that this process and PostgreSQL's process for the connection have used, milliseconds. */
async function cpuMs(backend: number | undefined): Promise<number> {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1000;
  if (backend === undefined) return own;
  const nanoseconds = (await Deno.readTextFile(`/proc/${backend}/schedstat`)).split(" ")[0];
  return own + Number(nanoseconds) / 1e6;
}

/** The number of PostgreSQL's process for the connection; `undefined`: it is on another machine. */
async function backendOf(database: Database): Promise<number | undefined> {
  if (database.engine === "sqlite") return undefined;
  const pid = Number((await database.rows("select pg_backend_pid() as pid"))[0].pid);
  const name = await Deno.readTextFile(`/proc/${pid}/comm`).catch(() => "");
  return name.startsWith("postgres") ? pid : undefined;
}

/** Measures all queries of a database, and prints them. */
async function show(database: Database): Promise<Times[]> {
  const backend = await backendOf(database);
  const all: Times[] = [];
  const cell = async (name: string, run: () => Promise<unknown>) => {
    const times: number[] = [];
    const before = await cpuMs(backend);
    for (let round = 0; round < Number(options.rounds); round++) {
      const begun = performance.now();
      await run();
      times.push(performance.now() - begun);
    }
    const cpu = (await cpuMs(backend) - before) / times.length;
    const at = (share: number) => times[Math.ceil(times.length * share) - 1];
    times.sort((a, b) => a - b);
    const measured = { name: `${database.engine}: ${name}`, median: at(0.5), p95: at(0.95), cpu };
    all.push(measured);
    return cellOf(measured);
  };
  const pages: string[][] = [];
  for (const [name, filters] of [...FILTERS, ...TEXT_FILTERS]) {
    const cells: string[] = [];
    for (const sort of SORTS) {
      const page = { ...filters, sort, limit: PAGE };
      const read = () => Array.fromAsync(selectServers(database, page));
      cells.push(await cell(`${name}, by ${sort}`, read));
    }
    const count = () => countServers(database, { ...filters, sort: SORTS[0] }, COUNT);
    cells.push(await cell(`${name}, count`, count));
    pages.push([name, ...cells]);
  }
  console.log("%s", table([`${database.engine}: page, by`, ...SORTS, "count"], pages));
  const queries: string[][] = [];
  for (const sql of await documentedQueries(database.engine, true)) {
    const text = sql.replace(/\s+/g, " ").slice(0, 70);
    queries.push([await cell(text, () => database.rows(sql)), text]);
  }
  console.log("%s\n", table(["documented query", ""], queries));
  return all;
}

/** The median, the 95th percentile and the CPU time, milliseconds. */
function cellOf({ median, p95, cpu }: Omit<Times, "name">): string {
  return [median, p95, cpu].map((ms) => ms.toFixed(ms < 10 ? 1 : 0)).join(" / ");
}

/** Prints the queries with the highest values. */
function showWorst(all: readonly Times[], by: "p95" | "cpu", title: string): void {
  const worst = all.toSorted((a, b) => b[by] - a[by]).slice(0, WORST);
  console.log("%s\n", table([title, ""], worst.map((one) => [cellOf(one), one.name])));
}

/** Ends the process that writes polls. */
async function end(watch: Deno.ChildProcess): Promise<void> {
  try {
    watch.kill();
  } catch (error) {
    throw new Error("The process that writes polls has ended: see its message", { cause: error });
  }
  await watch.status;
}

async function run(location: string): Promise<Times[]> {
  {
    await using database = await openLocation(location);
    await prepare(database);
  }
  await using database = await openLocation(location, { readOnly: true });
  const writer = new URL("plans/write_polls.ts", import.meta.url).pathname;
  const watch = new Deno.Command("deno", {
    args: ["run", "-A", writer, location, options.polls],
    stdin: "null",
    stdout: "null",
  }).spawn();
  try {
    return await show(database);
  } finally {
    await end(watch);
  }
}

const all: Times[] = [];
await using stack = new AsyncDisposableStack();
for (const engine of options.engines.split(",")) {
  let location = engine === "sqlite" ? options.sqlite : options.postgres;
  if (location === "" && engine === "sqlite") {
    const folder = await Deno.makeTempDir({ dir: options.folder || undefined });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    location = `${folder}/list.db`;
  } else if (location === "") {
    location = `${stack.use(await startPostgres("on")).url}postgres`;
  }
  all.push(...await run(location));
}
await stack.disposeAsync();
showWorst(all, "p95", "slowest: median / 95th percentile / CPU, ms");
showWorst(all, "cpu", "most CPU time: median / 95th percentile / CPU, ms");
Deno.exit(all.some(({ p95 }) => p95 > MAX_MS) ? 1 : 0);
