/**
 * The servers found on the local networks. A server without new datagrams expires.
 *
 * @module
 */
import { type Address, compareHosts, family } from "../../core/address.ts";
import type { ServerRecord } from "../../core/record.ts";
import { BEDROCK_PORTS, isServerGuid } from "../../protocols/raknet/mod.ts";

/**
 * Maximum numbers of servers, in all and per address. Without the second limit, one host could fill
 * the memory with servers on many ports.
 */
const MAX_SERVERS = 4096;
const MAX_OF_ADDRESS = 32;

/** One server, listed or not yet confirmed by an interview. */
export interface FoundServer {
  /** Unique key: the endpoint as text, or the NetherNet id. */
  key: string;
  /** The key before {@linkcode FoundServers.join}. */
  earlierKey?: string;
  /** Source address of the server's first datagram. */
  readonly address: Address;
  /** How long the server stays listed without a new datagram, milliseconds. */
  readonly lifetimeMs: number;
  /** When the last valid datagram arrived, milliseconds of the clock. */
  seenAt: number;
  /** When the last interview began, milliseconds of the clock. */
  interviewedAt: number;
  isInterviewed: boolean;
  /** When the last interview began whose record was reported, milliseconds of the clock. */
  reportedAt: number;
  /** The server's record; `undefined` before the first interview has ended. */
  row: ServerRecord | undefined;
  /** The server's identity, if another listed server already has the same identity. */
  doubleOf: string | undefined;
}

export interface Listed {
  /** The server's record from its last interview. */
  readonly row: ServerRecord;
  /** When the last valid datagram arrived, milliseconds of the clock. */
  readonly seenAt: number;
}

/**
 * The servers of the local networks. {@linkcode discover} fills the list; displays read it.
 *
 * @example
 * ```ts
 * import { emptyRecord } from "blocksweep/records";
 * import { assertEquals } from "@std/assert";
 *
 * const servers = new FoundServers();
 * const [address, now] = [0xc0a8010a, 1000];
 * const server = servers.getOrAdd("192.168.1.10:19132", address, 15_000, now)!;
 * servers.list(server, emptyRecord({ address, port: 19132 }, 0));
 * assertEquals(servers.listed().map(({ row }) => row.host), ["192.168.1.10"]);
 * servers.forget(now + 15_000);
 * assertEquals(servers.listed(), []);
 * ```
 */
export class FoundServers {
  readonly #all = new Map<string, FoundServer>();
  /** The keys that servers have got in place of others. */
  readonly #joined = new Map<string, string>();
  readonly #ofAddress = new Map<Address, number>();
  /** The listed server with each identity. */
  readonly #holders = new Map<string, FoundServer>();
  /** Addresses that opted out, in the order of their opt-outs. */
  readonly #optedOut = new Set<Address>();

  /**
   * Returns the server with a key, and adds it if it is new.
   *
   * @returns `undefined` when the limits allow no further server.
   */
  getOrAdd(
    key: string,
    address: Address,
    lifetimeMs: number,
    now: number,
  ): FoundServer | undefined {
    const known = this.#all.get(this.#joined.get(key) ?? key);
    if (known !== undefined) return known;
    const ofAddress = this.#ofAddress.get(address) ?? 0;
    if (this.#all.size >= MAX_SERVERS || ofAddress >= MAX_OF_ADDRESS) return undefined;
    const server = {
      key,
      address,
      lifetimeMs,
      seenAt: now,
      interviewedAt: -Infinity,
      isInterviewed: false,
      reportedAt: -Infinity,
      row: undefined,
      doubleOf: undefined,
    };
    this.#all.set(key, server);
    this.#ofAddress.set(address, ofAddress + 1);
    return server;
  }

  /**
   * Gives a server another key. If there is a server with that key, the two are one: it stays, and the
   * first one is removed.
   *
   * @returns The server with the key.
   */
  join(server: FoundServer, key: string): FoundServer {
    if (server.key === key || !this.#all.has(server.key)) return server;
    const { key: earlierKey } = server;
    const other = this.#all.get(key);
    if (other === undefined) this.#all.delete(earlierKey);
    else this.#remove(server);
    const stays = other ?? server;
    if (stays.earlierKey !== undefined) this.#joined.delete(stays.earlierKey);
    [stays.key, stays.earlierKey] = [key, earlierKey];
    this.#all.set(key, stays);
    this.#joined.set(earlierKey, key);
    return stays;
  }

  /** Stores a server's record, unless the server is listed at another address. */
  list(server: FoundServer, row: ServerRecord): boolean {
    const identity = identityOf(row, server.address);
    this.#release(server); // the server may have restarted with another identity
    const isDouble = identity !== undefined && this.#holders.has(identity);
    server.doubleOf = isDouble ? identity : undefined;
    server.row = isDouble ? undefined : row;
    if (identity !== undefined && !isDouble) this.#holders.set(identity, server);
    return !isDouble;
  }

  /** Removes all servers of an address that opted out from the list. */
  optOut(address: Address): void {
    for (const server of this.#all.values()) {
      if (server.address === address) this.#remove(server);
    }
    this.#optedOut.add(address);
    if (this.#optedOut.size <= MAX_SERVERS) return;
    const [oldest] = this.#optedOut; // the next reply of this address contains the opt-out again
    this.#optedOut.delete(oldest);
  }

  hasOptedOut(address: Address): boolean {
    return this.#optedOut.has(address);
  }

  /** Frees the identity of a listed server. Another server may then be listed with it. */
  #release({ row, address }: FoundServer): void {
    const identity = row && identityOf(row, address);
    if (identity !== undefined) this.#holders.delete(identity);
  }

  /**
   * Whether no interview is needed: an interview is in progress, or the server is listed at another
   * address.
   */
  isSettled({ doubleOf, isInterviewed }: FoundServer): boolean {
    return isInterviewed || doubleOf !== undefined && this.#holders.has(doubleOf);
  }

  /** Removes the servers whose lifetime has passed without a datagram. */
  forget(now: number): void {
    for (const server of this.#all.values()) {
      if (now - server.seenAt >= server.lifetimeMs) this.#remove(server);
    }
  }

  #remove(server: FoundServer): void {
    const { key, earlierKey, address } = server;
    this.#all.delete(key);
    if (earlierKey !== undefined) this.#joined.delete(earlierKey);
    const left = this.#ofAddress.get(address)! - 1;
    if (left > 0) this.#ofAddress.set(address, left);
    else this.#ofAddress.delete(address);
    this.#release(server);
  }

  /** The servers with a row, sorted by address and port. */
  listed(): Listed[] {
    return [...this.#all.values()]
      .filter((server): server is FoundServer & Listed => server.row !== undefined)
      .map(({ row, seenAt }) => ({ row, seenAt }))
      .sort((a, b) => compareHosts(a.row.host, b.row.host) || a.row.port - b.row.port);
  }
}

/**
 * The identity of a server: GUID, MOTD and port. A server replies once for each interface of this
 * machine, and over IPv4 and IPv6; rows with the same identity describe one server. A GUID alone is
 * not enough: some software has a constant GUID, and a GUID can be copied. `undefined` for a row
 * without a GUID.
 */
function identityOf(row: ServerRecord, address: Address): string | undefined {
  const { guid, motd, port, port_v4, port_v6 } = row;
  if (guid === null || !isServerGuid(guid)) return undefined;
  const isPort6 = family(address) === 6 && port === (port_v6 ?? BEDROCK_PORTS[6]);
  return JSON.stringify([guid, motd, isPort6 ? port_v4 ?? BEDROCK_PORTS[4] : port]);
}
