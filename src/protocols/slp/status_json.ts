/**
 * The JSON of a status, as vanilla and other software write it:
 *
 *     { version: { name, protocol }, description, players: { max, online, sample: [{ name, id }] },
 *       favicon, enforcesSecureChat, previewsChat, preventsChatReports, contact,
 *       (mods: see forge_mods.ts) }
 *
 * Every key may be missing, and numbers may be texts. The order of keys identifies software:
 * vanilla up to 1.19.3 writes description, players, version; later vanilla writes version,
 * description, players. Vanilla never writes an empty list of players (source: matscan).
 *
 * @module
 */
import { formatSections, parseComponent } from "../../core/formatted/mod.ts";
import { parseModding } from "./forge_mods.ts";
import type { Modding } from "./forge_mods.ts";
import {
  isObject,
  type JsonFlag,
  listOrEmpty,
  ownValue,
  parseBoundedJson,
  stringOrNull,
} from "../bounded_json.ts";

/** An anomaly of a status. */
export type StatusFlag =
  | JsonFlag
  /** A number is invalid or out of range; it is ignored. */
  | "badNumber"
  /** A number is written as text or with a fraction; it is accepted. */
  | "looseNumber"
  /** The description exceeds the bounds on components; the rest is omitted. */
  | "motdCut";

/** One entry of the list of players: a player, or a line of text in place of one. */
export interface SampleEntry {
  /** The player's name, or the line of text. */
  readonly name: string;
  /** The player's UUID as the server writes it; `null`: missing. */
  readonly id: string | null;
}

/** A status, parsed from its JSON. */
export interface JavaStatus {
  /** Distinguishes a status from a disconnect. */
  readonly kind: "status";
  /** The version name: any text, usually a version, often with the software's name before it. */
  readonly versionName: string | null;
  /** The game's protocol number. */
  readonly protocol: number | null;
  /** The MOTD with section signs: as sent, or a component in normal form. */
  readonly motd: string | null;
  /**
   * All text of the component, including formatting codes without an effect; `null`: `motd` is as
   * sent.
   */
  readonly motdSent: string | null;
  /** The JSON type of the description; `null`: missing. */
  readonly motdForm: string | null;
  /** Number of players online. */
  readonly online: number | null;
  /** Number of player slots. */
  readonly max: number | null;
  /** A sample of the players; `null`: the status has no list of players. */
  readonly sample: readonly SampleEntry[] | null;
  /** The icon as a data URL. */
  readonly favicon: string | null;
  /** How to reach the owner: a text of the setting `status-contact-details`, since 26.4. */
  readonly contact: string | null;
  /** Boolean settings of the status, by key. */
  readonly switches: ReadonlyMap<string, boolean>;
  /** The mods; `undefined`: the status names none. */
  readonly modding: Modding | undefined;
  /** The keys of the status, of its version and of its players, in order. */
  readonly keys: Readonly<Record<"status" | "version" | "players", readonly string[]>>;
  /** Invalid numbers by key, as the server writes them. */
  readonly unread: ReadonlyMap<string, string>;
  /** Anomalies that the parser found. */
  readonly flags: readonly StatusFlag[];
}

/** A text in place of a status: the reason for a refusal. */
export interface JavaDisconnect {
  /** Distinguishes a status from a disconnect. */
  readonly kind: "disconnect";
  /** The reason, formatted with section signs. */
  readonly reason: string;
  /** Anomalies that the parser found. */
  readonly flags: readonly StatusFlag[];
}

/** Keys that only a status has. */
const STATUS_KEYS = ["version", "players", "description"];
const SWITCHES = ["enforcesSecureChat", "previewsChat", "preventsChatReports"];

/**
 * Parses the JSON of a status.
 *
 * @throws Malformed when the bytes are not JSON.
 *
 * @example
 * ```ts
 * import { slp } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const json = '{"players":{"online":"3","max":20},"description":{"text":"Hi","color":"gold"}}';
 * const status = slp.parseStatus(new TextEncoder().encode(json));
 * assertEquals(status.kind === "status" && [status.motd, status.online], ["§6Hi", 3]);
 * assertEquals(status.flags, ["looseNumber"]);
 * ```
 */
