/**
 * The lists that every scan obeys: what is never probed, what is asked only when named, and how a MOTD
 * says that its server wants to be left alone.
 *
 * @module
 */
import excludeText from "../../data/exclude.txt" with { type: "text" };
import markerText from "../../data/opt-out.txt" with { type: "text" };
import notByNameText from "../../data/not-by-name.txt" with { type: "text" };
import privateText from "../../data/private.txt" with { type: "text" };
import type { Address } from "../core/address.ts";
import { parseRangeList } from "./parse.ts";
import type { Range } from "./ranges.ts";

/** A range, and why it is listed. */
export interface ReasonedRange {
  /** The addresses. */
  readonly range: Range;
  /** Why. */
  readonly reason: string;
}

/** What is never probed: data/exclude.txt. */
export function neverProbedRanges(): readonly ReasonedRange[] {
  return parseRangeList(excludeText, "data/exclude.txt");
}

/** Why an address is never probed; `undefined` where it may be. */
export function neverProbedReason(address: Address): string | undefined {
  return reasonIn(neverProbedRanges(), address);
}

function reasonIn(ranges: readonly ReasonedRange[], address: Address): string | undefined {
  return ranges.find(({ range: { start, end } }) =>
    typeof start === typeof address && start <= address && address < end
  )?.reason;
}

/** What is asked only when a target lies wholly inside: data/private.txt. */
export function privateRanges(): readonly ReasonedRange[] {
  return parseRangeList(privateText, "data/private.txt");
}

/**
 * Names that belong to the user's own network: single labels, and the domains of RFC 6761 and 6762,
 * RFC 8375, ICANN's `.internal`, and what routers use. Their records are not a stranger's.
 */
const LOCAL_NAME = /^[^.]+$|\.(?:localhost|local|lan|home\.arpa|internal)$/;

/**
 * Whether a host name is a local one, whose records may lead to private addresses.
 *
 * @param name In lower case, without a final dot, as `parseTarget()` returns it.
 *
 * @example
 * ```ts
 * import { isLocalName } from "blocksweep/targets";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(["localhost", "mc.lan", "play.example.org"].map(isLocalName), [true, true, false]);
 * ```
 */
export function isLocalName(name: string): boolean {
  return LOCAL_NAME.test(name);
}

/**
 * Why an address that a host name's records lead to must not be probed; `undefined` where it may be.
 * Whoever holds a public name's zone must not choose a target inside the user's network.
 *
 * @param name The name that the user wrote: not the target of its SRV or CNAME record.
 * @param allowPrivate Whether the user lets any name lead to private addresses. Those of
 * data/not-by-name.txt stay refused: link-local ones, and the metadata services of cloud providers.
 *
 * @example
 * ```ts
 * import { parseAddress, refusedFromName } from "blocksweep/targets";
 * import { assertEquals } from "@std/assert";
 *
 * const router = parseAddress("192.168.1.1")!;
 * assertEquals(refusedFromName("mc.lan", router, false), undefined);
 * assertEquals(
 *   refusedFromName("play.example.org", router, false),
 *   "private use (RFC 1918); only a local name leads there, or any with --allow-private",
 * );
 * ```
 */
export function refusedFromName(
  name: string,
  address: Address,
  allowPrivate: boolean,
): string | undefined {
  const never = neverProbedReason(address);
  if (never !== undefined) return `never probed: ${never}`;
  const service = reasonIn(notByNameRanges(), address);
  if (service !== undefined) return `${service}, never taken from a name`;
  const reason = reasonIn(privateRanges(), address);
  if (reason === undefined || allowPrivate || isLocalName(name)) return undefined;
  return `${reason}; only a local name leads there, or any with --allow-private`;
}

/** What no name's records lead to: data/not-by-name.txt. */
function notByNameRanges(): readonly ReasonedRange[] {
  return parseRangeList(notByNameText, "data/not-by-name.txt");
}

/** Whether a MOTD holds one of the markers of data/opt-out.txt. */
export function optOutCheck(): (motd: string) => boolean {
  const markers = markerText.split("\n").map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  return (motd) => markers.some((marker) => motd.includes(marker));
}
