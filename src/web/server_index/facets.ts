/**
 * Counts the servers of a server index: in all, and by the values of facets.
 *
 * @module
 */
import { compareVersions } from "../../classify/game_versions.ts";
import { readTexts } from "../../store/rows/json_cells.ts";
import type { Facets, FacetValue } from "../queries/dashboard_data.ts";
import { type FacetName, FACETS } from "../queries/schemas.ts";
import { FAILED, type Matches, withoutSlots } from "./match.ts";
import {
  type DictionaryName,
  SERVER_BITS,
  type ServerIndexReader,
  versionedServer,
} from "./server_index.ts";

/** The dictionary of a facet's values. Ports have none. */
const FACET_DICTIONARY = {
  edition: "edition",
  software: "software",
  version: "version",
  protocol: "protocols",
  flag: "flags",
  country: "country",
  operator: "operator",
} as const satisfies Partial<Record<FacetName, DictionaryName>>;

/** Maximum number of values of a facet. */
const VALUES = 30;

/** Numbers of servers by the number of a value. */
interface Counts {
  readonly servers: Uint32Array;
  readonly online: Uint32Array;
  readonly players: Float64Array;
}

/** A value of a facet, with its name if that is another text. */
export type NamedValue = Pick<FacetValue, "value" | "label">;

/** Sums of the servers with each value of a facet. */
export class FacetCounts {
  readonly #values = new Map<
    FacetValue["value"],
    { -readonly [Name in keyof FacetValue]: FacetValue[Name] }
  >();

  constructor(private readonly name: FacetName) {}

  /** Adds servers to a value. */
  add(one: NamedValue, { servers, online, players }: MatchCounts): void {
    const sums = this.#values.get(one.value) ?? { ...one, servers: 0, online: 0, players: 0 };
    sums.servers += servers;
    sums.online += online;
    sums.players += players;
    this.#values.set(one.value, sums);
  }

  /** Whether no server has a known value. */
  get isUnknown(): boolean {
    return this.#values.size === 1 && this.#values.has(null);
  }

  /**
   * The values with the most servers; equally frequent ones in the order of their texts, and of
   * versions the newest first.
   */
  mostFrequent(): FacetValue[] {
    const inOrder = this.name === "version"
      ? (a: string, b: string) => compareVersions(b, a)
      : (a: string, b: string) => a < b ? -1 : 1;
    return [...this.#values.values()].sort((a, b) =>
      b.servers - a.servers || inOrder(String(a.value), String(b.value))
    ).slice(0, VALUES);
  }
}

export const isGeoipFacet = (name: FacetName) => name === "country" || name === "operator";

/** The values of a server for a facet of lists. The protocols of a server that never replied are unknown. */
export function listedValues(name: "protocol" | "flag", list: readonly string[]): NamedValue[] {
  if (name === "protocol" && list.length === 0) return [{ value: null }];
  return [...new Set(list)].map((value) => ({ value }));
}

/**
 * The slots of rows that are not counted, because another row of their server is: in all, or for the same value
 * of a facet, where its own filter does not count.
 */
export type HiddenSlots = (facet?: FacetName) => readonly number[];

/** Counts the servers that filters match, and the values of each facet. */
export function countFacets(
  serverIndex: ServerIndexReader,
  matches: Matches,
  hidden: HiddenSlots = () => [],
): Facets {
  const counts = FACETS.map((name) =>
    [
      name,
      withoutSlots(matches, hidden(name), () => countFacet(serverIndex, matches, name)),
    ] as const
  );
  const of = <Name extends "values" | "total">(part: Name) =>
    Object.fromEntries(counts.map(([name, one]) => [name, one[part]])) as Record<
      FacetName,
      CountedFacet[Name]
    >;
  const all = withoutSlots(matches, hidden(), () => countMatches(serverIndex, matches));
  return { ...all, facets: of("values"), totals: of("total") };
}

/** The numbers of servers that filters match. */
export type MatchCounts = Omit<Facets, "facets" | "totals">;

export function countMatches(
  serverIndex: ServerIndexReader,
  { count, failed, few }: Matches,
): MatchCounts {
  const { bits, players: all } = serverIndex.columns;
  let [servers, online, players] = [0, 0, 0];
  const length = few?.length ?? count;
  for (let k = 0; k < length; k++) {
    const i = few === undefined ? k : few[k];
    if (failed[i] !== 0) continue;
    servers++;
    if (!(bits[i] & SERVER_BITS.online)) continue;
    online++;
    players += all[i];
  }
  return { servers, online, players };
}

