import { assertEquals } from "@std/assert";
import type { ServerRecord } from "../../../src/core/record.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { COLUMNS_KEPT_AT_LOSS, mergeRecords } from "../../../src/store/merging/merge_records.ts";
import { record } from "../records.ts";

const NONE = { unqueried: [], missing: [], allProtocols: PROTOCOLS };
const EARLIER = record(1, {
  protocols: ["raknet", "query"],
  motd: "old",
  map: "world",
  software: "PocketMine-MP 5",
  software_confidence: "A",
  players_online: 3,
  players_max: 21,
  players: ["Ann", "Bob", "Eve"],
  flags: ["playersDiffer"],
  extras: { raknet: { a: "1" }, query: { b: "2" } },
});
/** The values that the server sends only in RakNet. */
const RAKNET = record(1, {
  protocols: ["raknet"],
  motd: "new",
  software: "PocketMine-MP",
  software_confidence: "B",
  players_online: 3,
  players_max: 20,
  flags: [],
  extras: { raknet: { a: "3" } },
  seen_at: 9000,
  latency_ms: 4,
});

Deno.test("a missing protocol keeps the columns that it fills; the others have the values of the reply", () => {
  const merged = mergeRecords(EARLIER, RAKNET, { ...NONE, missing: ["query"] });
  assertEquals(merged, {
    ...EARLIER,
    motd: "new",
    players: null,
    extras: { raknet: { a: "3" }, query: { b: "2" } },
    seen_at: 9000,
    latency_ms: 4,
  });
});

Deno.test("a missing protocol of the highest rank keeps the columns that it prevails in", () => {
  const query = record(1, {
    protocol: "query",
    protocols: ["query"],
    motd: "the hostname",
    version: "1.21",
    map: "nether",
    players_online: 5,
    players_max: 30,
    extras: { query: { b: "3" } },
  });
  const merged = mergeRecords({ ...EARLIER, version: null }, query, {
    ...NONE,
    missing: ["raknet"],
  });
  assertEquals([merged.protocol, merged.motd, merged.version], ["raknet", "old", "1.21"]);
  assertEquals([merged.map, merged.players_online, merged.players_max], ["nether", 5, 30]);
  assertEquals(merged.extras, { raknet: { a: "1" }, query: { b: "3" } });
});

Deno.test("a kept column brings the column along that is made from it", () => {
  const earlier = { ...EARLIER, motd: "§lold", motd_plain: "old" };
  const silent = record(1, { protocols: ["raknet"], motd: null, motd_plain: null });
  const query = record(1, {
    protocol: "query",
    protocols: ["query"],
    motd: "§lthe hostname",
    motd_plain: "the hostname",
  });
  for (
    const [current, kept] of [
      [silent, { unqueried: ["query"] }],
      [silent, { missing: ["query"] }],
      [silent, { isLossy: true }],
      [silent, { columns: COLUMNS_KEPT_AT_LOSS }],
      [query, { unqueried: ["raknet"] }],
      [query, { missing: ["raknet"] }],
    ] as const
  ) {
    const { motd, motd_plain } = mergeRecords(earlier, current, { ...NONE, ...kept });
    assertEquals([motd, motd_plain], ["§lold", "old"], JSON.stringify(kept));
  }
  const { motd, motd_plain } = mergeRecords(earlier, query, { ...NONE, missing: ["sqp"] });
  assertEquals([motd, motd_plain], ["§lthe hostname", "the hostname"]);
  for (const { name, columns = [], fillsFirst = [] } of PROTOCOLS) {
    for (const names of [columns, fillsFirst]) {
      assertEquals(names.includes("motd"), names.includes("motd_plain"), name);
    }
  }
});

Deno.test("names of players are those of the reply: the database keeps earlier ones with their time", () => {
  for (const kept of [{ missing: ["query"] }, { isLossy: true }, { unqueried: ["query"] }]) {
    assertEquals(mergeRecords(EARLIER, RAKNET, { ...NONE, ...kept }).players, null);
  }
});

Deno.test("a reply with a lost part changes only players, GUID and times", () => {
  const lossy: ServerRecord = {
    ...EARLIER,
    motd: null,
    flags: ["statusLost"],
    players_online: 5,
    players: null,
    guid: "8",
    seen_at: 9000,
  };
  assertEquals(mergeRecords(EARLIER, lossy, { ...NONE, isLossy: true }), {
    ...EARLIER,
    players_online: 5,
    players: null,
    guid: "8",
    seen_at: 9000,
  });
});

Deno.test("a protocol that was not queried keeps the columns that it fills, or prevails in", () => {
  const merged = mergeRecords(EARLIER, RAKNET, { ...NONE, unqueried: ["query"] });
  assertEquals([merged.motd, merged.players_max, merged.map, merged.protocols, merged.flags], [
    "new",
    21,
    "world",
    ["raknet", "query"],
    [],
  ]);
  assertEquals(mergeRecords(EARLIER, RAKNET, NONE), RAKNET);
});

Deno.test("software that no rule names in all replies together stays, unless the reply names other software", () => {
  const softwareOf = (earlier: Partial<ServerRecord>, current: Partial<ServerRecord>) => {
    const kept = { ...NONE, unqueried: ["query"] };
    const { software, software_confidence: confidence } = mergeRecords(
      { ...EARLIER, ...earlier },
      { ...RAKNET, ...current },
      kept,
    );
    return [software, confidence];
  };
  for (const extras of [EARLIER.extras, { raknet: { a: "1" } }, null]) {
    const before = { extras };
    assertEquals(softwareOf(before, {}), ["PocketMine-MP 5", "A"]); // the version is kept
    assertEquals(softwareOf(before, { software: null, software_confidence: null }), [
      "PocketMine-MP 5",
      "A",
    ]);
    assertEquals(softwareOf(before, { software: "Nukkit" }), ["Nukkit", "B"]);
    assertEquals(softwareOf(before, { software: "PocketMine" }), ["PocketMine", "B"]);
    const unnamed = { ...before, software: null, software_confidence: null };
    assertEquals(softwareOf(unnamed, {}), ["PocketMine-MP", "B"]);
    // Neither is named by a rule: Query names the software in preference to RakNet.
    const other = { software: "Nukkit", software_confidence: null };
    assertEquals(softwareOf(before, other), ["Nukkit", null]);
    assertEquals(softwareOf({ ...before, software_confidence: null }, other), [
      "PocketMine-MP 5",
      null,
    ]);
    assertEquals(softwareOf(unnamed, other), ["Nukkit", null]);
  }
});
