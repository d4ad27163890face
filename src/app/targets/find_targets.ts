/**
 * Resolves the targets that the user names into the targets that a scan may probe.
 *
 * @module
 */
import { mayHaveService } from "../../protocols/usual_ports.ts";
import { type Address, type Endpoint, endpointKey } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { countOf } from "../../core/quantities.ts";
import {
  type KnownTarget,
  type NameRequest,
  sharedRequests,
  type TargetNames,
} from "../../scan/mod.ts";
import { compose, type Inclusion, type Targets } from "../../targets/compose.ts";
import {
  type NameTarget,
  parseListWithin,
  parseTargets,
  refuseUrl,
  type Target,
  withTabSpans,
} from "../../targets/parse.ts";
import { RangeBudget } from "../../targets/octet_ranges.ts";
import { type Shard, Shards } from "../../targets/shards.ts";
import { type Range, rangeOfOne, unmapped } from "../../targets/ranges.ts";
import { type NamedService, requestText } from "../../targets/srv.ts";
import {
  type FoundName,
  located,
  lookUpEach,
  lookUpName,
  type Lookups,
  MissingName,
  type MissingNames,
  noteRefused,
  RefusedName,
  reportMissing,
} from "../names/name_lookup.ts";
import type { RescanServers, RescanTarget } from "./rescan_targets.ts";
import {
  neverProbedRanges,
  neverProbedReason,
  privateRanges,
} from "../../targets/shipped_lists.ts";

/** The text of a target file, and its name in errors. */
export interface NamedText {
  /** The content of the file. */
  readonly text: string;
  /** How errors name it: a path, or "standard input". */
  readonly source: string;
}

/** The targets and exclusions that the user names. */
export interface TargetInput {
  /** Targets on the command line. */
  readonly words: readonly string[];
  /** The contents of the target files. */
  readonly files: readonly NamedText[];
  /** The values of `--exclude`, one per use of the option. */
  readonly exclude: readonly string[];
  /** The contents of the files of `--exclude-file`. */
  readonly excludeFiles: readonly NamedText[];
  /** Known servers of a database. Default: none. */
  readonly known?: RescanServers;
}

/** The names that lead to targets. A resumed scan has no `knownNames`: its checkpoint has no names of single known servers. */
type RequestedNames =
  & Required<Pick<TargetNames, "names" | "services">>
  & Pick<TargetNames, "knownNames" | "requests">;

/** Resolved targets. A later lookup of the same names may give other addresses. */
export interface FoundTargets extends RequestedNames {
  /** The targets to probe. */
  readonly inclusions: readonly Inclusion[];
  /** Address ranges that are never sent anything. */
  readonly excluded: readonly Range[];
  /** Known servers. They are probed before other targets, in the protocols that they are known to speak. */
  readonly known: readonly KnownTarget[];
}

/** Targets, and the names that lead to them. */
export interface NamedTargets extends RequestedNames {
  /** The targets that may be probed. */
  readonly targets: Targets;
  /** The targets that are probed first. */
  readonly first: readonly Endpoint[];
  /** The targets that are probed first, with the protocols that they are known to speak. */
  readonly known: readonly KnownTarget[];
  /** Addresses that opted out: they keep their position in the order, but are not probed. */
  readonly optedOut: readonly Range[];
  /** How many of the targets, of all shards, opted out. */
  readonly optedOutSize: bigint;
}

/**
 * Parses targets and looks up their names. With SRV lookups, the endpoint in the SRV record of a name
 * is a target too, if the game would look it up. Names that are not found are reported and left out.
 *
 * @throws InputError for the first text that cannot be read, for an excluded name that is not found, and
 * for missing names if no target is left, or with `strict`.
 */
export async function findTargets(
  input: TargetInput,
  { strict = false, ...lookups }: TargetLookups,
): Promise<FoundTargets> {
  const { note, warn = note } = lookups;
  const { servers: known = [], optedOut = [] } = input.known ?? {};
  const budget = new RangeBudget();
  const wanted = listed(input.words, input.files, budget);
  if (wanted.length === 0 && known.length === 0) {
    throw new InputError(
      "Cannot scan: name addresses, ranges or host names, or use -iL FILE",
    );
  }
  const excluded = await findExclusions(input, lookups.resolve, budget);
  const missing = new Map<string, InputError>();
  const found = await lookUp(wanted, async ({ name, port }) => {
    const { findService } = mayHaveService(port) ? lookups : {};
    return await lookUpName(name, { ...lookups, findService });
  }, ({ name, sourceLine }, error) => {
    if (!(error instanceof MissingName)) throw error;
    if (!missing.has(name)) missing.set(name, located(sourceLine, error));
  });
  const hasOthers = found.inclusions.length + known.length > 0;
  noteRefused(
    found.refused.map(({ name, refused }) => new RefusedName(name, refused, note)),
    hasOthers,
    note,
  );
  reportMissing([...missing.values()], { hasOthers, strict, note, warn });
  const { requests: named, refused: _, ...lookedUp } = found;
  const requests = sharedRequests([...named, ...knownRequests(named, known)]);
  return {
    ...withNames(lookedUp, known),
    ...(requests.size > 0 && { requests }),
    excluded: [...excluded, ...optedOut],
    known: known.map(({ endpoint, protocols }) => ({ endpoint, protocols })),
  };
}

