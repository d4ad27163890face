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
const LEAST_GUID = String(2n ** 48n);
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
  readonly own: number;
  readonly wanted: number;
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
    const known = marks.map(({ wanted }) => this.#servers.get(wanted))
      .find((server) => server !== undefined) ?? this.#everywhere(record, endpoint);
    const server = known ?? { ...endpoint };
    for (const mark of marks) this.#remember(mark, server);
    return known === undefined ? null : formatEndpoint(known);
  }

  #remember({ own, unique }: Mark, server: Endpoint): void {
    const before = this.#servers.get(own);
    if (before !== undefined && unique && endpointKey(before) !== endpointKey(server)) {
      this.#servers.set(own, undefined);
    } else if (before === undefined && !this.#servers.has(own) && this.#hasRoom()) {
      this.#servers.set(own, server);
    }
  }

  #hasRoom(): boolean {
    return this.#servers.size + this.#answers.size < MOST_MARKS;
  }

  /** The first port of a host that gives the same answer on a hundred. */
  #everywhere(record: ServerRecord, endpoint: Endpoint): Endpoint | undefined {
    const { host, protocols, software, motd, version, map, players_max: max } = record;
    const key = hash("answer", host, protocols.join(), software, motd, version, map, max);
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
  if (guid === null || CONSTANT_GUIDS.has(guid) || isSmall(guid)) return undefined;
  return both(hash("guid", guid, edition, version));
}

/** Decimal texts without leading zeros: the shorter is the smaller. */
function isSmall(guid: string): boolean {
  return guid.length < LEAST_GUID.length || guid.length === LEAST_GUID.length && guid < LEAST_GUID;
}

function playersMark(record: ServerRecord): Mark | undefined {
  const { host, players, players_online: online, players_max: max, motd_plain: motd } = record;
  // A list that is longer than the number of players holds lines of text.
  if (!players || players.length === 0 || players.length > (online ?? 0)) return undefined;
  if (record.flags.includes("sampleText")) return undefined;
  return both(hash("players", host, motd, online, max, ...players.toSorted()));
}

const NETWORK_PROXIES = new Set(["velocity", "bungee", "waterdog"]);

function proxyMark(record: ServerRecord): Mark | undefined {
  const { host, proxy, software, motd, players_online: online, players_max: max } = record;
  if (proxy === null || !NETWORK_PROXIES.has(proxy) || !online || !isTelling(record)) {
    return undefined;
  }
  return both(
    hash("proxy", host, software, motd, record.version, online, max, record.favicon_hash),
  );
}

function bridgeMark(record: ServerRecord): Mark | undefined {
  const { host, edition, proxy, protocols, motd, players_max: max } = record;
  const isBridge = proxy === "geyser" && protocols.length === 1 && protocols[0] === "raknet";
  if (max === null || edition !== "java" && !isBridge || !isTelling(record)) return undefined;
  const line = plainText((motd ?? "").split("\n", 1)[0]).replaceAll(";", ":");
  if (DEFAULT_MOTDS.has(line)) return undefined;
  const [java, geyser] = ["java", "geyser"].map((side) => hash(side, host, line, max));
  return edition === "java"
    ? { own: java, wanted: geyser, unique: true }
    : { own: geyser, wanted: java, unique: true };
}

function queryPortMark(record: ServerRecord): Mark | undefined {
  const { host, port, protocol, port_v4: game, players_max: max, players_online: online } = record;
  if (max === null || online === null || !isTelling(record)) return undefined;
  const at = (side: string, where: number) =>
    hash(side, host, where, record.motd_plain, online, max);
  if (protocol !== "query") return { own: at("game", port), wanted: at("query", port) };
  if (game === null || game === port) return undefined;
  return { own: at("query", game), wanted: at("game", game) };
}

/** Whether somebody has thought of a MOTD. */
function isTelling({ motd_plain: motd }: ServerRecord): boolean {
  return motd !== null && motd.length > 3 && !DEFAULT_MOTDS.has(motd);
}

function both(mark: number): Mark {
  return { own: mark, wanted: mark };
}

/** What no text holds: it stands behind each part, so that one cannot pass for two. */
const END = 0x10000;
/** Stands for what is not known, which is no empty text. */
const NOTHING = 0x10001;

/**
 * 53 bits of some parts (two FNV-1a with different primes): a million marks share one in 18,000.
 * Without a text of all of them: every row of a scan comes by here.
 */
function hash(...parts: readonly (string | number | null)[]): number {
  let low = 0x811c9dc5;
  let high = 0x1b873593;
  for (const part of parts) {
    const text = part === null ? "" : String(part);
    for (let i = 0; i <= text.length; i++) {
      const unit = i < text.length ? text.charCodeAt(i) : part === null ? NOTHING : END;
      low = Math.imul(low ^ unit, 0x01000193);
      high = Math.imul(high ^ unit, 0x85ebca6b);
      high ^= high >>> 15;
    }
  }
  low ^= low >>> 16;
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}
