/**
 * From what the user names to what may be asked.
 *
 * @module
 */
import { type Address, type Endpoint, endpointKey } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { TargetNames } from "../../scan/requested_names.ts";
import type { KnownTarget } from "../../scan/scan_setup.ts";
import { compose, type Inclusion, type Targets } from "../../targets/compose.ts";
import {
  type NameTarget,
  parseTargetList,
  parseTargets,
  refuseUrl,
  type Target,
} from "../../targets/parse.ts";
import { RangeBudget } from "../../targets/octet_ranges.ts";
import type { Range } from "../../targets/ranges.ts";
import type { NamedService } from "../../targets/srv.ts";
import {
  type FoundName,
  lookUpName,
  type Lookups,
  noteRefused,
  RefusedName,
} from "./name_lookup.ts";
import type { KnownServer, KnownServers } from "./rescan_targets.ts";
import {
  neverProbedRanges,
  neverProbedReason,
  privateRanges,
} from "../../targets/builtin_lists.ts";

/** A list of targets, and how errors name it. */
export interface NamedText {
  /** What it holds. */
  readonly text: string;
  /** How errors name it: a path, or "standard input". */
  readonly source: string;
}

/** What the user wants asked, and what not. */
export interface TargetInput {
  /** Words of the command line. */
  readonly words: readonly string[];
  /** Files. */
  readonly files: readonly NamedText[];
  /** Words of `--exclude`. */
  readonly exclude: readonly string[];
  /** Files of `--exclude-file`. */
  readonly excludeFiles: readonly NamedText[];
  /** What a list knows. Default: nothing. */
  readonly known?: KnownServers;
  /** Every protocol of the program, in order of rank. Default: PROTOCOLS. */
  readonly allProtocols?: readonly Protocol[];
}

/** What the user's words come to, names looked up: the same words may come to something else later. */
export interface FoundTargets extends Required<TargetNames> {
  /** What to ask. */
  readonly inclusions: readonly Inclusion[];
  /** What not to. */
  readonly excluded: readonly Range[];
  /** Servers that are probed before all others, in what they are known to speak. */
  readonly known: readonly KnownTarget[];
}

/** Targets, and the names behind them. */
export interface NamedTargets extends Required<TargetNames> {
  /** What may be asked. */
  readonly targets: Targets;
  /** Those that are asked first. */
  readonly first: readonly Endpoint[];
  /** The same, and what they are known to speak. */
  readonly known: readonly KnownTarget[];
  /** Addresses that opted out: they keep their place in the order, and are not asked. */
  readonly optedOut: readonly Range[];
  /** How many of the targets opted out. */
  readonly optedOutSize: bigint;
}

/**
 * Reads and looks up. Where a name has no port, and SRV records are looked up, the endpoint that its
 * own leads to is a target too.
 *
 * @throws InputError for the first text that cannot be read, or a name that is not found.
 */
export async function findTargets(input: TargetInput, lookups: Lookups): Promise<FoundTargets> {
  const { servers: known = [], optedOut = [] } = input.known ?? {};
  const budget = new RangeBudget();
  const wanted = listed(input.words, input.files, budget);
  if (wanted.length === 0 && known.length === 0) {
    throw new InputError(
      "Cannot scan: name addresses, ranges or host names, or use -iL FILE",
    );
  }
  // An exclusion sends nothing: its name may lead anywhere.
  const excluded = await lookUp(
    listed(input.exclude, input.excludeFiles, budget),
    async ({ name }) => ({ addresses: await lookups.resolve(name) }),
  );
  const refused: RefusedName[] = [];
  const found = await lookUp(wanted, async ({ name, port }) => {
    const { findService } = port === undefined ? lookups : {};
    const one = await lookUpName(name, { ...lookups, findService });
    if (one.refused !== undefined) refused.push(new RefusedName(name, one.refused, lookups.note));
    return one;
  });
  noteRefused(refused, found.inclusions.length + known.length > 0, lookups.note);
  return {
    ...withNames(found, known),
    excluded: [...excluded.inclusions.map(({ range }) => range), ...optedOut],
    known: known.map(({ endpoint, protocols }) => ({ endpoint, protocols })),
  };
}

/** With the names that known servers were asked for by, where the user names none. */
function withNames(found: LookedUp, known: readonly KnownServer[]): LookedUp {
  for (const { endpoint, name, service } of known) {
    const { address } = endpoint;
    if (name !== undefined && !found.names.has(address)) found.names.set(address, name);
    if (service !== undefined) found.services.set(endpointKey(endpoint), service);
  }
  return found;
}

/**
 * Composes what was found.
 *
 * @param optedOut Addresses that opted out.
 * @throws InputError when nothing is left to ask.
 */
export function composeTargets(
  { inclusions, excluded, known, names, services }: FoundTargets,
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
  return { targets, first, known, names, services, optedOut, optedOutSize };
}

function listed(
  words: readonly string[],
  files: readonly NamedText[],
  budget: RangeBudget,
): Target[] {
  words.forEach(refuseUrl); // whole: a password may hold a comma
  const given = words.flatMap((word) => word.split(",")).map((word) => word.trim())
    .filter((word) => word !== "").flatMap((word) => parseTargets(word, budget));
  return [...given, ...files.flatMap(({ text, source }) => parseTargetList(text, source, budget))];
}

/** What targets come to. */
interface LookedUp {
  readonly inclusions: Inclusion[];
  readonly names: Map<Address, string>;
  readonly services: Map<number | bigint, NamedService>;
}

async function lookUp(
  targets: readonly Target[],
  find: (target: NameTarget) => Promise<FoundName>,
): Promise<LookedUp> {
  const inclusions: Inclusion[] = [];
  const names = new Map<Address, string>();
  const services = new Map<number | bigint, NamedService>();
  const include = (address: Address, port: number | undefined) => {
    inclusions.push(inclusionOf({ address, port }));
  };
  for (const target of targets) {
    if ("range" in target) {
      inclusions.push({ range: target.range, port: target.port });
      continue;
    }
    const { name, port } = target;
    const { addresses, found } = await find(target);
    for (const address of addresses) {
      include(address, port);
      names.set(address, name);
    }
    for (const address of found?.addresses ?? []) {
      const { service } = found!;
      include(address, service.port);
      services.set(endpointKey({ address, port: service.port }), { name, service });
    }
  }
  return { inclusions, names, services };
}

/** One address, on one port or on those of the scan. */
function inclusionOf({ address, port }: { address: Address; port?: number }): Inclusion {
  const end = typeof address === "number" ? address + 1 : address + 1n;
  return { range: { start: address, end }, port };
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
