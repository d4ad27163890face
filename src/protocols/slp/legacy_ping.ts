/**
 * Legacy pings of Java servers before 1.7. Most later servers reply to them too.
 *
 *     Beta 1.8   fe
 *     1.4        fe 01                                                   (in one write)
 *     1.6        fe 01 fa  text "MC|PingHost"  size 2  protocol 1  text host  port 4
 *     kick       ff  text
 *     text       UTF-16 units 2 BE  UTF-16BE                             (size: 7 + bytes of host)
 *
 * The text of the kick is the status:
 *
 *     Beta 1.8   motd § online § max
 *     1.4        §1 NUL protocol NUL version NUL motd NUL online NUL max
 *
 * Servers before 1.4 reply to the first byte of all three forms. `fe 01 fa` must not be sent alone,
 * because servers wait for the rest of the ping. Servers keep the connection open after the kick,
 * so its length field marks its end.
 *
 * Sources: minecraft.wiki "Server List Ping"; vanilla 1.7.10 (LegacyPingHandler.java), Paper
 * (LegacyQueryHandler.java.patch), BungeeCord (LegacyDecoder.java), Velocity
 * (LegacyDisconnect.java).
 *
 * @module
 */
import { concat, hasBytes, Malformed, Reader, Truncated } from "../../core/bytes.ts";
import { LONE_SURROGATE } from "../lone_surrogates.ts";
import type { Handshake } from "./codec.ts";

const PING = 0xfe;
const KICK = 0xff;
const CHANNEL = encodeText("MC|PingHost");
const MARK_1_6 = concat([PING, 1, 0xfa], CHANNEL);
const HEADER = 3;

/** A legacy ping in one of its three forms. */
export interface LegacyPing {
  /** The bytes after the first: none (Beta 1.8), one byte (1.4), or the fields of 1.6, whose protocol number is at most 255. */
  readonly data: "none" | "01" | Handshake;
}

/** Encodes a legacy ping, for one write. */
export function encodeLegacyPing({ data }: LegacyPing): Uint8Array<ArrayBuffer> {
  if (data === "none") return Uint8Array.of(PING);
  if (data === "01") return Uint8Array.of(PING, 1);
  const host = encodeText(data.host);
  const size = 7 + host.length - 2;
  const port = [data.port >>> 24, data.port >>> 16 & 255, data.port >>> 8 & 255, data.port & 255];
  return concat(MARK_1_6, [size >> 8, size & 255, data.protocol], host, port);
}

/**
 * Decodes a legacy ping, as a server does.
 *
 * @returns `undefined` for another message.
 * @throws Truncated when the message ends inside a field.
 * @throws Malformed when its size field is wrong.
 */
export function decodeLegacyPing(bytes: Uint8Array): LegacyPing | undefined {
  if (bytes[0] !== PING) return undefined;
  if (bytes.length === 1) return { data: "none" };
  if (bytes[1] !== 1) return undefined;
  if (bytes.length === 2) return { data: "01" };
  const start = Math.min(bytes.length, MARK_1_6.length);
  if (!hasBytes(bytes, MARK_1_6.subarray(0, start), 0)) return undefined;
  const reader = new Reader(bytes);
  reader.take(MARK_1_6.length, "channel");
  const at = reader.offset;
  const size = reader.u16("size");
  const protocol = reader.u8("protocol");
  const host = unitsOf(reader.take(2 * reader.u16("host length"), "host")).toWellFormed();
  const port = reader.u32("port");
  if (size !== 7 + 2 * host.length) throw new Malformed(`a ping of ${size} bytes`, at);
  return { data: { protocol, host, port } };
}

/** The status in a kick. */
export interface LegacyStatus {
  /** The form of its text: that of 1.4 or of Beta 1.8. */
  readonly form: "1.4" | "beta";
  /** The protocol number; 127 in newer vanilla and BungeeCord; `null` in Beta's form. */
  readonly protocol: number | null;
  /** The game version; `null` in Beta's form. */
  readonly version: string | null;
  /** The MOTD; `null` when it is empty. */
  readonly motd: string | null;
  /** Number of players online; `null` when it is not a number. */
  readonly online: number | null;
  /** Number of player slots; `null` when it is not a number. */
  readonly max: number | null;
}

/** A kick: the reply to a legacy ping. */
export interface LegacyReply {
  /** The status; `undefined` when the text is the reason for a refusal. */
  readonly status: LegacyStatus | undefined;
  /** The text of the kick. */
  readonly text: string;
  /** Anomalies that the decoder found. */
  readonly flags: readonly (
    /** The length field exceeds the message; the bytes that arrived are decoded. */
    | "lengthMismatch"
    /** Bytes follow the end of the kick; they are ignored. */
    | "trailingBytes"
    /** A count is not a number. */
    | "badNumber"
    /** The text contains a lone surrogate; U+FFFD replaces it. */
    | "loneSurrogate"
  )[];
}

/** An anomaly of a kick. */
export type LegacyFlag = LegacyReply["flags"][number];

