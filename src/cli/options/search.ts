/**
 * The words of a search on the command line, and the servers that they select in a database.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { redactUrl } from "../../core/redact.ts";
import type { Database } from "../../store/database/database.ts";
import {
  countServers,
  identityOf,
  lastScanId,
  membersOf,
  type NumberedServer,
  parseServerName,
  scanWithId,
  selectServers,
  serverHosts,
  type ServerSelection,
  serverWithKey,
} from "../../store/mod.ts";
import {
  ambiguousName,
  findServer,
  lookUpServers,
  type NamedServers,
} from "../../app/databases/find_server.ts";
import type { GeoipLookup } from "../../app/geoip/mod.ts";
import {
  type DashboardFilters,
  dividedUnknown,
  filtersAt,
  ParameterError,
  readSearch,
  testOfPlaces,
} from "../../web/queries/mod.ts";

/**
 * Reads the words of a search.
 *
 * @throws InputError for a word that cannot be used.
 */
export function readSearchWords(words: readonly string[], now: number): DashboardFilters {
  try {
    return filtersAt(readSearch(words.join(" ")), now);
  } catch (error) {
    if (!(error instanceof ParameterError)) throw error;
    const hasSecret = words.some((word) => redactUrl(word) !== word);
    const message = hasSecret ? `Cannot use "${words.map(redactUrl).join(" ")}"` : error.message;
    throw new InputError(`${message}: write ${error.wanted}`);
  }
}

/**
 * The selection of a search. Databases have no columns for countries and operators, nor for what scans saw:
 * these filters become the numbers of the servers.
 *
 * @param geoipOf `undefined`: without `--geoip`.
 * @throws InputError for a scan that the database does not have, and for a country without `--geoip`.
 */
export async function searchSelection(
  database: Database,
  { country, operator, scan, saw, unknown, ...filters }: DashboardFilters,
  geoipOf: GeoipLookup | undefined,
): Promise<Omit<ServerSelection, "sort">> {
  const { stored, geoip } = dividedUnknown(unknown ?? []);
  const found: (readonly number[])[] = [];
  if (scan !== undefined || saw !== undefined) {
    const id = scan ?? await lastScanId(database);
    if (id === undefined || await scanWithId(database, id) === undefined) {
      throw new InputError(
        id === undefined
          ? `Cannot use saw: here: no scan into ${database.name} has ended`
          : `Cannot find the scan ${id} in ${database.name}: the command scans lists them`,
      );
    }
    found.push(await membersOf(database, id, saw ?? "found"));
  }
  if (country !== undefined || operator !== undefined || geoip.length > 0) {
    if (geoipOf === undefined) {
      throw new InputError(
        "Cannot search for countries and operators without --geoip FILE.mmdb",
      );
    }
    found.push(await serversAt(database, { country, operator, unknown: geoip }, geoipOf));
  }
  return {
    ...filters,
    ...stored.length > 0 && { unknown: stored },
    ...found.length > 0 && { among: found.reduce(intersection) },
  };
}

/** Number of servers that an error names. */
const NAMED = 3;

/**
 * The server that words stand for: its name or address, or a search that finds only this one.
 *
 * @throws InputError when there is none, or several.
 */
export async function findOneServer(
  database: Database,
  words: readonly string[],
  now: number,
  geoipOf: GeoipLookup | undefined,
): Promise<NumberedServer> {
  const [word] = words;
  const named = await serversNamed(database, words);
  if (named !== undefined && named.ofHost.length > 0) return await findServer(database, word);
  const search = readSearchWords(words, now);
  const selection = await searchSelection(database, search, geoipOf);
  const found = await Array.fromAsync(
    selectServers(database, { ...selection, sort: "address", limit: NAMED + 1 }),
    (server) => identityOf(server)!.key,
  );
  if (found.length === 1) return (await serverWithKey(database, found[0]))!;
  if (found.length === 0 && named !== undefined) throw ambiguousName(database, word, named);
  const text = words.map(redactUrl).join(" ");
  throw new InputError(
    found.length === 0
      ? `Cannot find "${text}": no server of ${database.name} matches`
      : `Cannot show one server: "${text}" matches ${found.slice(0, NAMED).join(", ")}` +
        `${found.length > NAMED ? " and others" : ""}; name one of them`,
  );
}

/**
 * The servers that words stand for: those with a name or address, or those that a search finds. Without
 * words, all servers.
 *
 * @throws InputError when there is none.
 */
export async function findServers(
  database: Database,
  words: readonly string[],
  now: number,
  geoipOf: GeoipLookup | undefined,
): Promise<Omit<ServerSelection, "sort">> {
  if (words.length === 0) return {};
  const named = await serversNamed(database, words);
  if (named !== undefined && named.ofHost.length > 0) {
    if (named.matching.length > 0) return { among: named.matching.map(({ id }) => id) };
    throw ambiguousName(database, words[0], named);
  }
  const selection = await searchSelection(database, readSearchWords(words, now), geoipOf);
  if (await countServers(database, { ...selection, sort: "address" }, 1) > 0) return selection;
  const text = words.map(redactUrl).join(" ");
  throw new InputError(`Cannot find "${text}": no server of ${database.name} matches`);
}

/** The servers with a name or address; undefined: the words are a search. */
async function serversNamed(
  database: Database,
  words: readonly string[],
): Promise<NamedServers | undefined> {
  const name = words.length === 1 ? parseServerName(words[0]) : undefined;
  return name === undefined ? undefined : await lookUpServers(database, name);
}

/** The servers in a country or of an operator. */
async function serversAt(
  database: Database,
  filters: Pick<DashboardFilters, "country" | "operator" | "unknown">,
  geoipOf: GeoipLookup,
): Promise<number[]> {
  const isWanted = testOfPlaces(filters);
  const found: number[] = [];
  for await (const { id, host } of serverHosts(database)) {
    if (isWanted(geoipOf(host))) found.push(id);
  }
  return found;
}

function intersection(a: readonly number[], b: readonly number[]): readonly number[] {
  const others = new Set(b);
  return a.filter((one) => others.has(one));
}
