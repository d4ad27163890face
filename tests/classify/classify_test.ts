/** Covers src/classify/. */
import { assert, assertEquals } from "@std/assert";
import { classify } from "../../src/classify/mod.ts";
import { emptyRecord, type Facts, type ServerRecord } from "../../src/core/record.ts";
import { Random } from "../../src/fleet/random.ts";
import book from "../../data/software.json" with { type: "json" };
import { allCases, faultOf, isWrongA } from "./cases.ts";
import { simpleClassify } from "./simple.ts";
import { rowOf } from "./wire.ts";

const CASES = allCases();

/** A row of one protocol with these facts. */
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

Deno.test("classify() never gives confidence A to a wrong label", () => {
  assertEquals(CASES.filter(isWrongA).map(({ name }) => name), []);
  assert(CASES.some(({ row }) => row.software_confidence === "A"));
});

/** The classification of a Java status with these facts. */
function statusOf(facts: Facts, columns: Partial<ServerRecord> = {}): string {
  const { software, software_confidence, proxy } = classify(row("slp", {
    form: "status",
    version_name: "1.21.4",
    keys: ["version", "description", "players"],
    version_keys: ["name", "protocol"],
    players_keys: ["max", "online"],
    ...facts,
  }, columns));
  return [software, software_confidence, proxy].filter(Boolean).join(" ");
}

Deno.test("classify() derives Java software from names, mods and the order of keys", () => {
  const old = ["description", "players", "version"];
  const secure = ["version", "favicon", "enforcesSecureChat", "description", "players"];
  const reported = ["version", "description", "players", "preventsChatReports"];
  const nmp = { keys: ["version", "players", "description"], sample_size: 0 };
  assertEquals(statusOf({}), "vanilla C");
  assertEquals(statusOf({ keys: secure }), "vanilla C");
  assertEquals(statusOf({ keys: old }), ""); // no software writes 1.21.4 in this order
  assertEquals(statusOf({ keys: old, version_name: "1.19.3" }), "vanilla C");
  assertEquals(statusOf({ version_name: "1.19.3" }), "");
  assertEquals(statusOf({ version_name: "24w10a" }), "vanilla C");
  for (
    const name of ["26.1 Snapshot 1", "26.1 Pre-Release 2", "26.1 Release Candidate 1", "26.1.2"]
  ) {
    assertEquals(statusOf({ version_name: name }), "vanilla C", name);
  }
  assertEquals(statusOf({ version_name: "26.1" }), "vanilla C");
  assertEquals(statusOf({ keys: ["version", "description"] }), "");
  assertEquals(statusOf({ keys: [...old, "more"], version_name: "1.8.9" }), "");
  assertEquals(statusOf({ version_keys: ["protocol", "name"] }), "");
  assertEquals(statusOf({ players_keys: ["online", "max"] }), "");
  assertEquals(
    statusOf({ players_keys: ["max", "online", "sample"], sample_size: 12 }),
    "vanilla C",
  );
  assertEquals(statusOf({ players_keys: ["max", "online", "sample"], sample_size: 13 }), "");
  assertEquals(statusOf({ keys: reported, preventsChatReports: true }), "Fabric C");
  assertEquals(statusOf({ version_name: "Paper 1.21.4" }), "Paper A");
  assertEquals(statusOf({ version_name: "Paper 1.21.4 for all" }), "");
  assertEquals(statusOf({ version_name: "Waterfall 1.8.x, 1.9.x" }), "Waterfall A bungee");
  assertEquals(statusOf({ version_name: "Velocity 1.7.2-1.21.4" }), "Velocity A velocity");
  assertEquals(statusOf({ version_name: "BungeeCord 1.8.x-1.21.x" }), "BungeeCord A bungee");
  assertEquals(statusOf({ version_name: "BungeeCord" }), "");
  assertEquals(statusOf({ mods_form: "modinfo", mods_count: 2 }), "Forge A");
  assertEquals(statusOf({ mods_form: "modinfo", mods_count: 0, keys: old }), "");
  assertEquals(statusOf({ mods_form: "packed", mods_count: 0 }), "Forge A");
  assertEquals(statusOf({ mods_form: "isModded" }), "NeoForge B");
  assertEquals(statusOf(nmp), "node-minecraft-protocol C");
  assertEquals(statusOf(nmp, { players_online: 3 }), "node-minecraft-protocol B");
  assertEquals(statusOf({ version_name: "Minestom 1.21.4" }), "Minestom C");
  assertEquals(statusOf({ form: "legacy 1.4", version_name: "Spigot 1.6.4" }), "Spigot A");
});

Deno.test("classify() does not take a full stat with another header for vanilla", () => {
  const printed = (facts: Facts) => {
    const values = { game_id: "MINECRAFT", hostport: "25565", hostip: "127.0.0.1" };
    return classify(query(values, facts, { version: "1.20.4" })).software;
  };
  assertEquals([printed({}), printed({ header_mark: "008100" })], ["vanilla", null]);
});

Deno.test("classify() of an empty record yields no label", () => {
  assertEquals(classify(emptyRecord({ address: 1, port: 1 }, 0)), {
    edition: null,
    software: null,
    software_confidence: null,
    proxy: null,
    flags: [],
  });
  assertEquals(classify(row("sqp", {}, { software: "its own" })).software, "its own");
});

