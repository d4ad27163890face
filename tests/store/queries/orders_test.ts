/** Covers src/store/queries/orders.ts. */
import { assertEquals } from "@std/assert";
import {
  reversedOrder,
  SERVER_ORDERS,
  type ServerOrder,
  usualOrder,
} from "../../../src/store/queries/orders.ts";
import { selectServers } from "../../../src/store/server_queries.ts";
import { Store } from "../../../src/store/store.ts";
import { onEngines } from "../databases.ts";
import { record } from "../records.ts";

onEngines(
  "each order has its reverse, and servers without a latency are last",
  async (database) => {
    const store = new Store(database, () => Promise.resolve());
    const latencies = [20.5, null, 0.0004, 1500, 20.5001, -1, 1e300];
    await store.write(
      latencies.map((latency_ms, i) => record(i + 1, { latency_ms, seen_at: 1000 + i * 7 % 5 })),
    );
    const portsBy = async (sort: ServerOrder) =>
      (await Array.fromAsync(selectServers(database, { sort }))).map(({ port }) => port);
    const orders = Object.keys(SERVER_ORDERS) as ServerOrder[];
    assertEquals(orders.length, 18);
    for (const sort of orders.filter((one) => usualOrder(one) !== "latency")) {
      const reversed = reversedOrder(sort);
      assertEquals([usualOrder(reversed), reversedOrder(reversed)], [usualOrder(sort), sort]);
      assertEquals((await portsBy(reversed)).toReversed(), await portsBy(sort), sort);
    }
    const [fastest, slowest] = [await portsBy("latency"), await portsBy("latency-reversed")];
    assertEquals(fastest.slice(0, 3), [3, 1, 5]);
    assertEquals(fastest[3], 4);
    assertEquals(slowest.slice(0, 4), [4, 5, 1, 3]);
    assertEquals(fastest.slice(4).toSorted(), [2, 6, 7]);
    const seen = await portsBy("seen");
    assertEquals([seen[0], seen.at(-1)], [3, 1]);
  },
);
