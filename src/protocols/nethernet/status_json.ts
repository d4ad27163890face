/**
 * The JSON of a status. Bedrock Dedicated Server sends seven members, software with the library of
 * CloudburstMC fifteen:
 *
 *     { dataVersion, name, protocol, version, level, players, maxPlayers, gameType, editor, hardcore,
 *       onlineAuth, selfSignedAuth, nonce, transportLayer, connection }
 *
 * Each member is judged alone: a member with the wrong type is omitted, and the others are kept.
 *
 * @module
 */
import { Malformed } from "../../core/bytes.ts";
import type { FactValue } from "../../core/record.ts";
import { cutText, decodeLatin1 } from "../../core/text.ts";
import {
  firstMembers,
  isObject,
  type JsonFlag,
  type JsonObject,
  ownValue,
  parseBoundedJson,
} from "../bounded_json.ts";
import { headerOf, type HttpReply } from "./http_reply.ts";

/** A status, parsed from its JSON. A missing or invalid value is `null`. */
export interface GameStatus {
  /** The server's name, formatting codes included. */
  readonly name: string | null;
  /** The game's protocol number. */
  readonly protocol: number | null;
  /** The game version. */
  readonly version: string | null;
  /** The name of the level, or text of the server software. */
  readonly level: string | null;
  /** Number of players online. */
  readonly online: number | null;
  /** Number of player slots. */
  readonly max: number | null;
  /** Game mode: 0 survival, 1 creative, 2 adventure. */
  readonly gamemode: number | null;
  /** Members without a column, by the names of their facts. */
  readonly facts: Readonly<Record<string, FactValue>>;
  /** The keys in order. */
  readonly keys: readonly string[];
  /** Anomalies that the parser found. */
  readonly flags: readonly (
    | JsonFlag
    /** A key occurs twice; the first value is kept. */
    | "duplicateKey"
    /** A number is negative, has a fraction, is too large, or is none; it is omitted. */
    | "badNumber"
    /** A number is written as text; it is accepted. */
    | "looseNumber"
    /** A text or a switch has another type; it is omitted. */
    | "wrongType"
    /** The members without a column are more or longer than those of a row; the rest is omitted. */
    | "factsCut"
  )[];
}

/** An anomaly of a status. */
export type GameStatusFlag = GameStatus["flags"][number];

/** Greatest number of players or slots, as in the other protocols. */
const MAX_COUNT = 999_999_999;
const MAX_INT32 = 2 ** 31 - 1;
/** Maximum number of UTF-16 units of a text; a pong has at most 1,400 bytes. */
const MAX_TEXT = 2048;
/** Maximum number of UTF-16 units of a key or value that has no column. */
const MAX_FACT = 256;
/** Maximum number of keys, and of unknown members, in a row. */
const MAX_KEYS = 32;

/** Members with a fact of their own: the fact's name and the member's type. */
const FACTS: Readonly<Record<string, readonly [string, "number" | "boolean" | "string"]>> = {
  dataVersion: ["data_version", "number"],
  editor: ["editor", "boolean"],
  hardcore: ["hardcore", "boolean"],
  onlineAuth: ["online_auth", "boolean"],
  selfSignedAuth: ["self_signed_auth", "boolean"],
  nonce: ["nonce", "string"],
  transportLayer: ["transport", "number"],
  connection: ["connection", "number"],
};
const COLUMN_KEYS = ["name", "protocol", "version", "level", "players", "maxPlayers", "gameType"];

/** Maximum number of bytes of a body without JSON that counts as a reply without a status. */
const MAX_NOTE = 64;

/** Status codes of redirects. */
export const REDIRECTS = [301, 302, 307, 308];

/** Whether the status code of a reply means success. */
export function isSuccess({ status }: Pick<HttpReply, "status">): boolean {
  return status >= 200 && status < 300;
}

/** The error of a reply whose status code does not mean success. */
export function statusCodeError({ status }: Pick<HttpReply, "status">): Malformed {
  const kind = REDIRECTS.includes(status) ? " (a redirect)" : "";
  return new Malformed(`HTTP status ${status}${kind}`, 0);
}

/**
 * Decodes the status in a reply.
 *
 * @returns `undefined` for an empty or short body without a status, as that of a server that hides it.
 * @throws Malformed when the reply is that of other software: a status code outside of 200 to 299, a
 * web page, or other JSON.
 */