Deno.test("classify() reduces claims that may be forged to hints", () => {
  const printed = { brand: "Velocity" };
  const values = { game_id: "MINECRAFT" };
  const sure = classify(query(values, printed, { plugins: [] }));
  assertEquals([sure.software_confidence, sure.proxy], ["A", "velocity"]);
  for (const flag of ["motdNul", "duplicateKey"]) {
    const hint = classify(query(values, printed, { plugins: [], flags: [flag] }));
    assertEquals([hint.software, hint.software_confidence, hint.proxy], ["Velocity", "C", null]);
  }
});

Deno.test("classify() reads names up to a bound, and versions of a fixed form", () => {
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

Deno.test("classify() reads only own properties, with any name", () => {
  const values = JSON.parse('{"__proto__":{"game_id":"MINECRAFT"},"constructor":"MINECRAFT"}');
  assertEquals(classify(query(values, { brand: "Paper on 1.20" })).software, null);
  const extras = JSON.parse('{"query":null}');
  assertEquals(classify({ ...query({}), extras }).software, null);
  assertEquals(classify({ ...query({}), extras: null }).software, null);
  assertEquals(classify(row("constructor", {})).software, null);
});

/** The classification of a status over HTTP with these facts. */
function joinOf(facts: Facts, columns: Partial<ServerRecord> = {}): string {
  const { software, software_confidence } = classify(row("nethernet", {
    tls: false,
    headers: ["Content-Type", "Content-Length", "Connection"],
    ...facts,
  }, columns));
  return [software, software_confidence].filter(Boolean).join(" ");
}

Deno.test("classify() derives software of NetherNet from members and headers", () => {
  const seven = ["name", "protocol", "version", "level", "players", "maxPlayers", "gameType"];
  const more = ["editor", "hardcore", "onlineAuth", "selfSignedAuth", "nonce"];
  const fifteen = ["dataVersion", ...seven, ...more, "transportLayer", "connection"];
  assertEquals(joinOf({ keys: seven }), "BDS C");
  assertEquals(joinOf({ keys: seven, tls: true }), "");
  assertEquals(joinOf({ keys: seven.toReversed() }), "");
  assertEquals(joinOf({ keys: seven, headers: ["Content-Type", "Content-Length"] }), "");
  const go = ["Content-Type", "Date", "Content-Length", "Connection"];
  assertEquals(joinOf({ keys: seven, headers: go }), "");
  assertEquals(joinOf({}, { flags: ["hidesStatus"] }), "BDS C");
  assertEquals(joinOf({}, { flags: ["emptyReply"] }), "");
  for (const tls of [false, true]) {
    assertEquals(joinOf({ keys: fifteen, tls, headers: ["x"] }), "Cloudburst C");
    assertEquals(joinOf({ keys: fifteen, tls }, { map: "Powered by Nukkit-MOT" }), "Nukkit-MOT B");
  }
  assertEquals(joinOf({ keys: [...fifteen, "more"] }), "");
  // The name of the level alone proves nothing: with the head of BDS, an owner has chosen it.
  assertEquals(joinOf({ keys: seven }, { map: "Powered by Nukkit-MOT" }), "BDS C");
});

Deno.test("classify() flags two protocols that name different software", () => {
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

Deno.test("classify() keeps the edition of a protocol and the existing flags", () => {
  const geyser = query({ game_id: "MINECRAFT" }, { header: "GeyserMC" }, { flags: ["badUtf8"] });
  assertEquals(classify(geyser).edition, "bedrock");
  assertEquals(classify({ ...geyser, edition: "java" }).edition, "java");
  assertEquals(classify(geyser).flags, ["badUtf8"]);
});

Deno.test("classify() takes bounded time and memory for any record", () => {
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

/** Adds the protocols and facts of another row. */
function merge(record: Record<string, unknown>, other: ServerRecord): void {
  record.protocols = [...new Set([...record.protocols as string[], ...other.protocols])];
  record.extras = { ...other.extras, ...record.extras as object };
}

Deno.test("classify() agrees with a plain evaluation of the rules for any values", () => {
  const random = new Random(20261121);
  const wanted = book.rules.flatMap(({ when }) => when as Record<string, unknown>[]);
  const pool = [
    ...wanted.map((condition) => condition.is ?? condition.lists ?? condition.in),
    null,
    -1,
    1e9,
    true,
    "",
    "0",
    "-1",
    "9".repeat(20),
    "9".repeat(21),
    "\u0000",
    "Paper 1.20",
    [],
    {},
    { version: 1 },
    ["version"],
    "Nukkit",
    "Velocity 1.7.2-1.21.4",
    "1.21.4",
    "Geyser",
  ];
  const seen = new Set<string>();
  for (let i = 0; i < 20_000; i++) {
    const record = structuredClone(random.pick(CASES).row) as unknown as Record<string, unknown>;
    for (let changes = random.below(4); changes > 0; changes--) {
      const path = (random.pick(wanted).at as string).split(".");
      const last = path.pop()!;
      let place: unknown = path.length === 0 ? record : record.extras;
      for (const step of path) place = (place as Record<string, unknown> | undefined)?.[step];
      const values = last === "flags" ? [[], ["hidden"]] : pool; // a list in every row
      if (place instanceof Object) (place as Record<string, unknown>)[last] = random.pick(values);
    }
    const flagged = random.below(8) === 0 ? ["motdNul"] : [];
    record.flags = [...record.flags as string[], ...flagged];
    if (random.below(4) === 0) merge(record, random.pick(CASES).row);
    const printed = classify(record as unknown as ServerRecord);
    assertEquals(printed, simpleClassify(record as unknown as ServerRecord));
    seen.add(printed.software_confidence ?? "none");
  }
  assertEquals([...seen].sort(), ["A", "B", "C", "none"]);
});
