/**
 * Mods in a status, as Forge and NeoForge write them.
 *
 *     until 1.12   modinfo   { type: "FML", modList: [{ modid, version }] }
 *     since 1.13   forgeData { fmlNetworkVersion, channels: [{ res, version, required }],
 *                              mods: [{ modId, modmarker }], truncated }
 *     since 1.18.1 forgeData { fmlNetworkVersion, d }                      (packed, see packed_mods.ts)
 *     NeoForge     isModded  true
 *
 * Sources: mcstatus (responses/forge.py), MinecraftForge (ServerStatusPing.java).
 *
 * @module
 */
import { isObject, listOrEmpty, ownValue, stringOrNull } from "../bounded_json.ts";
import { decodePacked, type PackedMods } from "./packed_mods.ts";

/** A mod in a server's list. */
export interface Mod {
  /** The mod's id, as the server writes it. */
  readonly id: string;
  /**
   * The mod's version; `null` if the list has none, for example for a mod that clients do not need.
   */
  readonly version: string | null;
}

/** The mods in a status. */
export interface Modding {
  /** The form of the list: see the top of this file. */
  readonly form: "modinfo" | "forgeData" | "packed" | "isModded";
  /** The network version of the mod loader. In the oldest form: the name of the mod loader. */
  readonly loader: string | null;
  /** The mods; `null` if the form has no list. */
  readonly mods: readonly Mod[] | null;
  /** Number of listed channels, those of mods included. */
  readonly channels: number;
  /** Whether the server omitted mods, or the list is cut. */
  readonly truncated: boolean;
}

/**
 * Texts in place of a version. They mean that only the server has the mod, or that clients may have
 * any version.
 */
const NO_VERSION = new Set(["SERVER_ONLY", "ANY", "OHNOES\ud83d\ude31\ud83d\ude31\ud83d\ude31"]);

/** Reads the mods in a status; `undefined` when the status names neither mods nor a mod loader. */
export function parseModding(json: unknown): Modding | undefined {
  const forge = ownValue(json, "forgeData");
  const info = ownValue(json, "modinfo");
  if (isObject(forge)) {
    const packed = ownValue(forge, "d");
    return typeof packed === "string" ? fromPacked(forge, decodePacked(packed)) : fromForge(forge);
  }
  if (isObject(info)) {
    const mods = listOrEmpty(ownValue(info, "modList")).flatMap((one) =>
      modOf(one, "modid", "version")
    );
    return {
      form: "modinfo",
      loader: word(ownValue(info, "type")),
      mods,
      channels: 0,
      truncated: false,
    };
  }
  if (ownValue(json, "isModded") !== true) return undefined;
  return { form: "isModded", loader: null, mods: null, channels: 0, truncated: false };
}

function fromForge(forge: unknown): Modding {
  return {
    form: "forgeData",
    loader: word(ownValue(forge, "fmlNetworkVersion")),
    mods: listOrEmpty(ownValue(forge, "mods")).flatMap((one) => modOf(one, "modId", "modmarker")),
    channels: listOrEmpty(ownValue(forge, "channels")).length,
    truncated: ownValue(forge, "truncated") === true,
  };
}

function fromPacked(forge: unknown, { mods, channels, truncated, cut }: PackedMods): Modding {
  return {
    form: "packed",
    loader: word(ownValue(forge, "fmlNetworkVersion")),
    mods: mods.map(({ id, version }) => ({ id, version })),
    channels: mods.reduce((sum, mod) => sum + mod.channels.length, channels.length),
    truncated: truncated || cut,
  };
}

function modOf(json: unknown, idKey: string, versionKey: string): Mod[] {
  const id = stringOrNull(ownValue(json, idKey));
  const version = stringOrNull(ownValue(json, versionKey));
  if (id === null) return [];
  return [{ id, version: version === null || NO_VERSION.has(version) ? null : version }];
}

/** A string or number as text, else `null`. */
function word(value: unknown): string | null {
  return typeof value === "number" ? String(value) : stringOrNull(value);
}
