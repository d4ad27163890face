/**
 * From what the user names to what may be asked.
 *
 * @module
 */
import type { Address } from "../address.ts";
import { InputError } from "../errors.ts";
import { compose, type Inclusion, type Targets } from "../targets/compose.ts";
import { parseTarget, parseTargetList, type Target } from "../targets/parse.ts";
import type { Range } from "../targets/ranges.ts";
import { neverRanges, privateRanges } from "../targets/lists.ts";

/** Finds the addresses of a name. */
export type Resolve = (name: string) => Promise<readonly Address[]>;

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
  /** Addresses that opted out. */
  readonly optedOut: readonly Range[];
}

/** Targets, and the names behind them. */
export interface NamedTargets {
  /** What may be asked. */
  readonly targets: Targets;
  /** Names that addresses were asked for by. */
  readonly names: ReadonlyMap<Address, string>;
  /** Addresses that opted out: they keep their place in the order, and are not asked. */
  readonly optedOut: readonly Range[];
  /** How many of the targets opted out. */
  readonly optedOutSize: bigint;
}

/**
 * Reads, looks up and composes.
 *
 * @throws InputError for the first text that cannot be read, a name that is not found, or when
 * nothing is left to ask.
 */
export async function collectTargets(input: TargetInput, resolve: Resolve): Promise<NamedTargets> {
  const wanted = listed(input.words, input.files);
  if (wanted.length === 0) {
    throw new InputError(
      "Cannot scan nothing: name addresses, ranges or host names, or use -iL FILE",
    );
  }
  const names = new Map<Address, string>();
  const inclusions = await lookUp(wanted, resolve, names);
  const excluded = await lookUp(listed(input.exclude, input.excludeFiles), resolve, new Map());
  const never = neverRanges();
  const without = (chosen: readonly Range[]) =>
    compose(inclusions, {
      never: never.map(({ range }) => range),
      private: privateRanges().map(({ range }) => range),
      chosen,
    });
  const chosen = excluded.map(({ range }) => range);
  const targets = without(chosen);
  const { optedOut } = input;
  const open = optedOut.length === 0 ? targets : without([...chosen, ...optedOut]);
  if (open.size === 0n) throw nothingLeft(inclusions, open, never);
  return { targets, names, optedOut, optedOutSize: targets.size - open.size };
}

function listed(words: readonly string[], files: readonly NamedText[]): Target[] {
  const given = words.flatMap((word) => word.split(",")).map((word) => word.trim())
    .filter((word) => word !== "").map(parseTarget);
  return [...given, ...files.flatMap(({ text, source }) => parseTargetList(text, source))];
}

async function lookUp(
  targets: readonly Target[],
  resolve: Resolve,
  names: Map<Address, string>,
): Promise<Inclusion[]> {
  const inclusions: Inclusion[] = [];
  for (const target of targets) {
    if ("range" in target) {
      inclusions.push({ range: target.range, port: target.port });
      continue;
    }
    for (const address of await resolve(target.name)) {
      const end = typeof address === "number" ? address + 1 : address + 1n;
      inclusions.push({ range: { start: address, end }, port: target.port });
      names.set(address, target.name);
    }
  }
  return inclusions;
}

function nothingLeft(
  [first]: readonly Inclusion[],
  { left }: Targets,
  never: readonly { range: Range; reason: string }[],
): InputError {
  const { start } = first.range;
  const hit = never.find(({ range }) =>
    typeof range.start === typeof start && range.start <= start && start < range.end
  );
  const why = hit !== undefined
    ? `never asked: ${hit.reason}`
    : left.private > 0n
    ? "private, and asked only when a range inside a private block is named"
    : "excluded, or opted out";
  return new InputError(`Cannot scan: nothing is left of the targets (${why})`);
}
