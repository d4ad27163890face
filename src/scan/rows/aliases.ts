/**
 * Detects aliases: rows that describe a server that an earlier row has described.
 *
 * A row is stored as signatures. A signature is a hash of values that are equal in two rows of one
 * server, and differ between two servers. Names and counts alone are not a signature: thousands of
 * servers in a hosting network publish "A Minecraft Server", version 1.21.4, 0 of 20. The
 * signatures:
 *
 * - A RakNet GUID: 64 random bits, drawn when a server starts (PocketMine-MP, Geyser, Nukkit,
 *   gophertunnel, BDS). A GUID on many addresses is one server or one proxy. The versions must be
 *   equal too, because servers of many versions may have the same constant GUID of a library.
 * - The same names of players online on one host, with the same MOTD and slots.
 * - The same proxy on one host, with a MOTD that is not a default, and equal slots, icon and number
 *   of players, above 0.
 * - Geyser beside a Java server: it repeats the first line of the MOTD (`;` as `:`) and the slots.
 *   If two Java servers of the host match, Geyser gets no alias.
 * - A Query port beside the game port: its reply has the game port, and the same MOTD and counts.
 * - The same reply on more than a hundred ports of a host. Such a host sends this reply on every
 *   port. (The scanner matscan has the same rule.)
 *
 * Without a matching signature, a row is not an alias. A missed alias adds a row, which is better
 * than a false alias, which hides a server.
 *
 * @module
 */
import { type Endpoint, endpointKey, endpointOfKey, formatEndpoint } from "../../core/address.ts";
import {
  bridgedMotd,
  type BridgeSide,
  bridgeSide,
  isDefaultMotd,
  isNetworkProxy,
} from "../../classify/software_facts.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { ServerRecord } from "../../core/record.ts";
import { AliasDigest, DigestTable, type DigestTableState } from "./alias_digests.ts";

/**
 * Maximum number of stored signatures. When it is reached, no more signatures are stored: later
 * rows can still be aliases of the stored rows, but not of each other. A signature takes 16 to 32
 * bytes, and its server 8 bytes, or more for IPv6.
 */
const MAX_SIGNATURES = 1 << 20;
/** Maximum number of ports of a host with the same reply that count as different servers. */
const SAME_ON_PORTS = 100;

/**
 * Kinds of signatures. The kind is the last hashed word of a signature, because signatures of
 * different kinds must not be equal.
 */
const KIND = {
  guid: 1,
  players: 2,
  proxy: 3,
  bridged: 4,
  bridge: 5,
  game: 6,
  beside: 7,
  reply: 8,
};
/** Maximum number of signatures of a row. */
const MAX_OF_ROW = 5;
/**
 * Number of words of a signature: two for the hash that is stored, two for the hash that is
 * searched.
 */
const WORDS = 4;
/** Value of a signature that two or more servers have, in place of a server's number. */
const SEVERAL = -1;

/** The signatures of a scan's rows without their key, as they are passed to another thread. */
export interface AliasState {
  /** For each signature, the number of its server. */
  readonly signatures: DigestTableState;
  /** The endpoint of each server. */
  readonly servers: (number | bigint)[];
  /** For each reply that a host sent on more than one port, the number of ports. */
  readonly repeats: Map<number, number>;
}

/** The signatures of a scan's rows. */
export class Aliases {
  /** For each signature, the number of its server, from 1. */
  readonly #signatures = new DigestTable(MAX_SIGNATURES);
  /** The endpoint of each server, at its number - 1. */
  #servers: (number | bigint)[] = [];
  /** For each reply that a host sent on more than one port, the number of ports. */
  #repeats = new Map<number, number>();
  readonly #digest: AliasDigest;
  /** The signatures of the current row, the strongest first. */
  readonly #row = new Int32Array(WORDS * MAX_OF_ROW);
  /**
   * For each signature of the current row, whether the signature becomes void when a second server
   * has it.
   */
  readonly #unique: boolean[] = Array(MAX_OF_ROW).fill(false);
  #count = 0;
  readonly #allProtocols: readonly Protocol[];
  /** Names of protocols whose servers may use another port than the game. */
  readonly #besideGame: ReadonlySet<string>;
  /** Flags of records whose players are lines of text. */
  readonly #textFlags: ReadonlySet<string>;
  /** Names of protocols whose servers have random GUIDs. */
  readonly #withGuid: ReadonlySet<string>;

