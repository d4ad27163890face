/**
 * The /24s in which a server was found or was known before.
 *
 * @module
 */
import { grown, Rows, Slots } from "./slots.ts";

/** Number of ranks in a slice of a /24 on one port. */
export const SLICE = 64;
/** Slices of a port that contain each address of a /24 once. */
export const SLICES = 4;
/** Ranks of the default port that contain each address once; those above are second probes. */
export const ALL_RANKS = 256;
/** Largest number of servers that is counted for a port other than the default port. */
const MAX_COUNT = 15;

/** A table of hot /24s. */
export class HotNetworks {
  /** Each network, as address / 256. */
  networks = new Uint32Array(0);
  /**
   * How many ranks of the default port were probed: up to 256, and above that the ranks whose
   * unresponsive addresses were probed again, up to 512.
   */
  tried = new Uint16Array(0);
  /** Servers on the default port. */
  finds = new Uint16Array(0);
  /** Known servers on the default port. */
  known = new Uint8Array(0);
  /** Servers on other ports. */
  others = new Uint16Array(0);
  /** Servers that probes of columns found. */
  columnFinds = new Uint16Array(0);
  /** Probes of columns, each with the weight of its port. */
  exposure = new Float64Array(0);
  /** Planned probes in all passes. */
  spent = new Uint32Array(0);
  /** Number of targets, at most 256. */
  members = new Uint16Array(0);
  /** 1: the network is not probed any more. */
  ended = new Uint8Array(0);
  /** The first host of the network, plus one; 0: none. */
  firstHost = new Uint32Array(0);
  /** For each port, the probed slices in the lower four bits, and the servers in the upper four. */
  readonly ports: Rows<Uint8Array>;
  readonly #slots = new Slots((row) => this.networks[row]);
  #length = 0;

  /**
   * Creates an empty table.
   *
   * @param ports Number of ports.
   */
  constructor(ports: number) {
    this.ports = new Rows(ports, (length) => new Uint8Array(length));
  }

  /** Number of hot /24s. */
  get length(): number {
    return this.#length;
  }

  /** Memory of the table, bytes. */
  get bytes(): number {
    return 32 * this.networks.length + this.ports.bytes + this.#slots.bytes;
  }

  /** The row of a /24; -1: it is not hot. */
  find(network: number): number {
    return this.#slots.find(network);
  }

  /**
   * Adds a /24.
   *
   * @returns Its row.
   */
  add(network: number, members: number, tried: number, spent: number): number {
    const row = this.#length++;
    if (row === this.networks.length) this.#grow(row + 1);
    this.networks[row] = network;
    this.members[row] = members;
    this.tried[row] = tried;
    this.spent[row] = spent;
    this.#slots.add(network);
    return row;
  }

  /** The slices of a port that were probed: up to 4, and up to 8 those probed again. */
  slices(row: number, port: number): number {
    return this.ports.chunk(row)[this.ports.start(row) + port] & 15;
  }

  /** Ends slices of a port. */
  addSlices(row: number, port: number, slices: number): void {
    this.ports.chunk(row)[this.ports.start(row) + port] += slices;
  }

  /** Sets the number of servers on a port; larger numbers count as 15. */
  setCount(row: number, port: number, count: number): void {
    const at = this.ports.start(row) + port;
    const chunk = this.ports.chunk(row);
    chunk[at] = chunk[at] & 15 | Math.min(count, MAX_COUNT) << 4;
  }

  /** Counts a server on a port. */
  addCount(row: number, port: number): void {
    this.setCount(row, port, 1 + (this.ports.chunk(row)[this.ports.start(row) + port] >>> 4));
  }

  /** The ranks of a port that were probed at least once. */
  probedRanks(row: number, port: number): number {
    return port === 0
      ? Math.min(this.tried[row], ALL_RANKS)
      : Math.min(this.slices(row, port), SLICES) * SLICE;
  }

  #grow(length: number): void {
    this.networks = grown(this.networks, length);
    this.tried = grown(this.tried, length);
    this.finds = grown(this.finds, length);
    this.known = grown(this.known, length);
    this.others = grown(this.others, length);
    this.columnFinds = grown(this.columnFinds, length);
    this.exposure = grown(this.exposure, length);
    this.spent = grown(this.spent, length);
    this.members = grown(this.members, length);
    this.ended = grown(this.ended, length);
    this.firstHost = grown(this.firstHost, length);
  }
}
