/**
 * The language of searches: words such as `sky version:1.20..1.21 players:>0`, which stand for the parameters
 * of filters. The search field, the command line and the parameter `q` of URLs have the same words.
 *
 * @module
 */
import { parseAddress } from "../../core/address.ts";
import type { DashboardFilters } from "./dashboard_data.ts";
import { FILTER_PARAMETERS, filterQuery, readFilters } from "./filters.ts";
import { checkBounds, parameter, ParameterError, shortened } from "./parameters.ts";

/** Maximum length of a search, UTF-16 units. */
export const MAX_SEARCH = 500;

/** The parameter of URLs that has a search. */
export const SEARCH = {
  ...parameter("A search: words as in the search field of the pages.", {
    wanted: `a search of at most ${MAX_SEARCH} characters`,
    schema: { type: "string", maxLength: MAX_SEARCH },
    read: (text) => text,
    ofJson: (value) => typeof value === "string" ? value : undefined,
  }),
  read: (text: string) => text.length <= MAX_SEARCH && text.isWellFormed() ? text : undefined,
};

/** A parameter and its text. */
type Pair = readonly [name: string, text: string];

/** Parameters whose values may have commas between them. */
const LISTS = [
  "version",
  "port",
  "edition",
  "protocol",
  "confidence",
  "country",
  "operator",
  "flag",
  "network",
  "named",
  "unknown",
];

/** The names of filters in a search, and an example of each with its meaning. */
export const SEARCH_WORDS = {
  version: ["version:1.20..1.21", "game versions in release order; also 1.21, >=1.20"],
  players: ["players:>0", "players online; also 5, <=20, 10..50"],
  full: ["full:no", "free slots; full:yes: no free slots"],
  software: ["software:paper", "a part of the software's name"],
  edition: ["edition:java", "java, bedrock, education or pocket"],
  mods: ["mods:yes", "lists mods; also no, or a part of a mod's name"],
  plugins: ["plugins:yes", "the same for plugins"],
  online: ["online:no", "whether the server counts as online"],
  down: ["down:1h", "offline, and no reply for at least this long"],
  since: ["since:24h", "changed in this time"],
  replied: ["replied:24h", "replied in this time"],
  stale: ["stale:7d", "not probed for this long"],
  unknown: [
    "unknown:software",
    "of unknown software; also edition, version, protocol, country, operator",
  ],
  net: ["net:192.0.2.0/24", "an address or a network; net: can be omitted"],
  port: ["port:25565", "a port; 192.0.2.1:25565 is one server"],
  protocol: ["protocol:query", "replied in this protocol"],
  country: ["country:DE", "needs --geoip"],
  operator: ["operator:64500", "an autonomous system; needs --geoip"],
  flag: ["flag:cutShort", "a flag of the last reply"],
  named: [
    "named:play.example.org",
    "requested by this name, or has it; named: can be omitted before a port",
  ],
  tag: ["tag:eu", "a tag"],
  confidence: ["confidence:A", "how the software is known: A, B or C"],
  aliases: ["aliases:no", "one row per server"],
  saw: ["saw:lost", "what the last scan saw as lost, new, back, changed, found or missed"],
  scan: [
    "scan:019c15a0-7c00-7000-8000-000000000001",
    "found by this scan; with saw:lost, lost by it",
  ],
  text: ["text:yes", 'any text; "sky block" is one text'],
} as const;

/** The parameters of filters, and `players` and `aliases`, by the names in searches. */
const NAMES: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  ...Object.fromEntries(Object.keys(SEARCH_WORDS).map((name) => [name, name])),
  net: "network",
  network: "network",
  ip: "network",
  asn: "operator",
});

/**
 * The parameters that a search stands for.
 *
 * @throws ParameterError that names the word which cannot be used.
 *
 * @example
 * ```ts
 * import { searchParameters } from "./search_words.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const parameters = searchParameters('"sky block" version:1.20..1.21 players:>0 10.0.0.1:25565');
 * assertEquals(
 *   String(parameters),
 *   "text=sky+block&version=1.20..1.21&min_players=1&network=10.0.0.1&port=25565",
 * );
 * ```
 */
