/**
 * Covers src/web/data/ and src/web/server_index/: answers, compared with those from rows in memory.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { formatAddress, parseAddress } from "../../../src/core/address.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { SERVER_ORDERS, type ServerOrder } from "../../../src/store/queries/orders.ts";
import { STEPS } from "../../../src/store/queries/page.ts";
import { selectServers } from "../../../src/store/server_queries.ts";
import { Store } from "../../../src/store/store.ts";
import {
  type DashboardData,
  type DashboardFilters,
  DataError,
  type MapQuery,
  Square,
} from "../../../src/web/queries/dashboard_data.ts";
import { FACETS, type ListedServer } from "../../../src/web/queries/schemas.ts";
import { dashboardDataOf } from "../../../src/web/data/database_reader.ts";
import { readPage } from "../../../src/web/data/server_pages.ts";
import { CachedServerIndex } from "../../../src/web/server_index/cached_server_index.ts";
import { indexedData, passedOn } from "./indexed_data.ts";
import { longTest } from "../../long.ts";
import { onEngines, onSqlite, setClock } from "../../store/databases.ts";
import { record, scanId } from "../../store/records.ts";
import {
  everyServer,
  expectedFacet,
  fillServers,
  FILTERS,
  matches,
  PLACE_FILTERS,
  placeOf,
} from "../oracle.ts";

const SORTS = Object.keys(SERVER_ORDERS) as ServerOrder[];
const ALL_FILTERS = [...FILTERS, ...PLACE_FILTERS];

/** The numbers of all servers in an order. */
async function sortedIds(database: Database, sort: ServerOrder): Promise<number[]> {
  const ids = new Map(
    (await everyServer(database, placeOf)).map(({ id, host, port }) => [`${host} ${port}`, id]),
  );
  const all = await Array.fromAsync(selectServers(database, { sort }));
  return all.map(({ host, port }) => ids.get(`${host} ${port}`)!);
}

/** Reads all pages forwards, and then backwards. */
async function walk(
  data: DashboardData,
  filters: DashboardFilters,
  sort: ServerOrder,
  limit: number,
): Promise<{ forwards: number[]; backwards: number[]; total: number | null }> {
  let page = await data.servers({ filters, sort, limit });
  const total = page.total;
  assertEquals(page.previous, null);
  const forwards = page.servers.map(({ id }) => id);
  while (page.next !== null) {
    page = await data.servers({ filters, sort, limit, cursor: passedOn(sort, page.next) });
    assert(page.previous !== null && page.servers.length > 0);
    forwards.push(...page.servers.map(({ id }) => id));
  }
  const backwards = page.servers.map(({ id }) => id);
  while (page.previous !== null) {
    page = await data.servers({ filters, sort, limit, cursor: passedOn(sort, page.previous) });
    assert(page.next !== null && page.servers.length > 0);
    backwards.unshift(...page.servers.map(({ id }) => id));
  }
  return { forwards, backwards, total };
}

/**
 * Reads all pages in each order, with one of `step` filters; each filter is used with some orders.
 */
async function walkAllPages(database: Database, step: number): Promise<void> {
  await fillServers(database);
  const { data } = await indexedData(database);
  const servers = new Map((await everyServer(database, placeOf)).map((one) => [one.id, one]));
  for (const [i, sort] of SORTS.entries()) {
    const ids = await sortedIds(database, sort);
    for (const filters of ALL_FILTERS.filter((_, at) => (at + i) % step === 0)) {
      const expected = ids.filter((id) => matches(servers.get(id)!, filters));
      const { forwards, backwards, total } = await walk(data, filters, sort, 40);
      const message = Deno.inspect({ sort, filters });
      assertEquals(forwards, expected, message);
      if (expected.length > 0) assertEquals(backwards, expected, message);
      assertEquals(total, expected.length, message);
    }
  }
}

onSqlite(
  "pages forwards and backwards have each matching server once, with one of six filters per order",
  (database) => walkAllPages(database, 6),
);

onEngines(
  "pages forwards and backwards have each matching server once",
  (database) => walkAllPages(database, 1),
  longTest,
);

