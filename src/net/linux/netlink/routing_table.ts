/**
 * Determines which addresses are behind which gateway, from the system's routing tables.
 *
 * For every address the system searches its local table first (local addresses and broadcasts),
 * then the main table. In each table the route with the longest prefix is used, and of equal ones
 * the one with the lowest metric. Prefixes of one table are nested or disjoint. So one sweep over
 * their starts and ends, with a stack of the open routes, yields spans of one route each.
 *
 * @module
 */
import type { Endpoints } from "../../../core/endpoints.ts";
import type { Ipv4Route, RoutingRule } from "./rtnetlink.ts";

const LOCAL = 255;
const MAIN = 254;
const LAST = 253;
const END = 2 ** 32;
const UNICAST = 1;

/** A range of addresses, from `start` up to `end` - 1. */
export interface AddressRange {
  readonly start: number;
  readonly end: number;
}

/** A range of addresses and its route; `undefined`: none. */
interface Span extends AddressRange {
  readonly route: Ipv4Route | undefined;
}

/**
 * Whether the routing rules are the default ones. Only then do the tables apply to all datagrams.
 */
export function areDefaultRules(rules: readonly RoutingRule[]): boolean {
  const usual = [`0 ${LOCAL}`, `32766 ${MAIN}`, `32767 ${LAST}`];
  return rules.every(({ priority, table, isForAll }, i) =>
    isForAll && usual[i] === `${priority} ${table}`
  ) && rules.length !== 1;
}

/** A gateway, its interface, and the addresses behind it. */
export interface NextHop {
  /** Index of the interface. */
  readonly interface: number;
  /** Address of the gateway. */
  readonly gateway: number;
  /** The address ranges behind the gateway, ascending. */
  readonly ranges: readonly AddressRange[];
  /** Number of targets behind the gateway, and the first of them. */
  readonly targets: number;
  readonly target: number;
}

/**
 * Finds the gateway with the most targets behind it.
 *
 * @param routes All IPv4 routes.
 * @param targets The target ranges, ascending and disjoint.
 * @param over Index of the only interface that may be used. Default: any.
 * @returns `undefined` when no target is behind a gateway.
 */
export function findNextHop(
  routes: readonly Ipv4Route[],
  targets: readonly AddressRange[],
  over?: number,
): NextHop | undefined {
  const hops = new Map<string, { route: Ipv4Route; ranges: AddressRange[] }>();
  for (const { route, start, end } of spansOf(routes)) {
    if (route === undefined || !isBehind(route) || over !== undefined && route.interface !== over) {
      continue;
    }
    const key = `${route.interface} ${route.gateway}`;
    if (!hops.has(key)) hops.set(key, { route, ranges: [] });
    hops.get(key)!.ranges.push({ start, end });
  }
  const found = [...hops.values()].map(({ route, ranges }): NextHop => ({
    interface: route.interface,
    gateway: route.gateway!,
    ranges,
    ...countTargets(ranges, targets),
  })).filter((hop) => hop.targets > 0);
  return found.sort((a, b) => b.targets - a.targets)[0];
}

function isBehind({ type, gateway, isDetour }: Ipv4Route): boolean {
  return type === UNICAST && gateway !== undefined && !isDetour;
}

/** The spans of all IPv4 addresses, over both tables. */
function spansOf(routes: readonly Ipv4Route[]): Span[] {
  const table = (number: number) =>
    spansOfTable(
      routes.filter((route) => route.table === number && route.service === 0 && !route.isDead),
    );
  const [own, main] = [table(LOCAL), table(MAIN)];
  const spans: Span[] = [];
  for (let start = 0, i = 0, j = 0; start < END;) {
    while (own[i].end <= start) i++;
    while (main[j].end <= start) j++;
    const end = Math.min(own[i].end, main[j].end);
    spans.push({ start, end, route: own[i].route ?? main[j].route });
    start = end;
  }
  return spans;
}

/** The spans of one table, without gaps from the first address to the last. */
function spansOfTable(routes: readonly Ipv4Route[]): Span[] {
  const sorted = routes.toSorted((a, b) => a.to - b.to || a.bits - b.bits || b.metric - a.metric);
  const spans: Span[] = [];
  const open: Span[] = [{ start: 0, end: END, route: undefined }];
  let at = 0;
  const until = (end: number) => {
    if (end > at) spans.push({ start: at, end, route: open.at(-1)!.route });
    at = Math.max(at, end);
  };
  const close = () => {
    until(open.at(-1)!.end);
    open.pop();
  };
  for (const route of sorted) {
    const end = route.to + 2 ** (32 - route.bits);
    while (open.at(-1)!.end <= route.to) close();
    until(route.to);
    open.push({ start: route.to, end, route });
  }
  while (open.length > 0) close();
  return spans;
}

/** Number of targets in ascending ranges, and the first of them. */
function countTargets(ranges: readonly AddressRange[], targets: readonly AddressRange[]) {
  let count = 0;
  let target = 0;
  for (let i = 0, j = 0; i < ranges.length && j < targets.length;) {
    const start = Math.max(ranges[i].start, targets[j].start);
    const size = Math.min(ranges[i].end, targets[j].end) - start;
    if (size > 0 && count === 0) target = start;
    count += Math.max(0, size);
    if (ranges[i].end < targets[j].end) i++;
    else j++;
  }
  return { targets: count, target };
}

/** The set of addresses behind a gateway. A lookup for a target allocates nothing. */
export class AddressesBehindGateway {
  readonly #starts: Uint32Array;
  /** The last address of each range. */
  readonly #lasts: Uint32Array;
  /** Index of the range of the last lookup. */
  #at = 0;

  /** Creates the set from ascending ranges. */
  constructor(ranges: readonly AddressRange[]) {
    this.#starts = Uint32Array.from(ranges, ({ start }) => start);
    this.#lasts = Uint32Array.from(ranges, ({ end }) => end - 1);
  }

  /** Whether `targets[i]`, an IPv4 endpoint, is behind the gateway. */
  has(targets: Endpoints, i: number): boolean {
    const address = targets.ipv4[i];
    const starts = this.#starts;
    if (starts[this.#at] <= address && address <= this.#lasts[this.#at]) return true;
    let low = 0;
    let high = starts.length;
    while (low < high) {
      const middle = low + high >>> 1;
      if (starts[middle] <= address) low = middle + 1;
      else high = middle;
    }
    if (low === 0 || address > this.#lasts[low - 1]) return false;
    this.#at = low - 1;
    return true;
  }
}
