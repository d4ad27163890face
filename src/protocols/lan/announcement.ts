/**
 * What a Java world that is "Open to LAN" says of itself, every 1.5 seconds, to 224.0.2.60 port
 * 4445: text in UTF-8, with no length and no end but its tags.
 *
 *     [MOTD] Steve - New World [/MOTD]  [AD] 51234 [/AD]
 *
 * It is read as the game reads it (LanServerPinger, vanilla): 1,024 bytes at the most; the MOTD
 * stands between the first `[MOTD]` and the next `[/MOTD]`; the address between the first `[AD]` and
 * the next `[/AD]` that follow the one and only `[/MOTD]`. Text outside of the tags is not read. The
 * host is the sender: what stands before a colon in the address, as pre-releases and third-party
 * senders write it, is not believed.
 *
 * @module
 */
import { concat, indexOfBytes, Malformed, Truncated } from "../../core/bytes.ts";
import { decodeLatin1 } from "../../core/text.ts";

/** Bytes that are read: the rest of a longer datagram is lost. */
export const LONGEST_ANNOUNCEMENT = 1024;

const tag = (name: string) => new TextEncoder().encode(`[${name}]`);
const TAGS = { motd: tag("MOTD"), motdEnd: tag("/MOTD"), ad: tag("AD"), adEnd: tag("/AD") };

/** What was odd about an announcement. */
export type AnnouncementFlag =
  /** No `[MOTD]` stands before its end: the game shows "missing no". */
  | "noMotd"
  /** The address names a host, which is not believed. */
  | "hostIgnored"
  /** Something follows the last tag; it is not read. */
  | "trailingBytes";

/** A Java world's announcement. */
export interface Announcement {
  /** The MOTD, mostly "Owner - World", UTF-8; `undefined` when there is none. */
  readonly motd: Uint8Array | undefined;
  /** The address as written: a port, or `host:port`. */
  readonly address: string;
  /** The port in it. */
  readonly port: number;
  /** What was odd. */
  readonly flags: readonly AnnouncementFlag[];
}

/** The bytes of an announcement. */
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
 * Reads an announcement.
 *
 * @throws Truncated when a tag is missing.
 * @throws Malformed when there are two ends of a MOTD, or the address holds no port.
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
  const behind = firstEnd + TAGS.motdEnd.length;
  const second = indexOfBytes(bytes, TAGS.motdEnd, behind);
  if (second >= 0) throw new Malformed("a second end of the MOTD", second);
  const { address, end } = readAddress(bytes, behind);
  // The MOTD has to begin before the only end that there is.
  const motd = start >= 0 && start < firstEnd
    ? bytes.slice(start + TAGS.motd.length, firstEnd)
    : undefined;
  const text = decodeLatin1(bytes.subarray(address, end));
  const flags: AnnouncementFlag[] = motd === undefined ? ["noMotd"] : [];
  if (text.includes(":")) flags.push("hostIgnored");
  if (end + TAGS.adEnd.length < bytes.length) flags.push("trailingBytes");
  return { motd, address: text, port: portOf(text, address), flags };
}

/** Where the address starts and ends. */
function readAddress(bytes: Uint8Array, from: number): { address: number; end: number } {
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

/** The game takes 25565 where there is no number; that would be a guess. */
function portOf(address: string, at: number): number {
  const digits = address.slice(address.lastIndexOf(":") + 1);
  const port = /^[0-9]{1,5}$/.test(digits) ? Number(digits) : 0;
  if (port >= 1 && port <= 65535) return port;
  throw new Malformed("an address without a port from 1 to 65535", at);
}
