/**
 * Sending a load to its end, on a thread that has nothing else to do.
 *
 * @module
 */
import { EAGAIN, EINTR, isFull, isLost, type Libc, POLLOUT } from "../ffi/libc.ts";
import type { PreparedBatch, Transmit } from "../batch/transmit.ts";

/** How long the system may have no room for what we send before it counts as refused. */
const MOST_WAITS = 1000;
const WAIT_MS = 1;

/** What keeps datagrams of a load from leaving. */
export interface SendReport {
  /** The system does not take one. */
  refuse(errno: number): void;
  /** The rest waits for better times. */
  stop(errno: number): void;
}

/**
 * Sends datagrams, waiting where there is no room for them, until the network is gone.
 *
 * @returns How many were tried.
 */
export function sendAll(
  libc: Libc,
  transmit: Transmit,
  load: PreparedBatch,
  { refuse, stop }: SendReport,
): number {
  let at = 0;
  for (let waits = 0; at < load.count;) {
    const taken = transmit(load, at);
    if (taken > 0) {
      at += taken;
      continue;
    }
    // Of a batch that breaks off, the error is told by the call that begins with its cause.
    const errno = -taken;
    if (isFull(errno) && waits++ < MOST_WAITS) {
      const wanted = Int32Array.of(errno === EAGAIN ? load.socket : -1, POLLOUT);
      libc.call.pollHere(wanted, 1n, WAIT_MS);
    } else if (isLost(errno) || load.waitsForSpace && isFull(errno)) {
      stop(errno);
      break;
    } else if (errno !== EINTR) {
      refuse(errno);
      at++;
    }
  }
  return at;
}
