/**
 * Collects the servers of a watch from endpoints, files of rows and databases.
 *
 * @module
 */
import { type Endpoint, endpointKey, formatEndpoint, parseHost } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { withoutPlayers } from "../../protocols/declared_facts.ts";
import {
  allServers,
  serversAfter,
  type StoredRecord,
  withDatabaseErrors,
} from "../../store/mod.ts";
import { type StoredState, WatchedServer, type WatchRules } from "../../watch/mod.ts";
import type { Database } from "../../store/database/database.ts";
import { AddressSet, type Range } from "../../targets/ranges.ts";
import { neverProbedReason } from "../../targets/shipped_lists.ts";
import { splitWords } from "../../targets/parse.ts";
import { OUTPUT_FORMAT_LIST } from "../outputs/output_formats.ts";
import { locate } from "../names/locate_server.ts";
import {
  located,
  lookUpEach,
  type Lookups,
  MissingName,
  noteRefused,
  RefusedName,
  reportMissing,
} from "../names/name_lookup.ts";
import { readServerRows } from "./servers_in_files.ts";
import { countOf } from "../../core/quantities.ts";
import { brokenCellReporter } from "../databases/broken_cells.ts";
import { namesIn } from "../../targets/requested_names.ts";
import { requestText } from "../../targets/srv.ts";

/** Suffixes of files: a word that ends in one is no host, even if there is no such file. */
const FILE_SUFFIXES: readonly string[] = OUTPUT_FORMAT_LIST.flatMap(([, { suffixes }]) => suffixes);

/** Whether a word ends in a suffix of files. */
export function hasFileSuffix(word: string): boolean {
  return FILE_SUFFIXES.includes(/\.([a-z]+)$/.exec(word)?.[1] ?? "");
}

/** How servers of databases are watched. */
export interface StoredSources {
  /** Whether players' names are kept. */
  readonly names: boolean;
  readonly rules: WatchRules;
}

export interface WatchSources extends StoredSources {
  /** Servers by address or name, and files by their suffix. */
  readonly words: readonly string[];
  /** Files, whatever their suffix. */
  readonly files: readonly string[];
  /** Databases whose servers are watched. */
  readonly lists: readonly Database[];
  /** Addresses that opted out: their servers are skipped in every source. */
  readonly optedOut: readonly Range[];
  /** Whether every name may lead to private addresses. */
  readonly allowPrivate: boolean;
  /** Whether names that cannot be found are refused. Default: they are left out. */
  readonly strict?: boolean;
  readonly protocols: readonly Protocol[];
  readonly lookups: Pick<Lookups, "resolve" | "findService">;
  /** Receives a line about skipped servers. */
  readonly report: (line: string) => void;
  /** Receives the reason why a name is not used. */
  readonly note: (text: string) => void;
}

/** Adds a server: its endpoint, its name, its stored state, and the text of `requested_as`. */
type AddServer = (
  endpoint: Endpoint,
  name: string | null,
  known?: StoredState,
  requestedAs?: string | null,
) => void;

/**
 * The servers of all sources, each once. Two names of one address are two servers.
 *
 * @throws InputError when a source cannot be read, a target must not be probed, or no server is left.
 */
export async function readWatchTargets(sources: WatchSources): Promise<readonly WatchedServer[]> {
  const { words, files, lists, rules } = sources;
  const servers = new Map<string, WatchedServer>();
  const optedOutSet = new AddressSet(sources.optedOut);
  const passedOver = new Set<number | bigint>();
  const add: AddServer = (endpoint, name, known, requestedAs) => {
    if (optedOutSet.has(endpoint.address)) {
      passedOver.add(endpointKey(endpoint));
      return;
    }
    const server = new WatchedServer({ ...endpoint }, name, rules, known, requestedAs);
    const { key } = server.identity;
    if (!servers.has(key)) servers.set(key, server);
  };
  for (const list of lists) await readList(list, sources, add);
  const addNamed: AddServer = (endpoint, name, known, requestedAs) => {
    const reason = neverProbedReason(endpoint.address);
    if (reason === undefined) return add(endpoint, name, known, requestedAs);
    throw new InputError(`Cannot watch ${formatEndpoint(endpoint)}: never probed: ${reason}`);
  };
  const hosts: NamedHost[] = [];
  for (const word of [...words, ...files]) hosts.push(...await readWord(word, sources, addNamed));
  const { refused, missing } = await addHosts(hosts, sources, addNamed);
  const { strict = false, note, report } = sources;
  const hasOthers = servers.size + passedOver.size > 0;
  noteRefused(refused, hasOthers, note);
  reportMissing(missing, { hasOthers, strict, note, warn: report });
  reportOptedOut(passedOver.size, report);
  if (servers.size > 0) return [...servers.values()];
  if (lists.length === 0 && passedOver.size > 0) throw new InputError(ALL_OPTED_OUT);
  const named = lists[0]?.name ?? [...words, ...files].map((path) => `"${path}"`).join(", ");
  throw new InputError(
    named === ""
      ? "Cannot watch: name servers, files or databases"
      : `Cannot watch ${named}: there is no server that may be polled`,
  );
}

const ALL_OPTED_OUT = "Cannot watch: every named server opted out";

function reportOptedOut(servers: number, report: (line: string) => void): void {
  if (servers > 0) report(`blocksweep: ${countOf(servers, "server")} opted out and not watched`);
}

