/**
 * Targets for a sender thread, which writes the datagrams itself. Each target is a few numbers,
 * because memory that another core has written is slow to read (measured: two threads that get whole
 * frames send 10 % less).
 *
 * A target, in 32-bit words: address (1 for IPv4, 4 for IPv6), port, token, time.
 *
 * @module
 */
import { Endpoints } from "../../../core/endpoints.ts";
import { isFramed } from "./frame_batch.ts";
import type { AddressesBehindGateway } from "../netlink/routing_table.ts";
import { type Batch, MAX_IN_BATCH, type Template } from "../../socket.ts";

/** Words of an address; {@linkcode OTHER_WORDS} are those of the other fields. */
export const ADDRESS_WORDS: Readonly<Record<4 | 6, number>> = { 4: 1, 6: 4 };
/** See {@linkcode ADDRESS_WORDS}. */
export const OTHER_WORDS = 3;
/** Words of the largest batch. */
export const MAX_WORDS = MAX_IN_BATCH * (ADDRESS_WORDS[6] + OTHER_WORDS);

/** Targets of one address family. */
export class TargetBatch implements Batch {
  length = 0;
  /** The words of all targets. */
  readonly words: Int32Array;
  /** Number of words of one target. */
  readonly size: number;

  /**
   * Allocates the memory.
   *
   * @param template The datagram.
   * @param capacity Maximum number of targets, up to {@linkcode MAX_IN_BATCH}.
   */
  constructor(readonly template: Template, capacity: number, readonly family: 4 | 6) {
    if (capacity > MAX_IN_BATCH) throw new RangeError(`A batch cannot hold ${capacity} targets`);
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
 * Reads targets and adds them to another batch.
 *
 * @param words Memory that contains the targets from index `at` on.
 * @param waited Microseconds to add to the time of each target.
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

/** Targets of frames, and targets of plain datagrams, which are not behind the gateway. */
export class FrameTargetBatch implements Batch {
  readonly framed: TargetBatch;
  readonly plain: TargetBatch;

  /**
   * Allocates the memory.
   *
   * @param behind The addresses that get frames; `undefined`: none, because frames would be too
   * large.
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
    const batch = isFramed(this.behind, targets, i) ? this.framed : this.plain;
    batch.add(targets, i, token, clock);
  }

  clear(): void {
    this.framed.clear();
    this.plain.clear();
  }
}