/** Encodes a kick with this text. */
export function encodeLegacyReply({ text }: Pick<LegacyReply, "text">): Uint8Array<ArrayBuffer> {
  return concat([KICK], encodeText(text));
}

/** Formats a status as the text of a kick. Beta's form has neither protocol nor version. */
export function formatLegacyStatus(status: LegacyStatus): string {
  const { form, protocol, version, motd, online, max } = status;
  return form === "beta"
    ? `${motd}§${online}§${max}`
    : ["§1", protocol, version, motd, online, max].join("\0");
}

/**
 * Offset at which a kick ends. More bytes may have to arrive until then.
 *
 * @returns `undefined` while the kick's length is incomplete.
 */
export function legacyReplyEnd(bytes: Uint8Array): number | undefined {
  return bytes.length < HEADER ? undefined : HEADER + 2 * (bytes[1] << 8 | bytes[2]);
}

/**
 * Decodes a kick. A kick that is shorter than its length field is decoded too, because some servers
 * count bytes instead of UTF-16 units. The last number of an incomplete kick may be incomplete too,
 * and is `null`.
 *
 * @returns `undefined` for another message.
 * @throws Truncated when the message ends inside the length field.
 *
 * @example
 * ```ts
 * import { slp } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const bytes = slp.encodeLegacyReply({ text: "§4A§lB§3§20" });
 * const status = slp.decodeLegacyReply(bytes)?.status;
 * assertEquals([status?.motd, status?.online, status?.max], ["§4A§lB", 3, 20]);
 * ```
 */
export function decodeLegacyReply(bytes: Uint8Array): LegacyReply | undefined {
  if (bytes[0] !== KICK) return undefined;
  const end = legacyReplyEnd(bytes);
  if (end === undefined) throw new Truncated("kick", 0, HEADER, bytes.length);
  const units = unitsOf(bytes.subarray(HEADER, end));
  const text = units.toWellFormed();
  const flags: LegacyFlag[] = [];
  if (end > bytes.length) flags.push("lengthMismatch");
  if (end < bytes.length) flags.push("trailingBytes");
  if (text !== units) flags.push(LONE_SURROGATE);
  // the length field counts bytes instead of units
  const countsBytes = end - HEADER === 4 * text.length;
  const status = parseLegacyStatus(text, end > bytes.length && !countsBytes);
  if (status?.online === null || status?.max === null) flags.push("badNumber");
  return { status, text, flags };
}

/**
 * Parses the text of a kick as a status; `undefined` when the text is not a status.
 *
 * @param cut Whether the end of the text is missing. The last number may then be incomplete.
 */
function parseLegacyStatus(text: string, cut: boolean): LegacyStatus | undefined {
  if (text.startsWith("§1\0")) {
    const fields = text.split("\0").slice(1);
    return statusOfFields(withoutEnd(cut ? withoutLast(fields) : fields));
  }
  // Matched from the right, because a MOTD may contain section signs.
  const match = /^(.*)§(-?\d{1,10})§(-?\d{1,10})$/s.exec(text);
  if (match === null) return undefined;
  const [, motd, online, max] = match;
  return {
    form: "beta",
    protocol: null,
    version: null,
    motd,
    online: count(online),
    max: cut ? null : count(max),
  };
}

/** Drops an incomplete last field. A MOTD is kept, because its start is still useful. */
function withoutLast(fields: string[]): string[] {
  const last = fields.length === 3 ? fields[2] : "";
  return [...fields.slice(0, -1), last, ...Array(Math.max(0, 5 - fields.length)).fill("")];
}

/** Drops empty fields after a complete status. Such a status ends with two counts. */
function withoutEnd(fields: string[]): string[] {
  const whole = fields.slice(0, fields.findLastIndex((field) => field !== "") + 1);
  const counts = whole.slice(3).slice(-2).filter((field) => count(field) !== null);
  return counts.length === 2 ? whole : fields;
}

function statusOfFields([protocol, version, ...rest]: string[]): LegacyStatus {
  const [online, max] = rest.length < 3 ? [undefined, undefined] : rest.splice(-2);
  return {
    form: "1.4",
    protocol: count(protocol),
    version: version || null,
    motd: rest.join("\0") || null, // the MOTD may contain NULs
    online: count(online),
    max: count(max),
  };
}

/** Reads a count of at most nine digits; `null` for any other text. */
function count(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** Encodes a text: the number of its UTF-16 units, then UTF-16BE. */
function encodeText(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(2 + 2 * text.length);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, text.length);
  for (let i = 0; i < text.length; i++) view.setUint16(2 + 2 * i, text.charCodeAt(i));
  return bytes;
}

/** Decodes UTF-16BE without replacing lone surrogates; an odd last byte is ignored. */
function unitsOf(bytes: Uint8Array): string {
  const units: string[] = [];
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    units.push(String.fromCharCode(bytes[at] << 8 | bytes[at + 1]));
  }
  return units.join("");
}
