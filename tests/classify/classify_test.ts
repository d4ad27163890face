import { assert, assertEquals } from "@std/assert";
import { classify } from "../../src/classify.ts";
import { emptyRecord, type Facts, type ServerRecord } from "../../src/record.ts";
import { allCases, faultOf, isWrongA } from "./cases.ts";
import { rowOf } from "./wire.ts";

const CASES = allCases();

/** A row of one protocol that says this. */
function row(protocol: string, facts: Facts, columns: Partial<ServerRecord> = {}): ServerRecord {
  return {
    ...emptyRecord({ address: 0x7f000001, port: 1 }, 0),
    protocols: [protocol],
    ...columns,
    extras: { [protocol]: facts },
  };
}

const query = (values: Record<string, string>, rest: Facts = {}, columns = {}) =>
  row("query", { form: "full", raw_token: false, header: "splitnum", ...rest, values }, columns);

for (const source of ["blind", "golden", "real", "fleet"]) {
  Deno.test(`classify() of the ${source} cases is as expected`, () => {
    const cases = CASES.filter((one) => one.source === source);
    assert(cases.length > 2);
    assertEquals(
      cases.map((one) => [one.name, faultOf(one)]).filter(([, fault]) => fault !== undefined),
      [],
    );
  });
}

Deno.test("classify() is never sure of what is not so", () => {
  assertEquals(CASES.filter(isWrongA).map(({ name }) => name), []);
  assert(CASES.some(({ row }) => row.software_confidence === "A"));
});

Deno.test("classify() of nothing says nothing", () => {
  assertEquals(classify(emptyRecord({ address: 1, port: 1 }, 0)), {
    edition: null,
    software: null,
    software_confidence: null,
    proxy: null,
    flags: [],
  });
  assertEquals(classify(row("sqp", {}, { software: "its own" })).software, "its own");
});

Deno.test("classify() takes what can be forged for a hint", () => {
  const said = { brand: "Velocity" };
  const values = { game_id: "MINECRAFT" };
  const sure = classify(query(values, said, { plugins: [] }));
  assertEquals([sure.software_confidence, sure.proxy], ["A", "velocity"]);
  for (const flag of ["motdNul", "duplicateKey"]) {
    const hint = classify(query(values, said, { plugins: [], flags: [flag] }));
    assertEquals([hint.software, hint.software_confidence, hint.proxy], ["Velocity", "C", null]);
  }
});

Deno.test("classify() reads names to a bound, and versions of a form", () => {
  const brand = (text: string) => {
    const { software, software_confidence } = classify(
      query({ game_id: "MINECRAFT" }, { brand: text }, { plugins: [] }),
    );
    return [software, software_confidence];
  };
  assertEquals(brand("Leaf on 1.21.4-R0.1-SNAPSHOT"), ["Leaf", "A"]);
  assertEquals(brand(`${"L".repeat(32)} on 1.21.4`), ["L".repeat(32), "A"]);
  assertEquals(brand(`${"L".repeat(33)} on 1.21.4`), [null, null]);
  assertEquals(brand(`Leaf on 1.21.4${" ".repeat(300)}`), [null, null]);
  assertEquals(brand(`CraftBukkit on Bukkit 1${"x".repeat(233)}`), ["CraftBukkit", "A"]);
  assertEquals(brand(`CraftBukkit on Bukkit 1${"x".repeat(234)}`), [null, null]);
  assertEquals(brand("Glowstone on Bukkit 1.12.2"), ["Glowstone", "A"]);
  assertEquals(brand("\u202eLeaf on 1.21.4"), [null, null]);
});

Deno.test("classify() looks at own keys only, whatever they are called", () => {
  const values = JSON.parse('{"__proto__":{"game_id":"MINECRAFT"},"constructor":"MINECRAFT"}');
  assertEquals(classify(query(values, { brand: "Paper on 1.20" })).software, null);
  const extras = JSON.parse('{"query":null}');
  assertEquals(classify({ ...query({}), extras }).software, null);
  assertEquals(classify({ ...query({}), extras: null }).software, null);
  assertEquals(classify(row("constructor", {})).software, null);
});

Deno.test("classify() flags two protocols that name two kinds of software", () => {
  const G = "5335687477053034848";
  const pocketmine = { guid: G, text: `MCPE;x;766;1.21.50;0;20;${G};PocketMine-MP;Survival;` };
  const pairs = Object.entries({ game_id: "MINECRAFTPE", server_engine: "Fork 1.0" });
  const { software, flags } = rowOf({
    raknet: pocketmine,
    query: { header: "splitnum", rawToken: false, pairs, players: [] },
  });
  assertEquals([software, flags], ["Fork 1.0", ["softwareDiffers"]]);
  assertEquals(rowOf({ raknet: pocketmine }).flags, []);
});

Deno.test("classify() keeps an edition that a protocol told, and the flags that there were", () => {
  const geyser = query({ game_id: "MINECRAFT" }, { header: "GeyserMC" }, { flags: ["badUtf8"] });
  assertEquals(classify(geyser).edition, "bedrock");
  assertEquals(classify({ ...geyser, edition: "java" }).edition, "java");
  assertEquals(classify(geyser).flags, ["badUtf8"]);
});

Deno.test("classify() does not grow or stall with what it is given", () => {
  const huge = "A on 1".repeat(200_000);
  const values = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`k${i}`, huge]));
  assertEquals(classify(query(values, { brand: huge }, { map: huge, version: huge })), {
    edition: null,
    software: null,
    software_confidence: null,
    proxy: null,
    flags: [],
  });
});
