/** Covers src/web/data/. */
import { assert, assertEquals } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import { SERVER_ORDERS, type ServerOrder } from "../../../src/store/queries/orders.ts";
import { selectServers } from "../../../src/store/server_queries.ts";
import type { DashboardData, DashboardFilters } from "../../../src/web/data/dashboard_data.ts";
import { dataOf } from "../../../src/web/data/database_reader.ts";
import { onEngines } from "../../store/databases.ts";
import {
  everyServer,
  expectedFacet,
  fillServers,
  FILTERS,
  inFacetOrder,
  matches,
} from "../oracle.ts";

const NOWHERE = { country: null, asn: null, operator: null };
const SORTS = Object.keys(SERVER_ORDERS) as ServerOrder[];

/** The numbers of all servers in an order. */
async function sortedIds(database: Database, sort: ServerOrder): Promise<number[]> {
  const ids = new Map(
    (await everyServer(database, () => NOWHERE)).map((
      { id, host, port },
    ) => [`${host} ${port}`, id]),
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
  assert(!page.hasPrevious);
  const forwards = page.servers.map(({ id }) => id);
  while (page.hasNext) {
    const { id } = page.servers.at(-1)!;
    page = await data.servers({ filters, sort, limit, cursor: { direction: "after", id } });
    assert(page.hasPrevious && page.servers.length > 0);
    forwards.push(...page.servers.map(({ id }) => id));
  }
  const backwards = page.servers.map(({ id }) => id);
  while (page.hasPrevious) {
    const { id } = page.servers[0];
    page = await data.servers({ filters, sort, limit, cursor: { direction: "before", id } });
    assert(page.hasNext && page.servers.length > 0);
    backwards.unshift(...page.servers.map(({ id }) => id));
  }
  return { forwards, backwards, total };
}

onEngines(
  "pages forwards and backwards have each matching server once, in order",
  async (database) => {
    await fillServers(database);
    const data = dataOf(database);
    const servers = new Map(
      (await everyServer(database, () => NOWHERE)).map((one) => [one.id, one]),
    );
    for (const sort of SORTS) {
      const ids = await sortedIds(database, sort);
      for (const filters of FILTERS) {
        const expected = ids.filter((id) => matches(servers.get(id)!, filters));
        const { forwards, backwards, total } = await walk(data, filters, sort, 40);
        const message = Deno.inspect({ sort, filters });
        assertEquals(forwards, expected, message);
        if (expected.length > 0) assertEquals(backwards, expected, message);
        assertEquals(total, expected.length, message);
      }
    }
  },
);

onEngines("facets count servers without the facet's own filter", async (database) => {
  await fillServers(database);
  const data = dataOf(database);
  const servers = await everyServer(database, () => NOWHERE);
  for (const filters of FILTERS) {
    const { facets, ...all } = await data.facets(filters);
    const found = servers.filter((one) => matches(one, filters));
    const online = found.filter((one) => one.online);
    const players = online.reduce((sum, one) => sum + (one.players_online ?? 0), 0);
    const message = Deno.inspect(filters);
    assertEquals(all, { servers: found.length, online: online.length, players }, message);
    for (const name of ["edition", "protocol", "port", "flag"] as const) {
      const expected = expectedFacet(servers, filters, name);
      const least = expected[29]?.servers ?? 0;
      const above = (all: readonly { servers: number }[]) =>
        all.filter((one) => one.servers > least);
      assertEquals(
        above(inFacetOrder(facets[name])),
        above(expected),
        `${name}: ${message}`,
      );
    }
  }
});
