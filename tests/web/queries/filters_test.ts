/**
 * Tests of src/web/queries/filters.ts, src/web/queries/parameters.ts, src/web/queries/networks.ts and
 * src/web/queries/dashboard_filters.ts.
 */
import { assertEquals, assertThrows } from "@std/assert";
import {
  FILTER_PARAMETERS,
  filterQuery,
  filtersAt,
  readFilters,
} from "../../../src/web/queries/filters.ts";
import { MAX_VALUES, ParameterError } from "../../../src/web/queries/parameters.ts";

const HOUR_MS = 3_600_000;

const read = (query: string) => readFilters(new URLSearchParams(query));

/** A URL with a value of each filter, in an order other than the canonical one. */
const ALL =
  "stale=7d&replied=24h&unknown=software&down=1h&plugins=no&mods=yes&mods=create&since=1700000000000&no_aliases=true&max_players=99&min_players=1&operator=24940" +
  "&full=false&named=Play.Example.org:25565&country=de&tag=b+c&tag=a&flag=cutShort&network=10.0.0.0/8&port=25565&port=19132&protocol=slp&version=1.21" +
  "&confidence=B&confidence=A&software=Paper&edition=java&online=false&text=sky+block" +
  "&saw=lost&scan=0198c0de-0000-7000-8000-000000000001";

Deno.test("each filter is read, and its canonical query is read as the same filters", () => {
  const filters = read(ALL);
  assertEquals(filters, {
    text: ["sky block"],
    online: false,
    edition: ["java"],
    software: ["Paper"],
    confidence: ["A", "B"],
    version: ["1.21"],
    protocol: ["slp"],
    port: [19132, 25565],
    network: ["10.0.0.0/8"],
    flag: ["cutShort"],
    tag: ["a", "b c"],
    named: ["play.example.org:25565"],
    country: ["DE"],
    operator: [24940],
    minPlayers: 1,
    maxPlayers: 99,
    full: false,
    noAliases: true,
    mods: ["create", "yes"],
    plugins: ["no"],
    down: -HOUR_MS,
    stale: -7 * 24 * HOUR_MS,
    replied: -24 * HOUR_MS,
    unknown: ["software"],
    since: 1700000000000,
    scan: "0198c0de-0000-7000-8000-000000000001",
    saw: "lost",
  });
  assertEquals(Object.keys(filters).length, Object.keys(FILTER_PARAMETERS).length);
  assertEquals(read(filterQuery(filters)), filters);
});

Deno.test("URLs of the same filters have the same canonical query", () => {
  const canonical = filterQuery(read(ALL));
  const parts = ALL.split("&");
  for (let turn = 1; turn < parts.length; turn++) {
    const turned = [...parts.slice(turn), ...parts.slice(0, turn), parts[0]].slice(0, parts.length);
    assertEquals(filterQuery(read(turned.join("&"))), canonical);
  }
  assertEquals(filterQuery(read("port=1&port=1&text=&online=")), "port=1");
  assertEquals(filterQuery({ port: [25565, 80, 25565] }), "port=80&port=25565");
});

Deno.test("networks get their canonical form, and other ranges and names are rejected", () => {
  const networks = (text: string) => read(`network=${encodeURIComponent(text)}`).network;
  assertEquals(networks("192.0.2.7"), ["192.0.2.7"]);
  assertEquals(networks("192.0.2.0/32"), ["192.0.2.0"]);
  assertEquals(networks("0.0.0.0/0"), ["0.0.0.0/0"]);
  assertEquals(networks("2001:DB8::/32"), ["2001:db8::/32"]);
  assertEquals(networks("10.0.0.0-10.0.0.255"), ["10.0.0.0/24"]);
  for (
    const wrong of ["10.0.0.1-10.0.0.2", "10.0.0.0/33", "example.org", "10.0.0.1:80", "%", "/"]
  ) {
    const error = assertThrows(() => networks(wrong), ParameterError);
    assertEquals(error.wanted, FILTER_PARAMETERS.network.wanted);
  }
});

Deno.test("an error names the parameter and what is expected", () => {
  for (
    const [query, message, wanted] of [
      ["portt=1", 'Unknown parameter "portt"', /^one of text, online, /],
      ["__proto__=1", 'Unknown parameter "__proto__"', /^one of text/],
      ["constructor=1", 'Unknown parameter "constructor"', /^one of text/],
      ["port=0", "Cannot use port=0", /^a whole number from 1 to 65535/],
      ["port=1e3", "Cannot use port=1e3", /^a whole number/],
      ["port=-1", "Cannot use port=-1", /^a whole number/],
      ["online=yes", "Cannot use online=yes", /^true or false$/],
      ["online=true&online=false", 'Cannot use parameter "online" 2 times', /^one value$/],
      ["country=DEU", "Cannot use country=DEU", /^two letters/],
      ["confidence=D", "Cannot use confidence=D", /^one of A, B, C/],
      ["since=99999999999999999", "Cannot use since=99999999999999999", /^an age such as 90m/],
      ["down=0h", "Cannot use down=0h", /^an age such as 90m/],
      ["stale=1w", "Cannot use stale=1w", /^an age such as 90m/],
      [
        "version=1.21..1.20",
        "Cannot use version=1.21..1.20",
        /^a version such as 1.21, or a range/,
      ],
      ["version=>", "Cannot use version=>", /^a version such as/],
      [`text=${"a".repeat(101)}`, `Cannot use text=${"a".repeat(40)}…`, /1 to 100 characters/],
      [
        "port=1".concat("&port=2".repeat(MAX_VALUES)),
        'Cannot use parameter "port" 31',
        /^at most/,
      ],
    ] as const
  ) {
    const error = assertThrows(() => read(query), ParameterError, message);
    assertEquals(wanted.test(error.wanted), true, error.wanted);
  }
});

Deno.test("a text may have 100 characters outside the basic multilingual plane", () => {
  assertEquals(read(`text=${"😀".repeat(100)}`).text?.[0].length, 200);
  assertThrows(() => read(`text=${"😀".repeat(101)}`), ParameterError);
});

Deno.test("ages are written in the largest unit, and become times of a whole minute", () => {
  for (const [age, written] of [["90m", "90m"], ["60m", "1h"], ["24h", "24h"], ["48h", "2d"]]) {
    assertEquals(filterQuery(read(`since=${age}`)), `since=${written}`);
  }
  const now = 100 * HOUR_MS + 59_999;
  assertEquals(filtersAt(read("since=1h&down=90m&stale=999d&port=1"), now), {
    ...{ since: 99 * HOUR_MS, down: 98.5 * HOUR_MS, stale: 0, port: [1] },
  });
  assertEquals(filtersAt(read("since=17"), now), { since: 17 });
});
