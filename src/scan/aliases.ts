/**
 * One server behind several rows: which row describes a server that another row has described.
 *
 * A row is remembered by marks, each a hash of what two rows of one server share and two servers do
 * not. That two rows look the same is no mark: of a hosting network, thousands say "A Minecraft
 * Server", version 1.21.4, 0 of 20. What is one:
 *
 * - A RakNet GUID: 64 random bits, drawn when a server starts (PocketMine-MP, Geyser, Nukkit,
 *   gophertunnel, BDS). On many addresses it is one server or one proxy. With the same version,
 *   for a constant of some library may be shared by servers of many ages.
 * - The same players online, by name, on one host, with the same MOTD and slots.
 * - The same proxy on one host, with a MOTD of its own, the same slots, icon and number of players,
 *   of whom there are some.
 * - Geyser beside a Java server: it repeats the first line of the MOTD (`;` as `:`) and the slots.
 *   Where two Java servers of the host have them, it stays open which one stands behind it.
 * - A Query port beside the game's: it tells the game's port, and the same MOTD and counts.
 * - The same answer on a hundred ports of a host (matscan): whatever is asked there says that.
 *
 * Rows are told apart as long as nothing of this holds: an alias that is missed costs a line, one
 * that is none hides a server.
 *
 * @module
 */
import { type Endpoint, endpointKey, formatEndpoint } from "../address.ts";
import { CLIENT_GUID } from "../protocols/raknet/mod.ts";
import type { ServerRecord } from "../record.ts";
import { plainText } from "../text.ts";

/** Marks that are remembered at the most, about 64 bytes each: later rows are then no originals. */
const MOST_MARKS = 1 << 20;
/** Ports of a host with the same answer, from which on they count as one server. */
const SAME_ON_PORTS = 100;
/** Smaller GUIDs are clocks, counters and constants. */
const LEAST_GUID = 2n ** 48n;
/** RakNet's "unassigned" (RakNetTypes.h), and our own, which an echo would repeat. */
const CONSTANT_GUIDS = new Set([String(2n ** 64n - 1n), String(CLIENT_GUID)]);

/** MOTDs that software writes where nobody has set one: they tell nothing. */
const DEFAULT_MOTDS = new Set([
  ...["A Minecraft Server", "A Minecraft server", "Dedicated Server", "Minecraft Server"],
  ...["PocketMine-MP Server", "Minecraft: PE Server", "Powered by Nukkit", "Nukkit Server"],
  ...["PowerNukkitX Server", "Another Bungee server", "Just another Waterfall - Forced Host"],
  ...["Just another BungeeCord - Forced Host", "A Velocity Server", "Glowstone Server"],
  ...["Cuberite - in C++!", "Geyser", "Another Geyser server.", "WaterdogPE", "Dragonfly Server"],
  ...["Bedrock level", "Minecraft", "Server", "Lobby"],
]);

/** What a row is remembered by, and what it is recognised by: mostly the same. */
interface Mark {
  readonly own: string;
  readonly wanted: string;
  /** Whether the mark means nothing once two servers have it. */
  readonly unique?: boolean;
}

/** The rows of a scan, as far as their servers may come again. */
export class Aliases {
  /** The server that a mark stands for; `undefined` when it stands for several. */
  readonly #servers = new Map<number, Endpoint | undefined>();
  /** How often a host gave an answer, and where first. */
  readonly #answers = new Map<number, { readonly first: Endpoint; count: number }>();

  /**
   * Remembers a row.
   *
   * @param record The row, classified, with its players.
   * @param endpoint Where it was found: no two rows share it.
   * @returns The `host:port` of the first row that describes the same server, if there was one.
   */
  of(record: ServerRecord, endpoint: Endpoint): string | null {
    const marks = MARKS.flatMap((mark) => mark(record) ?? []);
    const known = marks.map(({ wanted }) => this.#servers.get(hash(wanted)))
      .find((server) => server !== undefined) ?? this.#everywhere(record, endpoint);
    const server = known ?? { ...endpoint };
    for (const mark of marks) this.#remember(mark, server);
    return known === undefined ? null : formatEndpoint(known);
  }

  #remember({ own, unique }: Mark, server: Endpoint): void {
    const key = hash(own);
    const before = this.#servers.get(key);
    if (before !== undefined && unique && endpointKey(before) !== endpointKey(server)) {
      this.#servers.set(key, undefined);
    } else if (!this.#servers.has(key) && this.#hasRoom()) {
      this.#servers.set(key, server);
    }
  }