/** Compares pages by each method, in each order, with one of `step` filters. */
async function comparePages(database: Database, step: number): Promise<void> {
  await fillServers(database);
  const { serverIndex: { memory } } = await indexedData(database);
  const serverIndex = new CachedServerIndex(memory);
  const all = new Map((await everyServer(database, placeOf)).map((one) => [one.id, one]));
  const methods = [
    { expected: 0, sorted: 0, batch: 1 },
    { expected: 1e6, sorted: 0, batch: 3 },
    { expected: 1e6, sorted: 1e6, batch: 1000 },
  ].map((steps) => ({ ...STEPS, ...steps }));
  for (const [i, sort] of SORTS.entries()) {
    const ids = await sortedIds(database, sort);
    for (const filters of ALL_FILTERS.filter((_, at) => (at + i) % step === 0)) {
      const expected = ids.filter((id) => matches(all.get(id)!, filters)).slice(0, 9);
      for (const steps of methods) {
        const query = { filters, sort, limit: 9 };
        const { servers } = await readPage(database, serverIndex, query, placeOf, undefined, steps);
        const message = Deno.inspect({ sort, filters, steps });
        assertEquals(servers.map(({ id }) => id), expected, message);
      }
    }
  }
}

onSqlite(
  "a page is the same by each method to find it, with one of six filters per order",
  (database) => comparePages(database, 6),
);

onEngines(
  "a page is the same by each method to find it",
  (database) => comparePages(database, 1),
  longTest,
);

onEngines(
  "without a server index, pages are the same, and nothing is counted",
  async (database) => {
    await fillServers(database);
    const data = dashboardDataOf(database, undefined, placeOf);
    const servers = new Map((await everyServer(database, placeOf)).map((one) => [one.id, one]));
    const ids = await sortedIds(database, "name");
    for (const filters of ALL_FILTERS) {
      const expected = ids.filter((id) => matches(servers.get(id)!, filters));
      const { forwards, total } = await walk(data, filters, "name", 60);
      assertEquals([forwards, total], [expected, null], Deno.inspect(filters));
    }
    await assertRejects(() => data.facets({}), DataError, "Try again");
    const query = { address: 0, prefix: 0, layer: "servers", filters: {} } as const;
    await assertRejects(() => data.map(query), DataError, "Try again");
  },
);

/** Copies the only server of a SQLite database until there is this number of servers. */
async function multiply(database: Database, servers: number): Promise<void> {
  const numbers =
    `(with recursive n (id) as (select 2 union all select id + 1 from n where id < ${servers}) ` +
    "select id from n) n";
  const own: Record<string, string> = { id: "n.id", key: "'copy ' || n.id", server: "n.id" };
  for (const table of ["servers", "server_state"]) {
    const columns = (await database.rows(`select name from pragma_table_info('${table}')`))
      .map(({ name }) => String(name));
    await database.run(
      `insert into ${table} (${columns}) select ${
        columns.map((name) => own[name] ?? `t.${name}`)
      } ` +
        `from ${table} t, ${numbers}`,
    );
  }
}

onSqlite(
  "without a server index, a search ends with an error after 20,000 servers",
  async (database) => {
    await new Store(database, () => Promise.resolve()).write([record(1, { name: "Skyblock" })]);
    await multiply(database, 20_000);
    const data = dashboardDataOf(database);
    const search = async (text: string) =>
      (await data.servers({ filters: { text: [text] }, sort: "new", limit: 5 })).servers.length;
    assertEquals(await search("sky"), 5);
    await assertRejects(() => search("absent"), DataError, "Try again");
    await database.run("delete from server_state where server = 9");
    await database.run("delete from servers where id = 9");
    assertEquals(await search("absent"), 0);
  },
);

onEngines("an empty database has empty pages, and nothing to count", async (database) => {
  const { data } = await indexedData(database);
  for (const filters of ALL_FILTERS) {
    const page = await data.servers({ filters, sort: "players", limit: 10 });
    assertEquals(page, {
      servers: [],
      previous: null,
      next: null,
      total: 0,
      hidden: 0,
      others: {},
    });
    assertEquals((await data.facets(filters)).facets.edition, []);
  }
  assertEquals((await data.overview()).newestReplyAt, null);
});

