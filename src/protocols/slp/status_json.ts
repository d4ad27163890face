/**
 * The JSON of a status, as vanilla, its successors and its imitators write it:
 *
 *     { version: { name, protocol }, description, players: { max, online, sample: [{ name, id }] },
 *       favicon, enforcesSecureChat, previewsChat, preventsChatReports, (mods: see forge_mods.ts) }
 *
 * Nothing of it is always there, and numbers may be texts. The order of keys tells who wrote it:
 * vanilla until 1.19.3 writes description, players, version, later vanilla version, description,
 * players; a list of players that is there but empty is not vanilla's. (matscan.)
 *
 * @module
 */
import { formatSections, parseComponent } from "../../core/formatted/mod.ts";
import { parseModding } from "./forge_mods.ts";
import type { Modding } from "./forge_mods.ts";
import {
  asList,
  isObject,
  type JsonFlag,
  ownValue,
  parseBoundedJson,
  textOf,
} from "./bounded_json.ts";

/** What was odd about a status. */
export type StatusFlag =
  | JsonFlag
  /** A number that is none, or one that cannot be: it is not read. */
  | "badNumber"
  /** A number as text, or with a fraction: it is read. */
  | "looseNumber"
  /** The description goes beyond all bounds; what is within was read. */
  | "motdCut";

/** One entry of the list of players: a player, or a line of text in a player's place. */
export interface SampleEntry {
  /** The name. */
  readonly name: string;
  /** The UUID, as sent. */
  readonly id: string | null;
}

/** A status. */
export interface JavaStatus {
  /** Which of the two it is. */
  readonly kind: "status";
  /** The version's name: a version, often with the software's name before it, or any text. */
  readonly versionName: string | null;
  /** The protocol number. */
  readonly protocol: number | null;
  /** The MOTD with section signs: as sent, or the normal form of a component. */
  readonly motd: string | null;
  /** All that is written in a component, codes that show nothing too; `null`: `motd` is as sent. */
  readonly motdSent: string | null;
  /** What the MOTD was: a JSON type. */
  readonly motdForm: string | null;
  /** Players online. */
  readonly online: number | null;
  /** Player slots. */
  readonly max: number | null;
  /** Some of the players; `null` when there is no list. */
  readonly sample: readonly SampleEntry[] | null;
  /** The icon, a data URL. */
  readonly favicon: string | null;
  /** Switches of the status that are there, by key. */
  readonly switches: ReadonlyMap<string, boolean>;
  /** What it says of mods; `undefined`: nothing. */
  readonly modding: Modding | undefined;
  /** Keys in their order: of the status, its version, its players. */
  readonly keys: Readonly<Record<"status" | "version" | "players", readonly string[]>>;
  /** Numbers that could not be read, as they were sent. */
  readonly unread: ReadonlyMap<string, string>;
  /** What was odd. */
  readonly flags: readonly StatusFlag[];
}

/** What stands where a status should: why nobody may come in. */
export interface JavaDisconnect {
  /** Which of the two it is. */
  readonly kind: "disconnect";
  /** The reason, with section signs. */
  readonly reason: string;
  /** What was odd. */
  readonly flags: readonly StatusFlag[];
}

/** Keys that only a status has. */
const STATUS_KEYS = ["version", "players", "description"];
const SWITCHES = ["enforcesSecureChat", "previewsChat", "preventsChatReports"];

/**
 * Reads the JSON of a status.
 *
 * @throws Malformed when it is no JSON.
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
  const { value, flags: odd } = parseBoundedJson(bytes);
  const flags = new Set<StatusFlag>(odd);
  if (!isObject(value) || !STATUS_KEYS.some((key) => Object.hasOwn(value, key))) {
    return { kind: "disconnect", reason: componentText(value, flags).text, flags: [...flags] };
  }
  const [version, players] = [ownValue(value, "version"), ownValue(value, "players")];
  const numbers = new NumberReader(flags);
  const description = ownValue(value, "description");
  const sample = ownValue(players, "sample");
  return {
    kind: "status",
    versionName: textOf(ownValue(version, "name")),
    protocol: numbers.read(version, "protocol", -(2 ** 31), 2 ** 31 - 1),
    ...motdOf(description, flags),
    motdForm: description === undefined ? null : typeOf(description),
    online: numbers.read(players, "online", 0, 999_999_999),
    max: numbers.read(players, "max", 0, 999_999_999),
    sample: Array.isArray(sample) ? asList(sample).flatMap(entryOf) : null,
    favicon: textOf(ownValue(value, "favicon")),
    switches: new Map(SWITCHES.flatMap((key) => switchOf(value, key))),
    modding: parseModding(value),
    keys: { status: keysOf(value), version: keysOf(version), players: keysOf(players) },
    unread: numbers.unread,
    flags: [...flags],
  };
}

/** A text is kept as it was sent; all else is written in the normal form. */
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
  const name = textOf(ownValue(json, "name"));
  return name === null ? [] : [{ name, id: textOf(ownValue(json, "id")) }];
}

function switchOf(json: unknown, key: string): [string, boolean][] {
  const value = ownValue(json, key);
  return typeof value === "boolean" ? [[key, value]] : [];
}

function keysOf(value: unknown): readonly string[] {
  return isObject(value) ? Object.keys(value) : [];
}

/** Reads numbers, and keeps what is none. */
class NumberReader {
  readonly unread = new Map<string, string>();

  constructor(private readonly flags: Set<StatusFlag>) {}

  /** A whole number within bounds; `null` when there is none. */
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
