/**
 * The targets of a scan: resolved for a new scan, taken from the checkpoint for a resumed one.
 *
 * @module
 */
import { InputError } from "../../../core/errors.ts";
import { requirePorts } from "../../../scan/require_ports.ts";
import type { Range } from "../../../targets/ranges.ts";
import { connectionEnvironment } from "../../../app/databases/connection_environment.ts";
import { readTextFile } from "../../../app/environment.ts";
import { refuseFiles } from "../../../app/outputs/path_conflicts.ts";
import type { Resumed } from "../../../app/resume/read_resumed_scan.ts";
import { orderDigest } from "../../../app/resume/scan_configuration.ts";
import { resolveName, serviceFinder } from "../../../app/targets/dns_lookup.ts";
import {
  composeTargets,
  findTargets,
  type FoundTargets,
  type NamedTargets,
  type NamedText,
} from "../../../app/targets/find_targets.ts";
import { haveService } from "../../../app/targets/name_lookup.ts";
import { withoutRows } from "../../../app/targets/servers_in_files.ts";
import type { OptOutFile } from "../../../app/targets/opt_out_file.ts";
import { knownToRescan } from "../../../app/targets/rescan_targets.ts";
import { reportError, reportLine } from "../../term/console.ts";
import type { ScanRequest } from "./request.ts";

/** The targets of a scan. */
export interface LocatedTargets {
  /** The resolved targets and exclusions, which a resumed scan has from its checkpoint. */
  readonly found: FoundTargets;
  /** The targets without what is excluded or opted out. */
  readonly named: NamedTargets;
}

/**
 * Finds the targets of a scan.
 *
 * @throws InputError for targets that cannot be used, and for a resumed scan whose order would differ.
 */
export async function locateTargets(
  request: ScanRequest,
  optOuts: OptOutFile,
): Promise<LocatedTargets> {
  const { options, chosen, resumed } = request;
  const found = resumed?.configuration.found ?? await lookUpTargets(request);
  const named = composeTargets(found, [...await optOuts.read(), ...optedOutOf(resumed)]);
  const { targets } = named;
  if (resumed !== undefined && orderDigest(targets, chosen) !== resumed.configuration.order) {
    throw new InputError(
      `Cannot resume "${resumed.path}": this program's default ports, or the addresses that are ` +
        "never probed, differ from those of the scan",
    );
  }
  if (options.ports === undefined) {
    const advice = "name ports with --ports, for example -p 9000-9100";
    requirePorts(targets, chosen.protocols, chosen.ports, advice);
  }
  return { found, named };
}

function optedOutOf(resumed?: Resumed): Range[] {
  return (resumed?.writtenRows.optedOut ?? []).map((start) => ({
    start,
    end: typeof start === "number" ? start + 1 : start + 1n,
  }));
}

/** Resolves the targets and exclusions of a new scan. */
async function lookUpTargets(
  { given, options, chosen, databases }: ScanRequest,
): Promise<FoundTargets> {
  const words = given.words.filter((word) => word !== "-");
  const paths = [...options.inputFile, ...given.words.filter((word) => word === "-")];
  if (paths.filter((path) => path === "-").length > 1) {
    throw new InputError("Cannot read targets from standard input twice");
  }
  refuseFiles(words);
  const note = options.quiet ? () => {} : reportError;
  return await findTargets({
    words,
    files: (await readAll(paths)).map((file) => ({ ...file, text: withoutRows(file.text) })),
    exclude: options.exclude,
    excludeFiles: await readAll(options.excludeFile),
    known: await knownToRescan(
      options,
      databases.places,
      connectionEnvironment(reportLine),
      reportLine,
    ),
  }, {
    resolve: (name) => resolveName(name, chosen.allProtocols),
    findService: options.ports === undefined && haveService(chosen.protocols)
      ? serviceFinder({ note })
      : undefined,
    note,
    allowPrivate: options.allowPrivate,
  });
}

async function readAll(paths: readonly string[]): Promise<NamedText[]> {
  return await Promise.all(paths.map(async (path) => ({
    text: await readTextFile(path),
    source: path === "-" ? "standard input" : path,
  })));
}
