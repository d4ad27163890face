/**
 * The catalogue of simulated software: one entry per kind of server.
 *
 * @module
 */
import { BAIT_PORT } from "../bait_port.ts";
import type { BedrockStyle } from "./raknet/pongs.ts";
import { BEDROCK_STYLES } from "./raknet/advertisement_styles.ts";
import type { OpenConnectionStyle } from "./raknet/open_connection.ts";
import { OPEN_CONNECTION_STYLES } from "./raknet/open_connection_styles.ts";
import type { SimulatedIdentity } from "./server_identity.ts";
import {
  type AnnouncementStyle,
  type NetherNetStyle,
  nethernetStyle,
  openToLan,
} from "./lan_worlds.ts";
import { DISCOVERY_PORT } from "../../protocols/lan/mod.ts";
import { JOIN_STYLES, type JoinStyle } from "./nethernet/join_styles.ts";
import type { QueryStyle } from "./query/query_replies.ts";
import { QUERY_STYLES } from "./query/query_styles.ts";
import type { SlpStyle } from "./slp/slp_replies.ts";
import { SLP_STYLES } from "./slp/slp_styles.ts";
import type { SqpStyle } from "./sqp/sqp_server.ts";
import { SQP_STYLES } from "./sqp/sqp_styles.ts";
import { NAMED_TRICKS } from "./hostile/hostile_hosts.ts";
import { HTTP_TRICKS, REDIRECTING } from "./hostile/http_tricks.ts";
import { SLOW_TRICKS } from "./hostile/hostile_listeners.ts";

/** A kind of simulated server on one port. */
export interface Software {
  /** Name of the software in manifests and in `--software`. */
  readonly name: string;
  /** The server's UDP or TCP port. */
  readonly port: number;
  /** Relative frequency among the servers of a fleet. */
  readonly weight: number;
  /** RakNet behaviour. Default: no RakNet. */
  readonly bedrock?: BedrockStyle;
  /** Query behaviour. Default: no Query. */
  readonly query?: QueryStyle;
  /** SQP behaviour. Such a server has no other protocol. Default: no SQP. */
  readonly sqp?: SqpStyle;
  /** Server List Ping behaviour. Default: no Server List Ping. */
  readonly slp?: SlpStyle;
  /** NetherNet over HTTP. Default: none. */
  readonly join?: JoinStyle;
  /** The trick of a hostile host, which is not a server. Default: none. */
  readonly trick?: string;
  /** Whether a fleet contains the software only when the user names it. */
  readonly onlyNamed?: boolean;
  /** A second endpoint on the server's address, with an equal identity. */
  readonly twin?: Software;
  /** Whether the server replies on the 201 ports around the usual one. */
  readonly everyPort?: boolean;
  /** LAN announcements. Default: none. */
  readonly announcement?: AnnouncementStyle;
  /** NetherNet discovery behaviour on a LAN. Default: none. */
  readonly nethernet?: NetherNetStyle;
  /** Changes the identity that was drawn for the server. */
  readonly adapt?: (identity: SimulatedIdentity) => SimulatedIdentity;
  /** Number of copies of each reply. Default: 1. */
  readonly repeats?: number;
  /** Whether the MOTD contains an opt-out. Such a server must not be reported. */
  readonly optedOut?: boolean;
}

/** An identity with Latin-1 text only. */
const latin = (identity: SimulatedIdentity): SimulatedIdentity => ({
  ...identity,
  motd: identity.latinMotd,
});

const withNul = (identity: SimulatedIdentity): SimulatedIdentity => ({
  ...identity,
  motd: { text: `${identity.latinMotd.text}\u0000B`, plain: `${identity.latinMotd.plain} B` },
});

const optedOut = (identity: SimulatedIdentity): SimulatedIdentity => ({
  ...identity,
  motd: { text: `§b§d§f§d§b${identity.latinMotd.text}`, plain: identity.latinMotd.plain },
});

const withoutGuid = (identity: SimulatedIdentity): SimulatedIdentity => ({ ...identity, guid: 0n });

const bedrock = (name: keyof typeof BEDROCK_STYLES, weight: number, rest?: Partial<Software>) => ({
  name,
  port: 19132,
  weight,
  bedrock: BEDROCK_STYLES[name] as BedrockStyle,
  ...rest,
});

/** A Bedrock Dedicated Server with other behaviour for open connection requests, or none. */
const withOpenConnection = (
  name: string,
  openConnection: OpenConnectionStyle | undefined,
  rest?: Partial<Software>,
) => bedrock("bds", 1, { name, bedrock: { ...BEDROCK_STYLES.bds, openConnection }, ...rest });

