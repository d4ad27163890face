import { assertEquals } from "@std/assert";
import { GENERAL_FLAGS, INCOMPLETE_FLAGS } from "../../src/core/flags.ts";
import { isIncompleteFlag } from "../../src/protocols/declared_facts.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

Deno.test("a flag that a part of the status is missing has a meaning where it is declared", () => {
  assertEquals(INCOMPLETE_FLAGS.filter((flag) => !(flag in GENERAL_FLAGS)), []);
  for (const { name, flags = {}, incompleteFlags = [] } of PROTOCOLS) {
    assertEquals(incompleteFlags.filter((flag) => !(flag in flags)), [], name);
  }
  assertEquals(isIncompleteFlag("truncated", []), true);
  assertEquals(isIncompleteFlag("fullLost", []), false);
});
