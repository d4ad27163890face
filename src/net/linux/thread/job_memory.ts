/**
 * The memory of a queue of send jobs, which the main thread and a sender thread share. A job is a
 * block of positions, whose targets the worker computes, or a list of targets.
 *
 * @module
 */
import { MAX_WORDS, type TargetBatch } from "../batch/target_batch.ts";
import type { Template } from "../../socket.ts";

/**
 * How datagrams are sent: messages of an address family, or frames by a packet socket or XDP ring.
 */
export const SEND_METHODS = ["ipv4", "ipv6", "packet", "xdp"] as const;
/** A method of sending, one of {@linkcode SEND_METHODS}. */
export type SendMethod = typeof SEND_METHODS[number];

/** A send job with a list of targets for one socket. */
export interface SendJob {
  /** File descriptor of the socket that sends. */
  readonly socket: number;
  readonly method: SendMethod;
  /** The targets, which the caller still owns. */
  readonly targets: TargetBatch;
  /** The source port of frames. Default: 0, because the system writes the port. */
  readonly port?: number;
}

/** A block of positions to send. */
export interface BlockJob {
  /** The first position, and the number of positions. */
  readonly from: number;
  readonly count: number;
  /** The time of submission, microseconds modulo 2^32 of the clock of stamps. */
  readonly stamp: number;
}

/** A list of targets as it arrives at the worker. */
export interface ArrivedTargets extends Omit<SendJob, "targets"> {
  readonly kind: "targets";
  readonly port: number;
  /** Index of the template. */
  readonly template: number;
  /** Number of targets, and index of their first word in the memory. */
  readonly count: number;
  readonly at: number;
  /** Time since the submission, microseconds. */
  readonly waited: number;
}

/** A block as it arrives at the worker. */
export interface ArrivedBlock extends BlockJob {
  readonly kind: "block";
  /** Time since the submission, microseconds. */
  readonly waited: number;
}

/** Indexes of single words. */
export const AT = {
  /** Number of submitted jobs. */
  submitted: 0,
  /** Number of completed jobs at which the worker wakes the main thread. */
  wakeAt: 1,
  /** Flag that ends blocks, and waits for an interface that is down. */
  cancelled: 2,
  /** What the main thread's clock is ahead of the worker's, microseconds. */
  ahead: 3,
  /** Number of completed jobs; on another cache line, because the worker writes it. */
  completed: 16,
  /**
   * Flag that the worker sleeps. The main thread wakes only a sleeping worker, because each wake-up
   * is expensive.
   */
  workerSleeps: 17,
};
const JOBS = 32;
/** Words of a job. */
const JOB = 16;
/** Indexes of the words of a job. */
export const WORD = {
  /** The kind of job, one of {@linkcode KIND}, and the time of submission, in microseconds. */
  kind: 0,
  submittedAt: 1,
  /** Number of targets or positions. */
  count: 2,
  /** Of a list of targets. */
  socket: 3,
  method: 4,
  template: 5,
  port: 6,
  /** Of a block: the first position, and the time of submission by the clock of stamps. */
  fromLow: 7,
  fromHigh: 8,
  stamp: 9,
  /**
   * Written by the worker: numbers of accepted and of refused datagrams, the error that ended the
   * job, and the number of positions that were left out of a block.
   */
  taken: 10,
  refused: 11,
  errno: 12,
  left: 13,
  /** Number of positions of a block that were visited. */
  visited: 14,
};
/**
 * Kinds of jobs. `message` makes the worker receive a message, for which it has to return to its
 * event loop; `end` ends it.
 */
export const KIND = { end: 0, message: 1, list: 2, block: 3 };
/** Maximum number of jobs in the queue. */
export const DEPTH = 64;
/**
 * Indexes of the counters of refusals and of waits, one for each error number. The counter of number
 * 0 is set when any other is. A counter is set to 0 when it is read. The last counter is also for
 * all higher error numbers.
 */
export const REFUSAL_COUNTERS = JOBS + DEPTH * JOB;
/** Number of counters of errors. */
export const ERRNOS = 256;
/** See {@linkcode REFUSAL_COUNTERS}. */
export const WAITS = REFUSAL_COUNTERS + ERRNOS;
/** Templates, each with the offsets of token and time, its length, and {@linkcode FORM}. */
const TEMPLATES = WAITS + ERRNOS;
/** Maximum number of templates. */
const MAX_TEMPLATES = 32;
const TEMPLATE_WORDS = 512;
/** Bits of a template: the token is text; it is a TCP header. */
const FORM = { text: 1, tcp: 2 };
const BYTES = 4;
const MAX_BYTES = (TEMPLATE_WORDS - BYTES) * 4;
/** The targets of each job, or the positions that were left out of a block. */
const TARGETS = TEMPLATES + MAX_TEMPLATES * TEMPLATE_WORDS;
/** Size of the memory, bytes. */
export const BYTES_OF_QUEUE = (TARGETS + DEPTH * MAX_WORDS) * 4;

/**
 * Writes a template into the memory.
 *
 * @throws RangeError when the datagram is too long, or there are too many templates.
 */
export function writeTemplate(memory: SharedArrayBuffer, number: number, one: Template): void {
  const { template, tokenAt = -1, tokenText = false, clockAt = -1 } = one;
  if (template.length > MAX_BYTES || number >= MAX_TEMPLATES) {
    throw new RangeError("Cannot send: the datagram is too long, or there are too many templates");
  }
  const start = (TEMPLATES + number * TEMPLATE_WORDS) * 4;
  const form = (tokenText ? FORM.text : 0) | (one.transport === "tcp" ? FORM.tcp : 0);
  const words = [tokenAt, clockAt, template.length, form];
  new Int32Array(memory, start, BYTES).set(words);
  new Uint8Array(memory, start + BYTES * 4).set(template);
}

/** A copy of a template in the memory. */
export function templateAt(memory: SharedArrayBuffer, number: number): Template {
  const start = TEMPLATES + number * TEMPLATE_WORDS;
  const [tokenAt, clockAt, length, form] = new Int32Array(memory, start * 4, BYTES);
  return {
    template: new Uint8Array(memory, (start + BYTES) * 4, length).slice(),
    tokenAt,
    tokenText: (form & FORM.text) !== 0,
    clockAt,
    ...(form & FORM.tcp) !== 0 && { transport: "tcp" },
  };
}

/**
 * Wall-clock time, microseconds modulo 2^32. It is equal in all threads, unless the clock was set
 * between their starts.
 */
export function microseconds(): number {
  return Math.floor((performance.timeOrigin + performance.now()) * 1000) % 2 ** 32 | 0;
}

/** Index of the first word of a job. */
export function jobAt(job: number): number {
  return JOBS + (job & DEPTH - 1) * JOB;
}

/** Index of the first target of a job, or of the first position that was left out. */
export function jobTargetsAt(job: number): number {
  return TARGETS + (job & DEPTH - 1) * MAX_WORDS;
}
