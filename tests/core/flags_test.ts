/** Covers src/core/flags.ts. */
import { assertEquals } from "@std/assert";
import { GENERAL_FLAGS } from "../../src/core/flags.ts";
import { LAN_FLAGS } from "../../src/protocols/lan/discovery_facts.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

Deno.test("a flag has one meaning, either for several protocols or for one", () => {
  const own = PROTOCOLS.flatMap(({ flags, verify }) => [flags, verify?.flags]);
  const names = [GENERAL_FLAGS, LAN_FLAGS, ...own].flatMap((flags) => Object.keys(flags ?? {}));
  assertEquals(names.filter((name, i) => names.indexOf(name) < i), []);
});
