/** Tests of src/web/queries/search_words.ts and src/web/components/filter_texts.ts. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { filtersTitle, filterTexts } from "../../../src/web/components/filter_texts.ts";
import type { DashboardFilters } from "../../../src/web/queries/dashboard_data.ts";
import { FILTER_PARAMETERS, readFilters } from "../../../src/web/queries/filters.ts";
import { ParameterError } from "../../../src/web/queries/parameters.ts";
import {
  MAX_SEARCH,
  readSearch,
  SEARCH_WORDS,
  searchOf,
  searchParameters,
  withSearch,
} from "../../../src/web/queries/search_words.ts";

const HOUR_MS = 3_600_000;

Deno.test("words of a search stand for filters", () => {
  const cases: [string, DashboardFilters][] = [
    ["", {}],
    ["sky  block", { text: ["block", "sky"] }],
    ['"sky block" "say \\"hi\\" \\\\"', { text: ["sky block", 'say "hi" \\'].sort() }],
    ['"unclosed text', { text: ["unclosed text"] }],
    ['"port:1"', { text: ["port:1"] }],
    ["text:port:1", { text: ["port:1"] }],
    ["127.16.3.45", { network: ["127.16.3.45"] }],
    ["127.16.3.45:25565", { network: ["127.16.3.45"], port: [25565] }],
    ["[2001:db8::1]:19132", { network: ["2001:db8::1"], port: [19132] }],
    ["2001:DB8::/32", { network: ["2001:db8::/32"] }],
    ["dead:beef::1", { network: ["dead:beef::1"] }],
    ["127.16.3.0/24 net:10.0.0.0/8", { network: ["10.0.0.0/8", "127.16.3.0/24"] }],
    ["Play.example.org:25565", { named: ["play.example.org:25565"] }],
    ["named:play.example.org", { named: ["play.example.org"] }],
    ["unknown:version,country", { unknown: ["country", "version"] }],
    ["PORT:25565,19132", { port: [19132, 25565] }],
    ["software:paper edition:java,bedrock", {
      software: ["paper"],
      edition: ["bedrock", "java"],
    }],
    ["version:1.20..1.21 version:>=26", { version: ["1.20..1.21", ">=26"] }],
    ['version:"Paper 1.20.1"', { version: ["Paper 1.20.1"] }],
    ["1.21", { text: ["1.21"] }],
    ["players:>0", { minPlayers: 1 }],
    ["players:>=5", { minPlayers: 5 }],
    ["players:<5", { maxPlayers: 4 }],
    ["players:<=5", { maxPlayers: 5 }],
    ["players:7", { minPlayers: 7, maxPlayers: 7 }],
    ["players:10..50", { minPlayers: 10, maxPlayers: 50 }],
    ["players:..50", { maxPlayers: 50 }],
    ["mods:yes mods:create plugins:no", { mods: ["create", "yes"], plugins: ["no"] }],
    ["online:yes", { online: true }],
    ["version:1.20,1.21", { version: ["1.20", "1.21"] }],
    ["full:yes", { full: true }],
    ["full:no", { full: false }],
    ["online:no aliases:no", { online: false, noAliases: true }],
    ["since:24h down:90m stale:7d", {
      ...{ since: -24 * HOUR_MS, down: -1.5 * HOUR_MS, stale: -168 * HOUR_MS },
    }],
    ["country:de asn:64500 tag:eu flag:cutShort confidence:A protocol:slp", {
      ...{ country: ["DE"], operator: [64500], tag: ["eu"], flag: ["cutShort"] },
      ...{ confidence: ["A"], protocol: ["slp"] },
    }],
  ];
  for (const [search, filters] of cases) {
    assertEquals(readSearch(search), filters, search);
    assertEquals(readSearch(searchOf(filters)), filters, searchOf(filters));
  }
});

Deno.test("each parameter has a word that is read, is written, and has a text for people", () => {
  const filters = readSearch(Object.values(SEARCH_WORDS).map(([example]) => example).join(" "));
  const written = new Set(filterTexts({ ...filters, maxPlayers: 5 }).map(({ name }) => name));
  assertEquals([...written].sort(), Object.keys(FILTER_PARAMETERS).sort());
  assertEquals(readSearch(searchOf(filters)), filters);
});

Deno.test("random texts are written as searches that are read as the same texts", () => {
  const parts = [
    "a",
    " ",
    '"',
    "\\",
    ":",
    "port:1",
    "10.0.0.1",
    "::1",
    ",",
    "..",
    ">",
    "é",
    "net:",
  ];
  let state = 7;
  const random = (limit: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * limit);
  };
  const names = ["text", "software", "tag", "mods", "plugins", "edition", "protocol"] as const;
  for (let round = 0; round < 2000; round++) {
    const text = () => Array.from({ length: 1 + random(5) }, () => parts[random(parts.length)]);
    const filters = readFilters(
      new URLSearchParams(names.filter(() => random(3) > 0).map((name) => [name, text().join("")])),
    );
    assertEquals(readSearch(searchOf(filters)), filters, searchOf(filters));
  }
});

Deno.test("an error names the word and what is wanted", () => {
  for (
    const [search, word, wanted] of [
      ["sky portt:1", "portt:1", /^one of version:, players:/],
      ["constructor:1", "constructor:1", /^one of version:/],
      ["sky port:x", "port:x", /^a whole number from 1 to 65535/],
      ["10.0.0.1:99999", "10.0.0.1:99999", /^a whole number from 1 to 65535/],
      ["10.0.0.0/33", "10.0.0.0/33", /^an address or a network/],
      ["net:example", "net:example", /^an address or a network/],
      ["version:1.21..1.20", "version:1.21..1.20", /^a version such as/],
      ["players:many", "players:many", /^a number such as/],
      ["players:<0", "players:<0", /^a number such as/],
      ["players:5..1", "players:5..1", /^a number such as/],
      ["players:..", "players:..", /^a number such as/],
      ["online:maybe", "online:maybe", /^online:yes or online:no/],
      ["full:1", "full:1", /^full:yes or full:no/],
      ["online:constructor", "online:constructor", /^online:yes or online:no/],
      ["aliases:yes", "aliases:yes", /^aliases:no/],
      ["down:1", "down:1", /^an age such as/],
      ["tag:", "tag:", /^a text/],
      ["flag:nothing", "flag:nothing", /^one of/],
      [`tag:${"x".repeat(101)}`, "tag:xxx", /^a text of 1 to 100/],
    ] as const
  ) {
    const error = assertThrows(() => searchParameters(search), ParameterError);
    assert(error.message.startsWith(`Cannot use "${word}`), error.message);
    assert(wanted.test(error.wanted), error.wanted);
  }
  assertThrows(() => readSearch("players:5.. players:..1"), ParameterError, "min_players=5");
  const long = new URLSearchParams({ q: "x".repeat(MAX_SEARCH + 1) });
  assertThrows(() => withSearch(long), ParameterError, "Cannot use q");
});

Deno.test("the search of a URL is added to its other filters, each value once", () => {
  const query = new URLSearchParams("port=1&q=port:1+port:2+sky&sort=name&q=");
  assertEquals(String(withSearch(query)), "port=1&sort=name&port=2&text=sky");
});

Deno.test("titles say the filters in words", () => {
  assertEquals(filtersTitle({}, "Servers"), "Servers");
  const title = (search: string) =>
    filtersTitle(readSearch(search), "Servers").replace("Servers: ", "");
  assertEquals(filtersTitle(readSearch("edition:java"), "Servers"), "Servers: Java edition");
  assertEquals(title("version:1.20..1.21 mods:yes"), "version 1.20 to 1.21, with mods");
  assertEquals(title("players:>0 net:10.0.3.0/24"), "10.0.3.0/24, with players");
  assertEquals(title("version:>=1.20 version:..1.8 version:<1.9 version:>1.7").split(", ").sort(), [
    ...["version 1.20 or later", "version after 1.7", "version before 1.9", "version up to 1.8"],
  ]);
  assertEquals(
    title("down:1h stale:7d since:24h"),
    "down for 1 h or longer, not probed for 7 d, " +
      "changed in the last 1 d",
  );
  assertEquals(
    title("players:5..1000 plugins:no mods:create online:no"),
    "offline, " +
      "5 players or more, at most 1,000 players, mod create, without plugins",
  );
});
