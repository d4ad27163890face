/** Tests of src/app/metrics/probe/client_counts.ts. */
import { assertEquals } from "@std/assert";
import { ClientCounts } from "../../../../src/app/metrics/probe/client_counts.ts";

Deno.test("what is in progress is counted for each client, and idle clients are forgotten", () => {
  const counts = new ClientCounts();
  for (const client of ["a", "b", "a", undefined]) counts.add(client, 1);
  assertEquals(["a", "b", "c", undefined].map((one) => counts.of(one)), [2, 1, 0, 0]);
  counts.add("b", -1);
  counts.add("a", -1);
  assertEquals([counts.of("a"), counts.of("b"), counts.size], [1, 0, 1]);
});