export function decodeStatus(
  reply: Pick<HttpReply, "status" | "headers" | "body">,
): GameStatus | undefined {
  const { body } = reply;
  if (!isSuccess(reply)) throw statusCodeError(reply);
  const type = headerOf(reply, "content-type")?.toLowerCase() ?? "";
  const start = decodeLatin1(body.subarray(0, MAX_NOTE)).trimStart();
  if (type.includes("html") || start.startsWith("<")) throw new Malformed("a web page", 0);
  const isJson = /^(?:\xef\xbb\xbf)?\s*[[{]/.test(start);
  if (!isJson && body.length <= MAX_NOTE) return undefined;
  return parseGameStatus(body);
}

/**
 * Parses the JSON of a status.
 *
 * @throws Malformed when the bytes are not JSON, or the JSON of something else: a status has
 * `protocol`, and `name` or `version`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * const json = '{"name":"A","protocol":2193,"version":"1.26.52","players":"3","maxPlayers":-1}';
 * const status = parseGameStatus(new TextEncoder().encode(json));
 * assertEquals([status.name, status.online, status.max], ["A", 3, null]);
 * assertEquals(status.flags, ["looseNumber", "badNumber"]);
 * ```
 */
export function parseGameStatus(bytes: Uint8Array): GameStatus {
  const { value, json, flags } = parseBoundedJson(bytes);
  if (!isObject(value)) throw foreign();
  const first = firstMembers(json);
  const object = first === undefined ? value : Object.fromEntries(first);
  const reader = new MemberReader(object, new Set<GameStatusFlag>(flags));
  if (first !== undefined) reader.flags.add("duplicateKey");
  const protocol = reader.number("protocol", MAX_INT32);
  if (!isStatus(object, protocol)) throw foreign();
  const status = {
    name: reader.text("name", MAX_TEXT),
    protocol,
    version: reader.text("version", MAX_TEXT),
    level: reader.text("level", MAX_TEXT),
    online: reader.number("players", MAX_COUNT),
    max: reader.number("maxPlayers", MAX_COUNT),
    gamemode: reader.number("gameType", MAX_INT32),
    facts: reader.facts(),
  };
  const keys = Object.keys(object);
  if (keys.length > MAX_KEYS) reader.flags.add("factsCut");
  const shortened = keys.slice(0, MAX_KEYS).map((key) => reader.shortened(key));
  return { ...status, keys: shortened, flags: [...reader.flags] };
}

function foreign(): Malformed {
  return new Malformed("JSON that is no status", 0);
}

/**
 * Whether an object is a status. Other programs write a `name` and a `version` too: a `protocol`
 * that is no number needs a member that only games have.
 */
function isStatus(object: JsonObject, protocol: number | null): boolean {
  const has = (key: string) => Object.hasOwn(object, key);
  return has("protocol") && (has("name") || has("version")) &&
    (protocol !== null || has("maxPlayers") || has("gameType"));
}

/** Reads members by their types, and collects anomalies. */
class MemberReader {
  constructor(readonly object: JsonObject, readonly flags: Set<GameStatusFlag>) {}

  /** A text without its end beyond a limit; `null` when it is missing, empty or has another type. */
  text(key: string, most: number): string | null {
    const value = ownValue(this.object, key);
    if (value == null || value === "") return null;
    if (typeof value !== "string") return this.#drop("wrongType");
    if (value.length > most) this.flags.add("cut");
    return cutText(value, most);
  }

  /** A whole number from 0 to a limit; `null` when it is missing or invalid. */
  number(key: string, most: number): number | null {
    const value = ownValue(this.object, key);
    if (value == null) return null;
    const isText = typeof value === "string" && /^\d{1,10}$/.test(value);
    const number = isText ? Number(value) : value;
    if (typeof number !== "number" || !Number.isInteger(number) || number < 0 || number > most) {
      return this.#drop("badNumber");
    }
    if (isText) this.flags.add("looseNumber");
    return number + 0; // -0 is 0
  }

  /** The members without a column. */
  facts(): Record<string, FactValue> {
    const facts: Record<string, FactValue> = {};
    for (const [key, [name, type]] of Object.entries(FACTS)) {
      const value = this.#fact(key, type);
      if (value !== null) facts[name] = value;
    }
    const unknown = Object.entries(this.object)
      .filter(([key]) => !COLUMN_KEYS.includes(key) && !Object.hasOwn(FACTS, key));
    if (unknown.length > MAX_KEYS) this.flags.add("factsCut");
    const members = unknown.slice(0, MAX_KEYS).map(([key, value]) =>
      [this.shortened(key), this.shortened(textOf(value))] as const
    );
    if (members.length > 0) facts.members = Object.fromEntries(members);
    return facts;
  }

  #fact(key: string, type: "number" | "boolean" | "string"): FactValue {
    if (type === "number") return this.number(key, MAX_INT32);
    if (type === "string") return this.text(key, MAX_FACT);
    const value = ownValue(this.object, key);
    if (value == null || typeof value === "boolean") return value ?? null;
    return this.#drop("wrongType");
  }

  /** A text of a fact, without its end beyond a limit. */
  shortened(text: string): string {
    if (text.length > MAX_FACT) this.flags.add("factsCut");
    return cutText(text, MAX_FACT);
  }

  #drop(flag: GameStatusFlag): null {
    this.flags.add(flag);
    return null;
  }
}

/** A value of any type as text: a text as it is, others as JSON. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
