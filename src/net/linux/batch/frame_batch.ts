/**
 * A batch of frames for targets behind the gateway, and of plain datagrams for other targets.
 * Frames fill the slots from the front. Plain datagrams fill them from the back and use only the
 * payload, because the system writes their headers.
 *
 * @module
 */
import type { Endpoints } from "../../../core/endpoints.ts";
import { EthernetFrames, FRAME, type FrameAddresses, frameSize } from "./ethernet_frames.ts";
import type { PreparedBatch } from "./transmit.ts";
import { addressOf, MessageHeaders, writeSockaddr } from "../ffi/mmsghdr.ts";
import { AddressesBehindGateway, type AddressRange } from "../netlink/routing_table.ts";
import { type Batch, Stamp, type Template } from "../../socket.ts";

/** Size of the Ethernet header, which the MTU does not include, bytes. */
const ETHERNET = 14;

/** The route of frames: their addresses, MTU and the targets behind the gateway. */
export interface FrameRoute extends FrameAddresses {
  /** Largest IP datagram in a frame, bytes. */
  readonly mtu: number;
  /** The targets behind the gateway, ascending. */
  readonly ranges: readonly AddressRange[];
}

/**
 * The addresses that get frames with a datagram; `undefined`: none, because frames would be too
 * large.
 */
export function framedAddresses(
  { ranges, mtu }: FrameRoute,
  of: Template,
): AddressesBehindGateway | undefined {
  const fits = frameSize(of) <= mtu + ETHERNET;
  return fits ? new AddressesBehindGateway(ranges) : undefined;
}

/**
 * Whether a target gets a frame. Targets with port 0 get none: the system has to refuse them, as it
 * does without frames.
 */
export function isFramed(
  behind: AddressesBehindGateway | undefined,
  targets: Endpoints,
  i: number,
): boolean {
  return behind?.has(targets, i) === true && targets.ports[i] !== 0;
}

/**
 * A batch for a socket of the engines that write frames. Copies of a TCP header are only frames: the
 * targets of plain ones belong to another socket.
 */
export class FrameBatch implements Batch {
  readonly frames: EthernetFrames;
  /** The message headers of the frames. */
  readonly framed: MessageHeaders;
  /** The message headers of the plain datagrams. */
  readonly plain: MessageHeaders;
  /** Number of frames, and number of plain datagrams. */
  framedCount = 0;
  plainCount = 0;
  readonly #address: bigint;
  readonly #behind: AddressesBehindGateway | undefined;
  readonly #stamp: Stamp;

  /**
   * Creates the copies.
   *
   * @param behind The addresses that get frames; `undefined`: none, because frames would be too
   * large.
   */
  constructor(
    ends: FrameAddresses,
    behind: AddressesBehindGateway | undefined,
    of: Template,
    private readonly capacity: number,
  ) {
    const { template } = of;
    this.#behind = behind;
    this.#stamp = new Stamp(of);
    this.frames = new EthernetFrames(ends, of, capacity);
    this.#address = addressOf(this.frames.bytes);
    const { slot, length, content } = this.frames;
    const slotAt = (i: number) => this.#address + BigInt(i * slot);
    this.framed = new MessageHeaders({
      count: capacity,
      family: undefined,
      payload: length,
      elsewhere: (i) => slotAt(i) + BigInt(FRAME),
    });
    this.plain = new MessageHeaders({
      count: capacity,
      family: 4,
      payload: template.length,
      elsewhere: (i) => slotAt(capacity - 1 - i) + BigInt(content),
    });
  }

  get length(): number {
    return this.framedCount + this.plainCount;
  }

  add(targets: Endpoints, i: number, token: number, clock: number): void {
    const { frames, plain } = this;
    if (isFramed(this.#behind, targets, i)) {
      frames.write(this.framedCount++, targets, i, token, clock);
    } else {
      const index = this.plainCount++;
      writeSockaddr(plain.view, plain.name(index), targets, i);
      const at = (this.capacity - 1 - index) * frames.slot + frames.content;
      this.#stamp.write(frames.view, at, token, clock);
    }
  }

  /** Adds frames to the targets at some indexes of a list, with their tokens. */
  addSelected(targets: Endpoints, indexes: Uint16Array, tokens: Int32Array, clock: number): void {
    const { frames } = this;
    let slot = this.framedCount;
    for (let k = 0; k < indexes.length; k++) {
      frames.write(slot++, targets, indexes[k], tokens[indexes[k]], clock);
    }
    this.framedCount = slot;
  }

  /** The frames as a prepared batch for a ring. */
  frameLoad(socket: number): PreparedBatch {
    const { length, slot: stride } = this.frames;
    return {
      socket,
      at: this.#address,
      count: this.framedCount,
      length,
      stride,
      waitsForSpace: true,
    };
  }

  clear(): void {
    this.framedCount = this.plainCount = 0;
  }
}