/**
 * Parses exclusions and looks up their names. Excluded addresses receive no packets, so an excluded
 * name may resolve to any address. An IPv4-mapped address excludes its IPv4 address.
 *
 * @throws InputError for the first text that cannot be read, or a name that is not found.
 */
export async function findExclusions(
  { exclude, excludeFiles }: Pick<TargetInput, "exclude" | "excludeFiles">,
  resolve: Lookups["resolve"],
  budget: RangeBudget = new RangeBudget(),
): Promise<Range[]> {
  const { inclusions } = await lookUp(
    listed(
      exclude,
      excludeFiles.map(({ text, source }) => ({ text: withTabSpans(text), source })),
      budget,
    ),
    async ({ name }) => ({ addresses: await resolve(name) }),
    ({ sourceLine }, error) => {
      throw error instanceof InputError ? located(sourceLine, error) : error;
    },
  );
  return inclusions.map(({ range }) => unmapped(range));
}

/** The stored names of known servers, for each address that has a name from the user or a database. */
function knownRequests(
  requests: readonly NameRequest[],
  known: readonly RescanTarget[],
): readonly NameRequest[] {
  const isNamed = ({ name, service }: RescanTarget) => name !== undefined || service !== undefined;
  const named = new Set([
    ...requests.map(({ address }) => address),
    ...known.filter(isNamed).map(({ endpoint: { address } }) => address),
  ]);
  return known.filter(({ endpoint: { address } }) => named.has(address))
    .map(({ endpoint: { address, port }, name = null, service }) => {
      const requestedAs = service === undefined ? name : requestText(service.name, service.service);
      return { address, port, requestedAs };
    });
}

/** Adds the names by which known servers were requested, if the user gave no name for the address. */
function withNames(
  found: Omit<LookedUp, "requests" | "refused">,
  known: readonly RescanTarget[],
): Omit<LookedUp, "requests" | "refused"> & Pick<TargetNames, "knownNames"> {
  const given = new Set(found.names.keys());
  const knownNames = new Map<number | bigint, string | null>();
  for (const { endpoint, name, service } of known) {
    const { address } = endpoint;
    if (name !== undefined && !found.names.has(address)) found.names.set(address, name);
    if (service !== undefined) found.services.set(endpointKey(endpoint), service);
    if (given.has(address)) continue;
    const key = endpointKey(endpoint);
    knownNames.set(key, knownNames.get(key) ?? name ?? null);
  }
  return { ...found, knownNames };
}

/**
 * Applies exclusions and opt-outs to resolved targets.
 *
 * @param optedOut Addresses that opted out.
 * @throws InputError when no target is left.
 */
export function composeTargets(
  { inclusions, excluded, known, names, services, knownNames, requests }: FoundTargets,
  optedOut: readonly Range[],
): NamedTargets {
  const first = known.map(({ endpoint }) => endpoint);
  const all = [...inclusions, ...first.map(inclusionOf)];
  const without = (chosen: readonly Range[]) =>
    compose(all, {
      never: neverProbedRanges().map(({ range }) => range),
      private: privateRanges().map(({ range }) => range),
      chosen,
    });
  const targets = without(excluded);
  const open = optedOut.length === 0 ? targets : without([...excluded, ...optedOut]);
  if (open.size === 0n) throw nothingLeft(all, open);
  const optedOutSize = targets.size - open.size;
  const requested = { names, services, knownNames, ...(requests && { requests }) };
  return { targets, first, known, ...requested, optedOut, optedOutSize };
}

/**
 * The targets of a shard: whole networks, and the known servers in them.
 *
 * @param isAdaptive Whether the scan is adaptive. Its shards consist of larger networks.
 *
 * @throws InputError when there are fewer networks than shards, and this shard has none.
 */
