/**
 * Encoder and decoder of Query's two stats, full and basic. See codec.ts for their layout.
 *
 * Values stay bytes here. Their encoding differs between servers. It is detected for each value
 * when the record is created.
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
/**
 * The bytes after the header word of a full stat: its NUL, "first and last packet", "server keys".
 */
const FULL_MARK = Uint8Array.of(0x00, 0x80, 0x00);
const FULL_MARK_AT = 13;
const FULL_HEADER = 16;
/** Minimum number of known keys in a full stat whose header is unknown. */
const MIN_KNOWN_KEYS = 2;
/** The text between the marks before the players. */
const PLAYERS_WORD = encodeLatin1("player_\0");
/** The bytes before the players: empty key, object 1, its name, and the number of the first player. */
const PLAYERS_MARK = concat([0, 1], PLAYERS_WORD, [0]);

/** Keys that servers send. A known key after a NUL marks the end of the MOTD. */
const KNOWN_KEYS = new Set([
  "hostname",
  "gametype",
  "game_id",
  "version",
  "plugins",
  "map",
  "numplayers",
  "maxplayers",
  "hostport",
  "hostip",
  "server_engine",
  "whitelist",
]);

/** A full stat: keys with values, and the names of players. */
export interface FullStat {
  /** The kind of stat. */
  readonly form: "full";
  /** The session of the request. */
  readonly session: number;
  /** The header word of eight letters: `splitnum`, or the software's own (`GeyserMC`). */
  readonly header: string;
  /** The bytes after the header word, if they are not `00 80 00`. */
  readonly mark?: Uint8Array;
  /** Keys and values in the order of the message, repeated keys included. */
  readonly pairs: readonly (readonly [key: string, value: Uint8Array])[];
  /** Names of players; `null`: the stat has no list of players. */
  readonly players: readonly Uint8Array[] | null;
  /** Anomalies that the decoder found. */
  readonly flags: readonly (
    /** The stat ends inside a field. */
    | "truncated"
    /**
     * The bytes after the header word of a full stat are not `00 80 00`, or the marks around its
     * players have more than one byte; everything is read all the same.
     */
    | "oddHeader"
    /** A full stat without a list of players; the names are unknown. */
    | "noPlayerSection"
    /** The MOTD contains a NUL: the server's owner may have forged other fields. */
    | "motdNul"
    /** A key occurs twice; the first value counts. */
    | "duplicateKey"
    /** Bytes follow the end; they are ignored. */
    | "trailingBytes"
    /** A count is not a number. */
    | "badNumber"
  )[];
}

/** An anomaly of a stat. */
export type StatFlag = FullStat["flags"][number];

/** A basic stat: five texts, a port and an address. */
export interface BasicStat {
  /** The kind of stat. */
  readonly form: "basic";
  /** The session of the request. */
  readonly session: number;
  /** The MOTD, as bytes. */
  readonly motd: Uint8Array;
  /** The game type, as bytes. */
  readonly gametype: Uint8Array;
  /** The map's name, as bytes. */
  readonly map: Uint8Array;
  /** The number of players online, as decimal text. */
  readonly online: Uint8Array;
  /** The number of player slots, as decimal text. */
  readonly max: Uint8Array;
  /** The game's port; `null` when the stat ends before it. */
  readonly port: number | null;
  /** The server's address in its own configuration; `null` when the stat ends before it. */
  readonly ip: Uint8Array | null;
  /** Anomalies that the decoder found. */
  readonly flags: FullStat["flags"];
}

/** A reply to a stat request. */
export type Stat = FullStat | BasicStat;

/** Encodes a well-formed full stat; `players: null` omits the list of players. */
export function encodeFullStat(
  { session, header, mark = FULL_MARK, pairs, players }: Omit<FullStat, "form" | "flags">,
): Uint8Array<ArrayBuffer> {
  const keys = pairs.flatMap(([key, value]) => [encodeLatin1(key), [0], value, [0]]);
  const names = players === null
    ? [[0]]
    : [PLAYERS_MARK, ...players.flatMap((name) => [name, [0]]), [0]];
  return concat([STAT], u32(session), encodeLatin1(header), mark, ...keys, ...names);
}