/**
 * The servers whose addresses have not opted out.
 *
 * @param report Receives a line with the number of skipped servers.
 * @throws InputError when there are none.
 */
export function withoutOptedOut(
  servers: readonly WatchedServer[],
  optedOut: readonly Range[],
  report: (line: string) => void,
): readonly WatchedServer[] {
  const optedOutSet = new AddressSet(optedOut);
  const left = servers.filter(({ endpoint }) => !optedOutSet.has(endpoint.address));
  reportOptedOut(servers.length - left.length, report);
  if (left.length === 0) throw new InputError(ALL_OPTED_OUT);
  return left;
}

/**
 * The servers of a database, without servers in ranges that are never probed.
 */
async function readList(
  list: Database,
  sources: WatchSources,
  add: AddServer,
): Promise<void> {
  await withDatabaseErrors("read", list, async () => {
    for await (const stored of allServers(list, brokenCellReporter(list.name, sources.report))) {
      addListed(stored, sources, add);
    }
  });
}

/** The servers of a database whose id is greater than `afterId`. */
export async function* addedServers(
  list: Database,
  afterId: number,
  sources: StoredSources,
): AsyncIterable<WatchedServer> {
  const found: WatchedServer[] = [];
  const add: AddServer = (endpoint, name, known, requestedAs) => {
    found.push(new WatchedServer(endpoint, name, sources.rules, known, requestedAs));
  };
  for await (const stored of serversAfter(list, afterId)) {
    addListed(stored, sources, add);
    yield* found.splice(0);
  }
}

/** Adds a server of a database, unless it is in a range that is never probed. */
function addListed(stored: StoredRecord, sources: StoredSources, add: AddServer): void {
  const host = parseHost(stored.host);
  if (host === undefined || neverProbedReason(host.address) !== undefined) return;
  addStored({ ...host, port: stored.port }, stored, sources, add);
}

/** Adds a server of a database or a file, with the name by which it was requested. */
function addStored(
  endpoint: Endpoint,
  stored: StoredRecord,
  sources: StoredSources,
  add: AddServer,
): void {
  const { requested_as: requestedAs } = stored;
  const { name, service } = requestedAs === null ? {} : namesIn(requestedAs);
  const known = name ?? service?.name ?? null;
  add(endpoint, known, knownState(stored, sources), known === null ? null : requestedAs);
}

/** The last known state of a server. Player names are included only if they are kept. */
function knownState(
  stored: StoredRecord,
  { names, rules }: StoredSources,
): StoredState {
  const {
    online,
    missed_scans: _,
    first_seen: firstSeen,
    probed_at: probedAt,
    players_at: _2,
    tags: _3,
    notes: _4,
    ...record
  } = stored;
  const known = names ? record : withoutPlayers(record, rules.allProtocols);
  const row = record.protocol === "" ? undefined : known;
  return { row, online, probedAt, firstSeen };
}

/** A host to watch, and the line of the file that names it. */
interface NamedHost {
  readonly host: string;
  readonly sourceLine?: string;
}

/** Adds the servers of hosts, and returns the errors of names that cannot be used. */
async function addHosts(
  hosts: readonly NamedHost[],
  { protocols, allowPrivate, lookups: found, note }: WatchSources,
  add: AddServer,
): Promise<{ refused: readonly RefusedName[]; missing: readonly InputError[] }> {
  const refused: RefusedName[] = [];
  const missing: InputError[] = [];
  const lookups = { ...found, note, allowPrivate };
  const results = await lookUpEach(
    hosts,
    ({ host }) => locate(host, protocols, lookups, "watch"),
  );
  for (const [i, result] of results.entries()) {
    if (result.status === "rejected") {
      const { reason } = result;
      // one name's DNS records do not end the watch of other servers
      if (reason instanceof RefusedName) refused.push(reason);
      else if (reason instanceof MissingName) missing.push(located(hosts[i].sourceLine, reason));
      else throw reason instanceof InputError ? located(hosts[i].sourceLine, reason) : reason;
      continue;
    }
    const { endpoints, name } = result.value;
    for (const { endpoint, service } of endpoints) {
      add(endpoint, name, undefined, name === null ? null : requestText(name, service));
    }
  }
  return { refused, missing };
}

/** Reads one argument: adds the servers in a file of rows, and returns the hosts in a list of targets. */
async function readWord(
  word: string,
  sources: WatchSources,
  add: AddServer,
): Promise<readonly NamedHost[]> {
  const { files, report } = sources;
  if (!files.includes(word) && !hasFileSuffix(word)) return [{ host: word }];
  const hosts: NamedHost[] = [];
  const source = word === "-" ? "standard input" : word;
  const readText = (line: string, number: number) => {
    for (const { word: host } of splitWords(line)) {
      hosts.push({ host, sourceLine: `${source}:${number}` });
    }
  };
  const addUnknown: AddServer = (endpoint, name, _known, requestedAs) =>
    add(endpoint, name, undefined, requestedAs);
  for await (const stored of readServerRows(word, report, readText)) {
    const endpoint = { ...parseHost(stored.host)!, port: stored.port };
    addStored(endpoint, stored, sources, stored.protocol === "" ? addUnknown : add);
  }
  return hosts;
}
