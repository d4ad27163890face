/**
 * The two stats of Query, in both directions. See codec.ts for their layout.
 *
 * Values stay bytes here: how they are encoded differs from server to server, and is decided per
 * value when a record is made of them.
 *
 * @module
 */
import {
  concat,
  hasBytes,
  indexOfBytes,
  Malformed,
  Reader,
  Truncated,
  u32,
} from "../../core/bytes.ts";
import { decodeLatin1, encodeLatin1 } from "../../core/text.ts";
import { readHeader } from "./codec.ts";

const STAT = 0x00;
const HEADER = 5;
/** What ends the header word of a full stat: its NUL, "first and last packet", "server keys". */
const FULL_MARK = Uint8Array.of(0x00, 0x80, 0x00);
const FULL_MARK_AT = 13;
const FULL_HEADER = 16;
/** Known keys that make a full stat of one with another header. */
const LEAST_KNOWN_KEYS = 2;
/** The NUL of the last value, the empty key, then object 1: the players. */
const PLAYERS_MARK = concat([0, 0, 1], encodeLatin1("player_"), [0, 0]);

/** Keys that servers are known to send: what a NUL in a MOTD is told from. */
const KNOWN_KEYS = new Set([
  ...["hostname", "gametype", "game_id", "version", "plugins", "map"],
  ...["numplayers", "maxplayers", "hostport", "hostip", "server_engine", "whitelist"],
]);

/** What was odd about a stat. */
export type StatFlag =
  /** It ends before its time. */
  | "truncated"
  /** A full stat with another mark than `00 80 00` behind its header word; pairs follow all the same. */
  | "oddHeader"
  /** A full stat without players: who is online is unknown. */
  | "noPlayerSection"
  /** The MOTD holds a NUL: other fields may be forged. */
  | "motdNul"
  /** A key occurs twice; the first value counts. */
  | "duplicateKey"
  /** Bytes follow the end; they are not read. */
  | "trailingBytes"
  /** A count that is no number. */
  | "badNumber";

/** A full stat. */
export interface FullStat {
  /** Which of the two it is. */
  readonly form: "full";
  /** The session that it repeats. */
  readonly session: number;
  /** The eight letters at the start: `splitnum`, or a mark of the software (`GeyserMC`). */
  readonly header: string;
  /** The three bytes behind it, where they are not `00 80 00`. */
  readonly mark?: Uint8Array;
  /** Keys and values, in the order in which they came, repeated keys included. */
  readonly pairs: readonly (readonly [key: string, value: Uint8Array])[];
  /** Names of players; `null` when there is no such section. */
  readonly players: readonly Uint8Array[] | null;
  /** What was odd. */
  readonly flags: readonly StatFlag[];
}

/** A basic stat. */
export interface BasicStat {
  /** Which of the two it is. */
  readonly form: "basic";
  /** The session that it repeats. */
  readonly session: number;
  /** The MOTD. */
  readonly motd: Uint8Array;
  /** The game type. */
  readonly gametype: Uint8Array;
  /** The map. */
  readonly map: Uint8Array;
  /** Players online. */
  readonly online: Uint8Array;
  /** Player slots. */
  readonly max: Uint8Array;
  /** The game's port; `null` when cut off. */
  readonly port: number | null;
  /** The address that the server believes to have; `null` when cut off. */
  readonly ip: Uint8Array | null;
  /** What was odd. */
  readonly flags: readonly StatFlag[];
}

/** What a reply to a stat request holds. */
export type Stat = FullStat | BasicStat;

/** The bytes of a well-formed full stat; `players: null` leaves the whole section out. */
export function encodeFullStat(
  { session, header, mark = FULL_MARK, pairs, players }: Omit<FullStat, "form" | "flags">,
): Uint8Array<ArrayBuffer> {
  const keys = pairs.flatMap(([key, value]) => [encodeLatin1(key), [0], value, [0]]);
  const names = players === null
    ? [[0]]
    : [PLAYERS_MARK.subarray(1), ...players.flatMap((name) => [name, [0]]), [0]];
  return concat([STAT], u32(session), encodeLatin1(header), mark, ...keys, ...names);
}

