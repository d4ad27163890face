/**
 * The announcement of a Java world that is "Open to LAN". The world sends it every 1.5 seconds to
 * 224.0.2.60 port 4445; modded worlds send it to ff75:230::60 if their host prefers IPv6. An announcement is UTF-8 text without a length field; only its tags delimit
 * the values.
 *
 *     [MOTD] Steve - New World [/MOTD]  [AD] 51234 [/AD]
 *
 * The decoder follows the game (LanServerPinger, vanilla) and reads at most 1,024 bytes. The MOTD
 * is between the first `[MOTD]` and the next `[/MOTD]`. The address is between the first `[AD]`
 * after the only `[/MOTD]` and the next `[/AD]`. Text outside the tags is ignored. The host is the
 * sender of the datagram. A host before a colon in the address, as pre-releases and third-party
 * senders write it, is not trusted.
 *
 * @module
 */
import { concat, indexOfBytes, Malformed, Truncated } from "../../core/bytes.ts";
import { decodeLatin1 } from "../../core/text.ts";

/** Maximum number of bytes of a datagram that the game reads. */
export const LONGEST_ANNOUNCEMENT = 1024;

const tag = (name: string) => new TextEncoder().encode(`[${name}]`);
const TAGS = { motd: tag("MOTD"), motdEnd: tag("/MOTD"), ad: tag("AD"), adEnd: tag("/AD") };

/** A Java world's announcement. */
export interface Announcement {
  /** The MOTD, usually "Owner - World", UTF-8; `undefined` when it is missing. */
  readonly motd: Uint8Array | undefined;
  /** The address as sent: a port or `host:port`. */
  readonly address: string;
  /** The port of the address, 1 to 65535. */
  readonly port: number;
  /** Anomalies that the decoder found. */
  readonly flags: readonly (
    /** The announcement has no `[MOTD]` before `[/MOTD]`; the game shows "missing no". */
    | "noMotd"
    /** The address contains a host, which is ignored. */
    | "hostIgnored"
    /** Bytes follow the last tag; they are ignored. */
    | "trailingBytes"
  )[];
}

/** Encodes an announcement, as a Java world does. */
export function encodeAnnouncement(
  { motd, address }: Pick<Announcement, "motd" | "address">,
): Uint8Array<ArrayBuffer> {
  const { motd: start, motdEnd, ad, adEnd } = TAGS;
  return concat(
    ...(motd === undefined ? [] : [start, motd]),
    motdEnd,
    ad,
    new TextEncoder().encode(address),
    adEnd,
  );
}

/**
 * Decodes an announcement.
 *
 * @returns `undefined` for another message, which has neither `[MOTD]` nor `[/MOTD]`.
 * @throws Truncated when a tag is missing.
 * @throws Malformed when `[/MOTD]` occurs twice, or the address contains no port.
 *
 * @example
 * ```ts
 * import { lan } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const bytes = new TextEncoder().encode("[MOTD]Steve - World[/MOTD][AD]51234[/AD]");
 * assertEquals(lan.decodeAnnouncement(bytes)?.port, 51234);
 * ```
 */
export function decodeAnnouncement(datagram: Uint8Array): Announcement | undefined {
  const bytes = datagram.subarray(0, LONGEST_ANNOUNCEMENT);
  const start = indexOfBytes(bytes, TAGS.motd, 0);
  const firstEnd = indexOfBytes(bytes, TAGS.motdEnd, 0);
  if (start < 0 && firstEnd < 0) return undefined;
  if (firstEnd < 0) throw missing(bytes, TAGS.motdEnd, "end of the MOTD");
  const afterMotd = firstEnd + TAGS.motdEnd.length;
  const second = indexOfBytes(bytes, TAGS.motdEnd, afterMotd);
  if (second >= 0) throw new Malformed("a second end of the MOTD", second);
  const { address, end } = findAddress(bytes, afterMotd);
  // `[MOTD]` counts only before the single `[/MOTD]`.
  const motd = start >= 0 && start < firstEnd
    ? bytes.slice(start + TAGS.motd.length, firstEnd)
    : undefined;
  const text = decodeLatin1(bytes.subarray(address, end));
  const flags: Announcement["flags"][number][] = motd === undefined ? ["noMotd"] : [];
  if (text.includes(":")) flags.push("hostIgnored");
  if (end + TAGS.adEnd.length < bytes.length) flags.push("trailingBytes");
  return { motd, address: text, port: portOf(text, address), flags };
}

/** Offsets of the start and end of the address. */
function findAddress(bytes: Uint8Array, from: number): { address: number; end: number } {
  const tag = indexOfBytes(bytes, TAGS.ad, from);
  if (tag < 0) throw missing(bytes, TAGS.ad, "address");
  const address = tag + TAGS.ad.length;
  const end = indexOfBytes(bytes, TAGS.adEnd, address);
  if (end < 0) throw missing(bytes, TAGS.adEnd, "end of the address");
  return { address, end };
}

function missing(bytes: Uint8Array, tag: Uint8Array, what: string): Truncated {
  return new Truncated(what, bytes.length, tag.length, 0);
}

/** Reads the port. The game assumes 25565 if the address has no number; here it is malformed. */
function portOf(address: string, at: number): number {
  const digits = address.slice(address.lastIndexOf(":") + 1);
  const port = /^[0-9]{1,5}$/.test(digits) ? Number(digits) : 0;
  if (port >= 1 && port <= 65535) return port;
  throw new Malformed("an address without a port from 1 to 65535", at);
}
