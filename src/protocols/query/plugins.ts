/**
 * The `plugins` value of a full stat:
 *
 *     [software[": " name [" " version] ("; " name [" " version])*]]
 *
 *     CraftBukkit on Bukkit 1.2.5-R4.0: WorldEdit 5.3; CommandBook 2.1
 *     Paper on 1.20.4-R0.1-SNAPSHOT          PocketMine-MP 5.20.0: DevTools 1.17.0
 *     Velocity: (a list that may be empty)   empty text: vanilla, Fabric, BungeeCord
 *     Glowstone git-Glowstone-607ae1e (MC: 1.12.2) on Bukkit 1.12.2-R6.1-SNAPSHOT: Plugin 1
 *
 * @module
 */
import type { Plugin } from "../../core/record.ts";

/** A `plugins` value: the server software and its plugins. */
export interface PluginList {
  /** The server software; `null` when the value is empty. */
  readonly software: string | null;
  /** The plugins; `null` when the value has no list, not even an empty one. */
  readonly plugins: readonly Plugin[] | null;
}

/**
 * Parses a `plugins` value. The version of a plugin is the text after the last space of its entry.
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
 * Index of the first colon outside parentheses, or -1. A software's version may contain a colon in
 * parentheses. An unclosed parenthesis is ignored.
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

/** Formats a `plugins` value, with the colon even for an empty list. */
export function formatPlugins({ software, plugins }: PluginList): string {
  const list = plugins?.map(({ name, version }) => version === null ? name : `${name} ${version}`);
  return (software ?? "") + (list === undefined ? "" : `: ${list.join("; ")}`);
}
