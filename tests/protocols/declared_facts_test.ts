import { assertEquals } from "@std/assert";
import { GENERAL_FLAGS, INCOMPLETE_FLAGS } from "../../src/core/flags.ts";
import { emptyRecord } from "../../src/core/record.ts";
import { isIncompleteFlag, withoutPlayers } from "../../src/protocols/declared_facts.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

Deno.test("a flag that a part of the status is missing has a meaning where it is declared", () => {
  assertEquals(INCOMPLETE_FLAGS.filter((flag) => !(flag in GENERAL_FLAGS)), []);
  for (const { name, flags = {}, incompleteFlags = [], limitFlags = [] } of PROTOCOLS) {
    assertEquals([...incompleteFlags, ...limitFlags].filter((flag) => !(flag in flags)), [], name);
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
