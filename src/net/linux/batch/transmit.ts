/**
 * Datagrams or frames in memory that one system call sends.
 *
 * @module
 */
import { type Libc, MSG_DONTWAIT } from "../ffi/libc.ts";
import { MMSGHDR } from "../ffi/mmsghdr.ts";

/** A batch in memory, ready to be sent. */
export interface PreparedBatch {
  /** File descriptor of the socket that sends. */
  readonly socket: number;
  /** The address of the first message or frame. */
  readonly at: bigint;
  /** Number of messages or frames. */
  readonly count: number;
  /** Size of a frame, bytes; 0: the batch contains messages. */
  readonly length: number;
  /** Bytes from the start of one message or frame to the next. */
  readonly stride: number;
  /**
   * Whether to wait for send buffer space without limit. If not, datagrams finally count as
   * refused.
   */
  readonly waitsForSpace: boolean;
}

/**
 * Passes the datagrams of a batch to the system, from index `from` on.
 *
 * @returns Number of datagrams that the system accepted; the negative error number if none.
 */
export type Transmit = (batch: PreparedBatch, from: number) => number;

/** Describes a batch of messages. */
export function preparedMessages(
  socket: number,
  at: bigint,
  count: number,
  waitsForSpace = false,
): PreparedBatch {
  return { socket, at, count, length: 0, stride: MMSGHDR, waitsForSpace };
}

/** Returns a function that sends messages with one `sendmmsg` call. */
export function sendMessages(libc: Libc): Transmit {
  return ({ socket, at, count, stride }, from) => {
    const first = from === 0 ? at : at + BigInt(from * stride);
    const accepted = libc.call.sendmmsg(socket, first, count - from, MSG_DONTWAIT);
    return accepted > 0 ? accepted : -libc.errno();
  };
}
