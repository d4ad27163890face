/**
 * Ranges of game versions in release order: `1.21`, `1.20..1.21`, `>=1.20`.
 *
 * @module
 */
import { protocolReleases } from "./game_versions.ts";

/** One end of a range. It includes the patch releases of its version: `..1.21` includes 1.21.4. */
interface End {
  readonly numbers: readonly number[];
  /** Whether the version itself is in the range. */
  readonly isIncluded: boolean;
}

/** A range of game versions. A missing end is unlimited. */
export interface VersionRange {
  readonly from?: End;
  readonly to?: End;
}

const NUMBERS = String.raw`\d{1,9}(?:\.\d{1,9}){0,3}`;
const BETWEEN = new RegExp(`^(${NUMBERS})?\\.\\.(${NUMBERS})?$`);
const COMPARED = new RegExp(`^(>=|<=|>|<)(${NUMBERS})$`);
const ONE = new RegExp(`^${NUMBERS}$`);
/** A text that is only a version, perhaps one before its release. */
const PLAIN = new RegExp(`^v?(${NUMBERS})(?:[- ]?(?:snapshot|pre|rc)[- ]?\\d{0,4})?$`, "i");
/** The first version in a text. */
const FIRST = /\d{1,9}(?:\.\d{1,9}){1,3}/;

/** Whether a text can only mean a range, though perhaps a wrong one. */
export function isRangeText(text: string): boolean {
  return /^[<>]=?[\d.]*$|^[\d.]*\.\.[\d.]*$/.test(text);
}

/**
 * Reads a range; `undefined`: the text is none, or its first version is later than its last one.
 *
 * @example
 * ```ts
 * import { isInRange, parseVersionRange } from "./version_ranges.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const range = parseVersionRange("1.20..1.21")!;
 * assertEquals(isInRange(range, [1, 21, 4]), true);
 * assertEquals(isInRange(range, [1, 9]), false);
 * ```
 */
export function parseVersionRange(text: string): VersionRange | undefined {
  const one = (version: string, isIncluded = true) => ({ numbers: split(version), isIncluded });
  if (ONE.test(text)) return { from: one(text), to: one(text) };
  const [, sign, version] = COMPARED.exec(text) ?? [];
  if (version !== undefined) {
    const end = one(version, sign.endsWith("="));
    return sign.startsWith(">") ? { from: end } : { to: end };
  }
  const [, first, last] = BETWEEN.exec(text) ?? [];
  if (first === undefined && last === undefined) return undefined;
  const range = { ...first && { from: one(first) }, ...last && { to: one(last) } };
  const isEmpty = range.from && range.to && compareTo(range.from.numbers, range.to) > 0;
  return isEmpty ? undefined : range;
}

/** Whether a version is in a range. */
export function isInRange({ from, to }: VersionRange, numbers: readonly number[]): boolean {
  const isAfter = from === undefined || compareTo(numbers, from) >= (from.isIncluded ? 0 : 1);
  return isAfter && (to === undefined || compareTo(numbers, to) <= (to.isIncluded ? 0 : -1));
}

/** Compares as many numbers of a version as an end has: 1, 0 or -1. */
function compareTo(version: readonly number[], { numbers }: Pick<End, "numbers">): number {
  for (const [i, number] of numbers.entries()) {
    const difference = (version[i] ?? 0) - number;
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}

function split(version: string): number[] {
  return version.split(".").map(Number);
}

/** The numbers of a text that is only a version; `undefined` for other texts. */
export function plainVersion(text: string): readonly number[] | undefined {
  const [, version] = PLAIN.exec(text) ?? [];
  return version === undefined ? undefined : split(version);
}

/** The numbers of the first version in a text. */
export function firstVersion(text: string): readonly number[] | undefined {
  const [version] = FIRST.exec(text) ?? [];
  return version === undefined ? undefined : split(version);
}

/** Editions whose protocol numbers are in the table of versions. */
export const NUMBERED_EDITIONS = ["java", "bedrock"] as const;

/** The protocol numbers of an edition that have a release, and of these the numbers in a range. */
export function protocolNumbers(
  edition: typeof NUMBERED_EDITIONS[number],
  range?: VersionRange,
): number[] {
  return [...protocolReleases(edition)]
    .filter(([, releases]) => range === undefined || isAnyInRange(range, releases))
    .map(([number]) => number);
}

function isAnyInRange(range: VersionRange, releases: readonly string[]): boolean {
  return releases.some((release) => isInRange(range, split(release)));
}

/** What determines the release of a server. */
export interface VersionFacts {
  /** The version as the server writes it, or its start. */
  readonly text: string;
  readonly edition: string | null;
  readonly number: number | null;
}

/**
 * A test of whether servers have a version in a range. A text that is only a version counts; of any other
 * text, such as `Paper 1.20.1`, the releases with the server's protocol number, or the first version in the
 * text if the number is unknown.
 */
export function rangeTest(range: VersionRange): (facts: VersionFacts) => boolean {
  return ({ text, edition, number }) => {
    const plain = plainVersion(text);
    if (plain !== undefined) return isInRange(range, plain);
    const releases = number === null ? undefined : releasesOf(edition, number);
    if (releases !== undefined) return isAnyInRange(range, releases);
    const first = firstVersion(text);
    return first !== undefined && isInRange(range, first);
  };
}

function releasesOf(edition: string | null, number: number): readonly string[] | undefined {
  const known = NUMBERED_EDITIONS.find((one) => one === edition);
  return known && protocolReleases(known).get(number);
}
