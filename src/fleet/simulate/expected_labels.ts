/**
 * What a correct scanner concludes of each kind of server, protocol by protocol. It is written from
 * the habits of the software, by no rule of the scanner's.
 *
 * @module
 */
import type { ServerIdentity } from "./server_identity.ts";
import type { Label, Truth } from "../manifest.ts";

/** What one protocol of a kind lets conclude; it may depend on what the server happens to be. */
type Labelled = (identity: ServerIdentity) => Label | undefined;

const named = (software: string, proxy?: string): Labelled => () => ({
  software,
  confidence: "A",
  ...(proxy && { proxy }),
});
const built = (software: string, proxy?: string): Labelled => () => ({
  software,
  confidence: "B",
  ...(proxy && { proxy }),
});
const hinted = (software: string): Labelled => () => ({ software, confidence: "C" });

/** Nukkit alone writes its GUID with a sign: half of them have one. */
const signed: Labelled = ({ guid }) =>
  guid >> 63n === 1n ? { software: "Nukkit", confidence: "B" } : undefined;

/** The name before the version; vanilla's order and keys, or those of another that are known. */
const javaLabels: Readonly<Record<string, Labelled>> = {
  ...Object.fromEntries(
    [
      "vanilla",
      "vanillaOld",
      "vanillaString",
      "componentMotd",
      "translateMotd",
      "hugeFavicon",
      "wantsProtocol",
      "forgeMore",
    ].map((kind) => [kind, hinted("vanilla")]),
  ),
  paper: named("Paper"),
  velocity: named("Velocity", "velocity"),
  bungeecord: named("BungeeCord", "bungee"),
  waterfall: named("Waterfall", "bungee"),
  forge112: named("Forge"),
  forge113: named("Forge"),
  forge118: named("Forge"),
  neoforge: built("NeoForge"),
  cuberite: named("Cuberite"),
  /** Its MOTD is the owner's here, so that vanilla that hides its players looks the same. */
  bareiron: hinted("bareiron"),
  /** Nobody lists an empty list where somebody plays but this one. */
  nodeMinecraftProtocol: ({ online }) => ({
    software: "node-minecraft-protocol",
    confidence: online > 0 ? "B" : "C",
  }),
  /** An empty list where nobody plays. */
  minestom: ({ players }) =>
    players.length > 0 ? undefined : { software: "node-minecraft-protocol", confidence: "C" },
};

/** Labels by kind and protocol; a kind that is missing gives nothing away. */
const LABELS: Readonly<Record<string, Readonly<Record<string, Labelled>>>> = {
  bds: { raknet: built("BDS") },
  bdsTwoPorts: { raknet: built("BDS") },
  bdsRepeats: { raknet: built("BDS") },
  bdsFull: { raknet: built("BDS") },
  bdsBans: { raknet: built("BDS") },
  bdsAdvertises: { raknet: built("BDS") },
  pocketmine: { raknet: named("PocketMine-MP"), query: named("PocketMine-MP 5.20.0") },
  nukkit: { raknet: signed, query: named("Nukkit") },
  powernukkitx: { raknet: built("PowerNukkitX") },
  waterdog: { raknet: built("WaterdogPE", "waterdog"), query: built("WaterdogPE", "waterdog") },
  geyser: { raknet: built("Geyser", "geyser") },
  geyserBesideJava: { raknet: built("Geyser", "geyser") },
  geyser2020: { raknet: built("Geyser", "geyser"), query: named("Geyser", "geyser") },
  dragonfly: { raknet: built("gophertunnel"), query: named("Dragonfly") },
  bedrockProtocol: { raknet: built("bedrock-protocol") },
  bedrockProtocolLevel: { raknet: built("bedrock-protocol") },
  serenityjs: { raknet: built("SerenityJS") },
  jsprismarine: { raknet: built("JSPrismarine") },
  vanilla: { query: hinted("vanilla") },
  vanillaNul: { query: hinted("vanilla") },
  unsigned: { query: hinted("vanilla") },
  unterminated: { query: hinted("vanilla") },
  beta19: { query: hinted("vanilla") },
  paper: { query: named("Paper") },
  velocity: { query: named("Velocity", "velocity") },
  bungeecord: { query: built("BungeeCord", "bungee") },
  glowstone: { query: named("Glowstone") },
};

/** The truths about a server of this kind, with what is to be concluded of each. */
export function labelled(
  kind: string,
  identity: ServerIdentity,
  truths: Readonly<Record<string, Truth>>,
): Readonly<Record<string, Truth>> {
  return Object.fromEntries(
    Object.entries(truths).map(([protocol, truth]) => {
      const label = protocol === "slp"
        ? javaLabels[kind]?.(identity)
        : LABELS[kind]?.[protocol]?.(identity);
      return [protocol, label === undefined ? truth : { ...truth, label }];
    }),
  );
}