/** Encodes a well-formed basic stat; `port` and `ip` must not be `null`. */
export function encodeBasicStat(stat: Omit<BasicStat, "form" | "flags">): Uint8Array<ArrayBuffer> {
  const { session, motd, gametype, map, online, max, port, ip } = stat;
  const texts = [motd, gametype, map, online, max].flatMap((text) => [text, [0]]);
  return concat([STAT], u32(session), ...texts, [port! & 255, port! >> 8], ip!, [0]);
}

/**
 * Decodes a stat, full or basic.
 *
 * @param session The session to accept. Default: any session.
 * @returns `undefined` for another message or another session.
 * @throws Truncated when the message ends inside the header or the five texts of a basic stat.
 * @throws Malformed when the message is neither a full nor a basic stat.
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
  const start = startOfPairs(bytes);
  if (start === FULL_HEADER && hasBytes(bytes, FULL_MARK, FULL_MARK_AT)) {
    return decodeFull(bytes, found, start);
  }
  const oddFull = countsInPlace(bytes) ? undefined : decodeOddFull(bytes, found, start);
  return oddFull ?? decodeBasic(bytes, found);
}

/**
 * Offset of the pairs in a full stat. Marks of more than one byte move them, if a known key follows.
 */
function startOfPairs(bytes: Uint8Array): number {
  let offset = FULL_HEADER;
  while (bytes[offset] === 0 || bytes[offset] === 0x80) offset++;
  return atKnownKey({ bytes, offset }) ? offset : FULL_HEADER;
}

/** Whether the two counts of a basic stat are at their places. */
function countsInPlace(bytes: Uint8Array): boolean {
  const reader = new Reader(bytes, HEADER);
  for (let before = 0; before < 3; before++) reader.untilNul();
  return [reader.untilNul(), reader.untilNul()].every((text) => text && isCount(text));
}

/**
 * Decodes a full stat with other bytes after its header word: `00 00 00`, `00 81 00`, `00 ff 00` or
 * `00 80 01`; with wider marks; or with a header of zeros, as in mcstatus' tests. Only its keys
 * identify such a stat.
 */
function decodeOddFull(bytes: Uint8Array, session: number, start: number): FullStat | undefined {
  if (bytes.length < FULL_HEADER) return undefined;
  const stat = decodeFull(bytes, session, start);
  if (stat.pairs.filter(([key]) => KNOWN_KEYS.has(key)).length < MIN_KNOWN_KEYS) return undefined;
  return {
    ...stat,
    mark: bytes.subarray(FULL_MARK_AT, start),
    flags: [...new Set<StatFlag>(["oddHeader", ...stat.flags])],
  };
}

function decodeFull(bytes: Uint8Array, session: number, start: number): FullStat {
  const flags = new Set<StatFlag>();
  const header = decodeLatin1(bytes.subarray(HEADER, FULL_MARK_AT));
  const list = findPlayers(bytes);
  if (list === undefined) flags.add("noPlayerSection");
  if (list !== undefined && list.width > 1) flags.add("oddHeader");
  const section = bytes.subarray(0, list?.pairsEnd);
  const pairs = readPairs(new Reader(section, start), list === undefined, flags);
  const players = list === undefined
    ? null
    : readPlayers(new Reader(bytes, list.start), list.width, flags);
  return { form: "full", session, header, pairs, players, flags: [...flags] };
}

/** The position of the list of players in a full stat. */
interface PlayersSection {
  /** Offset of the end of the pairs. */
  readonly pairsEnd: number;
  /** Size of each mark around the list, bytes. */
  readonly width: number;
  /** Offset of the mark before the first name. */
  readonly start: number;
}

/**
 * Finds the list of players. The marks around it are numbers of one byte. Paper 1.17 wrote them as
 * numbers of four bytes; other sizes, and little endian, are read too.
 */
function findPlayers(bytes: Uint8Array): PlayersSection | undefined {
  for (let from = FULL_HEADER;;) {
    const word = indexOfBytes(bytes, PLAYERS_WORD, from);
    if (word < 0) return undefined;
    from = word + PLAYERS_WORD.length;
    const one = startOfNuls(bytes, word) - 1;
    const nuls = startOfNuls(bytes, one); // the end of the last value, and the empty key
    if (bytes[one] !== 1 || one - nuls < 2 || bytes[from] !== 0) continue;
    const width = one < word - 1 ? word - one : Math.max(1, one - nuls >> 1);
    return { pairsEnd: width === 1 ? one - 1 : nuls + 2, width, start: from };
  }
}

