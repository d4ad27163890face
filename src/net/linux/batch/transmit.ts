/**
 * Datagrams that lie in memory, to be handed to the system in one go.
 *
 * @module
 */
import { type Libc, MSG_DONTWAIT } from "../ffi/libc.ts";
import { MMSGHDR } from "../ffi/mmsghdr.ts";

/** Where they are. */
export interface PreparedBatch {
  /** The socket. */
  readonly socket: number;
  /** The address of the first message or frame. */
  readonly at: bigint;
  /** How many there are. */
  readonly count: number;
  /** Bytes of a frame; 0: they are messages. */
  readonly length: number;
  /** Bytes from one to the next. */
  readonly stride: number;
  /** Whether they wait as long as there is no room for them; else they count as refused one day. */
  readonly waitsForSpace: boolean;
}

/**
 * Hands the datagrams of a load to the system, from one of them on.
 *
 * @returns How many it took; an error's number, negative, when none.
 */
export type Transmit = (load: PreparedBatch, from: number) => number;

/** A load of messages. */
export function preparedMessages(
  socket: number,
  at: bigint,
  count: number,
  waitsForSpace = false,
): PreparedBatch {
  return { socket, at, count, length: 0, stride: MMSGHDR, waitsForSpace };
}

/** Hands messages over with one call. */
export function sendMessages(libc: Libc): Transmit {
  return ({ socket, at, count, stride }, from) => {
    const first = from === 0 ? at : at + BigInt(from * stride);
    const taken = libc.call.sendmmsg(socket, first, count - from, MSG_DONTWAIT);
    return taken > 0 ? taken : -libc.errno();
  };
}