const crowded = (identity: SimulatedIdentity): SimulatedIdentity => ({
  ...identity,
  online: identity.max,
});

/** A Java server with Query, which writes Latin-1. */
const java = (name: string, weight: number, rest?: Partial<Software>) => ({
  name,
  port: 25565,
  weight,
  query: QUERY_STYLES[name],
  adapt: latin,
  ...rest,
});

/** A Java server without Query, the default of the game. */
const listed = (name: string, weight: number, rest?: Partial<Software>) => ({
  name,
  port: 25565,
  weight,
  slp: SLP_STYLES[name],
  ...rest,
});

/** An identity with a version before 1.19.4, where vanilla's key order changed. */
const old = (identity: SimulatedIdentity): SimulatedIdentity => ({
  ...identity,
  version: "1.19.2",
  protocol: 760,
});

const bds: Software = bedrock("bds", 12);
const vanilla: Software = java("vanilla", 12, { slp: SLP_STYLES.vanilla });

/** An SQP server. Scans and fleets include SQP only when the user names it. */
const unity = (name: string, rest: Partial<Software>) => ({
  name,
  port: 9000,
  weight: 1,
  onlyNamed: true,
  ...rest,
});

/** An identity with a version of autumn 2026. */
const ofAutumn2026 = (identity: SimulatedIdentity): SimulatedIdentity => ({
  ...identity,
  ...(identity.guid & 2n
    ? { version: "1.26.60", protocol: 2225 }
    : { version: "1.26.52", protocol: 2193 }),
});

/** A Bedrock server of autumn 2026 that replies over HTTP, and perhaps in other protocols. */
const netherNet = (
  name: string,
  join: keyof typeof JOIN_STYLES | undefined,
  weight: number,
  rest?: Partial<Software>,
) => ({
  name,
  port: 19132,
  weight,
  adapt: ofAutumn2026,
  ...(join && { join: JOIN_STYLES[join] as JoinStyle }),
  ...rest,
});

/** A hostile host over HTTP; one that redirects has a second port. */
const overHttp = (trick: string): Software => ({
  name: trick,
  port: 19132,
  weight: 1,
  trick,
  onlyNamed: true,
  ...(REDIRECTING.includes(trick) && { twin: { ...overHttp("bait"), port: BAIT_PORT } }),
});

const NETHERNET_SOFTWARE: readonly Software[] = [
  netherNet("bdsNetherNet", "bds", 6),
  netherNet("bdsNetherNetHidden", "bdsHidden", 2),
  netherNet("bdsTransportRaknet", undefined, 2, { bedrock: BEDROCK_STYLES.bds }),
  netherNet("geyserNetherNet", "geyser", 2),
  netherNet("geyserBoth", "geyser", 3, { bedrock: BEDROCK_STYLES.geyser }),
  // Its second MOTD is the level in both.
  netherNet("nukkitMotBoth", "nukkitMot", 2, {
    adapt: (identity) => ({ ...ofAutumn2026(identity), level: "Powered by Nukkit-MOT" }),
    bedrock: BEDROCK_STYLES.nukkit,
    query: QUERY_STYLES.nukkit,
  }),
  netherNet("pumpkinNetherNet", "pumpkin", 1),
  netherNet("netherNetKeepsOpen", "keepsOpen", 1),
  netherNet("cloudburstTls", "cloudburstTls", 1),
  netherNet("cloudburstPlainAndTls", "cloudburstBoth", 1),
  netherNet("altayTls", "altayTls", 1),
  netherNet("goNetherNetTls", "goTls", 1),
  netherNet("netherNetTlsCloses", "tlsCloses", 1),
  netherNet("netherNetTlsAlerts", "tlsAlerts", 1),
  netherNet("relayBoth", "relay", 1, { bedrock: BEDROCK_STYLES.bds }),
  // These say too little to be found.
  netherNet("netherNetRelay", "relay", 1, { onlyNamed: true }),
  netherNet("goNetherNetEmpty", "goEmpty", 1, { onlyNamed: true }),
  netherNet("bds2630NetherNet", "bdsOk", 1, { onlyNamed: true }),
  netherNet("bdsNetherNetOptedOut", "bds", 1, {
    adapt: (identity) => optedOut(ofAutumn2026(identity)),
    optedOut: true,
  }),
];

/**
 * All kinds of servers. A fleet contains those with a second endpoint (`twin`) only when the user
 * names them.
 */