/** Compares the counts of all filters with those of rows in memory. */
async function compareCounts(data: DashboardData, servers: readonly ListedServer[]): Promise<void> {
  for (const filters of ALL_FILTERS) {
    const { facets, totals, ...all } = await data.facets(filters);
    const found = servers.filter((one) => matches(one, filters));
    const online = found.filter((one) => one.online);
    const players = online.reduce((sum, one) => sum + (one.players_online ?? 0), 0);
    const message = Deno.inspect(filters);
    assertEquals(all, { servers: found.length, online: online.length, players }, message);
    for (const name of FACETS) {
      const others = servers.filter((one) => matches(one, { ...filters, [name]: undefined }));
      assertEquals(totals[name], others.length, `total of ${name}: ${message}`);
      const values = facets[name].map(({ label: _, ...value }) => value);
      const expected = expectedFacet(servers, filters, name).slice(0, 30);
      assertEquals(values, expected, `${name}: ${message}`);
    }
  }
}

onEngines(
  "a tag that is added or removed changes the servers of its filter at once",
  async (database) => {
    await fillServers(database);
    const { data } = await indexedData(database);
    const counted = async (...tag: string[]) => {
      const page = await data.servers({ filters: { tag }, sort: "address", limit: 500 });
      const facets = await data.facets({ tag });
      assertEquals([page.total, facets.servers], [page.servers.length, page.servers.length]);
      return page.servers.length;
    };
    const before = await counted("eu");
    assert(before > 0);
    assertEquals(await counted("new"), 0);
    await database.run(
      "insert into server_tags (tag, server) select 'new', id from servers where id <= 3",
    );
    assertEquals(await counted("new"), 3);
    assertEquals(await counted("new", "eu") <= before + 3, true);
    await database.run("delete from server_tags where tag = 'new' and server = 1");
    assertEquals([await counted("new"), await counted("eu")], [2, before]);
  },
);

onEngines("facets count servers without the facet's own filter", async (database) => {
  await fillServers(database);
  const { data } = await indexedData(database);
  await compareCounts(data, await everyServer(database, placeOf));
  const { facets } = await data.facets({});
  assertEquals(facets.operator.find(({ value }) => value === 64501)?.label, "Network 1");
  const { data: nowhere } = await indexedData(database);
  assertEquals((await nowhere.facets({})).facets.country.length, 3);
});

onEngines("a server index follows new, changed, polled and removed servers", async (database) => {
  await fillServers(database);
  const { serverIndex, data } = await indexedData(database);
  const store = new Store(database, () => Promise.resolve());
  const at = database.now();
  await store.write([
    record(7, { host: "10.9.9.9", name: "new", software: "Brandnew", seen_at: at }),
    record(8, { host: "2001:db8::9", name: "n".repeat(300), flags: ["cutShort"], seen_at: at }),
    ...Array.from({ length: 60 }, (_, i) =>
      record(i % 70 + 1, {
        host: `10.0.${i % 3}.${i}`,
        name: i % 2 === 0 ? `Renamed with a much longer text ${i}` : "x",
        map: i % 5 === 0 ? "İstanbul" : null,
        version: `1.99.${i % 2}`,
        players_online: 3,
        seen_at: at + i,
      })),
  ]);
  await serverIndex.readChanges(database);
  await database.run("update server_state set online = not online where server % 5 = 2");
  await database.run("update server_state set players_online = 77 where server % 7 = 3");
  for (const table of ["server_state where server", "servers where id"]) {
    await database.run(`delete from ${table} % 11 = 4`);
  }
  await serverIndex.readStates(database);
  await compareCounts(data, await everyServer(database, placeOf));
});

/** A database that counts its queries, and the rows of their answers. */
function counting(database: Database): {
  readonly database: Database;
  readonly rows: () => number;
  readonly queries: () => number;
} {
  let [read, queries] = [0, 0];
  const rows: Database["rows"] = async (...query) => {
    queries++;
    const found = await database.rows(...query);
    read += found.length;
    return found;
  };
  const get = (_: Database, name: string) => {
    const member = Reflect.get(database, name, database);
    return name === "rows" ? rows : typeof member === "function" ? member.bind(database) : member;
  };
  const counted = new Proxy<Database>(database, { get });
  return { database: counted, rows: () => read, queries: () => queries };
}

