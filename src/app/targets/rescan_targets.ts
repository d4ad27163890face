/**
 * Reads known servers: those of a database, to probe them again, and those that an adaptive scan begins with.
 *
 * @module
 */
import { type Endpoint, family, parseHost } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { countOf } from "../../core/quantities.ts";
import { jitterOf, overdue, PRIOR_SCALE } from "../../discovery/mod.ts";
import {
  allEndpoints,
  type ConnectionEnvironment,
  knownEndpoints,
  openStore,
  readOptOuts,
  readStore,
  withDatabaseErrors,
} from "../../store/mod.ts";
import type { Marks } from "../../scan/mod.ts";
import { isLater } from "../../sweep/mod.ts";
import { isKnownFor } from "../../protocols/declared_facts.ts";
import { sweptProtocols } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { Database } from "../../store/database/database.ts";
import { type DatabaseLocation, parseDatabaseLocation } from "../../store/database_location.ts";
import { AddressSet, type Range } from "../../targets/ranges.ts";
import { namesIn } from "../../targets/requested_names.ts";
import type { NamedService } from "../../targets/srv.ts";
import { brokenCellReporter } from "../databases/broken_cells.ts";
import { namedLocation } from "../databases/select_servers.ts";
import type { Shard } from "../../targets/shards.ts";
import { readServerRows } from "./servers_in_files.ts";

/** A known server of a database. */
export interface RescanTarget {
  /** The endpoint that the database has for the server. */
  readonly endpoint: Endpoint;
  /** The name by which the server was requested. */
  readonly name?: string;
  /** That name and the service, if an SRV record of the name points to the server. */
  readonly service?: NamedService;
  /** Names of the protocols in its last record; before an adaptive scan, with their siblings. */
  readonly protocols: readonly string[];
}

/** The known servers of a database, and its opt-outs. */
export interface RescanServers {
  /** The servers, the most overdue first. */
  readonly servers: readonly RescanTarget[];
  /** Addresses that the database marks as opted out. */
  readonly optedOut: readonly Range[];
}

/**
 * Reads known servers from a database, and orders them by how overdue their next probe is.
 *
 * @param written The databases among the outputs. If `location` is one of them, its schema is
 * upgraded; other databases are not changed.
 * @param report Receives a line for each cell that cannot be read.
 * @throws InputError when the database cannot be opened; StoreError when reading fails.
 */
async function readKnown(
  location: DatabaseLocation,
  written: readonly DatabaseLocation[],
  environment: ConnectionEnvironment,
  report: (line: string) => void,
  allProtocols: readonly Protocol[],
): Promise<RescanServers> {
  await using database = await openKnown(location, written, environment);
  return await withDatabaseErrors("read", database, async () => {
    const optedOut = await readOptOuts(database);
    const optedOutSet = new AddressSet(optedOut);
    const found: { readonly server: RescanTarget; readonly overdue: number }[] = [];
    const now = database.now();
    const onBroken = brokenCellReporter(database.name, report);
    const spoken = new Map<readonly string[], readonly string[]>(); // each list once
    for await (const one of allEndpoints(database, onBroken)) {
      const { endpoint, requestedAs } = one;
      if (optedOutSet.has(endpoint.address)) continue;
      const names = requestedAs === null ? {} : namesIn(requestedAs);
      const protocols = spoken.get(one.protocols) ?? spokenOf(one.protocols, allProtocols);
      spoken.set(one.protocols, protocols);
      found.push({
        server: { endpoint, protocols, ...names },
        overdue: overdue(one, { now, scale: PRIOR_SCALE, jitter: jitterOf(one.key) }),
      });
    }
    found.sort((a, b) => b.overdue - a.overdue);
    return { servers: found.map(({ server }) => server), optedOut };
  });
}

/** Opens a database that is read. If it is also written, its schema is upgraded. */
async function openKnown(
  location: DatabaseLocation,
  written: readonly DatabaseLocation[],
  environment: ConnectionEnvironment,
): Promise<Database> {
  const open = written.some(({ path }) => path === location.path) ? openStore : readStore;
  return await open(location, environment);
}

/** The protocols of a row that this program supports. */
function spokenOf(
  names: readonly string[],
  allProtocols: readonly Protocol[],
): readonly string[] {
  return allProtocols.map(({ name }) => name).filter((name) => names.includes(name));
}

/**
 * The protocols in which an adaptive scan begins with a server: those of its row, and their siblings,
 * in which it may reply by now.
 */
function probedIn(names: readonly string[], protocols: readonly Protocol[]): readonly string[] {
  return protocols.filter((one) => isKnownFor(one, names)).map(({ name }) => name);
}

