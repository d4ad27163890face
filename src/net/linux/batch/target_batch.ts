/**
 * Targets on their way to a thread that writes the datagrams itself: each is a few numbers, for what
 * one core has written, another reads slowly (measured: two threads that get whole frames send a tenth
 * less).
 *
 * A row, in words of 32 bits: the address, 1 for IPv4 and 4 for IPv6; the port; the token; the time.
 *
 * @module
 */
import { Endpoints } from "../../../core/endpoints.ts";
import { isFramed } from "./frame_batch.ts";
import type { AddressesBehindGateway } from "../netlink/routing_table.ts";
import { type Batch, MOST_IN_BATCH, type Template } from "../../socket.ts";

/** Words of an address, and of a row behind it. */
const ADDRESS_WORDS: Readonly<Record<4 | 6, number>> = { 4: 1, 6: 4 };
const OTHER_WORDS = 3;
/** Words of the largest batch. */
export const MOST_WORDS = MOST_IN_BATCH * (ADDRESS_WORDS[6] + OTHER_WORDS);

/** Rows of one family. */
export class TargetBatch implements Batch {
  length = 0;
  /** They themselves. */
  readonly words: Int32Array;
  /** Words of each. */
  readonly size: number;

  /**
   * Reserves the memory.
   *
   * @param template The datagram.
   * @param capacity How many rows fit in.
   */
  constructor(readonly template: Template, capacity: number, readonly family: 4 | 6) {
    if (capacity > MOST_IN_BATCH) throw new RangeError(`No batch has room for ${capacity} targets`);
    this.size = ADDRESS_WORDS[family] + OTHER_WORDS;
    this.words = new Int32Array(capacity * this.size);
  }

  add(targets: Endpoints, i: number, token: number, clock: number): void {
    const { words } = this;
    let at = this.length++ * this.size;
    if (this.family === 4) words[at++] = targets.ipv4[i];
    else {
      for (let shift = 96n; shift >= 0n; shift -= 32n) {
        words[at++] = Number(BigInt.asIntN(32, targets.ipv6[i]! >> shift));
      }
    }
    words[at] = targets.ports[i];
    words[at + 1] = token;
    words[at + 2] = clock;
  }

  clear(): void {
    this.length = 0;
  }
}

const one = new Endpoints(1);

/**
 * Reads rows back, into another batch.
 *
 * @param words Memory that holds them from `at` on.
 * @param waited How much later it is than the time that they say, microseconds.
 */
export function readTargets(
  words: Int32Array,
  at: number,
  count: number,
  family: 4 | 6,
  waited: number,
  into: Batch,
): void {
  for (let i = 0; i < count; i++) {
    if (family === 4) {
      one.ipv4[0] = words[at++];
      one.ipv6[0] = undefined;
    } else {
      let address = 0n;
      for (let j = 0; j < 4; j++) address = address << 32n | BigInt(words[at++] >>> 0);
      one.ipv6[0] = address;
    }
    one.ports[0] = words[at];
    into.add(one, 0, words[at + 1], words[at + 2] + waited);
    at += OTHER_WORDS;
  }
}

/** Rows for frames, and for datagrams to those who are not behind the gateway. */
export class FrameTargetBatch implements Batch {
  readonly framed: TargetBatch;
  readonly plain: TargetBatch;

  /**
   * Reserves the memory.
   *
   * @param behind Who gets frames; `undefined`: nobody, for they would be too large.
   */
  constructor(
    private readonly behind: AddressesBehindGateway | undefined,
    template: Template,
    capacity: number,
  ) {
    this.framed = new TargetBatch(template, capacity, 4);
    this.plain = new TargetBatch(template, capacity, 4);
  }

  get length(): number {
    return this.framed.length + this.plain.length;
  }

  add(targets: Endpoints, i: number, token: number, clock: number): void {
    const rows = isFramed(this.behind, targets, i) ? this.framed : this.plain;
    rows.add(targets, i, token, clock);
  }

  clear(): void {
    this.framed.clear();
    this.plain.clear();
  }
}
