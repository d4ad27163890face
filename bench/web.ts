// deno-lint-ignore-file no-console
/**
 * Fills databases with a million servers, and measures the answers that the dashboard gets.
 *
 *     deno run -A bench/web.ts [--servers 1000000] [--observations 20000000] [--rounds 100]
 *         [--engines sqlite,postgres] [--folder DIR] [--sqlite FILE] [--postgres URL]
 *
 * The databases are those of bench/plans.ts, without a text index, and need as much space. `--sqlite`
 * and `--postgres` name databases of an earlier run or empty ones, which are kept. PostgreSQL is
 * Debian's `postgresql`, with the default settings.
 *
 * Threads answer, as in the command `serve`. Each round asks with other values: filters, networks,
 * servers, pages. "counted" is the time from the start until all servers are counted, and "first page" the
 * time until the first page of servers has been read meanwhile. A row has the median, the 95th
 * percentile and the mean CPU time of all rounds, milliseconds. On a loaded machine, the CPU time (of this
 * process) shows which answers are slow in themselves. The memory is that of the whole process after
 * the rounds of the large database. Exits with 1 if a
 * 95th percentile is above the limit of its row, the servers are counted after 15 s, or the process needs
 * more than 256 MB.
 */
import process from "node:process";
import { parseDatabaseLocation } from "../src/store/database_location.ts";
import { createTables } from "../src/store/schema/create_tables.ts";
import type { DashboardData, DashboardFilters } from "../src/web/queries/dashboard_data.ts";
import { DataError } from "../src/web/queries/dashboard_data.ts";
import { openDashboardData } from "../src/web/data/open_dashboard_data.ts";
import { startPostgres } from "../tests/postgres/server.ts";
import { fill, NOW, ROLLUP_EVERY } from "./plans/fill.ts";
import { openLocation } from "./plans/open_location.ts";
import { readOptions } from "./shared/options.ts";
import { table } from "./shared/table.ts";

const options = readOptions("times of the dashboard's answers from a large database", {
  servers: "1000000",
  observations: "20000000",
  rounds: "100",
  engines: "sqlite,postgres",
  folder: "",
  sqlite: "",
  postgres: "",
});
const SERVERS = Number(options.servers);
const LIMIT_MS = 100;
const TEXT_LIMIT_MS = 150;
const COUNTED_MS = 15_000;
const MAX_MB = 256;
const DAY = 86_400_000;

/** A question: `round` chooses its values. */
interface Measured {
  readonly name: string;
  readonly limit: number;
  readonly ask: (data: DashboardData, round: number) => Promise<unknown>;
}

/** Filters whose values depend on the round. */
const FILTERS: readonly (readonly [name: string, (round: number) => DashboardFilters])[] = [
  ["no filter", () => ({})],
  ["online", () => ({ online: true })],
  ["offline", () => ({ online: false })],
  ["software", (n) => ({ software: [["paper", "mp 5.2", "mp 5.7", "rare"][n % 4]] })],
  ["version", (n) => ({ version: [`1.${10 + n % 12}`] })],
  ["port and flag", (n) => ({ port: [19132, 25565], flag: [["formatted", "cutShort"][n % 2]] })],
  ["network", (n) => ({ network: [`10.${n % 15}.0.0/16`] })],
  ["small network", (n) => ({ network: [`10.${n % 15}.${n}.0/24`], online: true })],
  ["players", (n) => ({ minPlayers: n, maxPlayers: 2 * n })],
  ["players in a network", (n) => ({ minPlayers: 1 + n, network: [`10.${n % 15}.0.0/16`] })],
  ["range of versions", (n) => ({ version: [`1.${10 + n % 8}..1.${14 + n % 8}`], mods: ["no"] })],
  ["name of a mod", (n) => ({ mods: [`mod ${n}`] })],
  ["down and stale", (n) => ({ down: NOW - n * DAY / 4, stale: NOW - n * DAY / 8 })],
  ["since", (n) => ({ since: NOW - n * DAY / 4 })],
];
const TEXTS: typeof FILTERS = [
  ["frequent text", (n) => ({ text: [`server number ${n % 10}`] })],
  ["text", (n) => ({ text: [`skyblock realm ${n}`] })],
  ["rare text", (n) => ({ text: [n % 2 === 0 ? "zebra" : `zebra crossing ${n}`] })],
  ["short text", (n) => ({ text: [`${n}`] })],
];
const SORTS = ["players", "name", "new", "changed", "version", "address"] as const;

