/**
 * Forge's packed list of mods: bytes as text, with 15 bits in each UTF-16 unit.
 *
 *     text   bytes, low 15 bits | bytes, high 15 bits | 15 bits | 15 bits | ...    (lowest bit first)
 *     bytes  truncated 1 | mods 2 BE | mod... | VarInt channels | channel...
 *     mod    VarInt (channels * 2 + serverOnly) | text id | text version | channel...
 *            (no version where serverOnly is 1)
 *     channel  text name | text version | required 1
 *     text   VarInt bytes | UTF-8
 *
 * Sources: MinecraftForge 1.18.1 and later (ServerStatusPing.java), mcstatus (responses/forge.py).
 *
 * @module
 */
import { concat, Malformed, Reader, Truncated } from "../../core/bytes.ts";
import { decodeUtf8 } from "../../core/text.ts";
import { encodeVarInt, encodeVarString, readVarInt, readVarString } from "./codec.ts";

/** A network channel of a mod. */
export interface Channel {
  /** The channel's name, without the mod's id. */
  readonly name: string;
  /** The channel's version, any text. */
  readonly version: string;
  /** Whether clients must have the channel. */
  readonly required: boolean;
}

export interface PackedMod {
  /** The mod's id, as the server writes it. */
  readonly id: string;
  /** The mod's version; `null` for a mod that only the server has. */
  readonly version: string | null;
  /** The mod's network channels. */
  readonly channels: readonly Channel[];
}

export interface PackedMods {
  /** Whether the server omitted mods. */
  readonly truncated: boolean;
  /** The mods in the order of the list. */
  readonly mods: readonly PackedMod[];
  /** Channels that belong to no mod. */
  readonly channels: readonly Channel[];
  /** Whether the end of the list is missing or malformed. */
  readonly cut: boolean;
}

/** Encodes a list of mods as text. */
export function encodePacked({ truncated, mods, channels }: Omit<PackedMods, "cut">): string {
  const bytes = concat(
    [truncated ? 1 : 0, mods.length >> 8, mods.length & 255],
    ...mods.map(modBytes),
    encodeVarInt(channels.length),
    ...channels.map(channelBytes),
  );
  return packBits(bytes);
}

function modBytes({ id, version, channels }: PackedMod): Uint8Array {
  const head = encodeVarInt(channels.length * 2 + (version === null ? 1 : 0));
  const names = version === null
    ? [encodeVarString(id)]
    : [encodeVarString(id), encodeVarString(version)];
  return concat(head, ...names, ...channels.map(channelBytes));
}

function channelBytes({ name, version, required }: Channel): Uint8Array {
  return concat(encodeVarString(name), encodeVarString(version), [required ? 1 : 0]);
}

/**
 * Decodes a list of mods up to the first malformed byte.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * const mods = [{ id: "create", version: "0.5.1", channels: [] }];
 * const text = encodePacked({ truncated: false, mods, channels: [] });
 * assertEquals(decodePacked(text).mods, mods);
 * assertEquals(decodePacked(text.slice(0, -2)).cut, true);
 * ```
 */
export function decodePacked(text: string): PackedMods {
  const { bytes, claimed } = unpackBits(text);
  const reader = new Reader(bytes);
  const mods: PackedMod[] = [];
  const channels: Channel[] = [];
  let truncated = false;
  let cut = claimed > bytes.length;
  try {
    truncated = reader.u8("truncated") !== 0;
    for (let left = reader.u16("mods"); left > 0; left--) mods.push(readMod(reader));
    for (let left = readCount(reader); left > 0; left--) channels.push(readChannel(reader));
  } catch (error) {
    if (!(error instanceof Truncated || error instanceof Malformed)) throw error;
    cut = true;
  }
  return { truncated, mods, channels, cut };
}

function readMod(reader: Reader): PackedMod {
  const head = readVarInt(reader, "channels and flags");
  const id = readName(reader);
  const version = head & 1 ? null : readName(reader);
  const channels: Channel[] = [];
  for (let left = head >>> 1; left > 0; left--) channels.push(readChannel(reader));
  return { id, version, channels };
}

function readChannel(reader: Reader): Channel {
  return {
    name: readName(reader),
    version: readName(reader),
    required: reader.u8("required") !== 0,
  };
}

function readName(reader: Reader): string {
  return decodeUtf8(readVarString(reader, "name")).text;
}

function readCount(reader: Reader): number {
  return readVarInt(reader, "channels") >>> 0;
}

function packBits(bytes: Uint8Array): string {
  let text = String.fromCharCode(bytes.length & 0x7fff, bytes.length >>> 15);
  let bits = 0;
  let count = 0;
  for (const byte of bytes) {
    bits |= byte << count;
    count += 8;
    if (count < 15) continue;
    text += String.fromCharCode(bits & 0x7fff);
    bits >>>= 15;
    count -= 15;
  }
  return count === 0 ? text : text + String.fromCharCode(bits);
}

/** The bytes in a text. They are as many as the text declares, or fewer if the text is shorter. */
function unpackBits(text: string): { bytes: Uint8Array; claimed: number } {
  if (text.length < 2) return { bytes: new Uint8Array(), claimed: 0 };
  const claimed = text.charCodeAt(0) & 0x7fff | (text.charCodeAt(1) & 0x7fff) << 15;
  const bytes = new Uint8Array(Math.min(claimed, (text.length - 2) * 15 >>> 3));
  let bits = 0;
  let count = 0;
  for (let from = 2, to = 0; to < bytes.length; to++) {
    if (count < 8) {
      bits |= (text.charCodeAt(from++) & 0x7fff) << count;
      count += 15;
    }
    bytes[to] = bits;
    bits >>>= 8;
    count -= 8;
  }
  return { bytes, claimed };
}
