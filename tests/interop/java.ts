/** What clients of others should read of the Java servers of a fleet, by Server List Ping. */
import { createHash } from "node:crypto";
import type { ManifestEntry } from "../../src/fleet/manifest.ts";

/** Software whose status holds all that a client looks for, in forms that every client knows. */
export const STATUSES: readonly string[] = [
  ...["vanilla", "vanillaOld", "vanillaString", "paper", "velocity", "bungeecord", "waterfall"],
  ...["forge112", "forge113", "forge118", "neoforge", "cuberite", "minestom"],
  ...["nodeMinecraftProtocol", "hugeFavicon", "wantsProtocol"],
];

/** Software of before 1.7 that knows 1.4's form of a kick. */
export const KICKERS: readonly string[] = ["java14", "java16"];

/** Software that repeats the protocol number of a client, where it knows it. */
const PROXIES = new Set(["velocity", "bungeecord", "waterfall"]);

/** A status, under our names. */
export interface JavaRead {
  /** With the name of the software before it. */
  readonly version: string;
  readonly protocol: number;
  /** Without formatting codes. */
  readonly motd: string;
  readonly online: number;
  readonly max: number;
  /** Names of players; `null`: there is no list. */
  readonly players: readonly string[] | null;
  /** The SHA-256 of the icon's PNG; `null`: there is none. */
  readonly icon: string | null;
}

/**
 * What the manifest says of a server's status.
 *
 * @param askedAs The client's protocol number. Default: that of 1.8, as most clients call themselves.
 */
export function javaTruth({ software, truth }: ManifestEntry, askedAs = 47): JavaRead {
  const { columns, facts } = truth.slp;
  const protocol = columns.protocol_version!;
  return {
    version: facts.version_name as string,
    protocol: PROXIES.has(software) ? Math.min(askedAs, protocol) : protocol,
    motd: columns.motd_plain!,
    online: columns.players_online!,
    max: columns.players_max!,
    players: columns.players ?? null,
    icon: columns.favicon_hash ?? null,
  };
}

/** What a kick of a server of our fleet says; the names are those of {@linkcode JavaRead}. */
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

/** The hash of what is in a data URL, or `null`. */
export function iconHash(url: string | null | undefined): string | null {
  if (url == null) return null;
  const bytes = Uint8Array.fromBase64(url.slice(url.indexOf(",") + 1));
  return createHash("sha256").update(bytes).digest("hex");
}