export function searchParameters(search: string): URLSearchParams {
  const words = search.match(/(?:[^\s"]|"(?:[^"\\]|\\.)*(?:"|$))+/g) ?? [];
  return new URLSearchParams(words.flatMap((word) => checkedPairs(word)).map((pair) => [...pair]));
}

/** The filters of a search; see {@linkcode searchParameters}. */
export function readSearch(search: string): DashboardFilters {
  const filters = readFilters(searchParameters(search));
  checkBounds(["min_players", filters.minPlayers], ["max_players", filters.maxPlayers]);
  return filters;
}

/** The query of a URL with the parameters that its search stands for. */
export function withSearch(query: URLSearchParams): URLSearchParams {
  const searches = query.getAll("q").filter((search) => search !== "");
  if (!query.has("q")) return query;
  const all = new URLSearchParams(query);
  all.delete("q");
  for (const search of searches) {
    if (SEARCH.read(search) === undefined) {
      throw new ParameterError("Cannot use q", SEARCH.wanted);
    }
    for (const [name, text] of searchParameters(search)) {
      if (!all.has(name, text)) all.append(name, text);
    }
  }
  return all;
}

/** The parameters of a word, whose texts are valid. */
function checkedPairs(word: string): readonly Pair[] {
  const pairs = pairsOf(word);
  for (const [name, text] of pairs) {
    const { read, wanted } = FILTER_PARAMETERS[name];
    if (text === "" || read(text) === undefined) throw wrongWord(word, wanted);
  }
  return pairs;
}

function wrongWord(word: string, wanted: string): ParameterError {
  return new ParameterError(`Cannot use "${shortened(word)}" in a search`, wanted);
}

function pairsOf(word: string): readonly Pair[] {
  if (word.startsWith('"')) return [["text", unquoted(word)]];
  const place = placeOf(word);
  if (place !== undefined) return place;
  const [, given, rest] = /^([a-z_]+):(.*)$/is.exec(word) ?? [];
  if (given === undefined) return [["text", unquoted(word)]];
  const value = unquoted(rest);
  const name = NAMES[given.toLowerCase()];
  if (name === undefined) {
    const names = Object.keys(SEARCH_WORDS).map((one) => `${one}:`).join(", ");
    throw wrongWord(word, `one of ${names}, or quotes around a text`);
  }
  if (name === "players") return boundsOf(word, value);
  if (name === "online" || name === "full") {
    if (!["yes", "no", "true", "false"].includes(value)) {
      throw wrongWord(word, `${name}:yes or ${name}:no`);
    }
    return [[name, String(value === "yes" || value === "true")]];
  }
  if (name === "aliases") {
    if (value !== "no") throw wrongWord(word, "aliases:no");
    return [["no_aliases", "true"]];
  }
  const isList = LISTS.includes(name) && !rest.includes('"');
  return isList ? value.split(",").map((one) => [name, one]) : [[name, value]];
}

/** A word without its quotes. In quotes, `\"` is a quotation mark, and `\\` a backslash. */
function unquoted(word: string): string {
  return word.replace(
    /"((?:[^"\\]|\\.)*)(?:"|$)/g,
    (_, text: string) => text.replace(/\\(.)/g, "$1"),
  );
}

/** An address or a network, or an address or a name with a port. */
function placeOf(word: string): readonly Pair[] | undefined {
  const isNetwork = /^(?:\d+\.){3}\d+(?:\/\d+)?$/.test(word) ||
    word.includes("::") && parseAddress(word.split("/")[0]) !== undefined ||
    parseAddress(word) !== undefined && word.includes(":");
  if (isNetwork) return [["network", word]];
  const [, v4, v6, name, port] =
    /^(?:((?:\d+\.){3}\d+)|\[([\da-f:.]+)\]|([\w-]+(?:\.[\w-]+)+))(?::(\d+))?$/i.exec(word) ?? [];
  const address = v4 ?? v6;
  if (address === undefined) {
    return name === undefined || port === undefined ? undefined : [["named", word]];
  }
  return [["network", address], ...port === undefined ? [] : [["port", port] as const]];
}

/** Words that many people type for a filter, and the filter. */
const PLAIN_WORDS: Readonly<Record<string, DashboardFilters>> = {
  ...Object.fromEntries(
    ["java", "bedrock", "education", "pocket"].map((name) => [name, { edition: [name] }]),
  ),
  ...Object.fromEntries(["mods", "modded"].map((name) => [name, { mods: ["yes"] }])),
};

/**
 * The filters in which texts such as `1.20.4`, `java` and `modded`, which may also be parts of names, are
 * versions, editions and mods; `undefined`: no text is such a word.
 *
 * @example
 * ```ts
 * import { guessedFilters } from "./search_words.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(
 *   guessedFilters({ text: ["sky", "Bedrock", "1.20-1.21"] }),
 *   { edition: ["bedrock"], version: ["1.20..1.21"], text: ["sky"] },
 * );
 * assertEquals(guessedFilters({ text: ["sky"] }), undefined);
 * ```
 */