export function parseStatus(bytes: Uint8Array): JavaStatus | JavaDisconnect {
  const { value, flags: jsonFlags } = parseBoundedJson(bytes);
  const flags = new Set<StatusFlag>(jsonFlags);
  if (!isObject(value) || !STATUS_KEYS.some((key) => Object.hasOwn(value, key))) {
    return { kind: "disconnect", reason: componentText(value, flags).text, flags: [...flags] };
  }
  const [version, players] = [ownValue(value, "version"), ownValue(value, "players")];
  const numbers = new NumberReader(flags);
  const description = ownValue(value, "description");
  const sample = ownValue(players, "sample");
  return {
    kind: "status",
    versionName: stringOrNull(ownValue(version, "name")),
    protocol: numbers.read(version, "protocol", -(2 ** 31), 2 ** 31 - 1),
    ...motdOf(description, flags),
    motdForm: description === undefined ? null : typeOf(description),
    online: numbers.read(players, "online", 0, 999_999_999),
    max: numbers.read(players, "max", 0, 999_999_999),
    sample: Array.isArray(sample) ? listOrEmpty(sample).flatMap(entryOf) : null,
    favicon: stringOrNull(ownValue(value, "favicon")),
    contact: stringOrNull(ownValue(value, "contact")) || null,
    switches: new Map(SWITCHES.flatMap((key) => switchOf(value, key))),
    modding: parseModding(value),
    keys: { status: keysOf(value), version: keysOf(version), players: keysOf(players) },
    unread: numbers.unread,
    flags: [...flags],
  };
}

/** Reads the MOTD: a string stays as sent, a component is written in normal form. */
function motdOf(
  description: unknown,
  flags: Set<StatusFlag>,
): Pick<JavaStatus, "motd" | "motdSent"> {
  if (description == null) return { motd: null, motdSent: null };
  if (typeof description === "string") return { motd: description, motdSent: null };
  const { text, sent } = componentText(description, flags);
  return { motd: text, motdSent: sent };
}

function componentText(
  value: unknown,
  flags: Set<StatusFlag>,
): { readonly text: string; readonly sent: string } {
  const { runs, sent, cut } = parseComponent(value);
  if (cut) flags.add("motdCut");
  return { text: formatSections(runs), sent };
}

function typeOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function entryOf(json: unknown): SampleEntry[] {
  const name = stringOrNull(ownValue(json, "name"));
  return name === null ? [] : [{ name, id: stringOrNull(ownValue(json, "id")) }];
}

function switchOf(json: unknown, key: string): [string, boolean][] {
  const value = ownValue(json, key);
  return typeof value === "boolean" ? [[key, value]] : [];
}

function keysOf(value: unknown): readonly string[] {
  return isObject(value) ? Object.keys(value) : [];
}

/** Reads numbers, and collects those that are invalid. */
class NumberReader {
  readonly unread = new Map<string, string>();

  constructor(private readonly flags: Set<StatusFlag>) {}

  /** Reads a whole number within bounds; `null` when it is missing or invalid. */
  read(json: unknown, key: string, least: number, most: number): number | null {
    const value = ownValue(json, key);
    if (value == null) return null;
    const number = typeof value === "string" && /^\s*-?\d{1,12}(\.\d{1,12})?\s*$/.test(value)
      ? Number(value)
      : value;
    if (typeof number === "number" && number >= least && number <= most) {
      if (number !== value || !Number.isInteger(number)) this.flags.add("looseNumber");
      return Math.trunc(number) + 0; // -0.5 is 0, not -0
    }
    this.flags.add("badNumber");
    this.unread.set(key, typeof value === "object" ? typeOf(value) : String(value));
    return null;
  }
}
