/**
 * Sends a batch on a sender thread, where calls may block.
 *
 * @module
 */
import { EAGAIN, EINTR, ENETDOWN, isFull, isLost, type Libc, POLLOUT } from "../ffi/libc.ts";
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
  /**
   * The interface is down or accepts nothing: waits a while. Returns whether to try again; `false`:
   * the job is cancelled.
   */
  wait(errno: number): boolean;
  /** The job ends with an error: the interface is gone, or the job is cancelled. */
  fail(errno: number): void;
}

/** The outcome of {@linkcode sendOnce}. */
export interface SendOutcome {
  /** Number of datagrams that were tried. */
  readonly tried: number;
  /** Whether the job goes on: all were tried, or the interface was down and the rest is due. */
  readonly goesOn: boolean;
}

/**
 * Sends datagrams, and waits for send buffer space. It returns early after a wait for an interface
 * that is down: the caller writes the rest again, with new times.
 */
export function sendOnce(
  libc: Libc,
  transmit: Transmit,
  batch: PreparedBatch,
  report: SendReport,
): SendOutcome {
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
      if ((errno === ENETDOWN || isFull(errno)) && report.wait(errno)) {
        return { tried: at, goesOn: true };
      }
      report.fail(errno);
      return { tried: at, goesOn: false };
    } else if (errno !== EINTR) {
      report.refuse(errno);
      at++;
    }
  }
  return { tried: at, goesOn: true };
}
