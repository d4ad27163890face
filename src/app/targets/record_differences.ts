/**
 * Finds the differences between two lists of servers: databases or files of rows.
 *
 * @module
 */
import { type Address, parseAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import type { ServerRecord } from "../../core/record.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { Database } from "../../store/database/database.ts";
import { parseDatabaseLocation } from "../../store/database_location.ts";
import type { ColumnChange } from "../../store/events/watch_event.ts";
import {
  addressesAsked,
  allServers,
  type ConnectionEnvironment,
  type Differences,
  differencesOf,
  identityOf,
  readStore,
  type ServerDifference,
  sortDifferences,
  WATCHED_COLUMNS,
  withDatabaseErrors,
} from "../../store/mod.ts";
import { brokenCellReporter } from "../databases/mod.ts";
import { readImportedRows } from "./servers_in_files.ts";

/** The columns that a comparison reads. */
const COMPARED = [
  ...new Set<keyof ServerRecord>([
    ...WATCHED_COLUMNS,
    ...["host", "name", "software", "version", "guid", "flags", "players_online"] as const,
  ]),
];

/** A server of a list. */
interface ListedServer {
  /** The values of {@linkcode COMPARED} as JSON, which needs a fraction of a record's memory. */
  readonly values: string;
  readonly online: boolean;
  /** The columns that the list has of it; `undefined`: all. */
  readonly columns: ReadonlySet<string> | undefined;
}

/** The servers of a list, by their keys in a database. */
export interface ServerList {
  readonly servers: ReadonlyMap<string, ListedServer>;
  /** Whether the scans of the list were to probe an address; `undefined`: not known, all count as asked. */
  readonly asked: ((address: Address) => boolean) | undefined;
}

/** @param other The server with the same key in the other list: equal values are one text. */
function compactValues(record: ServerRecord, other: ListedServer | undefined): string {
  const values = JSON.stringify(COMPARED.map((name) => record[name]));
  return other?.values === values ? other.values : values;
}

function recordOf({ values }: ListedServer): Partial<ServerRecord> {
  const all: unknown[] = JSON.parse(values);
  return Object.fromEntries(COMPARED.map((name, i) => [name, all[i]]));
}

/** Equal sets of columns are one set. */
function columnSets(): (names: readonly string[]) => ReadonlySet<string> {
  const sets = new Map<string, ReadonlySet<string>>();
  return (names) => {
    const key = JSON.stringify(names);
    const known = sets.get(key) ?? new Set(names);
    if (sets.size < KEPT_SETS) sets.set(key, known);
    return known;
  };
}

/** Number of sets of columns that are kept: files have one, or some. */
const KEPT_SETS = 100;

/**
 * Reads a database or a file of rows.
 *
 * @param word A path, the URL of a database, or `-` for standard input.
 * @param other The list with which it is compared, for equal values. Default: none.
 * @throws InputError when it cannot be read, or none of its lines is a row.
 */
export async function readServerList(
  word: string,
  environment: ConnectionEnvironment,
  report: (line: string) => void,
  other?: ServerList,
): Promise<ServerList> {
  const location = parseDatabaseLocation(word);
  if (location === undefined) return await readFile(word, report, other);
  await using database = await readStore(location, environment);
  return await withDatabaseErrors(
    "read",
    database,
    () => database.snapshot(() => readDatabase(database, report, other)),
  );
}

async function readDatabase(
  database: Database,
  report: (line: string) => void,
  other: ServerList | undefined,
): Promise<ServerList> {
  const servers = new Map<string, ListedServer>();
  for await (const record of allServers(database, brokenCellReporter(database.name, report))) {
    const key = identityOf(record)?.key;
    if (key === undefined) continue;
    servers.set(key, {
      values: compactValues(record, other?.servers.get(key)),
      online: record.online,
      columns: undefined,
    });
  }
  return { servers, asked: await addressesAsked(database) };
}

async function readFile(
  path: string,
  report: (line: string) => void,
  other: ServerList | undefined,
): Promise<ServerList> {
  const servers = new Map<string, ListedServer>();
  const columnsOf = columnSets();
  let ignored: string | undefined;
  const onIgnored = (line: string) => {
    ignored = line;
  };
  for await (const { stored, row } of readImportedRows(path, onIgnored)) {
    const key = identityOf(stored)?.key;
    if (key === undefined) continue;
    const online = row?.online === undefined || row.online === true || row.online === "true";
    const columns = columnsOf(row === undefined ? [] : Object.keys(row));
    servers.set(key, { values: compactValues(stored, other?.servers.get(key)), online, columns });
  }
  if (ignored !== undefined && servers.size === 0) {
    throw new InputError(
      `Cannot compare "${path}": it contains no row of a server; supported are the formats of scan and ` +
        "export, and files of other scanners that import reads",
    );
  }
  if (ignored !== undefined) report(ignored);
  if (servers.size > 0 && [...servers.values()].every(({ columns }) => columns?.size === 0)) {
    report(
      `${path}: its rows have no columns of blocksweep beside the address and the port: differences are new ` +
        "and lost servers only",
    );
  }
  return { servers, asked: undefined };
}

/**
 * The differences between two lists. A server without a row is lost or new, unless the other list has
 * scans, and none of them was to probe its address. Only columns that both lists have are compared.
 */
export function listDifferences(
  before: ServerList,
  now: ServerList,
  allProtocols: readonly Protocol[],
): Differences {
  const servers: ServerDifference[] = [];
  let [unchanged, notAsked] = [0, 0];
  const add = (
    server: string,
    difference: ServerDifference["difference"],
    listed: ListedServer,
    changes: Readonly<Record<string, ColumnChange>> = {},
  ) => {
    const { name = null, software = null, version = null } = recordOf(listed);
    servers.push({ difference, server, name, software, version, changes });
  };
  for (const [key, earlier] of before.servers) {
    const later = now.servers.get(key);
    if (later === undefined) {
      if (!isAsked(now, earlier)) notAsked++;
      else if (earlier.online) add(key, "lost", earlier);
    } else if (earlier.online && !later.online) add(key, "lost", later);
    else if (!earlier.online && later.online) add(key, "back", later);
    else if (earlier.online) {
      const changes = changedColumns(earlier, later, allProtocols);
      if (Object.keys(changes).length === 0) unchanged++;
      else add(key, "changed", later, changes);
    }
  }
  for (const [key, later] of now.servers) {
    if (before.servers.has(key)) continue;
    if (!isAsked(before, later)) notAsked++;
    else if (later.online) add(key, "new", later);
  }
  return { servers: sortDifferences(servers), unchanged, notAsked };
}

function isAsked({ asked }: ServerList, server: ListedServer): boolean {
  if (asked === undefined) return true;
  const address = parseAddress(recordOf(server).host!.split("%")[0]);
  return address !== undefined && asked(address);
}

/** The changed columns of a server, as the events `changed` and `restarted` have them. */
function changedColumns(
  before: ListedServer,
  now: ListedServer,
  allProtocols: readonly Protocol[],
): Readonly<Record<string, ColumnChange>> {
  const hasBoth = (name: string) =>
    (before.columns?.has(name) ?? true) && (now.columns?.has(name) ?? true);
  if (before.values === now.values) return {};
  const comparable = (server: ListedServer) => ({
    guid: null,
    players_online: null,
    players: null,
    ...Object.fromEntries(Object.entries(recordOf(server)).filter(([name]) => hasBoth(name))),
  });
  const changes: Record<string, ColumnChange> = {};
  for (const event of differencesOf(comparable(before), comparable(now), allProtocols)) {
    if (event.event === "restarted") changes.guid = event.guid;
    if (event.event === "changed") Object.assign(changes, event.changes);
  }
  return changes;
}