export function guessedFilters(filters: DashboardFilters): DashboardFilters | undefined {
  const { text = [], version = [], ...others } = filters;
  const isVersion = (word: string) =>
    /\d\.\d/.test(word) && /^[\d.<>=]+$/.test(word) &&
    FILTER_PARAMETERS.version.read(word) !== undefined;
  const versionOf = (word: string) => word.replace(/^([\d.]+)-([\d.]+)$/, "$1..$2");
  const wordOf = (one: string) => one.toLowerCase();
  const isPlain = (one: string) => Object.hasOwn(PLAIN_WORDS, wordOf(one));
  const left = text.filter((one) => !isPlain(one) && !isVersion(versionOf(one)));
  if (left.length === text.length) return undefined;
  const versions = [...version, ...text.map(versionOf).filter(isVersion)];
  return {
    ...Object.assign(others, ...text.filter(isPlain).map((one) => PLAIN_WORDS[wordOf(one)])),
    ...versions.length > 0 && { version: versions },
    ...left.length > 0 && { text: left },
  };
}

/** The bounds of `players:`. */
function boundsOf(word: string, value: string): readonly Pair[] {
  const [, sign = "", number] = /^(>=|<=|>|<)?(\d{1,9})$/.exec(value) ?? [];
  const [, from, to] = /^(\d{0,9})\.\.(\d{0,9})$/.exec(value) ?? [number, number, number];
  const bound = {
    ">": [Number(number) + 1, undefined],
    ">=": [number, undefined],
    "<": [undefined, Number(number) - 1],
    "<=": [undefined, number],
    "": [from, to],
  }[sign]!;
  const [min, max] = bound.map((one) => one === undefined || one === "" ? undefined : String(one));
  const isValid = (min ?? max) !== undefined &&
    (min === undefined || max === undefined || Number(min) <= Number(max));
  if (!isValid || max === "-1") {
    throw wrongWord(word, "a number such as 5, >0 or <=20, or a range such as 10..50");
  }
  return [
    ...min === undefined ? [] : [["min_players", min] as const],
    ...max === undefined ? [] : [["max_players", max] as const],
  ];
}

/**
 * The search that has some filters: {@linkcode readSearch} returns them.
 *
 * @example
 * ```ts
 * import { searchOf } from "./search_words.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(
 *   searchOf({ version: [">=1.20"], text: ["sky block"], minPlayers: 1, since: -3_600_000 }),
 *   '"sky block" version:>=1.20 players:>0 since:1h',
 * );
 * ```
 */
export function searchOf(filters: DashboardFilters): string {
  const { minPlayers, maxPlayers, network = [], port = [] } = filters;
  if (network.length === 1 && port.length === 1 && !network[0].includes("/")) {
    const others = searchOf({ ...filters, network: undefined, port: undefined });
    const [address] = network;
    const place = `${address.includes(":") ? `[${address}]` : address}:${port[0]}`;
    return others === "" ? place : `${place} ${others}`;
  }
  const words = [...new URLSearchParams(filterQuery(filters))].flatMap(([name, value]) => {
    if (name === "max_players" && minPlayers !== undefined) return [];
    if (name === "min_players" || name === "max_players") {
      return [`players:${playersText(minPlayers, maxPlayers)}`];
    }
    if (name === "online" || name === "full") {
      return [`${name}:${value === "true" ? "yes" : "no"}`];
    }
    if (name === "no_aliases") return value === "true" ? ["aliases:no"] : [];
    if (name === "text") return [plainly(value, ["text", value]) ?? quoted(value)];
    if (name === "network" || name === "named" && placeOf(value) !== undefined) return [value];
    return [`${name}:${plainly(value) ?? quoted(value)}`];
  });
  return words.join(" ");
}

function playersText(min: number | undefined, max: number | undefined): string {
  if (max === undefined) return min === 1 ? ">0" : `>=${min}`;
  return min === undefined ? `<=${max}` : min === max ? `${min}` : `${min}..${max}`;
}

/** A text that needs no quotes; `undefined`: it needs them. */
function plainly(text: string, pair?: Pair): string | undefined {
  if (!/^[^\s"\\,]+$/.test(text)) return undefined;
  if (pair === undefined) return text;
  const isPlain = !/:/.test(text) && placeOf(text) === undefined;
  return isPlain ? text : undefined;
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}
