/**
 * The server data of a NetherNet response. Its first byte is the version of its layout.
 *
 *     4      name 1+n  level 1+n  gamemode << 1  players 4  slots 4  editor 1  hardcore 1
 *            transport << 1  connection << 1
 *     5      name v+n  level v+n  gamemode z  players 4  slots 4  editor 1  hardcore 1
 *            online accounts 1  self-signed accounts 1  transport z  connection z
 *     6 like 5, with nonce v+n before transport
 *     7      name v+n  protocol z  version v+n  level v+n  players z  slots z  gamemode z  editor 1
 *            hardcore 1  online accounts 1  self-signed accounts 1  nonce v+n  connection z
 *
 * v is a variable-length integer (seven bits a byte, the lowest first, at most 32 bits), z such an
 * integer in zigzag encoding. Integers of four bytes are little endian. Clients up to 1.26.4x write
 * version 4, clients from 1.26.50 on write version 7.
 *
 * Source: df-mc/go-nethernet, discovery/server_data.go, in its versions of December 2025 to August
 * 2026; PrismarineJS/bedrock-protocol.
 *
 * @module
 */
import { concat, Malformed, Reader } from "../../core/bytes.ts";

/** The server data of a world. A field that is missing in this version is `null`. */
export interface World {
  /** The version of the layout. */
  readonly version: 4 | 5 | 6 | 7;
  /** The world's name, usually that of its owner, UTF-8. */
  readonly name: Uint8Array;
  /** The name of the level, UTF-8. */
  readonly level: Uint8Array;
  /** Game mode: 0 survival, 1 creative, 2 adventure. */
  readonly gamemode: number;
  /** Number of players online. */
  readonly online: number;
  /** Number of player slots. */
  readonly max: number;
  /** Whether the world is a project of the Bedrock editor. */
  readonly editor: boolean;
  /** Whether the world is a hardcore world. */
  readonly hardcore: boolean;
  /** Whether accounts with online authentication may join. */
  readonly onlineAuth: boolean | null;
  /** Whether accounts with self-signed authentication may join. */
  readonly selfSignedAuth: boolean | null;
  /** A value that clients must repeat at login. */
  readonly nonce: Uint8Array | null;
  /** The transport; 2: NetherNet. */
  readonly transport: number | null;
  /** The kind of connection; 4: signalling on the LAN. */
  readonly connection: number;
  /** The game's protocol number. */
  readonly protocol: number | null;
  /** The game's version, UTF-8. */
  readonly gameVersion: Uint8Array | null;
}

/** Server data: a world, or the bytes of an unknown version. */
export type ServerData =
  | World & {
    /** `trailingBytes`: bytes follow the world; they are ignored. */
    readonly flags: readonly "trailingBytes"[];
  }
  | {
    /** The version, 0 to 255. */
    readonly version: number;
    /** The bytes after the version. */
    readonly data: Uint8Array;
    /** Marks the version as unknown. */
    readonly flags: readonly "unknownVersion"[];
  };

/**
 * Decodes server data.
 *
 * @returns `undefined` when the bytes are empty.
 * @throws Truncated when the data ends inside a field.
 * @throws Malformed when a number has more than 32 bits.
 *
 * @example An unknown version
 * ```ts
 * import { lan } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(lan.decodeServerData(Uint8Array.of(99))?.flags, ["unknownVersion"]);
 * ```
 */
export function decodeServerData(bytes: Uint8Array): ServerData | undefined {
  if (bytes.length === 0) return undefined;
  const reader = new Reader(bytes);
  const version = reader.u8("version");
  if (!isKnown(version)) return { version, data: reader.rest(), flags: ["unknownVersion"] };
  const world = version === 7 ? readNewest(reader) : readOlder(reader, version);
  return { ...world, flags: reader.left > 0 ? ["trailingBytes"] : [] };
}

function isKnown(version: number): version is World["version"] {
  return version >= 4 && version <= 7;
}

function readOlder(reader: Reader, version: 4 | 5 | 6): World {
  const short = version === 4;
  const text = (what: string) =>
    reader.take(short ? reader.u8(`length of ${what}`) : varint(reader, what), what);
  const number = (what: string) => short ? reader.u8(what) >> 1 : zigzag(reader, what);
  return {
    version,
    name: text("name"),
    level: text("level"),
    gamemode: number("game mode"),
    online: i32le(reader, "players"),
    max: i32le(reader, "slots"),
    editor: flag(reader, "editor"),
    hardcore: flag(reader, "hardcore"),
    onlineAuth: short ? null : flag(reader, "online accounts"),
    selfSignedAuth: short ? null : flag(reader, "self-signed accounts"),
    nonce: version === 6 ? text("nonce") : null,
    transport: number("transport"),
    connection: number("connection"),
    protocol: null,
    gameVersion: null,
  };
}

