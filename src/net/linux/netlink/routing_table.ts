/**
 * Which addresses lie behind which gateway, from the system's table of routes.
 *
 * For every address the system looks into its own table first (our addresses, and broadcasts), and
 * then into the main one; in each the route with the most bits counts, and of those the one with the
 * lowest metric. Routes of one table lie in each other or apart, as all prefixes do: so one sweep
 * over their starts and ends, with those that are open on a stack, gives the spans in which one
 * route counts.
 *
 * @module
 */
import type { Endpoints } from "../../../core/endpoints.ts";
import type { Route, RoutingRule } from "./rtnetlink.ts";

const LOCAL = 255;
const MAIN = 254;
const LAST = 253;
const END = 2 ** 32;
const UNICAST = 1;

/** Addresses, from the first to before the end. */
interface AddressRange {
  readonly start: number;
  readonly end: number;
}

/** A stretch, and the route that counts there; `undefined`: none. */
interface Span extends AddressRange {
  readonly route: Route | undefined;
}

/** Whether a table counts for all datagrams alike, as it does unless somebody set up other rules. */
export function areDefaultRules(rules: readonly RoutingRule[]): boolean {
  const usual = [`0 ${LOCAL}`, `32766 ${MAIN}`, `32767 ${LAST}`];
  return rules.every(({ priority, table, isForAll }, i) =>
    isForAll && usual[i] === `${priority} ${table}`
  ) && rules.length !== 1;
}

/** A gateway, how it is reached, and who is behind it. */
export interface NextHop {
  /** The interface's index. */
  readonly interface: number;
  /** Its address. */
  readonly gateway: number;
  /** What lies behind it, ascending. */
  readonly ranges: readonly AddressRange[];
  /** How many of the targets that are, and one of them. */
  readonly targets: number;
  readonly target: number;
}

/**
 * The gateway behind which most of the targets are.
 *
 * @param routes All routes of IPv4.
 * @param targets Ascending, and apart.
 * @param over The index of the only interface that may be used. Default: any.
 * @returns `undefined` when none of them is behind a gateway.
 */
export function findNextHop(
  routes: readonly Route[],
  targets: readonly AddressRange[],
  over?: number,
): NextHop | undefined {
  const hops = new Map<string, { route: Route; ranges: AddressRange[] }>();
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

function isBehind({ type, gateway, isDetour }: Route): boolean {
  return type === UNICAST && gateway !== undefined && !isDetour;
}

/** The spans of all addresses. */
function spansOf(routes: readonly Route[]): Span[] {
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

/** The spans of one table: they follow each other from the first address to the last. */
function spansOfTable(routes: readonly Route[]): Span[] {
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

/** How many targets lie in ascending ranges, and the first of them. */
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

/** Who is behind a gateway: asked for each target, so that nothing is allocated. */
export class AddressesBehindGateway {
  readonly #starts: Uint32Array;
  /** The last address of each. */
  readonly #lasts: Uint32Array;
  /** Where the last one that was asked for is. */
  #at = 0;

  /** Takes ascending ranges. */
  constructor(ranges: readonly AddressRange[]) {
    this.#starts = Uint32Array.from(ranges, ({ start }) => start);
    this.#lasts = Uint32Array.from(ranges, ({ end }) => end - 1);
  }

  /** Whether a target of a row, which is one of IPv4, is. */
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
