/**
 * The targets of a scan: resolved for a new scan, taken from the saved configuration of a checkpoint
 * or a campaign otherwise.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Network } from "../../net/mod.ts";
import type { CallContext } from "../network/call_context.ts";
import { connectionEnvironment } from "../options/connection_environment.ts";
import { namedDatabases } from "../databases/database_plan.ts";
import { readTextFile } from "../environment.ts";
import { PartlyReadOptOuts } from "../opt_outs/opt_out_file.ts";
import { refuseFiles } from "../options/path_conflicts.ts";
import { orderDigest } from "../resume/scan_configuration.ts";
import {
  composeTargets,
  findTargets,
  type FoundTargets,
  type NamedTargets,
  type NamedText,
  shardOf,
} from "../targets/find_targets.ts";
import { haveService } from "../names/name_lookup.ts";
import type { RescanOptions, RescanServers } from "../targets/rescan_targets.ts";
import type { ScanRequest } from "./read_scan.ts";
import type { ScanCommandOptions } from "./scan_choice.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { DatabaseLocation } from "../../store/database_location.ts";
import { segmentsOf, type Targets } from "../../targets/compose.ts";
import type { Range } from "../../targets/ranges.ts";

/** What names targets: the request of a scan, or of a campaign. */
export interface TargetRequest
  extends Pick<ScanRequest, "given" | "choice" | "resumed" | "saved" | "optedOut"> {
  readonly options:
    & RescanOptions
    & Pick<
      ScanCommandOptions,
      "inputFile" | "exclude" | "excludeFile" | "ports" | "allowPrivate" | "strict" | "quiet"
    >
    & Partial<Pick<ScanCommandOptions, "known" | "output">>;
  readonly context: CallContext;
}

export interface LocatedTargets {
  /** The resolved targets and exclusions, which a saved scan has from its configuration. */
  readonly found: FoundTargets;
  /** The targets of all shards, without what is excluded. */
  readonly whole: Targets;
  /** The targets of the shard, without what is excluded or opted out. */
  readonly named: NamedTargets;
  /** The version of the list of opt-outs before it was read. */
  readonly optOutVersion: string;
}

/**
 * The opt-outs. A scan that belongs to a crawl or a campaign obeys the lines that can be parsed if the
 * file got a wrong one after the program started.
 */
async function readOptOuts(
  { optOuts }: Network,
  warn: (line: string) => void,
): Promise<readonly Range[]> {
  try {
    return await optOuts.read();
  } catch (error) {
    if (!(error instanceof PartlyReadOptOuts)) throw error;
    warn(`blocksweep: ${error.message}; this line is not obeyed`);
    return error.ranges;
  }
}

/**
 * Finds the targets of a scan.
 *
 * @throws InputError for targets that cannot be used, and for a saved scan whose order would differ.
 */
export async function locateTargets(
  request: TargetRequest,
  network: Network,
): Promise<LocatedTargets> {
  const { options, choice, resumed, saved, optedOut = [], context: { nameOf, warn } } = request;
  const found = saved?.found ?? await lookUpTargets(request, network);
  const isAdaptive = choice.adaptive !== undefined;
  // The known servers of an adaptive scan are no targets by themselves.
  const optOutVersion = await network.optOuts.version?.() ?? "";
  const composed = composeTargets(
    isAdaptive ? { ...found, known: [] } : found,
    [...await readOptOuts(network, warn), ...optedOut],
  );
  const named = { ...composed, known: found.known };
  const whole = named.targets;
  if (isAdaptive) (await import("./adaptive_choice.ts")).checkAdaptiveTargets(whole);
  if (saved !== undefined && orderDigest(whole, choice) !== saved.order) {
    throw new InputError(
      `Cannot ${
        resumed === undefined ? "scan" : `resume "${resumed.path}"`
      }: this program's default ports, or the addresses that are ` +
        "never probed, differ from those of the scan",
    );
  }
  if (options.ports === undefined) {
    const advice = `name ports with ${nameOf("ports")}, for example 9000-9100`;
    requirePorts(whole, choice.protocols, choice.ports, advice);
  }
  const { seed, shard = { index: 1, count: 1 } } = choice.order;
  return { found, whole, named: shardOf(named, shard, seed, isAdaptive), optOutVersion };
}

/** Resolves the targets and exclusions of a new scan. */
async function lookUpTargets(
  { given, options, choice, context }: TargetRequest,
  { resolve, findService }: Network,
): Promise<FoundTargets> {
  const words = given.words.filter((word) => word !== "-");
  const paths = [...options.inputFile, ...given.words.filter((word) => word === "-")];
  if (paths.filter((path) => path === "-").length > 1) {
    throw new InputError("Cannot read targets from standard input twice");
  }
  refuseFiles(words);
  const { warn } = context;
  const written = namedDatabases(options.output ?? []);
  const usesServices = options.ports === undefined && choice.adaptive === undefined &&
    haveService(choice.protocols);
  const found = await findTargets({
    words,
    files: await readTargetFiles(paths),
    exclude: options.exclude,
    excludeFiles: await readTextFiles(options.excludeFile),
    known: await knownServers(options, written, warn),
  }, {
    resolve,
    findService: usesServices ? findService : undefined,
    note: options.quiet ? () => {} : context.note,
    allowPrivate: options.allowPrivate,
    strict: options.strict,
    warn,
  });
  if (options.known === undefined) return found;
  const { knownBefore } = await import("../targets/rescan_targets.ts");
  const { servers, optedOut } = await knownBefore(
    options.known,
    choice.protocols,
    written,
    connectionEnvironment(warn),
    warn,
  );
  const known = servers.map(({ endpoint, protocols }) => ({ endpoint, protocols }));
  return { ...found, excluded: [...found.excluded, ...optedOut], known };
}

/** Reads files of targets, which may contain rows. */
async function readTargetFiles(paths: readonly string[]): Promise<NamedText[]> {
  if (paths.length === 0) return [];
  const { withoutRows } = await import("../targets/servers_in_files.ts");
  const files = await readTextFiles(paths);
  return await Promise.all(
    files.map(async ({ text, source }) => ({ text: await withoutRows(text, source), source })),
  );
}

/** The known servers to probe again, if the option `rescan` names a database. */
async function knownServers(
  options: RescanOptions,
  written: readonly DatabaseLocation[],
  warn: (line: string) => void,
): Promise<RescanServers | undefined> {
  const { rescan } = options;
  if (rescan === undefined) return undefined;
  const { knownToRescan } = await import("../targets/rescan_targets.ts");
  return await knownToRescan({ ...options, rescan }, written, connectionEnvironment(warn), warn);
}

/** Reads files of targets or exclusions; `-` is standard input. */
export async function readTextFiles(paths: readonly string[]): Promise<NamedText[]> {
  return await Promise.all(paths.map(async (path) => ({
    text: await readTextFile(path),
    source: path === "-" ? "standard input" : path,
  })));
}

/**
 * Checks that every protocol has a port to probe on every target.
 *
 * @param how How a user selects ports, for the text of the error.
 * @throws InputError for the first protocol without a port on some target.
 */
export function requirePorts(
  targets: Targets,
  protocols: readonly Protocol[],
  ports: (protocol: string, family: 4 | 6) => readonly number[],
  how: string,
): void {
  const portless = protocols.find(({ name, ports: usual }) =>
    segmentsOf(targets, (bits) => [...usual[bits], ...ports(name, bits)])
      .some(({ ports }) => ports.length === 0)
  );
  if (portless === undefined) return;
  throw new InputError(
    `Cannot use protocol "${portless.name}" without a port: it has no default port; ${how}`,
  );
}
