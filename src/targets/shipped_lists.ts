/**
 * The lists that every scan obeys: ranges that are never probed, private ranges, ranges to which
 * no name may resolve, and the opt-out markers of MOTDs.
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

/** A range with the reason why it is listed. */
export interface ReasonedRange {
  /** The addresses of one entry. */
  readonly range: Range;
  /** The reason for messages, for example `private use (RFC 1918)`. */
  readonly reason: string;
}

/** The lists that were parsed, by file. */
const parsed = new Map<string, readonly ReasonedRange[]>();

/** The ranges of a list, which is parsed at its first use. */
function rangesOf(text: string, file: string): readonly ReasonedRange[] {
  const found = parsed.get(file) ?? parseRangeList(text, file);
  parsed.set(file, found);
  return found;
}

/** The ranges that are never probed: data/exclude.txt. */
export function neverProbedRanges(): readonly ReasonedRange[] {
  return rangesOf(excludeText, "data/exclude.txt");
}

/** The reason why an address is never probed; `undefined` if it may be. */
export function neverProbedReason(address: Address): string | undefined {
  return reasonIn(neverProbedRanges(), address);
}

function reasonIn(ranges: readonly ReasonedRange[], address: Address): string | undefined {
  return ranges.find(({ range: { start, end } }) =>
    typeof start === typeof address && start <= address && address < end
  )?.reason;
}

/** The private ranges, probed only for targets wholly inside one: data/private.txt. */
export function privateRanges(): readonly ReasonedRange[] {
  return rangesOf(privateText, "data/private.txt");
}

/**
 * Names of the user's own network: single labels, the domains of RFC 6761, 6762 and 8375, ICANN's
 * `.internal`, and the domains of routers. The DNS records of these names are trusted.
 */
const LOCAL_NAME = /^[^.]+$|\.(?:localhost|local|lan|home\.arpa|internal)$/;

/**
 * Whether a host name is local. The DNS records of a local name may lead to private addresses.
 *
 * @param name The name in lower case without a final dot, as `parseTarget()` returns it.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(["localhost", "mc.lan", "play.example.org"].map(isLocalName), [true, true, false]);
 * ```
 */
export function isLocalName(name: string): boolean {
  return LOCAL_NAME.test(name);
}

/**
 * The reason why an address from the records of a host name must not be probed; `undefined` if it
 * may be. The owner of a public zone must not choose a target inside the user's network.
 *
 * @param name The name that the user wrote, not the target of its SRV or CNAME record.
 * @param allowPrivate Whether any name may lead to private addresses. Even then, the addresses in
 * data/not-by-name.txt are refused: link-local addresses, and metadata services of cloud providers.
 *
 * @example
 * ```ts
 * import { parseAddress } from "blocksweep/targets";
 * import { assertEquals } from "@std/assert";
 *
 * const router = parseAddress("192.168.1.1")!;
 * assertEquals(refusedFromName("mc.lan", router, false), undefined);
 * assertEquals(
 *   refusedFromName("play.example.org", router, false),
 *   "private use (RFC 1918); only a local name may resolve there, or any name with --allow-private",
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
  if (service !== undefined) return `${service}, never probed by name`;
  const reason = reasonIn(privateRanges(), address);
  if (reason === undefined || allowPrivate || isLocalName(name)) return undefined;
  return `${reason}; only a local name may resolve there, or any name with --allow-private`;
}

/** The ranges to which no name may resolve: data/not-by-name.txt. */
function notByNameRanges(): readonly ReasonedRange[] {
  return rangesOf(notByNameText, "data/not-by-name.txt");
}

/**
 * Returns a function that checks whether a MOTD contains an opt-out marker of data/opt-out.txt. The
 * case of letters is ignored, as games ignore the case of formatting codes.
 */
export function optOutCheck(): (motd: string) => boolean {
  const markers = optOutMarkers();
  return (motd) => {
    const folded = motd.toLowerCase();
    return markers.some((marker) => folded.includes(marker));
  };
}

let markers: readonly string[] | undefined;

/** The opt-out markers in lower case. */
export function optOutMarkers(): readonly string[] {
  return markers ??= markerText.toLowerCase().split("\n").map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

/**
 * Returns a fast test of a reply that was not decoded: whether its MOTD may contain an opt-out
 * marker. It is `false` only if the bytes do not contain the marker's characters in their order, with
 * any bytes between them. It is for probes with `wholeStatus`, whose decoders only remove
 * characters, or replace them by others that the test ignores.
 */
export function optOutFilter(): (reply: Uint8Array) => boolean {
  const encoder = new TextEncoder();
  const markers = optOutMarkers().map((marker) => encoder.encode(marker.replace(IGNORED, "")));
  return (reply) => markers.some((marker) => hasInOrder(reply, marker));
}

/**
 * Characters of markers that {@linkcode optOutFilter} ignores: those that decoders insert, and those
 * that are the lower case of a character outside ASCII.
 */
const IGNORED = /[ ;ik]|[^\u0021-\u007e§]/gu;

/** Whether bytes contain a text in lower case, with any bytes between its bytes. */
function hasInOrder(bytes: Uint8Array, text: Uint8Array): boolean {
  let found = 0;
  for (let i = 0; i < bytes.length && found < text.length; i++) {
    const byte = bytes[i];
    if ((byte >= A && byte <= Z ? byte | LOWER : byte) === text[found]) found++;
  }
  return found === text.length;
}

/** The codes of the first and the last capital letter, and the bit that makes them lower case. */
const [A, Z, LOWER] = [0x41, 0x5a, 0x20];
