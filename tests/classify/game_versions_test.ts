import { assert, assertEquals } from "@std/assert";
import table from "../../data/versions.json" with { type: "json" };
import { compareVersions, shownVersion, versionsWith } from "../../src/classify/game_versions.ts";

Deno.test("a protocol number names the releases that have it, and snapshots only without releases", () => {
  assertEquals(versionsWith("java", 777), "26.3");
  assertEquals(versionsWith("java", 4), "1.7.2 to 1.7.5");
  assertEquals(versionsWith("java", 107), "1.9");
  assertEquals(versionsWith("java", 0), "13w41a to 13w41b");
  assertEquals(versionsWith("java", 0x40000000 | 339), "26.4-snapshot-1");
  assertEquals(versionsWith("bedrock", 2168), "1.26.40");
  assertEquals(versionsWith("bedrock", 2169), "1.26.45");
  assertEquals(versionsWith("bedrock", 2193), "1.26.50 to 1.26.52");
  assertEquals(versionsWith("bedrock", 2225), "1.26.60");
  // Both editions use 766 and 776.
  assertEquals([versionsWith("java", 776), versionsWith("bedrock", 776)], ["26.2", "1.21.60"]);
});

Deno.test("an unknown number, and one of an unknown edition, have no names", () => {
  for (const number of [-1, 2194, 2 ** 31, 1.5, NaN]) {
    assertEquals(versionsWith("java", number), undefined);
  }
  assertEquals(versionsWith("bedrock", null), undefined);
  assertEquals(versionsWith(null, 47), undefined);
  assertEquals(versionsWith("__proto__", 47), undefined);
});

Deno.test("the version of a row is what the server says, then what its number says", () => {
  const shown = (version: string | null, protocol_version: number | null) =>
    shownVersion({ edition: "java", version, protocol_version });
  assertEquals(shown("Paper 1.8", 777), "Paper 1.8");
  assertEquals(shown("", 777), "");
  assertEquals(shown(null, 777), "26.3");
  assertEquals(shown(null, 999), "#999");
  assertEquals(shown(null, null), null);
});

Deno.test("versions are in release order: snapshots before their release, in both ways of naming them", () => {
  const order = [
    "0.15.6",
    "1.6.4",
    "13w41a",
    "1.7.2",
    "1.8",
    "Spigot 1.8.8",
    "15w31a",
    "1.9-pre4",
    "1.9",
    "1.20.4",
    "1.21-pre4",
    "1.21-rc1",
    "1.21",
    "1.21.9",
    "25w41a",
    "Paper 25w46a",
    "1.21.11-pre5",
    "1.21.11-rc3",
    "1.21.50",
    "1.26.52",
    "26.1",
    "26.3-pre-3",
    "26.3",
    "26.4-snapshot-6",
    "26.4-snapshot-10",
    "27.1",
    "A server",
    "?",
  ];
  assertEquals(order.toReversed().sort(compareVersions), [
    ...order.slice(0, -2),
    "?",
    "A server",
  ]);
});

Deno.test("the table has each name once, and its releases are in release order", () => {
  for (const lines of [table.java, table.bedrock]) {
    const rows = lines.map((line) => line.split(" "));
    assert(rows.every(([number, ...names]) => /^\d+$/.test(number) && names.length > 0));
    const names = rows.flatMap(([, ...names]) => names);
    assertEquals(new Set(names).size, names.length);
    const releases = names.filter((name) => /^[\d.]+$/.test(name));
    assertEquals(releases.toSorted(compareVersions), releases);
  }
});