export const SOFTWARE: readonly Software[] = [
  bds,
  bedrock("pocketmine", 10, { query: QUERY_STYLES.pocketmine }),
  bedrock("nukkit", 6, { query: QUERY_STYLES.nukkit }),
  bedrock("powernukkitx", 3),
  bedrock("waterdog", 4, { query: QUERY_STYLES.waterdog, adapt: latin }),
  bedrock("geyser", 6),
  bedrock("dragonfly", 3, { query: QUERY_STYLES.gophertunnel }),
  bedrock("bedrockProtocol", 2),
  bedrock("bedrockProtocolLevel", 1),
  bedrock("serenityjs", 1),
  bedrock("jsprismarine", 1, { adapt: withoutGuid }),
  bedrock("education", 2),
  bedrock("raknetNode", 2),
  bedrock("pocket2012", 1),
  bedrock("otherGame", 1),
  bedrock("mute", 1),
  bedrock("banned", 1),
  bedrock("geyser", 1, { name: "geyser2020", query: QUERY_STYLES.geyser2020, adapt: latin }),
  bedrock("bds", 1, { name: "bdsRepeats", repeats: 20 }),
  withOpenConnection("bdsFull", OPEN_CONNECTION_STYLES.full, { adapt: crowded }),
  withOpenConnection("bdsBans", OPEN_CONNECTION_STYLES.banned),
  withOpenConnection("bdsAdvertises", undefined),
  bedrock("bds", 1, { name: "bdsTwoPorts", twin: { ...bds, port: 19133 } }),
  bedrock("bds", 1, { name: "bdsEveryPort", everyPort: true, onlyNamed: true }),
  bedrock("geyser", 1, { name: "geyserBesideJava", adapt: latin, twin: vanilla }),
  bedrock("bds", 1, { name: "bdsOptedOut", adapt: optedOut, optedOut: true }),
  vanilla,
  java("vanillaNul", 2, { adapt: withNul }),
  java("paper", 12, { slp: SLP_STYLES.paper }),
  java("velocity", 4, { slp: SLP_STYLES.velocity }),
  java("bungeecord", 4, { slp: SLP_STYLES.bungeecord }),
  java("glowstone", 2, { adapt: undefined }),
  java("unsigned", 1),
  java("unterminated", 1),
  java("beta19", 1),
  java("fullLost", 1),
  java("tokensOnly", 1),
  java("vanilla", 1, { name: "vanillaOptedOut", adapt: optedOut, optedOut: true }),
  listed("vanillaOld", 3, { adapt: old }),
  listed("vanillaString", 2, { adapt: old }),
  ...["waterfall", "forge112", "forge113", "forge118", "forgeMore", "neoforge", "cuberite"]
    .map((name) => listed(name, 2)),
  ...["minestom", "nodeMinecraftProtocol", "hiddenPlayers", "componentMotd", "translateMotd"]
    .map((name) => listed(name, 1)),
  ...["hugeFavicon", "wantsProtocol", "disconnects", "beta18", "java14", "java16", "kicksOnly"]
    .map((name) => listed(name, 1)),
  listed("quarry", 1),
  listed("longKick", 1),
  listed("bareiron", 1, {
    adapt: (identity) => ({ ...identity, version: "1.21.8", protocol: 772 }),
  }),
  listed("vanilla", 1, { name: "vanillaShy", adapt: optedOut, optedOut: true }),
  ...NETHERNET_SOFTWARE,
  ...Object.entries(SQP_STYLES).map(([name, sqp]) => unity(name, { sqp })),
  unity("sqpEcho", { trick: "echo" }),
  ...SLOW_TRICKS.map((trick) => ({ name: trick, port: 25565, weight: 1, trick, onlyNamed: true })),
  ...Object.keys(HTTP_TRICKS).filter((trick) => trick !== "bait").map(overHttp),
  ...NAMED_TRICKS.map((trick) => ({ name: trick, port: 19132, weight: 1, trick, onlyNamed: true })),
];

/** The kinds of LAN worlds. A fleet contains them only when the user names them. */
export const LAN_SOFTWARE: readonly Software[] = [
  { name: "openToLan", port: 51234, weight: 1, announcement: openToLan, slp: SLP_STYLES.vanilla },
  ...([4, 5, 6, 7] as const).map((version) => ({
    name: `netherNet${version}`,
    port: DISCOVERY_PORT,
    weight: 1,
    nethernet: nethernetStyle(version),
  })),
];
