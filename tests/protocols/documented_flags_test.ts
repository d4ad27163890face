import { assertEquals } from "@std/assert";
import { documentedFlags } from "../../src/protocols/documented_flags.ts";
import type { Protocol } from "../../src/protocols/protocol.ts";

Deno.test("each flag of a record has one meaning", () => {
  const names = documentedFlags().map(({ name, setBy }) => `${setBy} ${name}`);
  assertEquals(names.length, new Set(names).size);
  assertEquals(documentedFlags().filter(({ meaning }) => meaning === ""), []);
});

Deno.test("the flags of a protocol have its name, those of --verify are marked", () => {
  const sample = {
    name: "sample",
    flags: { noName: "the name is missing" },
    verify: { flags: { closed: "the port is closed" } },
  } as unknown as Protocol;
  const own = documentedFlags([sample]).filter(({ setBy }) => setBy === "sample");
  assertEquals(own, [
    { name: "noName", setBy: "sample", isOfVerify: false, meaning: "the name is missing" },
    { name: "closed", setBy: "sample", isOfVerify: true, meaning: "the port is closed" },
  ]);
  const others = documentedFlags([sample]).map(({ setBy }) => setBy);
  assertEquals([...new Set(others)], ["any", "sample", "LAN worlds", "databases"]);
});
