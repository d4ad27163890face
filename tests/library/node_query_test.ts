/**
 * query() of the library for Node.js and Bun, here in Deno: with Deno's modules of Node.js.
 * tests/npm/query_test.ts tests it in Node and Bun.
 *
 * Covers src/library/node_query.ts, src/library/query_host.ts, src/app/network/node_network.ts and
 * src/entry/node.ts.
 */
import { assertEquals, assertRejects } from "@std/assert";
import { InputError, query, type ServerRecord } from "../../src/entry/node.ts";
import { query as queryInDeno } from "../../src/library/query.ts";
import { SimulatedNetwork } from "../../src/testing/simulated_network.ts";
import { startFleet } from "../../src/testing/start_fleet.ts";

Deno.test("query() of Node.js gives the records of Deno's query()", async () => {
  const range = "127.87.0.0/28";
  const comparable = ({ scan_id: _, latency_ms: __, seen_at: ___, ...rest }: ServerRecord) => rest;
  await using fleet = await startFleet({ range, servers: 3, software: ["bds", "vanilla"] });
  for (const { host, port } of fleet.servers) {
    const [[a], [b]] = [await query(`${host}:${port}`), await queryInDeno(`${host}:${port}`)];
    assertEquals(comparable(a), comparable(b));
  }
});

Deno.test("query() of Node.js refuses what Deno's query() refuses, and takes a network", async () => {
  for (const host of ["224.0.0.1", "10.0.0.0/8", "a b", ""]) {
    const { message } = await assertRejects(() => queryInDeno(host), InputError);
    await assertRejects(() => query(host), InputError, message);
  }
  const network = new SimulatedNetwork();
  network.addServer({ host: "1.2.3.1", software: "bds" });
  assertEquals((await network.run(query("1.2.3.1", { network }))).length, 1);
});
