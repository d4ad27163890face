/**
 * Covers src/store/groups/read_groups.ts, src/store/groups/grouped_rows.ts and
 * src/store/groups/hidden_servers.ts.
 */
import { assertEquals } from "@std/assert";
import { hiddenMembers, othersOf } from "../../../src/store/groups/grouped_rows.ts";
import type { ServerGroup } from "../../../src/store/groups/group_rules.ts";
import { hiddenServers } from "../../../src/store/groups/hidden_servers.ts";
import { type PairVerdicts, readGroups } from "../../../src/store/groups/read_groups.ts";
import type { ServerRecord } from "../../../src/core/record.ts";
import { Store } from "../../../src/store/store.ts";
import { record } from "../records.ts";
import { countServers, selectServers } from "../../../src/store/server_queries.ts";
import type { ServerFilters } from "../../../src/store/queries/filters.ts";
import { onEngines } from "../databases.ts";
import { fillGrouped } from "./grouped_servers.ts";

onEngines(
  "rows of one server are a group, and rows that only look so are not",
  async (database) => {
    assertEquals((await readGroups(database)).size, 0);
    await fillGrouped(database);
    const groups = await readGroups(database);
    const [group, ...others] = new Set(groups.values());
    assertEquals(others, []);
    assertEquals(
      group.map(({ key, endpoint, rules }) => [key, endpoint, rules]),
      [
        ["play.example.org:25565", "192.0.2.1:25565", ["bridge", "endpoint"]],
        ["192.0.2.1:19132", "192.0.2.1:19132", ["bridge"]],
        ["192.0.2.1:25565", "192.0.2.1:25565", ["bridge", "endpoint"]],
      ],
    );
    assertEquals([...groups.keys()].sort(), group.map(({ id }) => id).sort());
  },
);

onEngines("equal numbers are compared in the last observations alone", async (database) => {
  await fillGrouped(database);
  const [{ id }] = await database.rows(
    "select id from servers where key = '192.0.2.1:19132'",
  );
  await database.run("delete from observations where server = ?", [id]);
  const keys = [...await readGroups(database)].map(([, group]) => group.map(({ key }) => key));
  assertEquals(keys[0], ["play.example.org:25565", "192.0.2.1:25565"]);
});

onEngines(
  "pairs wait for a later time when the time is used up, and keep their verdicts",
  async (database) => {
    await fillGrouped(database);
    const verdicts: PairVerdicts = new Map([["98 99", { isSame: true, at: 0 }]]);
    const sizeIn = async (budgetMs?: number) =>
      (await readGroups(database, verdicts, budgetMs)).size;
    assertEquals([await sizeIn(-1), verdicts.size], [2, 0]);
    assertEquals([await sizeIn(), verdicts.size], [3, 3]);
    await database.run("delete from observations");
    assertEquals(await sizeIn(), 3);
    for (const [name, { isSame }] of verdicts) verdicts.set(name, { isSame, at: -Infinity });
    assertEquals([await sizeIn(-1), await sizeIn()], [3, 2]);
  },
);

onEngines("of a group, the first row that filters match is selected", async (database) => {
  await fillGrouped(database);
  const groups = await readGroups(database);
  const listed = async (filters: ServerFilters, limit?: number) => {
    const hidden = await hiddenServers(database, filters, groups);
    const selection = { ...filters, sort: "address", hidden, limit } as const;
    const found = await Array.fromAsync(selectServers(database, selection));
    assertEquals(await countServers(database, selection, 99), found.length);
    return found.map(({ host, port }) => `${host}:${port}`);
  };
  const rest = ["192.0.2.2:19132", "192.0.2.2:25565", "192.0.2.3:25565"];
  assertEquals(await listed({}), ["192.0.2.1:25565", ...rest]);
  assertEquals(await listed({}, 50), ["192.0.2.1:25565", ...rest]);
  assertEquals(await listed({ edition: ["bedrock"] }), ["192.0.2.1:19132", "192.0.2.2:19132"]);
  assertEquals(await listed({ port: [25565], network: ["192.0.2.1"] }), ["192.0.2.1:25565"]);
  assertEquals(await listed({ online: false }), []);
});

onEngines(
  "a server that moved is one with its old endpoint, and a constant GUID joins none",
  async (database) => {
    const store = new Store(database, () => Promise.resolve());
    const pong = (host: string, guid: string, rest: Partial<ServerRecord> = {}) =>
      record(19132, {
        host,
        guid,
        motd: "§aSky",
        motd_plain: "Skyblock",
        players_online: 4,
        ...rest,
      });
    const small = "12345";
    const shared = "13253860892328930001";
    await store.write([
      pong("192.0.2.1", "13253860892328930865"),
      pong("192.0.2.2", "13253860892328930865", { seen_at: 9_000_000 }),
      ...["192.0.2.3", "192.0.2.4"].map((host) => pong(host, small)),
      ...["192.0.2.5", "192.0.2.6"].map((host) => pong(host, shared)),
      pong("192.0.2.7", shared, { motd: "§aOther", motd_plain: "Other" }),
    ]);
    const groups = new Set((await readGroups(database)).values());
    assertEquals([...groups].map((group) => group.map(({ key, rules }) => [key, rules])), [
      [["192.0.2.1:19132", ["guid"]], ["192.0.2.2:19132", ["guid"]]],
    ]);
  },
);

Deno.test("the others of a group are the best known ones, without the row itself", () => {
  const group: ServerGroup = Array.from({ length: 30 }, (_, i) => ({
    ...{ id: i, key: `${i}`, endpoint: `192.0.2.1:${i}`, online: true, rules: [] },
  }));
  const others = othersOf(group, 3)!;
  assertEquals(others.count, 29);
  assertEquals(others.members.map(({ id }) => id), [
    ...Array.from({ length: 21 }, (_, i) => i).filter((i) => i !== 3),
  ]);
  assertEquals(othersOf(group, 29)!.members.length, 20);
  assertEquals(othersOf(undefined, 1), null);
  const groups = new Map(group.map(({ id }) => [id, group]));
  assertEquals([...hiddenMembers(groups, (id) => id > 26)], [28, 29]);
  assertEquals([...hiddenMembers(groups, () => false)], []);
});
