/**
 * Which servers a watch is of: words, files, and lists.
 *
 * @module
 */
import { type Endpoint, endpointKey, formatEndpoint, parseAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { withoutPlayers } from "../../scan/inspect_stage/build_record.ts";
import type { StoredRecord } from "../../store/server_columns.ts";
import type { Database } from "../../store/database/database.ts";
import { overdueServers } from "../../store/server_queries.ts";
import { withDatabaseErrors } from "../../store/store.ts";
import { AddressSet, type Range } from "../../targets/ranges.ts";
import { neverProbedReason } from "../../targets/builtin_lists.ts";
import { splitWords } from "../../targets/parse.ts";
import { type StoredState, WatchedServer, type WatchRules } from "../../watch/mod.ts";
import { readTextFile } from "../environment.ts";
import { locate } from "./locate_server.ts";
import { type Lookups, noteRefused, RefusedName } from "./name_lookup.ts";
import { countOf } from "../../core/quantities.ts";
import { namesIn } from "./rescan_targets.ts";

/** Suffixes of files of rows. */
const ROWS = ["ndjson", "jsonl", "csv"];

/** What says which servers to watch. */
export interface WatchSources {
  /** Servers by address or name, and files by their suffix. */
  readonly words: readonly string[];
  /** Files, whatever their suffix. */
  readonly files: readonly string[];
  /** Lists. */
  readonly lists: readonly Database[];
  /** Addresses that opted out: their servers are passed over, wherever they are named. */
  readonly optedOut: readonly Range[];
  /** Whether every name may lead to private addresses. */
  readonly allowPrivate: boolean;
  /** The protocols to look for. */
  readonly protocols: readonly Protocol[];
  /** Every protocol of the program, in order of rank. Default: PROTOCOLS. */
  readonly allProtocols?: readonly Protocol[];
  /** Whether players' names are kept. */
  readonly names: boolean;
  /** How servers are watched. */
  readonly rules: WatchRules;
  /** What names are looked up with. */
  readonly lookups: Pick<Lookups, "resolve" | "findService">;
  /** Reads a file of rows. Default: no word names a file. */
  readonly readRows?: (
    path: string,
    tell: (line: string) => void,
  ) => AsyncIterable<StoredRecord>;
  /** Told what is passed over. */
  readonly tell: (line: string) => void;
  /** Told what stands against using a name. */
  readonly note: (text: string) => void;
}

/**
 * The servers of all sources, each once.
 *
 * @throws InputError for what cannot be read, or must not be asked, and when there are none.
 */
export async function readWatchTargets(sources: WatchSources): Promise<readonly WatchedServer[]> {
  const { words, files, lists, rules } = sources;
  const servers = new Map<number | bigint, WatchedServer>();
  const shy = new AddressSet(sources.optedOut);
  const passedOver = new Set<number | bigint>();
  const add = (endpoint: Endpoint, name: string | null, known?: StoredState) => {
    const key = endpointKey(endpoint);
    if (shy.has(endpoint.address)) passedOver.add(key);
    else if (!servers.has(key)) {
      servers.set(key, new WatchedServer({ ...endpoint }, name, rules, known));
    }
  };
  for (const list of lists) await readList(list, sources, add);
  const addNamed = (endpoint: Endpoint, name: string | null, known?: StoredState) => {
    const reason = neverProbedReason(endpoint.address);
    if (reason === undefined) return add(endpoint, name, known);
    throw new InputError(`Cannot watch ${formatEndpoint(endpoint)}: never probed: ${reason}`);
  };
  const refused: RefusedName[] = [];
  for (const word of [...words, ...files]) await readWord(word, sources, addNamed, refused);
  noteRefused(refused, servers.size + passedOver.size > 0, sources.note);
  tellPassedOver(passedOver.size, sources.tell);
  if (servers.size > 0) return [...servers.values()];
  throw new InputError(
    lists.length > 0
      ? `Cannot watch ${lists[0].name}: it has no server that may be polled`
      : passedOver.size > 0
      ? ALL_OPTED_OUT
      : "Cannot watch: name servers, files or databases",
  );
}

const ALL_OPTED_OUT = "Cannot watch: every named server opted out";

function tellPassedOver(servers: number, tell: (line: string) => void): void {
  if (servers > 0) tell(`blocksweep: ${countOf(servers, "server")} opted out and not watched`);
}

/**
 * The servers whose addresses have not opted out.
 *
 * @param tell Told how many have.
 * @throws InputError when there are none.
 */
export function withoutOptedOut(
  servers: readonly WatchedServer[],
  optedOut: readonly Range[],
  tell: (line: string) => void,
): readonly WatchedServer[] {
  const shy = new AddressSet(optedOut);
  const left = servers.filter(({ endpoint }) => !shy.has(endpoint.address));
  tellPassedOver(servers.length - left.length, tell);
  if (left.length === 0) throw new InputError(ALL_OPTED_OUT);
  return left;
}

/** The servers of a list, the most overdue first; those that are never probed are passed over. */
async function readList(
  list: Database,
  { names }: WatchSources,
  add: (endpoint: Endpoint, name: string | null, known: StoredState) => void,
): Promise<void> {
  await withDatabaseErrors("read", list, async () => {
    for await (const stored of overdueServers(list)) {
      const address = parseAddress(stored.host);
      if (address === undefined || neverProbedReason(address) !== undefined) continue;
      add({ address, port: stored.port }, requestedNameIn(stored), knownState(stored, names));
    }
  });
}

/** The name that a server was asked for by. */
function requestedNameIn({ requested_as: asked }: StoredRecord): string | null {
  const { name, service } = asked === null ? {} : namesIn(asked);
  return name ?? service?.name ?? null;
}

/** What a list or a row knows of a server, with its players only where they are kept. */
function knownState(stored: StoredRecord, names: boolean): StoredState {
  const { online, failures, first_seen: _, last_seen: probedAt, ...record } = stored;
  const row = record.protocol === "" ? undefined : names ? record : withoutPlayers(record);
  return { row, online, failures, probedAt };
}

/**
 * The servers of a file, or of a word.
 *
 * @param refused Takes the names of which no record may be used.
 */
async function readWord(
  word: string,
  sources: WatchSources,
  add: (endpoint: Endpoint, name: string | null, known?: StoredState) => void,
  refused: RefusedName[],
): Promise<void> {
  const { files, protocols, allowPrivate, names, lookups: found, readRows, note, tell } = sources;
  const addHost = async (host: string) => {
    try {
      const lookups = { ...found, note, allowPrivate };
      const { endpoints, name } = await locate(host, protocols, lookups, "watch");
      for (const { endpoint } of endpoints) add(endpoint, name);
    } catch (error) {
      if (!(error instanceof RefusedName)) throw error;
      refused.push(error); // a stranger's records end no watch of others
    }
  };
  const suffix = /\.([a-z]+)$/.exec(word)?.[1] ?? "";
  const isFile = files.includes(word) || ROWS.includes(suffix) || suffix === "txt";
  if (readRows === undefined || !isFile) return await addHost(word);
  if (ROWS.includes(suffix)) {
    for await (const stored of readRows(word, tell)) {
      const endpoint = { address: parseAddress(stored.host)!, port: stored.port };
      add(endpoint, requestedNameIn(stored), knownState(stored, names));
    }
  } else {
    for (const line of splitWords(await readTextFile(word))) await addHost(line.word);
  }
}
