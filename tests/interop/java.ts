/**
 * The values that clients of other projects should read from the Java servers of the fleet, by
 * Server List Ping.
 */
import { createHash } from "node:crypto";
import type { ManifestEntry } from "../../src/fleet/manifest.ts";

/**
 * Software whose status contains everything that clients read, in forms that every client supports.
 */
export const STATUSES: readonly string[] = [
  ...["vanilla", "vanillaOld", "vanillaString", "paper", "velocity", "bungeecord", "waterfall"],
  ...["forge112", "forge113", "forge118", "neoforge", "cuberite", "minestom"],
  ...["nodeMinecraftProtocol", "hugeFavicon", "wantsProtocol"],
];

/** Software before 1.7 that supports the kick in the form of 1.4. */
export const KICKERS: readonly string[] = ["java14", "java16"];

/** Software that repeats the protocol number of a client if it supports that number. */
const PROXIES = new Set(["velocity", "bungeecord", "waterfall"]);

/** The values of a status. */
export interface JavaRead {
  /** The version, with the name of the software before it. */
  readonly version: string;
  readonly protocol: number;
  /** The MOTD without formatting codes. */
  readonly motd: string;
  readonly online: number;
  readonly max: number;
  /** Names of players; `null`: the status has no list. */
  readonly players: readonly string[] | null;
  /** The SHA-256 of the icon's PNG; `null`: the status has no icon. */
  readonly icon: string | null;
}

/**
 * The expected values of a server's status, from the manifest.
 *
 * @param askedAs The client's protocol number. Default: that of 1.8, which most clients send.
 */
export function javaTruth({ software, truth }: ManifestEntry, queriedAs = 47): JavaRead {
  const { columns, facts } = truth.slp;
  const protocol = columns.protocol_version!;
  return {
    version: facts.version_name as string,
    protocol: PROXIES.has(software) ? Math.min(queriedAs, protocol) : protocol,
    motd: columns.motd_plain!,
    online: columns.players_online!,
    max: columns.players_max!,
    players: columns.players ?? null,
    icon: columns.favicon_hash ?? null,
  };
}

/** The expected values of a kick, with the names of {@linkcode JavaRead}. */
export function legacyTruth({ software, truth: { slp: { columns, facts } } }: ManifestEntry) {
  const old = columns.version == null || KICKERS.includes(software);
  return {
    version: facts.version_name ?? null,
    protocol: old ? columns.protocol_version ?? null : software === "velocity" ? 769 : 127,
    motd: columns.motd_plain!,
    online: columns.players_online!,
    max: columns.players_max!,
  };
}

/** The hash of the content of a data URL, or `null`. */
export function iconHash(url: string | null | undefined): string | null {
  if (url == null) return null;
  const bytes = Uint8Array.fromBase64(url.slice(url.indexOf(",") + 1));
  return createHash("sha256").update(bytes).digest("hex");
}
