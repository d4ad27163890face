/** Tests the list of servers: its times, and what it suggests if no server matches. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { ServerOrder } from "../../../src/store/queries/orders.ts";
import type { DashboardFilters } from "../../../src/web/queries/dashboard_data.ts";
import type { ListedServer } from "../../../src/web/queries/schemas.ts";
import { serversPage } from "../../../src/web/pages/servers_page.tsx";
import { contextOf, NOW, serverOf } from "./sample_data.ts";

const [MINUTE, DAY] = [60_000, 86_400_000];

/** The list of servers. */
function listOf(
  servers: readonly ListedServer[],
  sort: ServerOrder = "players",
  filters: DashboardFilters = {},
): string {
  const page = { servers, previous: null, next: null, total: servers.length, hidden: 0 };
  return serversPage(
    { query: { filters, sort, limit: 50 }, page: { ...page, others: {} }, facets: undefined },
    contextOf("/servers"),
  );
}

Deno.test("the last column has the time by which the list is sorted", () => {
  const server = {
    ...serverOf("Sample"),
    ...{ first_seen: NOW - 3 * DAY, changed_at: NOW - 2 * DAY, probed_at: NOW - 5 * MINUTE },
  };
  const lastOf = (sort: ServerOrder) => {
    const html = listOf([server], sort);
    const [, title, age] = /c-seen" data-title="([^"]+)"><time [^>]+>([^<]+)/.exec(html)!;
    assertStringIncludes(html, `>${title}</a></th></tr>`);
    return [title, age, html.includes("servers by-time")];
  };
  assertEquals(lastOf("new"), ["First found", "3 d ago", true]);
  assertEquals(lastOf("changed-reversed"), ["Last change", "2 d ago", true]);
  assertEquals(lastOf("seen"), ["Last probe", "5 min ago", true]);
  assertEquals(lastOf("players"), ["Last probe", "5 min ago", false]);
});

Deno.test("a row of an offline server says for how long", () => {
  const offline = { online: false, seen_at: NOW - 40 * MINUTE, changed_at: NOW - 39 * MINUTE };
  const html = listOf([{ ...serverOf("Sample"), ...offline }]);
  assertStringIncludes(html, ">offline for 39 min</small>");
});

Deno.test("a list without servers suggests the filters that its texts may mean", () => {
  const empty = listOf([], "players", { text: ["sky", "java", "1.20.4"], minPlayers: 1 });
  assertStringIncludes(empty, ">sky edition:java version:1.20.4 players:&gt;0</a>?");
  assert(!listOf([], "players", { text: ["sky"] }).includes("Did you mean"));
});
