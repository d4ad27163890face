/**
 * The queue between the sweep and the interviews. The queue is bounded: while it is full, the sweep
 * sends nothing. Replies that are received meanwhile are still queued; their number is bounded by
 * the number of probes in flight.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import type { Sighting } from "../../core/record.ts";
import type { ProtocolReply } from "../../inspect/mod.ts";
import type { ScanState } from "../setup/scan_state.ts";
import type { ScanTables } from "../tables/scan_tables.ts";
import type { WriteStage } from "../rows/write_stage.ts";
import type { KnownPlan } from "../plan/known_server_plan.ts";

/** Number of unfinished sightings at which the queue is full and the sweep stops sending. */
const CAPACITY = 4096;
/**
 * Number of waiting sightings at which no more replies are read. Unread replies stay in the buffers
 * of the sockets.
 */
const MAX_WAITING = 256;

/** A server that replied. */
export interface Sighted {
  /** The first reply of the server. */
  readonly sighting: Sighting;
  /** The first reply as a part of a record, if it contains a status. */
  readonly firstReply: ProtocolReply | undefined;
  /** Called when the row is written, or when the server gets no row; not after a cancellation. */
  readonly onFinished: () => void;
}

/** A server that was known before the scan. */
export interface KnownSubject {
  readonly endpoint: Endpoint;
  /** The protocols in which the server is queried. */
  readonly plan: KnownPlan;
  /** Called when the row is written, or when the server gets no row; not after a cancellation. */
  readonly onFinished: () => void;
}

/** A server that is to be interviewed. */
export type Subject = Sighted | KnownSubject;

/** Servers that are to be interviewed. */
export class SightingQueue {
  /** The servers of the queue. Those before index `#next` were taken. */
  #subjects: Subject[] = [];
  #next = 0;
  #wake: (() => void) | undefined;
  /** Resolves when few servers are waiting; `undefined` if the receiver does not wait. */
  #readable: PromiseWithResolvers<void> | undefined;
  #idle: (() => void) | undefined;
  #isClosed = false;

  /**
   * Creates an empty queue.
   *
   * @param tables The endpoints that are probed, those that are being interviewed, and the end of
   * the scan.
   * @param rows The write stage, which receives the rows.
   * @param state The state. Its number of inspections is that of the servers that were added and are
   * not finished.
   */
  constructor(
    private readonly tables:
      & Pick<ScanTables, "interviewed" | "stop">
      & { readonly probed: Pick<ScanTables["probed"], "has"> },
    private readonly rows: Pick<WriteStage, "whenFree">,
    private readonly state: Pick<ScanState, "inspecting">,
  ) {
    state.inspecting = 0;
  }

  get #waiting(): number {
    return this.#subjects.length - this.#next;
  }

  /** Whether the queue is full. While it is full, the sweep must not send probes. */
  get isFull(): boolean {
    return this.state.inspecting > CAPACITY || this.rows.whenFree !== undefined ||
      this.tables.stop.interviewSignal.aborted;
  }

  /** While no replies should be read, a promise that settles when they may be read again. */
  get whenReadable(): Promise<void> | undefined {
    if (this.#waiting < MAX_WAITING) return this.rows.whenFree;
    return (this.#readable ??= Promise.withResolvers()).promise;
  }

  /**
   * Adds a server. A known server that is not a target, or has opted out, is finished at once: it may
   * be named in a list that was edited.
   */
  add(subject: Subject): void {
    if ("plan" in subject && !this.tables.probed.has(subject.endpoint)) return subject.onFinished();
    if ("sighting" in subject && !subject.sighting.verified) {
      this.tables.interviewed.add(subject.sighting.endpoint);
    }
    this.state.inspecting++;
    this.#subjects.push(subject);
    this.#wake?.();
  }

  /**
   * Takes the next server, if one waits. The caller must call {@linkcode finish} for this server
   * later.
   */
  take(): Subject | undefined {
    if (this.#waiting === 0) return undefined;
    const subject = this.#subjects[this.#next++];
    if (this.#next === MAX_WAITING || this.#waiting === 0) {
      this.#subjects.splice(0, this.#next); // servers that were taken are removed from memory
      this.#next = 0;
    }
    if (this.#readable !== undefined && this.#waiting < MAX_WAITING) {
      this.#readable.resolve();
      this.#readable = undefined;
    }
    return subject;
  }

  /** Waits until a server can be taken. Resolves to false when the queue is closed. */
  async arrival(): Promise<boolean> {
    if (this.#waiting === 0 && !this.#isClosed) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    return this.#waiting > 0;
  }

  /** Records that a server that was taken is finished, or cancelled. */
  finish(subject: Subject): void {
    if ("sighting" in subject && !subject.sighting.verified) {
      this.tables.interviewed.delete(subject.sighting.endpoint);
    }
    if (--this.state.inspecting === 0) this.#idle?.();
  }

  /** Resolves when all servers are finished. */
  async idle(): Promise<void> {
    if (this.state.inspecting > 0) await new Promise<void>((resolve) => this.#idle = resolve);
  }

  /** Closes the queue: no more servers are added. */
  close(): void {
    this.#isClosed = true;
    this.#wake?.();
  }
}
