/**
 * Covers src/web/data/server_pages.ts, src/web/data/server_details.ts and
 * src/web/components/other_rows.tsx: rows that certainly belong to one server are one row.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { serversDocument } from "../../../src/web/api/documents.ts";
import { dashboardDataOf } from "../../../src/web/data/database_reader.ts";
import { serversPage } from "../../../src/web/pages/servers_page.tsx";
import type { DashboardFilters, ServersQuery } from "../../../src/web/queries/dashboard_data.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { readGroups } from "../../../src/store/groups/read_groups.ts";
import { ScannedSpace } from "../../../src/web/data/scanned_space.ts";
import { onEngines } from "../../store/databases.ts";
import { fillGrouped } from "../../store/groups/grouped_servers.ts";
import { contextOf } from "../pages/sample_data.ts";
import { indexedData, passedOn } from "./indexed_data.ts";

const REST = ["192.0.2.2:19132", "192.0.2.2:25565", "192.0.2.3:25565"];

const queryOf = (filters: DashboardFilters, rest: Partial<ServersQuery> = {}): ServersQuery => ({
  ...{ filters, sort: "address", limit: 50, group: true },
  ...rest,
});

/** The data while the server index is being made again: groups are known. */
async function withoutIndex(database: Database) {
  const state = { space: new ScannedSpace(), groups: await readGroups(database) };
  return dashboardDataOf(database, state);
}

onEngines("until groups have been read, a list shows each row", async (database) => {
  await fillGrouped(database);
  const page = await dashboardDataOf(database).servers(queryOf({}));
  assertEquals([page.servers.length, page.others], [6, {}]);
  assertEquals((await dashboardDataOf(database).server(page.servers[0].id))?.others, null);
});

onEngines("a list shows rows of one server as one, with the others beside it", async (database) => {
  await fillGrouped(database);
  for (const data of [(await indexedData(database)).data, await withoutIndex(database)]) {
    const page = await data.servers(queryOf({}));
    assertEquals(page.servers.map(({ key }) => key), ["play.example.org:25565", ...REST]);
    const [{ id }] = page.servers;
    assertEquals(Object.keys(page.others), [String(id)]);
    assertEquals(page.others[id].count, 2);
    const all = await data.servers(queryOf({}, { group: false }));
    assertEquals([all.servers.length, all.others], [6, {}]);
  }
});

onEngines("filters show the best known row that they match", async (database) => {
  await fillGrouped(database);
  const { data } = await indexedData(database);
  const read = async (filters: DashboardFilters) => {
    const { servers, total, hidden } = await data.servers(queryOf(filters));
    return [servers.map(({ key }) => key), total, hidden];
  };
  assertEquals(await read({}), [["play.example.org:25565", ...REST], 4, 2]);
  assertEquals(await read({ edition: ["bedrock"] }), [
    ["192.0.2.1:19132", "192.0.2.2:19132"],
    2,
    0,
  ]);
  assertEquals(await read({ network: ["192.0.2.1"] }), [["play.example.org:25565"], 1, 2]);
  assertEquals((await data.facets({})).servers, 6);
});

onEngines("counts of facets with groups are the totals of their lists", async (database) => {
  await fillGrouped(database);
  const { data } = await indexedData(database);
  const chosen: DashboardFilters[] = [{}, { edition: ["bedrock"] }, { port: [25565, 19132] }, {
    network: ["192.0.2.1"],
  }];
  for (const filters of chosen) {
    const { facets, ...all } = await data.facets(filters, true);
    const { servers, total } = await data.servers(queryOf(filters));
    assertEquals(all.servers, total);
    assertEquals(all.players, servers.reduce((sum, one) => sum + (one.players_online ?? 0), 0));
    for (const name of ["edition", "port"] as const) {
      for (const { value, servers: count } of facets[name]) {
        const one = { ...filters, [name]: [value] } as DashboardFilters;
        assertEquals(count, (await data.servers(queryOf(one))).total, `${name} ${value}`);
      }
    }
  }
  const ungrouped = await data.facets({});
  assertEquals([ungrouped.servers, (await data.facets({}, true)).servers], [6, 4]);
});

onEngines(
  "pages of grouped rows have each server once, forwards and backwards",
  async (database) => {
    await fillGrouped(database);
    for (const data of [(await indexedData(database)).data, await withoutIndex(database)]) {
      const sort = "name";
      const whole = (await data.servers(queryOf({}, { sort }))).servers.map(({ id }) => id);
      assertEquals(whole.length, 4);
      const forwards: number[] = [];
      let page = await data.servers(queryOf({}, { sort, limit: 1 }));
      for (;;) {
        forwards.push(...page.servers.map(({ id }) => id));
        if (page.next === null) break;
        page = await data.servers(
          queryOf({}, { sort, limit: 1, cursor: passedOn(sort, page.next) }),
        );
      }
      assertEquals(forwards, whole);
      const backwards = page.servers.map(({ id }) => id);
      while (page.previous !== null) {
        const cursor = passedOn(sort, page.previous);
        page = await data.servers(queryOf({}, { sort, limit: 1, cursor }));
        backwards.unshift(...page.servers.map(({ id }) => id));
      }
      assertEquals(backwards, whole);
    }
  },
);

onEngines("the page and the document name the other rows and the rules", async (database) => {
  await fillGrouped(database);
  const { data } = await indexedData(database);
  const query = queryOf({});
  const page = await data.servers(query);
  const facets = await data.facets({}, true);
  const html = serversPage({ query, page, facets }, contextOf("/servers"));
  assertStringIncludes(html, "+2 endpoints");
  assertStringIncludes(html, "Geyser: Bedrock and Java side of one server");
  assertStringIncludes(html, "<b>4</b> servers at <b>6</b> endpoints");
  assertStringIncludes(html, 'href="/servers?sort=address&amp;group=no"');
  const ungrouped = queryOf({}, { group: false });
  const rows = { page: await data.servers(ungrouped), facets: await data.facets({}) };
  const each = { query: ungrouped, ...rows };
  const other = serversPage(each, contextOf("/servers?group=no"));
  assert(!other.includes("+2 endpoints"));
  assertStringIncludes(other, "<b>6</b> servers");
  assertStringIncludes(
    other,
    'href="/servers?group=no"',
  );
  const [{ id, count }] = serversDocument({ query, page }).others;
  assertEquals([id, count], [page.servers[0].id, 2]);
});

onEngines("a server's details have its other rows", async (database) => {
  await fillGrouped(database);
  const { data } = await indexedData(database);
  const { servers } = await data.servers(queryOf({}, { group: false }));
  for (const { id, key } of servers) {
    const { others } = (await data.server(id))!;
    if (key.startsWith("192.0.2.1") || key.startsWith("play")) {
      assertEquals(others?.members.map((one) => one.id === id), [false, false], key);
    } else assertEquals(others, null, key);
  }
});
