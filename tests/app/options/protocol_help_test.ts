/**
 * The help about protocols: src/app/options/protocol_help.ts.
 *
 * Covers src/core/schema.ts.
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  defaultProtocols,
  protocolHelp,
  protocolLines,
  verifyHelp,
} from "../../../src/app/options/protocol_help.ts";
import { PROTOCOLS, rankedNames } from "../../../src/protocols/list.ts";
import { recordSchema } from "../../../src/core/schema.ts";

Deno.test("the help of --protocol names every protocol, and those that are left out by default", () => {
  assertEquals(
    protocolHelp(PROTOCOLS),
    "protocols to look for: raknet, nethernet, slp, query, sqp",
  );
  assertEquals(defaultProtocols(PROTOCOLS), "all but sqp");
  assertEquals(protocolHelp(PROTOCOLS.slice(0, 2)), "protocols to look for: raknet, nethernet");
  assertEquals(defaultProtocols(PROTOCOLS.slice(0, 2)), "all");
});

Deno.test("the help of --verify comes from the protocols", () => {
  assertEquals(
    verifyHelp(PROTOCOLS),
    "check whether RakNet servers accept connections, without opening one",
  );
  assertEquals(verifyHelp(PROTOCOLS.slice(1)), "verify servers: no protocol does");
});

Deno.test("the overview has a line for each protocol, of at most 80 columns", () => {
  const lines = protocolLines(PROTOCOLS);
  assertEquals(lines.map((line) => line.split(/\s+/)[1]), PROTOCOLS.map(({ name }) => name));
  assertEquals(lines.filter((line) => line.length > 80), []);
});

Deno.test("the schema lists the protocol names that rows may contain", () => {
  const described = (names?: readonly string[]) =>
    (recordSchema(names).properties as Record<string, { description: string }>).protocol;
  assertStringIncludes(
    described(rankedNames(PROTOCOLS)).description,
    ": raknet, nethernet, slp, query, sqp, lan",
  );
  assertEquals(described().description, "responding protocol of the highest rank");
});