onEngines("a page reads as few rows as possible, and with as few queries", async (database) => {
  await fillServers(database);
  const { serverIndex: { memory } } = await indexedData(database);
  const read = async (filters: DashboardFilters, serverIndex?: CachedServerIndex) => {
    const { database: counted, rows, queries } = counting(database);
    const query = { filters, sort: "address", limit: 3 } as const;
    await readPage(counted, serverIndex, query, placeOf);
    return { rows: rows(), queries: queries() };
  };
  for (const filters of [{}, { online: true }]) {
    const { rows } = await read(filters, new CachedServerIndex(memory));
    assert(rows < 60, `${rows} rows: ${Deno.inspect(filters)}`);
  }
  assert((await read({})).rows < 60);
  const { queries } = await read({ text: ["absent"] }); // all servers are read
  assert(queries < 10, `${queries} queries`);
});

onEngines(
  "a server index reads changes that are up to five seconds older than the newest, and no others",
  async (database) => {
    const at = 1_000_000_000;
    const ages = [5001, 60_000, 5000, 5000, 4999, 0];
    const store = new Store(database, () => Promise.resolve());
    const write = async (time: number, port: number, software: string) => {
      setClock(database, time);
      await store.write([record(port, { seen_at: time, software })]);
    };
    for (const i of ages.keys()) await write(at - 100_000, i + 1, "Early");
    await write(at, 100, "Early");
    const { serverIndex, data } = await indexedData(database);
    // Transactions that commit late: the times of their changes are not after the newest one.
    for (const [i, age] of ages.entries()) await write(at - age, i + 1, "Late");
    const { database: counted, rows } = counting(database);
    await serverIndex.readChanges(counted);
    assertEquals((await data.facets({ software: ["late"] })).servers, 4);
    assertEquals(rows(), 5);
  },
);

onEngines("a server with a lower number than others is inserted", async (database) => {
  const store = new Store(database, () => Promise.resolve());
  await store.write(Array.from({ length: 20 }, (_, i) => record(i + 1, { name: `Server ${i}` })));
  const move = async (to: number, from: number) => {
    await database.run("update servers set id = ? where id = ?", [to, from]);
    await database.run("update server_state set server = ? where server = ?", [to, from]);
  };
  if (database.engine === "postgres") {
    await database.script("alter table servers alter column id drop identity");
  }
  await move(500, 5);
  const { serverIndex, data } = await indexedData(database);
  await store.write([record(3, { name: "Moved in the server index", seen_at: 9000 })]);
  await serverIndex.readChanges(database);
  await move(5, 500);
  await move(900, 2);
  await serverIndex.readStates(database);
  const servers = await everyServer(database, placeOf);
  await compareCounts(data, servers);
  for (const text of ["server 1", "server 4", "moved in the", "server"]) {
    const page = await data.servers({ filters: { text: [text] }, sort: "name", limit: 50 });
    const expected = servers.filter((one) => matches(one, { text: [text] })).map(({ id }) => id);
    assertEquals(page.servers.map(({ id }) => id).sort(), expected.sort(), text);
    assertEquals(page.total, expected.length, text);
  }
});

onEngines("texts are found behind the parts that the server index has", async (database) => {
  const store = new Store(database, () => Promise.resolve());
  const [long, wide] = ["x".repeat(900), "東".repeat(250)];
  await store.write([
    record(1, { name: `${long} needle`, motd_plain: null }),
    record(2, { name: "short", motd_plain: `${long} NEEDLE` }),
    record(3, { map: `${long.slice(0, 70)}needle`, motd_plain: null }),
    record(4, { motd_plain: `${wide}needl`, name: null }), // within 256 characters, not 384 bytes
    record(5, { software: `${long.slice(0, 70)}needle` }),
    record(6, { name: "needle", motd_plain: long }),
    record(7, { name: long, motd_plain: long }),
    record(8, { name: "hay" }),
  ]);
  const { serverIndex, data } = await indexedData(database);
  const portsOf = async (text: string) => {
    const servers = await everyServer(database, placeOf);
    const { servers: found, total } = await data.servers({
      ...{ filters: { text: [text] }, sort: "address", limit: 50 },
    });
    const ports = found.map(({ port }) => port).sort();
    assertEquals(
      ports,
      servers.filter((one) => matches(one, { text: [text] })).map((s) => s.port).sort(),
    );
    assertEquals([total, (await data.facets({ text: [text] })).servers], [
      ports.length,
      ports.length,
    ]);
    const map = { address: 0, prefix: 0, layer: "servers", filters: { text: [text] } } as const;
    assertEquals((await data.map(map)).servers, ports.length);
    return ports;
  };
  assertEquals(await portsOf("needl"), [1, 2, 3, 4, 5, 6]);
  assertEquals(await portsOf("needle"), [1, 2, 3, 5, 6]);
  await store.write([
    record(1, { name: "short now", seen_at: 9000 }),
    record(8, { name: `${long} needle`, seen_at: 9000 }),
  ]);
  await serverIndex.readChanges(database);
  assertEquals(await portsOf("needle"), [2, 3, 5, 6, 8]);
});