/** The first page, ten pages on, and back. */
async function readPages(data: DashboardData, filters: DashboardFilters, round: number) {
  const sort = SORTS[round % SORTS.length];
  const page = await data.servers({ filters, sort, limit: 50 });
  return { page, sort };
}

const MEASURED: readonly Measured[] = [
  { name: "overview", limit: LIMIT_MS, ask: (data) => data.overview() },
  ...[...FILTERS, ...TEXTS].flatMap(([name, filtersOf], i) => {
    const limit = i < FILTERS.length ? LIMIT_MS : TEXT_LIMIT_MS;
    return [
      {
        name: `servers: ${name}`,
        limit,
        ask: (data: DashboardData, n: number) => readPages(data, filtersOf(n), n),
      },
      {
        name: `facets: ${name}`,
        limit,
        ask: (data: DashboardData, n: number) => data.facets(filtersOf(n)),
      },
    ];
  }),
  ...["after", "before"].map((direction) => ({
    name: `servers: a first page, and the page ${direction} its end`,
    limit: LIMIT_MS,
    ask: async (data: DashboardData, n: number) => {
      const filters = n % 2 === 0 ? {} : { online: true };
      const sort = SORTS[n % SORTS.length];
      const { next } = await data.servers({ filters, sort, limit: 1 + n * 7919 % 500 });
      if (next === null) return; // the empty database
      const cursor = { ...next, direction: direction as "after" | "before" };
      return await data.servers({ filters, sort, limit: 50, cursor });
    },
  })),
  { name: "server", limit: LIMIT_MS, ask: (data, n) => data.server(serverOf(n)) },
  ...[1, 7, 31, 365].map((days) => ({
    name: `history: ${days} days`,
    limit: LIMIT_MS,
    ask: (data: DashboardData, n: number) => data.history(serverOf(n), NOW - days * DAY, NOW),
  })),
  ...([0, 8, 16] as const).map((prefix) => ({
    name: `map: /${prefix}`,
    limit: LIMIT_MS,
    ask: (data: DashboardData, n: number) =>
      data.map({
        square: {
          address: prefix === 0 ? 0 : 0x0a000000 + (prefix === 8 ? 0 : (n % 15) << 16),
          prefix,
        },
        layer: (["servers", "online", "age", "scanned"] as const)[n % 4],
        filters: n % 3 === 0 ? { online: true } : {},
      }),
  })),
  {
    name: "trends",
    limit: LIMIT_MS,
    ask: (data, n) =>
      data.trends({ days: [1, 7, 30, 365][n % 4] as 1, by: n % 2 ? "version" : undefined }),
  },
  { name: "events", limit: LIMIT_MS, ask: (data) => data.events({ limit: 100 }) },
  { name: "scans", limit: LIMIT_MS, ask: (data) => data.scans() },
];

/** A server, of which every second one has rollups. */
function serverOf(round: number): number {
  const server = round * 104_729 % SERVERS;
  return 1 + (round % 2 === 0 ? server - server % ROLLUP_EVERY : server);
}

/** Makes the tables of an empty database, and fills them unless it has servers. */
async function prepare(location: string, isFilled: boolean): Promise<void> {
  await using database = await openLocation(location);
  await createTables(database);
  const [{ n }] = await database.rows(
    "select count(*) as n from (select 1 from servers limit 1) s",
  );
  if (!isFilled || Number(n) > 0) return;
  const seconds = await fill(database, { servers: SERVERS, observations: +options.observations });
  console.log(`${database.engine}: filled in ${seconds.toFixed(0)} s`);
}

