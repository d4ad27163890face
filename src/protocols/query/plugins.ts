/**
 * The `plugins` value of a full stat:
 *
 *     [software[": " name [" " version] ("; " name [" " version])*]]
 *
 *     CraftBukkit on Bukkit 1.2.5-R4.0: WorldEdit 5.3; CommandBook 2.1
 *     Paper on 1.20.4-R0.1-SNAPSHOT          PocketMine-MP 5.20.0: DevTools 1.17.0
 *     Velocity: (a list that may be empty)   the empty text: vanilla, Fabric, BungeeCord
 *     Glowstone git-Glowstone-607ae1e (MC: 1.12.2) on Bukkit 1.12.2-R6.1-SNAPSHOT: Plugin 1
 *
 * @module
 */
import type { Plugin } from "../../core/record.ts";

/** What the `plugins` value says. */
export interface PluginList {
  /** The server software; `null` when the value is empty. */
  readonly software: string | null;
  /** The plugins; `null` when the value does not list any, not even none. */
  readonly plugins: readonly Plugin[] | null;
}

/**
 * Reads a `plugins` value. The version of a plugin is what follows the last space of its entry.
 *
 * @example
 * ```ts
 * import { query } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(query.parsePlugins("Paper on 1.20.4-R0.1-SNAPSHOT: World Edit 7.3.0; Vault"), {
 *   software: "Paper on 1.20.4-R0.1-SNAPSHOT",
 *   plugins: [{ name: "World Edit", version: "7.3.0" }, { name: "Vault", version: null }],
 * });
 * ```
 */
export function parsePlugins(text: string): PluginList {
  const colon = endOfSoftware(text);
  const software = (colon < 0 ? text : text.slice(0, colon)).trim() || null;
  if (colon < 0) return { software, plugins: null };
  const entries = text.slice(colon + 1).split(";").map((entry) => entry.trim());
  return { software, plugins: entries.filter((entry) => entry !== "").map(parseEntry) };
}

/**
 * The first colon that stands in no parentheses, for a software's version may hold one there: a
 * parenthesis that nothing closes holds nothing. -1: there is none.
 */
function endOfSoftware(text: string): number {
  const first = text.indexOf(":");
  const open = text.lastIndexOf("(", first);
  const close = open < 0 ? -1 : text.indexOf(")", open);
  return close > first ? text.indexOf(":", close) : first;
}

function parseEntry(entry: string): Plugin {
  const space = entry.lastIndexOf(" ");
  if (space < 0) return { name: entry, version: null };
  return { name: entry.slice(0, space).trim(), version: entry.slice(space + 1) };
}

/** Writes a `plugins` value; the colon stands there even when the list is empty. */
export function formatPlugins({ software, plugins }: PluginList): string {
  const list = plugins?.map(({ name, version }) => version === null ? name : `${name} ${version}`);
  return (software ?? "") + (list === undefined ? "" : `: ${list.join("; ")}`);
}
