/**
 * The expected classification of each kind of server, per protocol. It is written by hand from the
 * behaviour of the software, not produced by the scanner's rules.
 *
 * @module
 */
import type { SimulatedIdentity } from "./server_identity.ts";
import type { Label, Truth } from "../manifest.ts";

/** The expected label of one protocol, which may depend on the server's identity. */
type Labelled = (identity: SimulatedIdentity) => Label | undefined;

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

/** Only Nukkit writes its GUID as a signed number. Half of its GUIDs are therefore negative. */
const signed: Labelled = ({ guid }) =>
  guid >> 63n === 1n ? { software: "Nukkit", confidence: "B" } : undefined;

/** Labels from SLP: a brand before the version, or the order of JSON keys. */
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
  /** With a MOTD of the owner, this reply is equal to a reply of vanilla with hidden players. */
  bareiron: hinted("bareiron"),
  /** Only this software lists no names while players are online. */
  nodeMinecraftProtocol: ({ online }) => ({
    software: "node-minecraft-protocol",
    confidence: online > 0 ? "B" : "C",
  }),
  /** An empty list of names while no player is online. */
  minestom: ({ players }) =>
    players.length > 0 ? undefined : { software: "node-minecraft-protocol", confidence: "C" },
};

/** Labels by software and protocol. Software that is missing cannot be classified. */
const LABELS: Readonly<Record<string, Readonly<Record<string, Labelled>>>> = {
  bds: { raknet: built("BDS") },
  bdsTwoPorts: { raknet: built("BDS") },
  bdsEveryPort: { raknet: built("BDS") },
  bdsRepeats: { raknet: built("BDS") },
  bdsFull: { raknet: built("BDS") },
  bdsBans: { raknet: built("BDS") },
  bdsAdvertises: { raknet: built("BDS") },
  bdsTransportRaknet: { raknet: built("BDS") },
  geyserBoth: { raknet: built("Geyser", "geyser"), nethernet: hinted("Cloudburst") },
  nukkitMotBoth: { raknet: signed, nethernet: built("Nukkit-MOT"), query: named("Nukkit") },
  relayBoth: { raknet: built("BDS") },
  bdsNetherNet: { nethernet: hinted("BDS") },
  bdsNetherNetHidden: { nethernet: hinted("BDS") },
  bdsNetherNetOptedOut: { nethernet: hinted("BDS") },
  geyserNetherNet: { nethernet: hinted("Cloudburst") },
  netherNetKeepsOpen: { nethernet: hinted("Cloudburst") },
  cloudburstTls: { nethernet: hinted("Cloudburst") },
  cloudburstPlainAndTls: { nethernet: hinted("Cloudburst") },
  altayTls: { nethernet: hinted("Cloudburst") },
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

/**
 * Adds the expected label of each protocol to the values that a correct scanner reads from a
 * server.
 */
export function labelled(
  kind: string,
  identity: SimulatedIdentity,
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
