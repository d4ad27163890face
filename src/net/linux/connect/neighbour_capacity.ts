/**
 * The capacity for addresses of the link in the system's table of neighbours (ARP, NDP). Of a connection to
 * an address of the link that is not in a full table, the system drops the SYN packet without an error.
 * An address that nobody has stays in the table for some seconds.
 *
 * @module
 */
import type { Libc } from "../ffi/libc.ts";
import { requestNetlink } from "../netlink/netlink_request.ts";
import { encodeNeighbourTableRequest, type NeighbourTable } from "../netlink/rtnetlink.ts";

/**
 * The share of the table that connections may fill quickly. Linux keeps 1,024 entries, each for three to
 * five seconds or more: connections to 4,093 addresses of a link then took 25 s, and none was lost. At 1,000/s
 * without this limit, half of them were.
 */
const SHARE = 1 / 2;
/** Fewer free entries in this share count as none. */
const MIN_FREE = 32;
/** Number of connections between two readings of a full table to which they add nothing. */
const BEHIND_GATEWAYS = 512;
/** Number of connections in each time of {@linkcode PAUSE_MS} that add entries to a full table. */
const TRICKLE = 16;
/** See {@linkcode TRICKLE}; milliseconds. */
export const PAUSE_MS = 100;
/** Connections that add fewer entries than this share of their number lead to gateways. */
const GROWTH = 1 / 8;

/** Limits how many connections begin while they fill the table. */
export class NeighbourCapacity {
  /** Number of connections that may begin before the table is read again, and when they were allowed. */
  #left = 0;
  #allowed = 0;
  /** Number of entries that were added until the last reading. */
  #added = 0;
  /** The time from which on the table may be read, milliseconds. */
  #readFrom = -Infinity;

  /**
   * Creates the limit.
   *
   * @param read Reads the table; `undefined`: the system does not report it.
   */
  constructor(private readonly read: () => NeighbourTable | undefined) {}

  /** Whether another connection may begin at a time, milliseconds. If not, one may {@linkcode PAUSE_MS} later. */
  has(now: number): boolean {
    if (this.#left > 0) return true;
    if (now < this.#readFrom) return false;
    this.#left = this.#allowed = this.#next(now);
    return true;
  }

  /** Counts a connection that began. */
  use(): void {
    this.#left--;
  }

  /** Number of the next connections, at least one. */
  #next(now: number): number {
    const table = this.read();
    if (table === undefined) return Infinity;
    const added = table.added - this.#added >>> 0;
    this.#added = table.added;
    const free = Math.floor(table.capacity * SHARE) - table.entries;
    if (free >= MIN_FREE) return free;
    if (added < this.#allowed * GROWTH) return BEHIND_GATEWAYS;
    this.#readFrom = now + PAUSE_MS;
    return TRICKLE;
  }
}

/** Reads the table of a family; `undefined`: the system does not report it. */
export function readNeighbourTable(libc: Libc, family: 4 | 6): NeighbourTable | undefined {
  try {
    const replies = requestNetlink(libc, encodeNeighbourTableRequest(family));
    return replies.find((reply) => reply !== "done" && "neighbours" in reply)?.neighbours;
  } catch {
    return undefined;
  }
}
