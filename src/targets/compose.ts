/**
 * Composes the targets of a scan: resolves inclusions, exclusions and explicit ports into segments.
 *
 * @module
 */
import { type Address, family } from "../core/address.ts";
import { type Range, RangeSet } from "./ranges.ts";
import type { Segment } from "./space.ts";

/** A range to probe, with an optional port. */
export interface Inclusion {
  /** The addresses to probe. */
  readonly range: Range;
  /** The only port to probe; `undefined`: the ports of the scan. */
  readonly port: number | undefined;
}

/** Ranges that must not be probed. */
export interface Exclusions {
  /** Ranges that are never probed: data/exclude.txt. */
  readonly never: readonly Range[];
  /** Private ranges, probed only for inclusions wholly inside one: data/private.txt. */
  readonly private: readonly Range[];
  /** Ranges that the user excludes. */
  readonly chosen: readonly Range[];
}

/** Addresses with the same ports. */
export interface TargetGroup {
  /** The addresses, of one family. */
  readonly addresses: RangeSet<Address>;
  /** Whether the scan's ports are probed. */
  readonly usesScanPorts: boolean;
  /** Explicit ports of the inclusions, ascending. */
  readonly ports: readonly number[];
}

/** The composed targets, and the number of omitted addresses. */
export interface Targets {
  /** The target groups; no address is in two groups. */
  readonly groups: readonly TargetGroup[];
  /** Number of addresses in all groups. */
  readonly size: bigint;
  /** Number of addresses that are neither private nor loopback. */
  readonly publicSize: bigint;
  /** Number of loopback addresses. */
  readonly loopbackSize: bigint;
  /** Number of omitted addresses by reason: never probed, private, or excluded by the user. */
  readonly omitted: Readonly<Record<"never" | "private" | "chosen", bigint>>;
}

const EXCLUSION_KINDS = ["never", "chosen", "private"] as const;

/** A border of an inclusion or exclusion: its start or its end. */
interface Border {
  readonly at: Address;
  readonly step: 1 | -1;
  readonly tag: number | typeof EXCLUSION_KINDS[number];
  /**
   * Whether its inclusion lies inside a private range. Private exclusions do not apply to such an
   * inclusion.
   */
  readonly insidePrivate: boolean;
}

/** The tag of inclusions without an explicit port. */
const SCAN_PORTS = 0;

/**
 * Resolves inclusions and exclusions by one sweep over their borders. All addresses between two
 * borders have the same inclusions and exclusions, so each interval is resolved once. The cost is
 * O(n log n) for n ranges of all kinds.
 *
 * @example A hole in a range
 * ```ts
 * import { compose } from "blocksweep/targets";
 * import { assertEquals } from "@std/assert";
 *
 * const { size, omitted } = compose([{ range: { start: 100, end: 200 }, port: undefined }], {
 *   never: [{ start: 150, end: 160 }],
 *   private: [],
 *   chosen: [],
 * });
 * assertEquals([size, omitted.never], [90n, 10n]);
 * ```
 */
export function compose(inclusions: readonly Inclusion[], exclusions: Exclusions): Targets {
  const borders: Border[] = [];
  for (const { range, port } of inclusions) {
    const insidePrivate = exclusions.private.some((block) => isInsideRange(range, block));
    addBorders(borders, range, port ?? SCAN_PORTS, insidePrivate);
  }
  for (const hole of EXCLUSION_KINDS) {
    for (const range of exclusions[hole]) addBorders(borders, range, hole, false);
  }
  const omitted = { never: 0n, private: 0n, chosen: 0n };
  const groups = [4, 6].flatMap((bits) =>
    groupTargets(borders.filter(({ at }) => family(at) === bits), omitted)
  );
  return targetsOf(groups, omitted, exclusions.private);
}

/** Targets in groups, with their numbers of addresses. */
export function targetsOf(
  groups: readonly TargetGroup[],
  omitted: Targets["omitted"],
  privates: readonly Range[],
): Targets {
  const sizeOf = (sizes: readonly bigint[]) => sizes.reduce((sum, one) => sum + one, 0n);
  const sets = groups.map(({ addresses }) => addresses);
  const sizeIn = (ranges: readonly Range[]) => {
    const [ipv4, ipv6] = [4, 6].map((bits) =>
      RangeSet.of(ranges.filter(({ start }) => family(start) === bits))
    );
    return sizeOf(sets.map((set) => {
      const all = familyOf(set) === 4 ? ipv4 : ipv6;
      return all.size - all.subtract(set).size;
    }));
  };
  const size = sizeOf(sets.map((set) => set.size));
  const publicSize = size - sizeIn(privates);
  return { groups, size, publicSize, loopbackSize: sizeIn(LOOPBACK), omitted };
}