/** Offset of the first of the NULs that end at an offset. */
function startOfNuls(bytes: Uint8Array, end: number): number {
  while (bytes[end - 1] === 0) end--;
  return end;
}

/**
 * Reads keys and values up to an empty key, or, if a list of players follows, up to that list. The
 * message may end the last value: gophertunnel writes no NUL after it, and its pairs in random order.
 */
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
    let value = key && (isMotd ? readMotd(reader, flags) : reader.untilNul());
    if (key && value === undefined && reader.left > 0) {
      flags.add("truncated");
      value = reader.rest();
    }
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
 * Reads the MOTD, which may contain a NUL: Java servers write U+4E00 and other characters with a low
 * byte of 0 as 00, and an owner can insert a NUL on purpose. The MOTD ends where a known key
 * follows. A MOTD that contains a NUL and a known key looks like two pairs. The flag `motdNul` marks
 * such a record as untrusted.
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

/** Whether a known key follows. */
function atKnownKey({ bytes, offset }: Pick<Reader, "bytes" | "offset">): boolean {
  const end = bytes.indexOf(0, offset);
  return KNOWN_KEYS.has(decodeLatin1(bytes.subarray(offset, end < 0 ? undefined : end)));
}

/** Reads the names of players between two marks. */
function readPlayers(reader: Reader, width: number, flags: Set<StatFlag>): Uint8Array[] {
  const players: Uint8Array[] = [];
  reader.offset += Math.min(width, countNuls(reader));
  for (;;) {
    const name = reader.untilNul();
    if (name === undefined) { // the last name is incomplete; its start is kept
      flags.add("truncated");
      if (reader.left > 0) players.push(reader.rest());
      return players;
    }
    if (name.length === 0) {
      if (reader.left < width - 1) flags.add("truncated");
      reader.offset += Math.min(width - 1, countNuls(reader));
      if (reader.left > 0) flags.add("trailingBytes");
      return players;
    }
    players.push(name);
  }
}

/** Number of NULs that follow. */
function countNuls({ bytes, offset }: Reader): number {
  const end = bytes.subarray(offset).findIndex((byte) => byte !== 0);
  return end < 0 ? bytes.length - offset : end;
}

/** Maximum number of texts that are searched for the counts after a MOTD with NULs. */
const MAX_MOTD_NULS = 64;

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
 * The last four of the five texts. If the counts are not numbers but two later texts are, the MOTD
 * contains NULs, and the reader is moved to the end of these texts.
 *
 * @throws Malformed when no counts follow, and the five texts are not those of a basic stat.
 */
function withCounts(reader: Reader, texts: Uint8Array[], flags: StatFlag[]): Uint8Array[] {
  const start = reader.offset;
  const more = texts.slice();
  while (more.length < MAX_MOTD_NULS) {
    if (isCount(more.at(-2)!) && isCount(more.at(-1)!)) {
      if (more.length > 5) flags.push("motdNul");
      return more.slice(-4);
    }
    const text = reader.untilNul();
    if (text === undefined) break;
    more.push(text);
  }
  reader.offset = start;
  if (isBasicTail(reader, texts.slice(-2).some(isCount))) return texts.slice(-4);
  throw new Malformed("a stat that is neither full nor basic", HEADER);
}

/**
 * Whether the port and the address of a basic stat end the message. If neither count is a number, the
 * address must have the form of one.
 */
function isBasicTail({ bytes, offset }: Reader, hasCount: boolean): boolean {
  const end = bytes.indexOf(0, offset + 2);
  if (end >= 0 && end < bytes.length - 1) return false;
  const ip = decodeLatin1(bytes.subarray(offset + 2, end < 0 ? undefined : end));
  return hasCount || end >= 0 && /^[0-9a-f.:]{2,45}$/i.test(ip);
}

/** Whether a text is a count: decimal, at most nine digits. */
export function isCount(text: Uint8Array): boolean {
  return /^[0-9]{1,9}$/.test(decodeLatin1(text));
}
