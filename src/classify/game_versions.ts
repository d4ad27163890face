/**
 * The names of game versions by protocol number, and their release order: data/versions.json.
 *
 * @module
 */
import table from "../../data/versions.json" with { type: "json" };
import type { ServerRecord } from "../core/record.ts";

/** The columns of a row that determine its version. */
export type VersionColumns = Pick<ServerRecord, "edition" | "version" | "protocol_version">;

type Edition = "java" | "bedrock";

/** The names of versions by protocol number. */
type Names = ReadonlyMap<number, readonly string[]>;

const namesOf: Readonly<Record<Edition, () => Names>> = {
  java: once(() => parsed(table.java)),
  bedrock: once(() => parsed(table.bedrock)),
};

function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => made ??= make();
}

/** The names by number. A number of snapshots may have several lines. */
function parsed(lines: readonly string[]): Names {
  const all = new Map<number, string[]>();
  for (const line of lines) {
    const [number, ...names] = line.split(" ");
    all.set(Number(number), [...all.get(Number(number)) ?? [], ...names]);
  }
  return all;
}

/**
 * The versions with a protocol number: `1.8 to 1.8.9`. Snapshots and previews are named only if no
 * release has the number. `undefined`: the number or the edition is unknown.
 */
export function versionsWith(edition: string | null, number: number | null): string | undefined {
  if (number === null || edition !== "java" && edition !== "bedrock") return undefined;
  const names = namesOf[edition]().get(number) ?? [];
  const releases = names.filter(isRelease);
  const shown = releases.length > 0 ? releases : names;
  return shown.length < 2 ? shown[0] : `${shown[0]} to ${shown.at(-1)}`;
}

const releasesOf: Readonly<Record<Edition, () => Names>> = {
  java: once(() => releasesAmong(namesOf.java())),
  bedrock: once(() => releasesAmong(namesOf.bedrock())),
};

function releasesAmong(names: Names): Names {
  const releases = [...names].map(([number, all]) => [number, all.filter(isRelease)] as const);
  return new Map(releases.filter(([, all]) => all.length > 0));
}

/** The releases of an edition by protocol number. A number of snapshots only is omitted. */
export function protocolReleases(edition: Edition): ReadonlyMap<number, readonly string[]> {
  return releasesOf[edition]();
}

function isRelease(name: string): boolean {
  return /^[\d.]+$/.test(name);
}

/**
 * The version of a row for people: as the server writes it; if it sent only a protocol number, the
 * versions with that number, or `#999` for an unknown one. `null`: neither is known.
 */
export function shownVersion(row: VersionColumns): string | null {
  const { edition, version, protocol_version: number } = row;
  if (version !== null || number === null) return version;
  return versionsWith(edition, number) ?? `#${number}`;
}

/** Compares texts with versions by release; those without a version come last, by their letters. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [orderKey(a), orderKey(b)];
  const length = Math.max(left.length, right.length);
  for (let i = 0; i < length; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0 && !Number.isNaN(difference)) return difference;
  }
  return a < b ? -1 : Number(a > b);
}

/** The first version in a text: the numbers, the stage of a release that is not final, its number. */
const VERSION = /(\d{1,9}(?:\.\d{1,9}){1,3})(?:[- ]?(snapshot|pre|rc)[- ]?(\d{1,4})?(?![a-z]))?/i;
/** A snapshot that is named after its week. */
const WEEK = /\d\dw\d\d[a-z]/i;
/** Stages before a release, in order; a snapshot named after its week has the first one. */
const STAGES = ["week", "snapshot", "pre", "rc"];
/** Numbers that a version is compared by before its stage. */
const NUMBERS = 4;

/** What a text is compared by: the numbers of its version, its stage, the number in that stage. */
function orderKey(text: string): number[] {
  const week = WEEK.exec(text)?.[0].toLowerCase();
  if (week !== undefined) return orderKeyOfWeek(week);
  const [, numbers, stage, number] = VERSION.exec(text) ?? [];
  if (numbers === undefined) return [Infinity];
  return orderKeyOfRelease(numbers, stage?.toLowerCase(), Number(number ?? 0));
}

/** The order key of the next release behind the snapshot; of a newer week than all known, the last ones. */
function orderKeyOfWeek(week: string): number[] {
  const { names, releases } = javaOrder();
  const known = names.findIndex((name) => WEEK.test(name) && name >= week);
  const next = known < 0 ? undefined : releases.find(({ at }) => at > known);
  return orderKeyOfRelease((next ?? releases.at(-1)!).name, next && "week", 0);
}

const javaOrder = once(() => {
  const names = table.java.flatMap((line) => line.split(" ").slice(1));
  const releases = names.flatMap((name, at) => isRelease(name) ? [{ name, at }] : []);
  return { names, releases };
});

function orderKeyOfRelease(version: string, stage: string | undefined, number: number): number[] {
  const numbers = version.split(".").map(Number);
  while (numbers.length < NUMBERS) numbers.push(0);
  const order = stage === undefined ? STAGES.length : STAGES.indexOf(stage);
  return [...numbers, order, number];
}
