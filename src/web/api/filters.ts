/**
 * Filters of servers in the query of a URL, for pages and the JSON API.
 *
 * @module
 */
import { family, formatAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { parseTarget } from "../../targets/parse.ts";
import type { DashboardFilters } from "../data/dashboard_data.ts";
import {
  formed,
  oneOf,
  type Parameters,
  readParameters,
  several,
  text,
  trueOrFalse,
  type ValuesOf,
  wholeNumber,
  writeParameters,
} from "./parameters.ts";

/** Maximum of a time that a `Date` can represent, Unix milliseconds. */
export const MAX_TIME = 8.64e15;
/** Maximum number of players in a filter. */
const MAX_PLAYERS = 1e9;
/** Maximum number of an autonomous system (RFC 6793). */
const MAX_ASN = 2 ** 32 - 1;

/** The parameters of filters, by their names in URLs. */
export const FILTER_PARAMETERS = {
  text: text("Only servers whose name, MOTD, map or software contains this text, in any case."),
  online: trueOrFalse("Only servers that are online, or only servers that are offline."),
  edition: several(text("Only servers of this edition.")),
  software: several(text("Only servers whose software contains this text, in any case.")),
  confidence: several(oneOf("Only servers whose software has this confidence.", ["A", "B", "C"])),
  version: several(text("Only servers of this game version; 1.21 includes 1.21.50.")),
  protocol: several(text("Only servers that replied in this protocol.")),
  port: several(wholeNumber("Only servers with this port.", 1, 65535)),
  network: several(formed(
    "Only servers in this network.",
    "an address or a network such as 192.0.2.0/24",
    { type: "string" },
    readNetwork,
  )),
  flag: several(text("Only servers with this flag.")),
  country: several(formed(
    "Only servers in this country; needs --geoip.",
    "two letters, such as DE",
    { type: "string", pattern: "^[A-Za-z]{2}$" },
    (text) => /^[A-Za-z]{2}$/.test(text) ? text.toUpperCase() : undefined,
  )),
  operator: several(
    wholeNumber("Only servers in this autonomous system; needs --geoip.", 0, MAX_ASN),
  ),
  min_players: wholeNumber("Only servers with at least this many players.", 0, MAX_PLAYERS),
  max_players: wholeNumber("Only servers with at most this many players.", 0, MAX_PLAYERS),
  no_aliases: trueOrFalse("Only servers that are no alias of another server."),
  since: wholeNumber("Only servers that changed later, Unix milliseconds.", 0, MAX_TIME),
} as const satisfies Parameters;

/** An IPv4 or IPv6 network in its canonical form: `192.0.2.0/24`, or one address. */
function readNetwork(text: string): string | undefined {
  const target = targetOf(text);
  if (target === undefined || !("range" in target) || target.port !== undefined) return undefined;
  const { start, end } = target.range;
  const size = BigInt(end) - BigInt(start);
  const bits = size.toString(2).length - 1;
  if (1n << BigInt(bits) !== size || BigInt(start) % size !== 0n) return undefined;
  const length = family(start) === 4 ? 32 : 128;
  const address = formatAddress(start);
  return bits === 0 ? address : `${address}/${length - bits}`;
}

function targetOf(text: string) {
  try {
    return parseTarget(text);
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}

/** The filters of parameters' values. */
export function filtersOf(values: ValuesOf<typeof FILTER_PARAMETERS>): DashboardFilters {
  const filters: Record<string, unknown> = {};
  for (const name of Object.keys(FILTER_PARAMETERS) as (keyof typeof FILTER_PARAMETERS)[]) {
    if (values[name] !== undefined) filters[camelCase(name)] = values[name];
  }
  return filters;
}

/** The name of a filter in code: `min_players` is `minPlayers`. */
function camelCase(name: string): string {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Reads filters from the query of a URL.
 *
 * @throws ParameterError for a parameter that is not a filter, or not valid.
 *
 * @example
 * ```ts
 * import { filterQuery, readFilters } from "./filters.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const filters = readFilters(new URLSearchParams("port=25565&port=19132&text=&min_players=5"));
 * assertEquals(filters, { port: [19132, 25565], minPlayers: 5 });
 * assertEquals(filterQuery(filters), "port=19132&port=25565&min_players=5");
 * ```
 */
export function readFilters(query: URLSearchParams): DashboardFilters {
  return filtersOf(readParameters(query, FILTER_PARAMETERS));
}

/** Writes filters as the canonical query of a URL, without `?`: equal filters have equal queries. */
export function filterQuery(filters: DashboardFilters): string {
  const values: Record<string, unknown> = {};
  for (const name of Object.keys(FILTER_PARAMETERS)) {
    values[name] = (filters as Record<string, unknown>)[camelCase(name)];
  }
  return writeParameters(values, FILTER_PARAMETERS);
}
