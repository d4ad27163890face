/**
 * The target addresses by network: the /20s and /24s that contain targets.
 *
 * @module
 */
import { bitCount } from "./bit_sets.ts";
import { lastNotAbove, type RangeSet } from "../../targets/ranges.ts";

/** An index of IPv4 targets: only /20s that contain a target take memory. */
export class Universe {
  /** Number of target addresses. */
  readonly size: number;
  /** The /20s that contain targets, as address / 4096, ascending. */
  readonly blocks: Uint32Array;
  /** For each /20, the /24s that contain targets: bit i stands for its /24 number i. */
  readonly networks: Uint16Array;
  /** For each /20, the number of its targets. */
  readonly members: Uint16Array;
  readonly #starts: Uint32Array;
  /** The last address of each range. */
  readonly #lasts: Uint32Array;

  /** Indexes a set of addresses. */
  constructor(addresses: RangeSet<number>) {
    this.size = Number(addresses.size);
    this.#starts = new Uint32Array(addresses.length);
    this.#lasts = new Uint32Array(addresses.length);
    let i = 0;
    for (const { start, end } of addresses) {
      this.#starts[i] = start;
      this.#lasts[i++] = end - 1;
    }
    this.blocks = new Uint32Array(this.#countBlocks());
    this.networks = new Uint16Array(this.blocks.length);
    this.members = new Uint16Array(this.blocks.length);
    this.#index();
  }

  /** Memory of the index, bytes. */
  get bytes(): number {
    return this.#starts.byteLength * 2 + this.blocks.byteLength * 2;
  }

  /** The index of a /20; -1: it contains no target. */
  indexOf(block: number): number {
    const index = lastNotAbove(this.blocks, block);
    return index >= 0 && this.blocks[index] === block ? index : -1;
  }

  /** Whether an address is a target. */
  has(address: number): boolean {
    const range = lastNotAbove(this.#starts, address);
    return range >= 0 && address <= this.#lasts[range];
  }

  /**
   * Writes the targets of a /24 as 256 bits.
   *
   * @returns Their number.
   */
  membersOf(network: number, bits: Uint32Array): number {
    bits.fill(0);
    const first = network * 256;
    let count = 0;
    let range = Math.max(0, lastNotAbove(this.#starts, first));
    for (; range < this.#starts.length && this.#starts[range] < first + 256; range++) {
      const start = Math.max(this.#starts[range], first) - first;
      const last = Math.min(this.#lasts[range], first + 255) - first;
      if (last < start) continue;
      if (last - start === 255) bits.fill(0xffffffff);
      else for (let octet = start; octet <= last; octet++) bits[octet >> 5] |= 1 << (octet & 31);
      count += last - start + 1;
    }
    return count;
  }

  /** Number of different /20s in the ranges. */
  #countBlocks(): number {
    let [count, before] = [0, -1];
    for (let i = 0; i < this.#starts.length; i++) {
      const first = Math.max(before + 1, Math.floor(this.#starts[i] / 4096));
      const last = Math.floor(this.#lasts[i] / 4096);
      if (last >= first) count += last - first + 1;
      before = last;
    }
    return count;
  }

  #index(): void {
    let at = -1;
    for (let i = 0; i < this.#starts.length; i++) {
      let address = this.#starts[i];
      const last = this.#lasts[i];
      while (address <= last) {
        const network = Math.floor(address / 256);
        const block = network >>> 4;
        if (at < 0 || this.blocks[at] !== block) this.blocks[++at] = block;
        const end = Math.min(last, network * 256 + 255);
        this.networks[at] |= 1 << (network & 15);
        this.members[at] += end - address + 1;
        address = end + 1;
      }
    }
  }
}

/** Whether some /24 of a /20 contains addresses that are not targets. */
export function isPartial(networks: number, members: number): boolean {
  return members !== bitCount(networks) * 256;
}