export function shardOf(
  named: NamedTargets,
  { index, count }: Shard,
  seed: number | undefined,
  isAdaptive: boolean,
): NamedTargets {
  if (count === 1) return named;
  const shards = isAdaptive
    ? Shards.forDiscovery(named.targets, count, seed!)
    : new Shards(named.targets, count, seed);
  if (index > shards.networks) {
    const networks = countOf(shards.networks, "network");
    const size = isAdaptive ? "/20" : "/24, IPv6: /48";
    throw new InputError(
      `Cannot use --shard ${index}/${count}: the targets are in ${networks} (${size}), and ` +
        "a network is not divided",
    );
  }
  const isIn = ({ address }: Endpoint) => shards.indexOf(address) === index;
  return {
    ...named,
    targets: shards.cut(index),
    first: named.first.filter(isIn),
    known: named.known.filter(({ endpoint }) => isIn(endpoint)),
  };
}

function listed(
  words: readonly string[],
  files: readonly NamedText[],
  budget: RangeBudget,
): Target[] {
  // URLs are refused before the words are split at commas, because a password may contain a comma.
  words.forEach(refuseUrl);
  const given = words.flatMap((word) => word.split(",")).map((word) => word.trim())
    .filter((word) => word !== "").flatMap((word) => parseTargets(word, budget));
  return [...given, ...files.flatMap(({ text, source }) => parseListWithin(budget, text, source))];
}

/** The lookups of targets, and what happens to names that are not found. */
export interface TargetLookups extends Lookups, Partial<Pick<MissingNames, "strict" | "warn">> {}

/** The resolved form of several targets. */
interface LookedUp {
  readonly inclusions: Inclusion[];
  readonly names: Map<Address, string>;
  readonly services: Map<number | bigint, NamedService>;
  readonly requests: NameRequest[];
  /** Names of which all records are refused, and the reasons. */
  readonly refused: readonly { readonly name: string; readonly refused: readonly string[] }[];
}

/**
 * Looks up the names of targets, each once.
 *
 * @param onMissing Receives each target whose lookup fails, and the error.
 */
async function lookUp(
  targets: readonly Target[],
  find: (target: NameTarget) => Promise<FoundName>,
  onMissing: (target: NameTarget, error: unknown) => void,
): Promise<LookedUp> {
  const inclusions: Inclusion[] = [];
  const names = new Map<Address, string>();
  const services = new Map<number | bigint, NamedService>();
  const requests: NameRequest[] = [];
  const keyOf = ({ name, port }: NameTarget) => `${name}${mayHaveService(port) ? "" : ":"}`;
  const wanted = new Map(
    targets.flatMap((target) => "name" in target ? [[keyOf(target), target] as const] : []),
  );
  const results = await lookUpEach([...wanted.values()], find);
  const resultOf = new Map([...wanted.keys()].map((key, i) => [key, results[i]]));
  const refused = [...wanted.values()].flatMap(({ name }, i) => {
    const result = results[i];
    const lines = result.status === "fulfilled" ? result.value.refused : undefined;
    return lines === undefined ? [] : [{ name, refused: lines }];
  });
  const include = (address: Address, port: number | undefined) => {
    inclusions.push(inclusionOf({ address, port }));
  };
  for (const target of targets) {
    if ("range" in target) {
      inclusions.push({ range: target.range, port: target.port });
      continue;
    }
    const { name, port } = target;
    const result = resultOf.get(keyOf(target))!;
    if (result.status === "rejected") {
      onMissing(target, result.reason);
      continue;
    }
    const { addresses, found } = result.value;
    for (const address of addresses) {
      include(address, port);
      names.set(address, name);
      requests.push({ address, port, requestedAs: name });
    }
    for (const address of found?.addresses ?? []) {
      const { service } = found!;
      include(address, service.port);
      services.set(endpointKey({ address, port: service.port }), { name, service });
      requests.push({ address, port: service.port, requestedAs: requestText(name, service) });
    }
  }
  return { inclusions, names, services, requests, refused };
}

/** One address, on one port or on those of the scan. */
function inclusionOf({ address, port }: { address: Address; port?: number }): Inclusion {
  return { range: rangeOfOne(address), port };
}

function nothingLeft([first]: readonly Inclusion[], { omitted }: Targets): InputError {
  const { start } = first.range;
  const reason = neverProbedReason(start);
  const why = reason !== undefined
    ? `never probed: ${reason}`
    : omitted.private > 0n
    ? "private; name a range inside a private block to scan it"
    : "excluded, or opted out";
  return new InputError(`Cannot scan: no target is left (${why})`);
}
