/** A simulated fleet for clients of other projects, and the texts that its servers send. */
import { type ManifestEntry, parseManifest, type Truth } from "../../src/fleet/manifest.ts";
import { serverId } from "../../src/core/record.ts";
import { encodeLatin1 } from "../../src/core/text.ts";
import { blocksweep, Peer } from "./processes.ts";

/** The range of the fleet, which no other test uses. */
const RANGE = "127.78.0.0/16";
/** Number of servers: enough to draw every kind of server several times. */
const SERVERS = "500";

/** Starts the fleet, and reads its manifest. */
export async function startFleet(): Promise<{ fleet: Peer; entries: readonly ManifestEntry[] }> {
  const manifest = await Deno.makeTempFile();
  try {
    const options = ["--servers", SERVERS, "--seed", "68", "--range", RANGE];
    const program = blocksweep("fleet", ...options, "--manifest", manifest);
    const fleet = await Peer.start(program, /simulated hosts/);
    return { fleet, entries: parseManifest(await Deno.readTextFile(manifest)) };
  } finally {
    await Deno.remove(manifest);
  }
}

/**
 * Software whose pongs contain a current form of advertisement and repeat the time of the ping.
 */
export const ADVERTISERS: readonly string[] = [
  ...["bds", "bdsRepeats", "pocketmine", "nukkit", "powernukkitx", "waterdog", "geyser"],
  ...["geyser2020", "dragonfly", "bedrockProtocol", "education"],
];

/** The servers of these kinds of software. Fails when the fleet has none of a kind. */
export function serversOf(
  entries: readonly ManifestEntry[],
  ...software: readonly string[]
): readonly ManifestEntry[] {
  return software.flatMap((name) => {
    const found = entries.filter((entry) => entry.software === name);
    if (found.length === 0) throw new Error(`The fleet has no ${name}: use another seed`);
    return found;
  });
}

/** A server's name in the message of a failure. */
export function where(entry: ManifestEntry): string {
  return `${serverId(entry)} (${entry.software})`;
}

/**
 * Queries servers, a few at a time, because clients have small socket buffers and do not repeat
 * queries.
 */
export async function queryAll(
  entries: readonly ManifestEntry[],
  query: (entry: ManifestEntry) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < entries.length; at += 16) {
    await Promise.all(entries.slice(at, at + 16).map(query));
  }
}

/** Software that escapes `;` in the MOTD as `\;`. */
const ESCAPES = new Set(["pocketmine", "nukkit", "powernukkitx", "waterdog"]);
/** Software that writes texts of Query in UTF-8. Other software writes Latin-1. */
const UTF8 = new Set(["pocketmine", "nukkit", "glowstone", "dragonfly", "geyser2020"]);
const EDITIONS: Record<string, string> = { bedrock: "MCPE", education: "MCEE", pocket: "MCCPP" };

/** The advertisement that a server sends, built from the manifest in the form of its software. */
export function advertisementOf({ software, truth }: ManifestEntry): string {
  const { columns, facts } = truth.raknet;
  const edition = EDITIONS[columns.edition!];
  if (edition === "MCCPP") return `MCCPP;Demo;${columns.motd ?? ""}`;
  const [disputed, ...flags] = facts.unnamed as string[];
  const fields = [
    edition,
    ESCAPES.has(software) ? columns.motd!.replaceAll(";", "\\;") : columns.motd,
    ...[columns.protocol_version, columns.version, columns.players_online, columns.players_max],
    ...[facts.server_id, facts.level, columns.gamemode, disputed],
    ...[columns.port_v4, columns.port_v6, ...flags],
  ];
  const text = fields.slice(0, facts.field_count as number).map((field) => field ?? "").join(";");
  return facts.terminated ? `${text};` : text;
}

/** Whether a field of a server's advertisement contains a `;`. */
export function hasInnerSemicolon({ truth }: ManifestEntry): boolean {
  return truth.raknet.columns.motd?.includes(";") ?? false;
}

/** The encoding of a server's texts in Query. */
export function encodingOf({ software }: ManifestEntry): "utf8" | "latin1" {
  return UTF8.has(software) ? "utf8" : "latin1";
}

/** A text of a stat as bytes. */
export function bytesOf(entry: ManifestEntry, text: string): Uint8Array {
  return encodingOf(entry) === "utf8" ? new TextEncoder().encode(text) : encodeLatin1(text);
}

/** The `plugins` value of a server with a list of plugins, otherwise an empty text. */
export function pluginsOf({ columns }: Truth): string {
  if (columns.plugins == null) return "";
  const list = columns.plugins.map(({ name, version }) => `${name} ${version}`);
  return `${columns.software}: ${list.join("; ")}`;
}

/** The values of a stat that are in no column. */
export function valuesOf({ facts }: Truth): Readonly<Record<string, string | undefined>> {
  return facts.values as Record<string, string>;
}
