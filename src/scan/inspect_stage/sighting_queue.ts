/**
 * The queue between the sweep and the interviews. It is bounded: while it is full, the sweep sends
 * nothing. Replies that come meanwhile are not dropped: there are no more than probes in flight.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import type { Sighting } from "../../core/record.ts";
import type { ScanState } from "../scan_state.ts";
import type { ScanTables } from "../scan_tables.ts";
import type { WriteStage } from "../write_stage.ts";
import type { KnownPlan } from "./known_server_plan.ts";

/** Sightings that are not finished, from which on the queue is full: the sweep sends nothing. */
const CAPACITY = 4096;
/** Sightings that were not taken, from which on no replies are read: buffers of sockets hold them. */
const MOST_WAITING = 256;

/** A server that replied. */
export interface Sighted {
  /** Its first reply. */
  readonly sighting: Sighting;
  /** Called when its row is written, or none comes of it. Never called where it was cut off. */
  readonly through: () => void;
}

/** A server that was known before the scan. */
export interface KnownSubject {
  /** Where it is. */
  readonly endpoint: Endpoint;
  /** What it is sent. */
  readonly plan: KnownPlan;
  /** Called when its row is written, or none comes of it. Never called where it was cut off. */
  readonly through: () => void;
}

/** A server that is to be interviewed. */
export type Subject = Sighted | KnownSubject;

/** The tables that the queue reads, or publishes to. */
export type QueueTables = Pick<
  ScanTables,
  "interviewed" | "lowWater" | "responders" | "optedOut" | "suppression" | "stop"
>;

/** Servers that are to be interviewed. */
export class SightingQueue {
  /** Those that were not taken, from the next one on, behind some that were. */
  #subjects: Subject[] = [];
  #next = 0;
  /** Those that were put in and not finished. */
  #unfinished = 0;
  #wake: (() => void) | undefined;
  /** Resolves when few are left to take, where replies wait for that. */
  #room: PromiseWithResolvers<void> | undefined;
  #idle: (() => void) | undefined;
  #isClosed = false;

  /**
   * Starts empty.
   *
   * @param state Where omitted replies are counted.
   * @param rows What comes behind the interviews.
   */
  constructor(
    private readonly tables: QueueTables,
    private readonly state: Pick<ScanState, "replies" | "omittedAt">,
    private readonly rows: Pick<WriteStage, "room">,
  ) {}

  /** How many wait, or are in interviews. */
  get load(): number {
    return this.#unfinished;
  }

  get #waiting(): number {
    return this.#subjects.length - this.#next;
  }

  /** Whether nothing more should be sent that may bring sightings. */
  get isFull(): boolean {
    return this.#unfinished > CAPACITY || this.rows.room !== undefined ||
      this.tables.stop.hard.aborted;
  }

  /** Where no replies should be read: settles when they may be again. */
  get room(): Promise<void> | undefined {
    if (this.#waiting < MOST_WAITING) return this.rows.room;
    return (this.#room ??= Promise.withResolvers()).promise;
  }

  /** Puts in the sighting of an endpoint. */
  push(sighting: Sighting, through: () => void = this.tables.lowWater.begin()): void {
    if (!sighting.verified) this.tables.interviewed.add(sighting.endpoint);
    this.#add({ sighting, through });
  }

  /** Puts in a server that was known before the scan, and that no pass visits. */
  pushKnown(endpoint: Endpoint, plan: KnownPlan, through: () => void): void {
    this.#add({ endpoint, plan, through });
  }

  /**
   * Puts in a sighting for which there was no hold, as soon as there is one. Until then it holds the
   * low-water mark back: a scan that is interrupted and resumed probes the endpoint again.
   */
  pushWhenHeld(sighting: Sighting): void {
    const { endpoint } = sighting;
    const { responders, lowWater } = this.tables;
    const through = lowWater.begin();
    responders.wait({
      endpoint,
      admit: () => {
        this.state.replies.unverified++;
        this.push(sighting, through);
      },
      leave: () => {
        const why = dismissal(sighting, this.tables);
        if (why === "cut") return;
        if (why === undefined && !responders.has(endpoint)) omit(sighting, this.state);
        through();
      },
    });
  }

  #add(subject: Subject): void {
    this.#unfinished++;
    this.#subjects.push(subject);
    this.#wake?.();
  }

  /** Takes the next one, if there is one; call {@linkcode finish} for it. */
  take(): Subject | undefined {
    if (this.#waiting === 0) return undefined;
    const subject = this.#subjects[this.#next++];
    if (this.#next === MOST_WAITING || this.#waiting === 0) {
      this.#subjects.splice(0, this.#next); // those that were taken need no memory any more
      this.#next = 0;
    }
    if (this.#room !== undefined && this.#waiting < MOST_WAITING) {
      this.#room.resolve();
      this.#room = undefined;
    }
    return subject;
  }

  /** Waits until there is one to take; false once the queue is closed. */
  async arrival(): Promise<boolean> {
    if (this.#waiting === 0 && !this.#isClosed) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    return this.#waiting > 0;
  }

  /** Notes that one that was taken is finished, or cut off. */
  finish(subject: Subject): void {
    if ("sighting" in subject && !subject.sighting.verified) {
      this.tables.interviewed.delete(subject.sighting.endpoint);
    }
    if (--this.#unfinished === 0) this.#idle?.();
  }

  /** Resolves when all are finished. */
  async idle(): Promise<void> {
    if (this.#unfinished > 0) await new Promise<void>((resolve) => this.#idle = resolve);
  }

  /** Ends it: nothing more is put in. */
  close(): void {
    this.#isClosed = true;
    this.#wake?.();
  }
}

/** Why a sighting is not interviewed: nothing comes of it, or all ends before that is known. */
export function dismissal(
  { endpoint, protocol }: Sighting,
  { stop: { reason }, suppression, optedOut }: QueueTables,
): "nothing" | "cut" | undefined {
  if (reason === "failed" || reason === "max-results") return "cut";
  const unwanted = optedOut.has(endpoint.address) || suppression.suppresses(endpoint, protocol);
  return unwanted ? "nothing" : undefined;
}

/** Omitted endpoints that are named. */
const MOST_OMITTED_NAMED = 1024;

/** Counts a sighting that is not followed by an interview, because too many were unverified. */
export function omit(
  { endpoint, protocol }: Sighting,
  { replies, omittedAt }: Pick<ScanState, "replies" | "omittedAt">,
): void {
  replies.omitted++;
  const { address, port } = endpoint;
  if (omittedAt.length >= MOST_OMITTED_NAMED) return;
  const isNamed = omittedAt.some(({ endpoint }) =>
    endpoint.address === address && endpoint.port === port
  );
  if (!isNamed) omittedAt.push({ endpoint: { address, port }, protocol });
}
