/**
 * Sends a whole batch on a sender thread, where calls may block.
 *
 * @module
 */
import { EAGAIN, EINTR, isFull, isLost, type Libc, POLLOUT } from "../ffi/libc.ts";
import type { PreparedBatch, Transmit } from "../batch/transmit.ts";

/**
 * Maximum number of waits for send buffer space in one batch, and the length of each. Later
 * datagrams are refused.
 */
const MAX_WAITS = 1000;
const WAIT_MS = 1;

/** Callbacks for datagrams of a batch that were not sent. */
export interface SendReport {
  /** The system refused one datagram. */
  refuse(errno: number): void;
  /** Sending stopped, because the interface is down, full or gone. */
  stop(errno: number): void;
}

/**
 * Sends datagrams, and waits for send buffer space, until the end of the batch or until the
 * interface is down or gone.
 *
 * @returns Number of datagrams that were tried.
 */
export function sendAll(
  libc: Libc,
  transmit: Transmit,
  batch: PreparedBatch,
  { refuse, stop }: SendReport,
): number {
  let at = 0;
  for (let waits = 0; at < batch.count;) {
    const accepted = transmit(batch, at);
    if (accepted > 0) {
      at += accepted;
      continue;
    }
    // A call that sends a part of a batch returns no error; the next call returns it.
    const errno = -accepted;
    if (isFull(errno) && waits++ < MAX_WAITS) {
      const wanted = Int32Array.of(errno === EAGAIN ? batch.socket : -1, POLLOUT);
      libc.call.pollHere(wanted, 1n, WAIT_MS);
    } else if (isLost(errno) || batch.waitsForSpace && isFull(errno)) {
      stop(errno);
      break;
    } else if (errno !== EINTR) {
      refuse(errno);
      at++;
    }
  }
  return at;
}