  #hasRoom(): boolean {
    return this.#servers.size + this.#answers.size < MOST_MARKS;
  }

  /** The first port of a host that gives the same answer on a hundred. */
  #everywhere(record: ServerRecord, endpoint: Endpoint): Endpoint | undefined {
    const { host, protocols, software, motd, version, map, players_max: max } = record;
    const key = hash(text("answer", host, protocols.join(), software, motd, version, map, max));
    const answer = this.#answers.get(key);
    if (answer !== undefined) return ++answer.count > SAME_ON_PORTS ? answer.first : undefined;
    if (this.#hasRoom()) this.#answers.set(key, { first: { ...endpoint }, count: 1 });
    return undefined;
  }
}

/** The marks of a row, the strongest first. */
const MARKS: readonly ((record: ServerRecord) => Mark | undefined)[] = [
  guidMark,
  playersMark,
  proxyMark,
  bridgeMark,
  queryPortMark,
];

function guidMark({ guid, edition, version }: ServerRecord): Mark | undefined {
  if (guid === null || CONSTANT_GUIDS.has(guid) || BigInt(guid) < LEAST_GUID) return undefined;
  return both(text("guid", guid, edition, version));
}

function playersMark(record: ServerRecord): Mark | undefined {
  const { host, players, players_online: online, players_max: max, motd_plain: motd } = record;
  // A list that is longer than the number of players holds lines of text.
  if (!players || players.length === 0 || players.length > (online ?? 0)) return undefined;
  if (record.flags.includes("sampleText")) return undefined;
  return both(text("players", host, motd, online, max, ...players.toSorted()));
}

const NETWORK_PROXIES = new Set(["velocity", "bungee", "waterdog"]);

function proxyMark(record: ServerRecord): Mark | undefined {
  const { host, proxy, software, motd, players_online: online, players_max: max } = record;
  if (proxy === null || !NETWORK_PROXIES.has(proxy) || !online || !isTelling(record)) {
    return undefined;
  }
  return both(
    text("proxy", host, software, motd, record.version, online, max, record.favicon_hash),
  );
}

function bridgeMark(record: ServerRecord): Mark | undefined {
  const { host, edition, proxy, protocols, motd, players_max: max } = record;
  const line = plainText((motd ?? "").split("\n", 1)[0]).replaceAll(";", ":");
  if (max === null || !isTelling(record) || DEFAULT_MOTDS.has(line)) return undefined;
  const [java, geyser] = ["java", "geyser"].map((side) => text(side, host, line, max));
  if (edition === "java") return { own: java, wanted: geyser, unique: true };
  const isBridge = proxy === "geyser" && protocols.length === 1 && protocols[0] === "raknet";
  return isBridge ? { own: geyser, wanted: java, unique: true } : undefined;
}

function queryPortMark(record: ServerRecord): Mark | undefined {
  const { host, port, protocol, port_v4: game, players_max: max, players_online: online } = record;
  if (max === null || online === null || !isTelling(record)) return undefined;
  const at = (side: string, where: number) =>
    text(side, host, where, record.motd_plain, online, max);
  if (protocol !== "query") return { own: at("game", port), wanted: at("query", port) };
  if (game === null || game === port) return undefined;
  return { own: at("query", game), wanted: at("game", game) };
}

/** Whether somebody has thought of a MOTD. */
function isTelling({ motd_plain: motd }: ServerRecord): boolean {
  return motd !== null && motd.length > 3 && !DEFAULT_MOTDS.has(motd);
}

function both(mark: string): Mark {
  return { own: mark, wanted: mark };
}

/** Parts as one text: what stands in one cannot pass for two. */
function text(...parts: readonly unknown[]): string {
  return JSON.stringify(parts);
}

/** 53 bits of a text (two FNV-1a with different primes): a million marks share one in 18,000. */
function hash(mark: string): number {
  let low = 0x811c9dc5;
  let high = 0x1b873593;
  for (let i = 0; i < mark.length; i++) {
    const unit = mark.charCodeAt(i);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit, 0x85ebca6b);
    high ^= high >>> 15;
  }
  low ^= low >>> 16;
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}
