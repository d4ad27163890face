/**
 * What a thread is given to send, and what comes of it.
 *
 * @module
 */
import type { Rows } from "../batch/target_batch.ts";
import type { LoadReport } from "./blocking_send.ts";

/** How datagrams leave: messages to a family, or frames through a packet socket or a ring. */
export const WAYS = ["ipv4", "ipv6", "packet", "xdp"] as const;
/** One of them. */
export type Way = typeof WAYS[number];

/** What is handed over. */
export interface Job {
  /** The socket's descriptor. */
  readonly socket: number;
  /** How. */
  readonly way: Way;
  /** To whom; they stay the caller's. */
  readonly rows: Rows;
  /** Our own port, where frames are written. Default: the socket's. */
  readonly port?: number;
}

/** What arrives at the other side. */
export interface ArrivedJob extends Omit<Job, "rows"> {
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
export type SendWork = (job: ArrivedJob, report: LoadReport) => number;

/** What came of a job. */
export interface JobOutcome {
  /** How many the system took. */
  readonly taken: number;
  /** How many were tried: the rest waits for the network. */
  readonly tried: number;
  /** What it waits for, where anything is left. */
  readonly errno: number;
}