/** The bytes of a well-formed basic stat; `port` and `ip` must be there. */
export function encodeBasicStat(stat: Omit<BasicStat, "form" | "flags">): Uint8Array<ArrayBuffer> {
  const { session, motd, gametype, map, online, max, port, ip } = stat;
  const texts = [motd, gametype, map, online, max].flatMap((text) => [text, [0]]);
  return concat([STAT], u32(session), ...texts, [port! & 255, port! >> 8], ip!, [0]);
}

/**
 * Reads a stat, full or basic, whichever it is.
 *
 * @param session When given, an answer to another session is another message.
 * @throws Truncated when it ends inside the header or before the five texts of a basic stat do.
 * @throws Malformed when it has the form of neither.
 *
 * @example
 * ```ts
 * import { query } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const ascii = (text: string) => new TextEncoder().encode(text);
 * const bytes = query.encodeFullStat({
 *   session: 1,
 *   header: "splitnum",
 *   pairs: [["hostname", ascii("A Minecraft Server")], ["numplayers", ascii("1")]],
 *   players: [ascii("barneygale")],
 * });
 * const stat = query.decodeStat(bytes);
 * assertEquals(stat?.form === "full" && stat.pairs.length, 2);
 * ```
 */
export function decodeStat(bytes: Uint8Array, session?: number): Stat | undefined {
  const found = readHeader(bytes, STAT, "stat");
  if (found === undefined || (session !== undefined && found !== session)) return undefined;
  if (hasBytes(bytes, FULL_MARK, FULL_MARK_AT)) return decodeFull(bytes, found);
  const oddFull = countsInPlace(bytes) ? undefined : decodeOddFull(bytes, found);
  return oddFull ?? decodeBasic(bytes, found);
}

/** Whether the texts of a basic stat stand here, none of them moved. */
function countsInPlace(bytes: Uint8Array): boolean {
  const reader = new Reader(bytes, HEADER);
  for (let before = 0; before < 3; before++) reader.untilNul();
  return [reader.untilNul(), reader.untilNul()].every((text) => text && isCount(text));
}

/**
 * A full stat with another mark (`00 00 00`, `00 81 00`, `00 ff 00`, `00 80 01`, or a header of
 * zeros, as in mcstatus' tests): known by its keys alone.
 */
function decodeOddFull(bytes: Uint8Array, session: number): FullStat | undefined {
  if (bytes.length < FULL_HEADER) return undefined;
  const stat = decodeFull(bytes, session);
  if (stat.pairs.filter(([key]) => KNOWN_KEYS.has(key)).length < LEAST_KNOWN_KEYS) return undefined;
  return {
    ...stat,
    mark: bytes.subarray(FULL_MARK_AT, FULL_HEADER),
    flags: ["oddHeader", ...stat.flags],
  };
}

function decodeFull(bytes: Uint8Array, session: number): FullStat {
  const flags = new Set<StatFlag>();
  const header = decodeLatin1(bytes.subarray(HEADER, FULL_MARK_AT));
  const mark = indexOfBytes(bytes, PLAYERS_MARK, FULL_HEADER - 1);
  if (mark < 0) flags.add("noPlayerSection");
  const section = mark < 0 ? bytes : bytes.subarray(0, mark + 1);
  const pairs = readPairs(new Reader(section, FULL_HEADER), mark < 0, flags);
  const players = mark < 0
    ? null
    : readPlayers(new Reader(bytes, mark + PLAYERS_MARK.length), flags);
  return { form: "full", session, header, pairs, players, flags: [...flags] };
}

/** Keys and values up to an empty key, or, where the players follow, up to the section's end. */
function readPairs(
  reader: Reader,
  endsWithEmptyKey: boolean,
  flags: Set<StatFlag>,
): [string, Uint8Array][] {
  const pairs: [string, Uint8Array][] = [];
  const seen = new Set<string>();
  while (endsWithEmptyKey || reader.left > 0) {
    const start = reader.offset;
    const key = reader.untilNul();
    if (key?.length === 0) break;
    const name = key && decodeLatin1(key);
    const isMotd = name === "hostname" && !seen.has(name);
    const value = key && (isMotd ? readMotd(reader, flags) : reader.untilNul());
    if (name === undefined || value === undefined) {
      flags.add("truncated");
      reader.offset = start;
      return pairs;
    }
    if (seen.has(name)) flags.add("duplicateKey");
    seen.add(name);
    pairs.push([name, value]);
  }
  if (reader.left > 0) flags.add("trailingBytes");
  return pairs;
}

