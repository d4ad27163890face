/**
 * The pings of Java servers before 1.7, which most later ones still answer.
 *
 *     Beta 1.8   fe
 *     1.4        fe 01                                                   (in one write)
 *     1.6        fe 01 fa  text "MC|PingHost"  size 2  protocol 1  text host  port 4
 *     kick       ff  text
 *     text       UTF-16 units 2 BE  UTF-16BE                             (size: 7 + bytes of host)
 *
 * The kick's text is the status:
 *
 *     Beta 1.8   motd § online § max
 *     1.4        §1 NUL protocol NUL version NUL motd NUL online NUL max
 *
 * Servers of before 1.4 answer the `fe` of all three. `fe 01 fa` alone must not be sent: servers
 * wait for the rest. Servers keep the connection open after their answer: it is read by its length.
 *
 * Sources: minecraft.wiki "Server List Ping"; vanilla 1.7.10 (LegacyPingHandler.java), Paper
 * (LegacyQueryHandler.java.patch), BungeeCord (LegacyDecoder.java), Velocity (LegacyDisconnect.java).
 *
 * @module
 */
import { concat, hasBytes, Malformed, Reader, Truncated } from "../../core/bytes.ts";
import { LONE_SURROGATE } from "../lone_surrogates.ts";

const PING = 0xfe;
const KICK = 0xff;
const CHANNEL = encodeText("MC|PingHost");
const MARK_1_6 = concat([PING, 1, 0xfa], CHANNEL);
const HEADER = 3;

/** What a client of 1.6 says of itself. */
export interface PingHost {
  /** Its protocol number, 0 to 255. */
  readonly protocol: number;
  /** The name or address by which it asks for the server. */
  readonly host: string;
  /** The port. */
  readonly port: number;
}

/** A legacy ping. */
export interface LegacyPing {
  /** What follows its first byte: nothing (Beta 1.8), one byte (1.4), or who asks (1.6). */
  readonly data: "none" | "01" | PingHost;
}

/** The bytes of a legacy ping, for one write. */
export function encodeLegacyPing({ data }: LegacyPing): Uint8Array<ArrayBuffer> {
  if (data === "none") return Uint8Array.of(PING);
  if (data === "01") return Uint8Array.of(PING, 1);
  const host = encodeText(data.host);
  const size = 7 + host.length - 2;
  const port = [data.port >>> 24, data.port >>> 16 & 255, data.port >>> 8 & 255, data.port & 255];
  return concat(MARK_1_6, [size >> 8, size & 255, data.protocol], host, port);
}

/**
 * Reads a legacy ping.
 *
 * @throws Truncated when it ends too early.
 * @throws Malformed when its size is not that of what follows.
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

/** What was odd about an answer to a legacy ping. */
export type LegacyFlag =
  /** Its length claims more than is there; what is there was read. */
  | "lengthMismatch"
  /** Bytes follow its end; they are not read. */
  | "trailingBytes"
  /** A number that is none. */
  | "badNumber"
  /** Half a surrogate pair stands in it; U+FFFD stands in its place. */
  | typeof LONE_SURROGATE;

/** A status as a legacy ping brings it. */
export interface LegacyStatus {
  /** Whose form it has. */
  readonly form: "1.4" | "beta";
  /** The protocol number: 127 of later vanilla and BungeeCord, `null` in Beta's form. */
  readonly protocol: number | null;
  /** The game version; `null` in Beta's form. */
  readonly version: string | null;
  /** The MOTD. */
  readonly motd: string | null;
  /** Players online. */
  readonly online: number | null;
  /** Player slots. */
  readonly max: number | null;
}

/** What a server says with a kick. */
export interface LegacyReply {
  /** The status; `undefined` when the text is none, but tells why nobody may come in. */
  readonly status: LegacyStatus | undefined;
  /** The text. */
  readonly text: string;
  /** What was odd. */
  readonly flags: readonly LegacyFlag[];
}

/** The bytes of a kick with this text. */
export function encodeLegacyReply({ text }: Pick<LegacyReply, "text">): Uint8Array<ArrayBuffer> {
  return concat([KICK], encodeText(text));
}

/** The text of a status, to be sent with a kick. Beta's form has neither protocol nor version. */
export function formatLegacyStatus(status: LegacyStatus): string {
  const { form, protocol, version, motd, online, max } = status;
  return form === "beta"
    ? `${motd}§${online}§${max}`
    : ["§1", protocol, version, motd, online, max].join("\0");
}

/**
 * Where a kick will end, so that its bytes can be awaited.
 *
 * @returns `undefined` while its length has not come in whole.
 */
export function legacyReplyEnd(bytes: Uint8Array): number | undefined {
  return bytes.length < HEADER ? undefined : HEADER + 2 * (bytes[1] << 8 | bytes[2]);
}

/**
 * Reads a kick. One whose length lies is read as far as it goes: there are servers that count bytes
 * where units are meant. One that was cut ends inside a number, or behind one: that number is `null`.
 *
 * @throws Truncated when it ends inside its length.
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
  const countsBytes = end - HEADER === 4 * text.length; // a length of bytes, taken twice
  const status = parseLegacyStatus(text, end > bytes.length && !countsBytes);
  if (status?.online === null || status?.max === null) flags.push("badNumber");
  return { status, text, flags };
}

/**
 * Reads the text of a kick as a status; `undefined` when it is none.
 *
 * @param cut Whether its end is missing: the last number may be a part of one.
 */
function parseLegacyStatus(text: string, cut: boolean): LegacyStatus | undefined {
  if (text.startsWith("§1\0")) {
    const fields = text.split("\0").slice(1);
    return statusOfFields(withoutEnd(cut ? withoutLast(fields) : fields));
  }
  // From the right: a MOTD may hold section signs.
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

/** Protocol, version, MOTD, online, max: a part of a MOTD is one, a part of another field is not. */
function withoutLast(fields: string[]): string[] {
  const last = fields.length === 3 ? fields[2] : "";
  return [...fields.slice(0, -1), last, ...Array(Math.max(0, 5 - fields.length)).fill("")];
}

/** Without the empty fields of NULs that follow the whole status: it ends in two counts. */
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
    motd: rest.join("\0") || null, // a NUL in a MOTD
    online: count(online),
    max: count(max),
  };
}

/** A count of at most nine digits; `null` for anything else. */
function count(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** A text with the number of its units. */
function encodeText(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(2 + 2 * text.length);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, text.length);
  for (let i = 0; i < text.length; i++) view.setUint16(2 + 2 * i, text.charCodeAt(i));
  return bytes;
}

/** Text of whole units as it is. */
function unitsOf(bytes: Uint8Array): string {
  const units: string[] = [];
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    units.push(String.fromCharCode(bytes[at] << 8 | bytes[at + 1]));
  }
  return units.join("");
}
