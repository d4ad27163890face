/** Tests of src/store/queries/order_positions.ts: pages that begin at positions. */
import { assert, assertEquals } from "@std/assert";
import { SERVER_ORDERS, type ServerOrder } from "../../../src/store/queries/orders.ts";
import { isPosition, startAt } from "../../../src/store/queries/order_positions.ts";
import { onEngines } from "../../store/databases.ts";
import { addressSort } from "../../../src/store/rows/addresses.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { parseAddress } from "../../../src/core/address.ts";
import { fillServers } from "../oracle.ts";
import { indexedData, passedOn } from "./indexed_data.ts";

const SORTS = Object.keys(SERVER_ORDERS) as ServerOrder[];

onEngines(
  "pages go on from a server that has changed, and from one that was removed",
  async (database) => {
    await fillServers(database);
    const { data } = await indexedData(database);
    const time = database.engine === "postgres" ? "to_timestamp(4e9)" : "4000000000000";
    const changes = (id: number) => [
      `update server_state set online = false, players_online = null where server = ${id}`,
      `update servers set name_key = 'zzz', version_key = 'zzz', changed_at = ${time} where id = ${id}`,
      `delete from server_state where server = ${id}`,
      `delete from servers where id = ${id}`,
    ];
    for (const sort of SORTS) {
      for (const filters of [{}, { online: true }]) {
        const { servers, next } = await data.servers({ filters, sort, limit: 5 });
        const cursor = passedOn(sort, next!);
        const expected = await data.servers({ filters, sort, limit: 500, cursor });
        assert(expected.servers.length > 10);
        for (const [i, change] of changes(servers[4].id).entries()) {
          await database.script(change);
          const rest = await data.servers({ filters, sort, limit: 500, cursor });
          const ids = rest.servers.map(({ id }) => id).filter((id) => id !== servers[4].id);
          const message = Deno.inspect({ sort, filters, i });
          assertEquals(ids, expected.servers.map(({ id }) => id), message);
        }
      }
    }
  },
);

onEngines("every position that a cursor may have leads to a page", async (database) => {
  await fillServers(database);
  const { data } = await indexedData(database);
  const numbers = [-Number.MAX_SAFE_INTEGER, 0, Number.MAX_SAFE_INTEGER];
  const texts = ["", "␀", "\ufffd'\\", "🎮".repeat(100)];
  const addresses = ["400000000", "4ffffffff", `6${"0".repeat(32)}`, `6${"0f".repeat(16)}`];
  const keys = [...numbers, ...texts, ...addresses];
  for (const sort of SORTS) {
    const all = keys.flatMap((a) => keys.flatMap((b) => [[a, b], ...keys.map((c) => [a, b, c])]));
    const positions = [...all, ...numbers.flatMap((a) => [[0, 0, a, a], [1, 1, a, a]])]
      .filter((position) => isPosition(sort, position));
    assert(positions.length >= 6, sort);
    for (const position of positions) {
      const cursor = passedOn(sort, { direction: "after", position });
      const { servers } = await data.servers({ filters: {}, sort, limit: 3, cursor });
      assert(servers.length <= 3);
    }
  }
});

Deno.test("PostgreSQL gets the address of a position, of both families", () => {
  const postgres = { engine: "postgres" } as Database;
  for (
    const host of ["0.0.0.0", "9.8.7.6", "255.255.255.255", "::", "2001:db8::12:ff", "fe80::1"]
  ) {
    const position = [addressSort(host), 5, 7];
    assert(isPosition("address", position), host);
    const { keys } = startAt(postgres, "address", { direction: "after", position })!;
    const [address, ...rest] = keys.map(({ values: [value] }) => value);
    assertEquals([parseAddress(String(address)), ...rest], [parseAddress(host), 5, 7], host);
  }
});