onEngines("no number of players makes a sum negative", async (database) => {
  const store = new Store(database, () => Promise.resolve());
  await store.write([1, 2, 3].map((port) => record(port, { players_online: 7 })));
  const most = database.engine === "sqlite" ? 2 ** 31 + 5 : 2 ** 31 - 1; // a column of PostgreSQL ends there
  const change = async (players: number, id: number) =>
    await database.run("update server_state set players_online = ? where server = ?", [
      players,
      id,
    ]);
  await change(most, 2);
  await change(-2_000_000_000, 3);
  const { serverIndex, data } = await indexedData(database);
  const expected = 2 ** 31 - 1 + 7;
  assertEquals((await data.facets({})).players, expected);
  assertEquals((await data.facets({ minPlayers: 0 })).servers, 2);
  await change(7, 2);
  await serverIndex.readStates(database);
  assertEquals((await data.facets({})).players, 14);
  await change(most, 1);
  await serverIndex.readStates(database);
  assertEquals((await data.facets({})).players, expected);
});

onEngines("the map counts servers by address, and shows scanned space", async (database) => {
  await fillServers(database);
  const store = new Store(database, () => Promise.resolve());
  const address = (text: string) => parseAddress(text) as number;
  await store.begin({
    id: scanId(1),
    at: 1,
    config: "{}",
    addresses: {
      requested: [{ start: address("10.0.0.0"), end: address("10.2.0.0") }],
      excluded: [{ start: address("10.0.1.0"), end: address("10.0.2.0") }, {
        start: address("10.1.0.0"),
        end: address("10.2.0.0"),
      }],
    },
  });
  const { data } = await indexedData(database);
  const servers = await everyServer(database, placeOf);
  const squares = [["0.0.0.0", 0], ["10.0.0.0", 8], ["10.0.0.0", 16], ["11.0.0.0", 8]] as const;
  for (const [first, prefix] of squares) {
    for (const filters of [{}, { online: true, edition: ["java"] }]) {
      for (const layer of ["servers", "online", "age"] as const) {
        const query = { square: { address: address(first), prefix }, layer, filters };
        const message = Deno.inspect(query);
        assertEquals(await data.map(query), expectedCells(servers, query, database.now()), message);
      }
    }
  }
  const scanned = async (first: string, prefix: Square["prefix"]) => {
    const layer = "scanned";
    const { cells, values } = await data.map({
      ...{ square: { address: address(first), prefix }, layer, filters: {} },
    });
    const size = 2 ** (16 - prefix);
    return cells.map((cell, i) => [formatAddress(address(first) + cell * size), values[i]]);
  };
  assertEquals(await scanned("0.0.0.0", 0), [["10.0.0.0", 3], ["10.1.0.0", 2]]);
  const networks = await scanned("10.0.0.0", 8);
  assertEquals([networks.length, networks[0], networks[1], networks[300]], [
    512,
    ["10.0.0.0", 1],
    ["10.0.1.0", 2],
    ["10.1.44.0", 2],
  ]);
  assertEquals((await scanned("10.1.0.0", 16)).length, 65_536);
});

