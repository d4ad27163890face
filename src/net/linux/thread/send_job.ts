/**
 * What a thread is given to send, and what comes of it.
 *
 * @module
 */
import type { TargetBatch } from "../batch/target_batch.ts";
import type { SendReport } from "./blocking_send.ts";

/** How datagrams leave: messages to a family, or frames through a packet socket or a ring. */
export const SEND_METHODS = ["ipv4", "ipv6", "packet", "xdp"] as const;
/** One of them. */
export type SendMethod = typeof SEND_METHODS[number];

/** What is handed over. */
export interface SendJob {
  /** The socket's descriptor. */
  readonly socket: number;
  /** How. */
  readonly way: SendMethod;
  /** To whom; they stay the caller's. */
  readonly rows: TargetBatch;
  /** Our own port, where frames are written. Default: the socket's. */
  readonly port?: number;
}

/** What arrives at the other side. */
export interface ArrivedSendJob extends Omit<SendJob, "rows"> {
  readonly port: number;
  /** Which one it is: a rest of it that comes again has the same. */
  readonly id: number;
  /** The number of the datagram. */
  readonly template: number;
  /** How many rows there are, and where in the memory. */
  readonly count: number;
  readonly at: number;
  /** How long they have waited, microseconds. */
  readonly waited: number;
}

/** Sends a job, and tells what was refused or left; returns how many were tried. */
export type SendWork = (job: ArrivedSendJob, report: SendReport) => number;

/** What came of a job. */
export interface SendJobOutcome {
  /** How many the system took. */
  readonly taken: number;
  /** How many were tried: the rest waits for the network. */
  readonly tried: number;
  /** What it waits for, where anything is left. */
  readonly errno: number;
}
