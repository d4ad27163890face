import { assertEquals } from "@std/assert";
import { GENERAL_FLAGS, INCOMPLETE_FLAGS } from "../../src/core/flags.ts";
import { emptyRecord } from "../../src/core/record.ts";
import {
  isIncompleteFlag,
  keepsGuid,
  replacedProtocols,
  siblingsOf,
  withoutPlayers,
} from "../../src/protocols/declared_facts.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

Deno.test("a flag that a part of the status is missing has a meaning where it is declared", () => {
  assertEquals(INCOMPLETE_FLAGS.filter((flag) => !(flag in GENERAL_FLAGS)), []);
  for (const { name, flags = {}, incompleteFlags = [], limitFlags = [] } of PROTOCOLS) {
    const known = { ...GENERAL_FLAGS, ...flags };
    assertEquals([...incompleteFlags, ...limitFlags].filter((flag) => !(flag in known)), [], name);
  }
  assertEquals(isIncompleteFlag("truncated", []), true);
  assertEquals(isIncompleteFlag("fullLost", []), false);
});

Deno.test("a record without players lacks the column, and the facts that its protocols declare", () => {
  const guild = { ...PROTOCOLS[0], name: "guild", playerFacts: ["regulars", "owner"] };
  const protocols = [...PROTOCOLS, guild];
  const record = {
    ...emptyRecord({ address: 1, port: 1 }, 0),
    players: ["Ann"],
    extras: {
      guild: { regulars: ["Ann", "Bob"], owner: "Eve", players: 2 },
      sqp: { players: [{ name: "Ann" }], version: 1 },
      raknet: { level: "world" },
    },
  };
  assertEquals(withoutPlayers(record, protocols), {
    ...record,
    players: null,
    extras: { guild: { players: 2 }, sqp: { version: 1 }, raknet: { level: "world" } },
  });
  const bare = { ...record, extras: null };
  assertEquals(withoutPlayers(bare, protocols), { ...bare, players: null });
});

/** RakNet with a sibling over TCP, and the other protocols without siblings. */
const WITH_SIBLING = PROTOCOLS.flatMap(({ siblings: _, ...one }) =>
  one.name === "raknet"
    ? [{ ...one, siblings: ["courier"] }, {
      ...one,
      ...{ name: "courier", transport: "tcp" as const, siblings: ["raknet", "unknown"] },
      guidChangesOnRestart: undefined,
    }]
    : one.name === "nethernet"
    ? []
    : [one]
);

Deno.test("the siblings of protocols are in order of rank, without these protocols and unknown ones", () => {
  const of = (...names: string[]) => siblingsOf(names, WITH_SIBLING).map(({ name }) => name);
  assertEquals(of("raknet"), ["courier"]);
  assertEquals(of("query", "courier"), ["raknet"]);
  assertEquals([of("raknet", "courier"), of("query", "slp"), of()], [[], [], []]);
});

Deno.test("a sibling that is new replaces a silent protocol, and silent ones of its transport", () => {
  const of = (before: string, replied: string) =>
    replacedProtocols(before.split(" "), replied.split(" "), WITH_SIBLING).join(" ");
  assertEquals(of("raknet", "courier"), "raknet");
  assertEquals(of("courier", "raknet"), "courier");
  assertEquals(of("raknet query", "courier"), "raknet query");
  assertEquals(of("raknet query", "courier query"), "raknet");
  assertEquals(of("courier slp", "raknet query"), "courier slp");
  assertEquals(of("raknet slp", "courier"), "raknet"); // the transport of SLP stays
  assertEquals(of("raknet courier", "courier"), ""); // a reply was lost
  assertEquals(of("raknet", "raknet courier"), "");
  assertEquals(of("slp", "courier"), "");
});

Deno.test("a protocol without GUIDs keeps the GUID of its sibling", () => {
  const of = (...names: string[]) => keepsGuid(names, WITH_SIBLING);
  assertEquals([of("courier"), of("courier", "query")], [true, true]);
  assertEquals(
    [of("raknet"), of("raknet", "courier"), of("query"), of("slp")].some(Boolean),
    false,
  );
});
