/**
 * Datagrams that lie in memory, to be handed to the system in one go.
 *
 * @module
 */
import { type Libc, MSG_DONTWAIT } from "./libc.ts";
import { MMSGHDR } from "./messages.ts";

/** Where they are. */
export interface Load {
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
}

/**
 * Hands the datagrams of a load to the system, from one of them on.
 *
 * @returns How many it took; -1: none, and `errno` says why.
 */
export type Transmit = (load: Load, from: number) => number;

/** A load of messages. */
export function messageLoad(socket: number, at: bigint, count: number): Load {
  return { socket, at, count, length: 0, stride: MMSGHDR };
}

/** Hands messages over with one call. */
export function sendMessages(libc: Libc): Transmit {
  return ({ socket, at, count, stride }, from) => {
    const first = from === 0 ? at : at + BigInt(from * stride);
    return libc.call.sendmmsg(socket, first, count - from, MSG_DONTWAIT);
  };
}