onEngines("scanned space follows new exclusions, and leaves out IPv6", async (database) => {
  const store = new Store(database, () => Promise.resolve());
  const single = (text: string) => {
    const start = parseAddress(text) as number;
    return { start, end: start + 1 };
  };
  const six = { start: 5n, end: 1n << 100n };
  const start = { id: scanId(1), at: 1, config: "{}" };
  const [first, second] = ["10.0.0.0", "10.0.255.255"].map(single);
  const requested = [first, second, six];
  await store.begin({ ...start, addresses: { requested, excluded: [] } });
  const { data } = await indexedData(database);
  const scanned = async () => {
    const square = { address: first.start, prefix: 16 } as const;
    const { cells, values } = await data.map({ square, layer: "scanned", filters: {} });
    return cells.map((cell, i) => [cell, values[i]]);
  };
  assertEquals(await scanned(), [[0, 1], [65_535, 1]]);
  await store.begin({ ...start, runAt: 2, addresses: { requested, excluded: [second, six] } });
  assertEquals(await scanned(), [[0, 1], [65_535, 2]]);
  const more = ["10.0.0.0", "10.0.0.1", "10.0.0.2"].map(single);
  const sampling = { requested: more, excluded: more.slice(2), sampled: true };
  await store.begin({ ...start, id: scanId(2), at: 2, addresses: sampling });
  assertEquals(await scanned(), [[0, 1], [1, 4], [2, 2], [65_535, 2]]);
  await database.script("delete from scan_ranges where sampled or first = '10.0.0.2'");
  if (database.engine === "postgres") return; // it has no broken addresses
  await database.script("update scan_ranges set last = 'x' where first = '10.0.0.0'");
  await store.begin({ ...start, runAt: 3 });
  assertEquals(await scanned(), [[65_535, 2]]);
});

/** The cells of a map, from rows in memory. */
function expectedCells(
  servers: readonly ListedServer[],
  { square, layer, filters }: MapQuery & { readonly square: Square },
  now: number,
) {
  const { address: first, prefix } = square;
  const size = 2 ** (16 - prefix);
  const cellOf = ({ host }: ListedServer) => {
    const address = parseAddress(host)!;
    return typeof address === "number" ? Math.floor((address - first) / size) : -1;
  };
  const inSquare = servers.filter((one) => cellOf(one) >= 0 && cellOf(one) < 65_536);
  const found = inSquare.filter((one) => matches(one, filters));
  const groups = [...Map.groupBy(found, cellOf)].sort(([a], [b]) => a - b);
  const minute = (ms: number) => Math.floor(ms / 60_000);
  const valueOf = (ones: readonly ListedServer[]) => ({
    servers: ones.length,
    online: ones.filter((one) => one.online).length,
    age: minute(now) - minute(Math.max(...ones.map((one) => one.probed_at))),
    scanned: 0,
  }[layer]);
  const cells = groups.map(([cell, ones]) => [cell, valueOf(ones)])
    .filter(([, value]) => value > 0);
  return {
    square,
    cells: cells.map(([cell]) => cell),
    values: cells.map(([, value]) => value),
    servers: found.length,
  };
}

onEngines("the map opens at the smallest square with the servers that match", async (database) => {
  const store = new Store(database, () => Promise.resolve());
  const at = (host: string, edition: string) => record(1, { host, edition });
  await store.write([at("10.1.2.3", "java"), at("10.1.255.0", "java"), at("2001:db8::1", "java")]);
  await store.write([at("10.200.0.1", "bedrock"), at("127.0.0.1", "education")]);
  const { data } = await indexedData(database);
  const squareOf = async (...edition: string[]) => {
    const filters = edition.length === 0 ? {} : { edition };
    const { square, servers } = await data.map({ layer: "servers", filters });
    assertEquals((await data.map({ layer: "scanned", filters })).square, square);
    return [`${formatAddress(square.address)}/${square.prefix}`, servers];
  };
  assertEquals(await squareOf("java"), ["10.1.0.0/16", 2]);
  assertEquals(await squareOf("java", "bedrock"), ["10.0.0.0/8", 3]);
  assertEquals(await squareOf(), ["0.0.0.0/0", 4]);
  assertEquals(await squareOf("none"), ["0.0.0.0/0", 0]);
});

onEngines("the overview counts all servers", async (database) => {
  await fillServers(database);
  const servers = await everyServer(database, placeOf);
  const online = servers.filter((one) => one.online);
  const expected = {
    servers: servers.length,
    online: online.length,
    players: online.reduce((sum, one) => sum + (one.players_online ?? 0), 0),
    stale: servers.length,
    newestReplyAt: 5000,
  };
  const { data } = await indexedData(database);
  for (const one of [data, dashboardDataOf(database, undefined, placeOf)]) {
    const { newest, running, changes: _, ...counts } = await one.overview();
    assertEquals(counts, expected);
    assertEquals(newest.map(({ id }) => id), (await sortedIds(database, "new")).slice(0, 10));
    assertEquals(running, []);
  }
});
