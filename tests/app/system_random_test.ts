import { assert, assertEquals, assertMatch } from "@std/assert";
import { eventIds } from "../../src/app/system_random.ts";
import { beganAt } from "../../src/scan/setup/scan_id.ts";

Deno.test("ids of events are unique UUIDv7s that sort in the order of the events", () => {
  const newId = eventIds();
  const at = 1_800_000_000_000;
  const ids = Array.from({ length: 10_000 }, (_, i) => newId(i < 9000 ? at : at - 500 + i));
  assertEquals(ids.toSorted(), ids);
  assertEquals(new Set(ids).size, ids.length);
  for (const id of ids) assertMatch(id, /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-/);
  assertEquals(beganAt(ids[0]), at);
  assert(beganAt(ids.at(-1)!) === at - 500 + 9999);
});