function readNewest(reader: Reader): World {
  const text = (what: string) => reader.take(varint(reader, what), what);
  const name = text("name");
  const protocol = zigzag(reader, "protocol");
  const gameVersion = text("game version");
  const level = text("level");
  const online = zigzag(reader, "players");
  const max = zigzag(reader, "slots");
  return {
    version: 7,
    name,
    level,
    gamemode: zigzag(reader, "game mode"),
    online,
    max,
    editor: flag(reader, "editor"),
    hardcore: flag(reader, "hardcore"),
    onlineAuth: flag(reader, "online accounts"),
    selfSignedAuth: flag(reader, "self-signed accounts"),
    nonce: text("nonce"),
    transport: null,
    connection: zigzag(reader, "connection"),
    protocol,
    gameVersion,
  };
}

/** Reads a variable-length integer: seven bits a byte, the lowest first. */
function varint(reader: Reader, what: string): number {
  const at = reader.offset;
  let value = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = reader.u8(what);
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) {
      if (value < 2 ** 32) return value;
      break;
    }
  }
  throw new Malformed(`${what}: a number of more than 32 bits`, at);
}

/** Reads a zigzag integer: 0, -1, 1, -2 ... are stored as 0, 1, 2, 3 ... */
function zigzag(reader: Reader, what: string): number {
  const value = varint(reader, what);
  return value >>> 1 ^ -(value & 1);
}

function i32le(reader: Reader, what: string): number {
  return reader.u16le(what) | reader.u16le(what) << 16;
}

function flag(reader: Reader, what: string): boolean {
  return reader.u8(what) !== 0;
}

/** Encodes server data in the layout of its version. */
export function encodeServerData(
  data: World | { readonly version: number; readonly data: Uint8Array },
): Uint8Array {
  if ("data" in data) return concat([data.version], data.data);
  return data.version === 7 ? encodeNewest(data) : encodeOlder(data);
}

function encodeOlder(world: World): Uint8Array {
  const { version, name, level, gamemode, online, max, nonce, transport, connection } = world;
  const short = version === 4;
  const text = (bytes: Uint8Array) => short ? concat([bytes.length], bytes) : encodeText(bytes);
  const number = (value: number) => short ? [value << 1] : encodeZigzag(value);
  return concat(
    [version],
    text(name),
    text(level),
    number(gamemode),
    encodeI32(online),
    encodeI32(max),
    encodeFlags(world, short ? 2 : 4),
    version === 6 ? text(nonce ?? new Uint8Array()) : [],
    number(transport ?? 0),
    number(connection),
  );
}

function encodeNewest(world: World): Uint8Array {
  const { name, level, gamemode, online, max, nonce, protocol, gameVersion } = world;
  const empty = new Uint8Array();
  return concat(
    [7],
    encodeText(name),
    encodeZigzag(protocol ?? 0),
    encodeText(gameVersion ?? empty),
    encodeText(level),
    encodeZigzag(online),
    encodeZigzag(max),
    encodeZigzag(gamemode),
    encodeFlags(world, 4),
    encodeText(nonce ?? empty),
    encodeZigzag(world.connection),
  );
}

function encodeFlags(world: World, count: number): number[] {
  const { editor, hardcore, onlineAuth, selfSignedAuth } = world;
  return [editor, hardcore, onlineAuth, selfSignedAuth].slice(0, count).map(Number);
}

function encodeText(bytes: Uint8Array): Uint8Array {
  return concat(encodeVarint(bytes.length), bytes);
}

function encodeVarint(value: number): number[] {
  const low = value % 0x80;
  return value < 0x80 ? [low] : [low | 0x80, ...encodeVarint(Math.floor(value / 0x80))];
}

function encodeZigzag(value: number): number[] {
  return encodeVarint((value << 1 ^ value >> 31) >>> 0);
}

function encodeI32(value: number): number[] {
  return [value & 255, value >> 8 & 255, value >> 16 & 255, value >>> 24];
}