/**
 * The MOTD, in which a NUL may stand: Java servers write U+4E00 and its like as 00, and one can be
 * put there on purpose. It goes on until a known key follows. A MOTD that holds a NUL and a known
 * key cannot be told from the real thing; the flag says that the record is not to be trusted.
 */
function readMotd(reader: Reader, flags: Set<StatFlag>): Uint8Array | undefined {
  const start = reader.offset;
  const onlyNuls = reader.bytes.findLastIndex((byte) => byte !== 0) + 1;
  let value = reader.untilNul();
  while (value !== undefined && reader.offset < onlyNuls && !atKnownKey(reader)) {
    if (reader.untilNul() === undefined) break;
    value = reader.bytes.subarray(start, reader.offset - 1);
    flags.add("motdNul");
  }
  return value;
}

/** Whether a known key comes next. */
function atKnownKey({ bytes, offset }: Reader): boolean {
  const end = bytes.indexOf(0, offset);
  return KNOWN_KEYS.has(decodeLatin1(bytes.subarray(offset, end < 0 ? undefined : end)));
}

function readPlayers(reader: Reader, flags: Set<StatFlag>): Uint8Array[] {
  const players: Uint8Array[] = [];
  for (;;) {
    const name = reader.untilNul();
    if (name === undefined) { // keep the part of the last name that is there
      flags.add("truncated");
      if (reader.left > 0) players.push(reader.rest());
      return players;
    }
    if (name.length === 0) {
      if (reader.left > 0) flags.add("trailingBytes");
      return players;
    }
    players.push(name);
  }
}

/** How many NULs a basic MOTD may hold. */
const MOST_MOTD_NULS = 64;

function decodeBasic(bytes: Uint8Array, session: number): BasicStat {
  const flags: StatFlag[] = [];
  const reader = new Reader(bytes, HEADER);
  const texts: Uint8Array[] = [];
  while (texts.length < 5) {
    const text = reader.untilNul();
    if (text === undefined) {
      throw new Truncated("basic stat", reader.offset, reader.left + 1, reader.left);
    }
    texts.push(text);
  }
  const [gametype, map, online, max] = withCounts(reader, texts, flags);
  const motd = bytes.subarray(HEADER, gametype.byteOffset - bytes.byteOffset - 1);
  const port = reader.left >= 2 ? reader.u16le("port") : null;
  const ip = port === null ? null : reader.untilNul() ?? null;
  if (ip === null) flags.push("truncated");
  else if (reader.left > 0) flags.push("trailingBytes");
  return { form: "basic", session, motd, gametype, map, online, max, port, ip, flags };
}

/**
 * The last four of the five texts. Where the counts are no numbers but later texts are, the MOTD
 * holds NULs: the reader is moved behind the counts.
 *
 * @throws Malformed where no counts follow, and the five texts are none of a basic stat.
 */
function withCounts(reader: Reader, texts: Uint8Array[], flags: StatFlag[]): Uint8Array[] {
  const start = reader.offset;
  const more = texts.slice();
  while (more.length < MOST_MOTD_NULS) {
    if (isCount(more.at(-2)!) && isCount(more.at(-1)!)) {
      if (more.length > 5) flags.push("motdNul");
      return more.slice(-4);
    }
    const text = reader.untilNul();
    if (text === undefined) break;
    more.push(text);
  }
  reader.offset = start;
  // One count that is none: then the address has to be the end.
  const isWhole = reader.bytes.indexOf(0, start + 2) === reader.bytes.length - 1;
  if (isWhole && texts.slice(-2).some(isCount)) return texts.slice(-4);
  throw new Malformed("a stat that is neither full nor basic", HEADER);
}

/** Whether a text is a count: what servers write where they have nothing to hide. */
export function isCount(text: Uint8Array): boolean {
  return /^[0-9]{1,9}$/.test(decodeLatin1(text));
}
