/**
 * The identity of a simulated server: its name, players and so on, independent of software and protocol.
 *
 * @module
 */
import type { Plugin } from "../../core/record.ts";
import type { Random } from "../random.ts";

/** A MOTD, with and without formatting codes. */
export interface Motd {
  /** The MOTD with formatting codes. */
  readonly text: string;
  /** The MOTD without formatting codes, as a player sees it. */
  readonly plain: string;
}

export interface SimulatedIdentity {
  readonly motd: Motd;
  /** A MOTD of Latin-1 characters only, for software that can write no others. */
  readonly latinMotd: Motd;
  readonly version: string;
  readonly protocol: number;
  readonly online: number;
  readonly max: number;
  readonly players: readonly string[];
  readonly plugins: readonly Plugin[];
  readonly level: string;
  readonly gamemode: string;
  readonly guid: bigint;
}

const CODES = ["§a", "§l", "§r", "§6", "§k", "§x", "§u"];
const WORDS = ["Survival", "Sky", "Prison", "Kingdom", "PvP", "Hub", "Craft", "Lobby", "Realms"];
/** Text that needs escaping: separators, quotes, formulas, escapes, markup. */
const AWKWARD = [
  "a;b",
  "x,y",
  'the "best"',
  "=1+2",
  "-5 lag",
  "@home",
  "a|b",
  "<b>hi</b>",
  "50% off",
];
const LATIN = ["Frère", "Straße", "¡Olé!", "¿Qué?", "Øst"];
const WIDE = ["大人気サーバー", "сервер", "🎮", "خادم", "Ｆｕｌｌ"];
const NAMES = ["Steve", "Alex", "barneygale", "Vivalahelvig", "Ann", "Bob_7", "x_Y_x", "NotchJr"];
const LEVELS = ["world", "Bedrock level", "My World", "lobby_1", "hub-2"];
const PLUGIN_NAMES = ["WorldEdit", "LuckPerms", "EssentialsX", "DevTools", "Vault", "Dynmap"];
type Release = Pick<SimulatedIdentity, "version" | "protocol">;
/** Releases of both editions. */
const RELEASES: readonly Readonly<Record<"bedrock" | "java", Release>>[] = [
  { bedrock: { version: "1.21.50", protocol: 766 }, java: { version: "1.21.4", protocol: 769 } },
  { bedrock: { version: "1.21.60", protocol: 776 }, java: { version: "1.21.10", protocol: 773 } },
  { bedrock: { version: "1.20.80", protocol: 671 }, java: { version: "1.20.6", protocol: 766 } },
  { bedrock: { version: "1.19.63", protocol: 568 }, java: { version: "1.19.4", protocol: 762 } },
];

/** An identity with a release of Java Edition in place of one of Bedrock Edition. */
export function ofJava(identity: SimulatedIdentity): SimulatedIdentity {
  const { java } = RELEASES.find(({ bedrock }) => bedrock.version === identity.version) ?? {};
  return { ...identity, ...java };
}

/** Draws an identity with a release of Bedrock Edition. */
export function drawIdentity(random: Random): SimulatedIdentity {
  const { bedrock: { version, protocol } } = random.pick(RELEASES);
  const online = random.chance(0.4) ? 0 : random.below(8);
  return {
    motd: drawMotd(random, [...WORDS, ...AWKWARD, ...LATIN, ...WIDE]),
    latinMotd: drawMotd(random, [...WORDS, ...AWKWARD, ...LATIN]),
    version,
    protocol,
    online,
    max: random.pick([8, 20, 100, 500]),
    players: NAMES.slice(0, online),
    plugins: PLUGIN_NAMES.slice(0, random.below(4)).map((name, i) => ({
      name,
      version: `${i + 1}.${random.below(20)}.0`,
    })),
    level: random.pick(LEVELS),
    gamemode: random.pick(["Survival", "Creative", "Adventure"]),
    guid: random.u64() | 1n, // never 0
  };
}

/** Draws two to four words with single spaces, some with a formatting code. */
function drawMotd(random: Random, words: readonly string[]): Motd {
  const drawn = Array.from({ length: 2 + random.below(3) }, () => random.pick(words));
  const coded = drawn.map((word) => random.chance(0.5) ? random.pick(CODES) + word : word);
  return { text: coded.join(" "), plain: drawn.join(" ") };
}