interface CountedFacet {
  readonly values: FacetValue[];
  /** Number of servers whose values are counted. */
  readonly total: number;
}

/** The column of a facet's values. */
export function columnOf(name: FacetName) {
  return name === "port" ? "port" : FACET_DICTIONARY[name];
}

/** Counts the values of a facet among the servers that all filters but its own match. */
function countFacet(
  serverIndex: ServerIndexReader,
  matches: Matches,
  name: FacetName,
): CountedFacet {
  const { columns, dictionaries } = serverIndex;
  const column = columnOf(name);
  const size = column === "port" ? 65_536 : dictionaries[column].size;
  const counts = countCodes(serverIndex, matches, columns[column], size, FAILED[name]);
  // Each server has one number, also if that is of several values.
  const total = counts.servers.reduce((sum, servers) => sum + servers, 0);
  // Without --geoip, no country is known.
  const values = isGeoipFacet(name) && size === 1 ? [] : valuesOf(serverIndex, name, counts);
  return { values, total };
}

/**
 * What a server adds to the sum of servers and, if it is online, to that of online ones in the same
 * number.
 */
const ONE_SERVER = 2 ** 26;

function countCodes(
  serverIndex: ServerIndexReader,
  { count, failed, few }: Matches,
  codes: Uint16Array | Uint32Array,
  size: number,
  own: number,
): Counts {
  const { bits, players: all } = serverIndex.columns;
  const sums = new Float64Array(2 * size);
  const length = few?.length ?? count;
  for (let k = 0; k < length; k++) {
    const i = few === undefined ? k : few[k];
    if ((failed[i] & ~own) !== 0) continue;
    const at = 2 * codes[i];
    if (bits[i] & SERVER_BITS.online) {
      sums[at] += ONE_SERVER + 1;
      sums[at + 1] += all[i];
    } else {
      sums[at] += ONE_SERVER;
    }
  }
  const counts = {
    servers: new Uint32Array(size),
    online: new Uint32Array(size),
    players: new Float64Array(size),
  };
  for (let code = 0; code < size; code++) {
    const sum = sums[2 * code];
    if (sum === 0) continue;
    counts.servers[code] = Math.floor(sum / ONE_SERVER);
    counts.online[code] = sum % ONE_SERVER;
    counts.players[code] = sums[2 * code + 1];
  }
  return counts;
}

/** The most frequent values of a facet. */
function valuesOf(serverIndex: ServerIndexReader, name: FacetName, counts: Counts): FacetValue[] {
  // Several entries of these dictionaries are counted for one value.
  const isShared = ["protocol", "flag", "operator", "version"].includes(name);
  const least = isShared ? 1 : minOf(counts.servers);
  const sums = new FacetCounts(name);
  for (let code = 0; code < counts.servers.length; code++) {
    const servers = counts.servers[code];
    if (servers < least) continue;
    const [online, players] = [counts.online[code], counts.players[code]];
    for (const one of namedValues(serverIndex, name, code)) {
      sums.add(one, { servers, online, players });
    }
  }
  return sums.mostFrequent();
}

/** The number of servers that a value needs to be among the most frequent ones. */
function minOf(servers: Uint32Array): number {
  const used = servers.filter((n) => n > 0);
  return used.length <= VALUES ? 1 : used.sort()[used.length - VALUES];
}

/** The values for which a number of a dictionary, or a port, counts. */
function namedValues(
  serverIndex: ServerIndexReader,
  name: FacetName,
  code: number,
): NamedValue[] {
  if (name === "port") return [{ value: code }];
  const text = serverIndex.dictionaries[FACET_DICTIONARY[name]].textOf(code);
  if (name === "protocol" || name === "flag") return listedValues(name, readTexts(text) ?? []);
  if (name === "version" && text !== null) {
    return [{ value: versionedServer(text).version || null }];
  }
  if (name !== "operator" || text === null) return [{ value: text }];
  const space = text.indexOf(" ");
  const label = text.slice(space + 1);
  return [{ value: Number(text.slice(0, space)), ...label !== "" && { label } }];
}