/** Opens a database; returns its data, and how long the first page and the counting took, milliseconds. */
async function openCounted(location: string) {
  const begun = performance.now();
  const environment = {
    resolve: (path: string) => path,
    password: () => Promise.resolve(undefined),
  };
  const data = await openDashboardData(
    parseDatabaseLocation(location)!,
    environment,
    console.error,
  );
  await data.servers({ filters: {}, sort: "players", limit: 50 });
  const firstPage = performance.now() - begun;
  for (;;) {
    try {
      await data.facets({});
      return { data, firstPage, counted: performance.now() - begun };
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** The times of all rounds of a question, sorted, and the mean CPU time of the process, milliseconds. */
async function timesOf(
  data: DashboardData,
  { name, ask }: Measured,
): Promise<{ times: number[]; cpu: number }> {
  const times: number[] = [];
  const before = process.cpuUsage();
  for (let round = 0; round < Number(options.rounds); round++) {
    const begun = performance.now();
    await ask(data, round).catch((cause) => {
      if (cause instanceof DataError && cause.trouble === "slow") return; // its time counts
      throw new Error(`${name}, round ${round}: ${cause.message}`, { cause });
    });
    times.push(performance.now() - begun);
  }
  const { user, system } = process.cpuUsage(before);
  times.sort((a, b) => a - b);
  return { times, cpu: (user + system) / 1000 / times.length };
}

/** The value that a share of sorted times does not exceed. */
function at(times: readonly number[], share: number): number {
  return times[Math.ceil(times.length * share) - 1];
}

/** The 95th percentiles of an empty database. */
async function measureEmpty(location: string): Promise<number[]> {
  await using data = (await openCounted(location)).data;
  const all: number[] = [];
  for (const one of MEASURED) all.push(at((await timesOf(data, one)).times, 0.95));
  return all;
}

/** Measures a database beside an empty one; returns whether all limits are kept. */
async function measure(engine: string, location: string, empty: string): Promise<boolean> {
  const { data, firstPage, counted } = await openCounted(location);
  const measured: { times: number[]; cpu: number }[] = [];
  for (const one of MEASURED) measured.push(await timesOf(data, one));
  const megabytes = Deno.memoryUsage().rss / 1e6;
  await data[Symbol.asyncDispose]();
  const ofEmpty = await measureEmpty(empty);
  const isSlow = MEASURED.map(({ limit }, i) => at(measured[i].times, 0.95) > limit);
  const rows = MEASURED.map(({ name }, i) => {
    const { times, cpu } = measured[i];
    const values = [at(times, 0.5), at(times, 0.95), cpu, ofEmpty[i]];
    const cells = values.map((value) => value.toFixed(value < 10 ? 1 : 0));
    return [name, ...cells, isSlow[i] ? "too slow" : ""];
  });
  console.log("%s", table([engine, "median ms", "p95 ms", "CPU ms", "p95 empty", ""], rows));
  console.log(
    `${engine}: first page after ${firstPage.toFixed(0)} ms, counted after ` +
      `${counted.toFixed(0)} ms, memory ${megabytes.toFixed(0)} MB\n`,
  );
  return !isSlow.includes(true) && counted <= COUNTED_MS && megabytes <= MAX_MB;
}

let isKept = true;
await using stack = new AsyncDisposableStack();
for (const engine of options.engines.split(",")) {
  const folder = await Deno.makeTempDir({ dir: options.folder || undefined });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  let [location, empty] = [options.sqlite || `${folder}/list.db`, `${folder}/empty.db`];
  if (engine === "postgres") {
    const server = options.postgres ? undefined : stack.use(await startPostgres("on"));
    location = options.postgres || `${server!.url}postgres`;
  }
  await prepare(location, true);
  await prepare(empty, false);
  isKept = await measure(engine, location, empty) && isKept;
}
await stack.disposeAsync();
Deno.exit(isKept ? 0 : 1);
