/** Covers src/core/endpoints.ts. */
import { assert, assertEquals } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { type Endpoint, endpointKey } from "../../src/core/address.ts";
import { Endpoints } from "../../src/core/endpoints.ts";
import { EndpointSet } from "../../src/core/endpoint_set.ts";

/**
 * Few addresses and ports, with extreme values of both families. Endpoints therefore collide often.
 */
const endpoints = fc.record({
  address: fc.oneof(fc.nat(40), fc.constant(0xffffffff), fc.bigInt(0n, 5n)),
  port: fc.constantFrom(0, 1, 2, 19132, 65534, 65535),
});

Deno.test("EndpointSet agrees with a Set for any additions and removals", () => {
  const steps = fc.array(fc.record({ endpoint: endpoints, put: fc.boolean() }), {
    minLength: 200,
    maxLength: 600,
  });
  fc.assert(
    fc.property(fc.integer(), steps, (seed, all) => {
      const set = new EndpointSet(seed);
      const oracle = new Set<number | bigint>();
      for (const { endpoint, put } of all) {
        const key = endpointKey(endpoint);
        assertEquals(put ? set.add(endpoint) : set.delete(endpoint), oracle.has(key) !== put);
        if (put) oracle.add(key);
        else oracle.delete(key);
        assertEquals(set.size, oracle.size);
      }
      for (const { endpoint } of all) {
        const has = oracle.has(endpointKey(endpoint));
        const row = Endpoints.of({ address: 1, port: 1 }, endpoint);
        assertEquals([set.has(endpoint), set.hasAt(row, 1)], [has, has]);
        assertEquals(
          set.hasAt(row, 0, endpoint.port),
          set.has({ address: 1, port: endpoint.port }),
        );
      }
    }),
    { seed: 2, numRuns: 100 },
  );
});

Deno.test("EndpointSet grows without losing endpoints, and stays small", () => {
  const set = new EndpointSet(7);
  const at = (i: number): Endpoint => ({ address: i * 65_537 >>> 0, port: i % 65_536 });
  for (let i = 0; i < 100_000; i++) set.add(at(i));
  assertEquals(set.size, 100_000);
  assert(set.bytes <= 32 * set.size, `${set.bytes} bytes`);
  const { bytes } = set;
  for (let i = 0; i < 100_000; i++) set.add(at(i));
  assertEquals(set.bytes, bytes, "endpoints that are added again take no memory");
  for (let i = 0; i < 200_000; i++) assertEquals(set.has(at(i)), i < 100_000, `${i}`);
});

Deno.test("a list of endpoints can store either family at any index, also in turn", () => {
  fc.assert(
    fc.property(fc.array(endpoints, { minLength: 1, maxLength: 8 }), (all) => {
      const row = new Endpoints(1);
      for (const endpoint of all) {
        row.set(0, endpoint);
        assertEquals(row.get(0), endpoint);
        assertEquals(row.family(0), typeof endpoint.address === "number" ? 4 : 6);
      }
    }),
    { seed: 3 },
  );
});