/** The options that decide which known servers a scan probes again. */
export interface RescanOptions {
  /** Every protocol of the program, in order of rank. */
  readonly allProtocols: readonly Protocol[];
  /** The database, perhaps with a password. */
  readonly rescan: string | undefined;
  /** The shard of the targets that is probed. */
  readonly shard: Shard;
  /** The positions at which the scan starts. */
  readonly from: Marks;
}

/**
 * The known servers that a scan probes again.
 *
 * @throws InputError when there are none, or when the order must be stable but would depend on the
 * database.
 */
export async function knownToRescan(
  { rescan: text, shard, from, allProtocols }: RescanOptions & { readonly rescan: string },
  written: readonly DatabaseLocation[],
  environment: ConnectionEnvironment,
  report: (line: string) => void,
): Promise<RescanServers> {
  const unstable = "the servers of a database change with each scan";
  if (shard.count > 1) {
    throw new InputError(
      `Cannot use --rescan with --shard: ${unstable}; export the database, and scan the file with each shard`,
    );
  }
  if (isLater(from.udp) || isLater(from.tcp)) {
    throw new InputError(
      `Cannot use --rescan with --from: ${unstable}; --resume continues the scan in its own order`,
    );
  }
  const location = parseDatabaseLocation(text) ?? namedLocation(text);
  const known = await readKnown(location, written, environment, report, allProtocols);
  if (known.servers.length > 0) return known;
  throw new InputError(
    `Cannot rescan ${location.path}: there is no server in it${
      known.optedOut.length > 0 ? " that has not opted out" : ""
    }`,
  );
}

/**
 * The servers that were known before an adaptive scan: those of a database, or of a file of rows.
 *
 * @param report Receives a line for each cell that cannot be read, and with the number of skipped lines.
 * @throws InputError when they cannot be read, or none of them speaks a swept protocol.
 */
export async function knownBefore(
  text: string,
  protocols: readonly Protocol[],
  written: readonly DatabaseLocation[],
  environment: ConnectionEnvironment,
  report: (line: string) => void,
): Promise<RescanServers> {
  const location = parseDatabaseLocation(text);
  const { servers, optedOut } = location === undefined
    ? { servers: await knownInFile(text, protocols, report), optedOut: [] }
    : await knownIn(location, written, environment, report, protocols);
  const names = sweptProtocols(protocols).map(({ name }) => name);
  const ipv4 = servers.filter(({ endpoint }) => family(endpoint.address) === 4);
  const usable = ipv4.filter(({ protocols }) => names.some((name) => protocols.includes(name)));
  const path = location?.path ?? text;
  if (usable.length === 0) {
    throw new InputError(
      `Cannot use --known ${path}: ` +
        (ipv4.length === 0
          ? "there is no server with an IPv4 address in it"
          : `its servers are known of another protocol; the scan probes ${names.join(", ")}`),
    );
  }
  const others = servers.length - ipv4.length;
  if (others > 0) {
    const left = countOf(others, "IPv6 server");
    report(`blocksweep: ${path}: ignored ${left}: adaptive scans are for IPv4`);
  }
  return { servers: usable, optedOut };
}

/** The servers of a database, in no order. */
async function knownIn(
  location: DatabaseLocation,
  written: readonly DatabaseLocation[],
  environment: ConnectionEnvironment,
  report: (line: string) => void,
  allProtocols: readonly Protocol[],
): Promise<RescanServers> {
  await using database = await openKnown(location, written, environment);
  return await withDatabaseErrors("read", database, async () => {
    const optedOut = await readOptOuts(database);
    const optedOutSet = new AddressSet(optedOut);
    const onBroken = brokenCellReporter(database.name, report);
    const spoken = new Map<readonly string[], readonly string[]>(); // each list once
    const servers: RescanTarget[] = [];
    for await (const known of knownEndpoints(database, onBroken)) {
      for (const { endpoint, protocols: names } of known) {
        if (optedOutSet.has(endpoint.address)) continue;
        const protocols = spoken.get(names) ?? probedIn(names, allProtocols);
        spoken.set(names, protocols);
        servers.push({ endpoint, protocols });
      }
    }
    return { servers, optedOut };
  });
}

/**
 * The servers in a file of rows without those in a zone, which scans do not reach. A server without a protocol counts as known
 * in all of them.
 */
async function knownInFile(
  path: string,
  protocols: readonly Protocol[],
  report: (line: string) => void,
): Promise<readonly RescanTarget[]> {
  const servers: RescanTarget[] = [];
  for await (const { host, port, protocol, protocols: names } of readServerRows(path, report)) {
    const spoken = protocol === "" ? protocols.map(({ name }) => name) : probedIn(names, protocols);
    const { address, zone } = parseHost(host)!;
    if (zone === undefined) servers.push({ endpoint: { address, port }, protocols: spoken });
  }
  return servers;
}