/** Whether a range lies wholly inside a block; adjacent blocks are not joined. */
function isInsideRange({ start, end }: Range, block: Range): boolean {
  return family(start) === family(block.start) && block.start <= start && end <= block.end;
}

const LOOPBACK: readonly Range[] = [{ start: 0x7f000000, end: 0x80000000 }, { start: 1n, end: 2n }];

/** The address family of a set that is not empty. */
function familyOf(set: RangeSet<Address>): 4 | 6 {
  const [{ start }] = set;
  return family(start);
}

function addBorders(to: Border[], range: Range, tag: Border["tag"], insidePrivate: boolean): void {
  to.push({ at: range.start, step: 1, tag, insidePrivate });
  to.push({ at: range.end, step: -1, tag, insidePrivate });
}

/** Number of ranges that contain the current interval, per tag. */
type Open = Map<Border["tag"], { all: number; insidePrivate: number }>;

function groupTargets(
  borders: Border[],
  omitted: Record<typeof EXCLUSION_KINDS[number], bigint>,
): TargetGroup[] {
  borders.sort((a, b) => a.at < b.at ? -1 : a.at > b.at ? 1 : 0);
  const open: Open = new Map();
  const byPorts = new Map<string, { ports: number[]; ranges: Range[] }>();
  let start: Address | undefined;
  for (const { at, step, tag, insidePrivate } of borders) {
    if (start !== undefined && start < at) {
      const { hole, ports } = resolve(open);
      if (hole !== undefined) omitted[hole] += BigInt(at) - BigInt(start);
      else if (ports.length > 0) {
        const key = ports.join();
        const group = byPorts.get(key) ?? { ports, ranges: [] };
        group.ranges.push({ start, end: at });
        byPorts.set(key, group);
      }
    }
    start = at;
    const count = open.get(tag) ?? { all: 0, insidePrivate: 0 };
    count.all += step;
    if (insidePrivate) count.insidePrivate += step;
    if (count.all === 0) open.delete(tag);
    else open.set(tag, count);
  }
  return [...byPorts.values()].map(({ ports, ranges }) => ({
    addresses: RangeSet.of(ranges),
    usesScanPorts: ports.includes(SCAN_PORTS),
    ports: ports.filter((port) => port !== SCAN_PORTS),
  }));
}

/** Resolves the interval after a border: excluded, probed on some ports, or neither. */
function resolve(open: Open): { hole?: typeof EXCLUSION_KINDS[number]; ports: number[] } {
  const isPort = ([tag]: [Border["tag"], unknown]) => typeof tag === "number";
  const wanted = [...open].filter(isPort);
  if (wanted.length === 0) return { ports: [] };
  for (const hole of ["never", "chosen"] as const) if (open.has(hole)) return { hole, ports: [] };
  const allowed = open.has("private")
    ? wanted.filter(([, { insidePrivate }]) => insidePrivate > 0)
    : wanted;
  if (allowed.length === 0) return { hole: "private", ports: [] };
  return { ports: allowed.map(([tag]) => tag as number).sort((a, b) => a - b) };
}

/** The segments of a pass: each group of addresses with the ports to probe there. */
export function segmentsOf(
  { groups }: Targets,
  usualPorts: (family: 4 | 6) => readonly number[],
): Segment[] {
  return groups.map(({ addresses, usesScanPorts, ports }) => {
    const all = usesScanPorts ? [...ports, ...usualPorts(familyOf(addresses))] : ports;
    return { addresses, ports: [...new Set(all)].sort((a, b) => a - b) };
  });
}

export function familiesOf({ groups }: Targets): (4 | 6)[] {
  const families = new Set(groups.map(({ addresses: [{ start }] }) => family(start)));
  return ([4, 6] as const).filter((bits) => families.has(bits));
}