  /**
   * Creates the table without rows.
   *
   * @param key 8 secret bytes. A server with access to these bytes could choose colliding
   * signatures.
   * @param allProtocols Every protocol that rows may name.
   */
  constructor(key: Uint8Array, allProtocols: readonly Protocol[]) {
    this.#digest = new AliasDigest(key);
    this.#allProtocols = allProtocols;
    this.#textFlags = new Set(allProtocols.flatMap((one) => one.playersAreTextFlag ?? []));
    const names = (some: readonly Protocol[]) => new Set(some.map(({ name }) => name));
    this.#besideGame = names(allProtocols.filter(({ reportsGamePort }) => reportsGamePort));
    this.#withGuid = names(allProtocols.filter(({ isServerGuid }) => isServerGuid !== undefined));
  }

  /** The signatures so far. */
  get state(): AliasState {
    return {
      signatures: this.#signatures.state,
      servers: this.#servers,
      repeats: this.#repeats,
    };
  }

  /** Sets the signatures to those of another thread with the same key. */
  set state({ signatures, servers, repeats }: AliasState) {
    this.#signatures.state = signatures;
    this.#servers = servers;
    this.#repeats = repeats;
  }

  /**
   * Stores the signatures of a row.
   *
   * @param record The row, classified, with its players.
   * @param endpoint The row's endpoint, different for every row.
   * @returns The `host:port` of the first row that describes the same server, if there was one.
   */
  of(record: ServerRecord, endpoint: Endpoint): string | null {
    const sizeBefore = this.#signatures.size;
    const next = this.#servers.length + 1;
    const host = this.#digest.clear().address(endpoint.address);
    const { low, high } = host;
    this.#gather(record, low, high);
    const known = this.#recognised() || this.#everywhere(record, low, high, next);
    for (let i = 0; i < this.#count; i++) this.#remember(i, known || next);
    if (known !== 0) return formatEndpoint(endpointOfKey(this.#servers[known - 1]));
    if (this.#signatures.size > sizeBefore) this.#servers.push(endpointKey(endpoint));
    return null;
  }

  /**
   * The server of the strongest signature that exactly one server has; 0 when there is no such
   * signature.
   */
  #recognised(): number {
    for (let i = 0; i < this.#count; i++) {
      const server = this.#signatures.get(this.#row[WORDS * i + 2], this.#row[WORDS * i + 3]);
      if (server !== 0 && server !== SEVERAL) return server;
    }
    return 0;
  }

  #remember(i: number, server: number): void {
    const low = this.#row[WORDS * i];
    const high = this.#row[WORDS * i + 1];
    const before = this.#signatures.add(low, high, server);
    if (before !== 0 && before !== server && this.#unique[i]) {
      this.#signatures.set(low, high, SEVERAL);
    }
  }

  /**
   * The server at the first port of a host that sent the same reply on more than 100 ports; 0 for
   * other hosts.
   */
  #everywhere(record: ServerRecord, hostLow: number, hostHigh: number, next: number): number {
    const digest = this.#digest.resume(hostLow, hostHigh).word(record.protocols.length);
    for (const protocol of record.protocols) digest.text(protocol);
    const { low, high } = digest.text(record.software).text(record.motd).text(record.version)
      .text(record.map).number(record.players_max).word(KIND.reply);
    const first = this.#signatures.add(low, high, next);
    if (first === 0) return 0;
    const ports = Math.min((this.#repeats.get(first) ?? 1) + 1, SAME_ON_PORTS + 1);
    this.#repeats.set(first, ports);
    return ports > SAME_ON_PORTS ? first : 0;
  }

  /** Collects the signatures of a row. */
  #gather(record: ServerRecord, hostLow: number, hostHigh: number): void {
    this.#count = 0;
    const digest = this.#digest;
    if (hasOwnGuid(record, this.#allProtocols)) {
      this.#add(
        digest.clear().text(record.guid).text(record.edition).text(record.version),
        KIND.guid,
      );
    }
    const { motd, motd_plain: plain, players_online: online, players_max: max } = record;
    if (listsPlayers(record) && !record.flags.some((flag) => this.#textFlags.has(flag))) {
      digest.resume(hostLow, hostHigh).text(plain).number(online).number(max);
      for (const player of record.players!.toSorted()) digest.text(player);
      this.#add(digest, KIND.players);
    }
    if (!hasOwnMotd(record)) return;
    if (isBusyProxy(record)) {
      digest.resume(hostLow, hostHigh).text(record.software).text(motd).text(record.version);
      this.#add(digest.number(online).number(max).text(record.favicon_hash), KIND.proxy);
    }
    const side = max === null ? undefined : this.#bridgeSide(record);
    if (side !== undefined) {
      const line = bridgedMotd(motd ?? "");
      digest.resume(hostLow, hostHigh).text(line).number(max);
      if (!isDefaultMotd(line)) this.#add(digest, KIND[side], KIND[OTHER_SIDE[side]], true);
    }
    const isBeside = this.#besideGame.has(record.protocol);
    const game = isBeside ? record.port_v4 : record.port;
    if (max === null || online === null || game === null) return;
    if (isBeside && game === record.port) return;
    digest.resume(hostLow, hostHigh).text(plain).number(online).number(max).word(game);
    if (isBeside) this.#add(digest, KIND.beside, KIND.game);
    else this.#add(digest, KIND.game, KIND.beside);
  }

  /**
   * Whether a row may be a bridge (Geyser), or the server behind one. A bridge replies only in a
   * protocol with GUIDs.
   */
  #bridgeSide(record: ServerRecord): BridgeSide | undefined {
    const side = bridgeSide(record);
    const { protocols } = record;
    const isGamePort = protocols.length === 1 && this.#withGuid.has(protocols[0]);
    return side === "bridge" && !isGamePort ? undefined : side;
  }

  /** Adds the digest as a signature of kind `own`, and searches for one of kind `wanted`. */
  #add({ low, high }: AliasDigest, own: number, wanted = own, unique = false): void {
    const at = WORDS * this.#count;
    const digest = this.#digest.resume(low, high).word(own);
    this.#row[at] = digest.low;
    this.#row[at + 1] = digest.high;
    digest.resume(low, high).word(wanted);
    this.#row[at + 2] = digest.low;
    this.#row[at + 3] = digest.high;
    this.#unique[this.#count++] = unique;
  }
}

/** Whether the GUID is a random number of one server. */
function hasOwnGuid(
  { guid }: Pick<ServerRecord, "guid">,
  allProtocols: readonly Protocol[],
): boolean {
  return guid !== null && allProtocols.some((one) => one.isServerGuid?.(guid));
}

/**
 * Whether a record has names of players. A list that is longer than the number of players contains
 * lines of text.
 */
function listsPlayers({ players, players_online: online }: ServerRecord): boolean {
  return players !== null && players.length > 0 && players.length <= (online ?? 0);
}

/**
 * Whether a record is a network's proxy with players. Two such proxies on one host rarely have
 * equal values.
 */
function isBusyProxy({ proxy, players_online: online }: ServerRecord): boolean {
  return !!online && isNetworkProxy(proxy);
}

const OTHER_SIDE = { bridged: "bridge", bridge: "bridged" } as const;

/** Whether a record has a MOTD of its own, and not a default of server software. */
function hasOwnMotd({ motd_plain: motd }: ServerRecord): boolean {
  return motd !== null && motd.length > 3 && !isDefaultMotd(motd);
}
