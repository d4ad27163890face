/**
 * A socket of ports that probes by connections: a batch of non-blocking connections begins at once, and
 * as many wait as the descriptors allow.
 *
 * @module
 */
import { type Address, type Endpoint, family as familyOf } from "../../../core/address.ts";
import type { Clock } from "../../clock.ts";
import { isShortage } from "../../file_descriptors.ts";
import {
  bufferFor,
  type PortReplyReceiver,
  type PortSocket,
  type PortSocketOptions,
  type PortState,
} from "../../port_socket.ts";
import { ReceiveDrain } from "../../receive_drain.ts";
import type { SendGate } from "../../send_gate.ts";
import { noErrors, type ReceiverCapacity, type SocketErrors, type Template } from "../../socket.ts";
import { TargetBatch } from "../batch/target_batch.ts";
import {
  countError,
  EADDRNOTAVAIL,
  ECONNREFUSED,
  ECONNRESET,
  ENOSPC,
  errorName,
  ETIMEDOUT,
} from "../ffi/libc.ts";
import { ConnectRing, RETRY_MS, RING_FULL } from "./connect_ring.ts";
import { ConnectedStream } from "./connected_stream.ts";
import { EventLoop, type EventWait } from "./event_loop.ts";
import { NeighbourCapacity, PAUSE_MS, readNeighbourTable } from "./neighbour_capacity.ts";

/** Maximum number of system calls for events between two batches: each gets up to 512 events. */
const CALLS_BETWEEN_BATCHES = 4;
/** Maximum number of undelivered replies while connections begin. */
const MAX_UNDELIVERED = 256;
/** If at least this number of connections begins between two polls, events are polled between batches. */
const BUSY_CONNECTIONS = 32;
/** Number of connections between two readings of the clock. */
const PER_CLOCK_READING = 32;
/**
 * How much later than its time limit a connection may expire, milliseconds: while a batch waits for
 * sockets, and otherwise. Fewer polls are then needed.
 */
const LATE_MS = { waiting: 2, idle: 16 };
/**
 * How much later a connection expires while others begin, milliseconds: they reuse its socket without
 * disconnecting it before, which would cause an event.
 */
const GRACE_MS = 20;
/** Waits up to this time do not end early: polling through another thread would cost more, milliseconds. */
const SHORT_MS = 4;
/** Maximum of the size of the receive buffer, bytes. */
const MAX_BUFFER = 64 * 1024 * 1024;

/** The part of a batch that has begun to connect. */
interface Run {
  readonly batch: TargetBatch;
  /** When the batch was passed to the socket, milliseconds. */
  readonly from: number;
  /** Index of the next target. */
  at: number;
  /** Number of connections that began. */
  accepted: number;
}

/**
 * Why a batch has to wait: no socket is free, replies have to be delivered, the system can add no
 * addresses of the link, or the error of a shortage.
 */
type Obstacle = "full" | "undelivered" | "neighbours" | number;

/** Probes ports by connections of one address family. */
export class ConnectSocket implements PortSocket<TargetBatch> {
  readonly family: 4 | 6;
  readonly receivesWhileSending = true;
  readonly receiveBuffer: number;
  readonly dropped = 0;
  readonly errors: SocketErrors;
  readonly gate: SendGate | undefined;
  readonly #options: PortSocketOptions;
  readonly #clock: Clock;
  readonly #loop: EventLoop;
  readonly #ring: ConnectRing;
  readonly #neighbours: NeighbourCapacity;
  readonly #drain: ReceiveDrain;
  readonly #listening = Promise.withResolvers<void>();
  #receiver: PortReplyReceiver | undefined;
  #capacity: ReceiverCapacity | undefined;
  #awaitsCapacity = false;
  #failure: Error | undefined;
  #closed: Promise<void> | undefined;
  /** Number of batches that wait, and the promise of the last of them. */
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();
  /** Wakes the batch that waits. */
  #wake: (() => void) | undefined;
  /** Number of connections that began since the last poll of the loop. */
  #begun = 0;
  /** Whether the last attempt to open a socket or connection lacked a resource. */
  #isShort = false;

  /**
   * Opens the socket.
   *
   * @param local The local address; a wildcard address stands for any.
   * @throws Deno.errors.AddrNotAvailable, Deno.errors.NotCapable; Error with the call that failed.
   */
  constructor(local: Address, options: PortSocketOptions) {
    const capacity = Math.max(1, Math.floor(options.atOnce));
    this.#options = options;
    this.#clock = options.clock;
    this.gate = options.gate;
    this.errors = options.errors ?? noErrors();
    this.family = familyOf(local);
    this.receiveBuffer = Math.min(MAX_BUFFER, bufferFor(capacity));
    this.#drain = new ReceiveDrain(capacity);
    this.#loop = new EventLoop({
      connection: (slot, socket, events) =>
        this.#ring.receive(slot, socket, events, this.#clock.now()),
      polled: (at) => this.#polled(at),
      failed: (error) => this.#fail(error),
    }, options.clock);
    const { libc, epoll } = this.#loop;
    this.#neighbours = new NeighbourCapacity(() => readNeighbourTable(libc, this.family));
    const from = local === 0 || local === 0n ? undefined : local;
    const { wait } = options;
    this.#ring = new ConnectRing({ libc, epoll, family: this.family, from, capacity, wait });
    try {
      this.#ring.test();
    } catch (error) {
      void this.#loop.detach();
      throw error;
    }
    this.#listening.promise.catch(() => {}); // the caller of listen() gets the error
  }

  get pending(): number {
    return this.#isEnded ? 0 : this.#ring.slots.pending;
  }

  hasPending(endpoint: Endpoint): boolean {
    return !this.#isEnded && familyOf(endpoint.address) === this.family &&
      this.#ring.hasPending(endpoint);
  }

  batch(template: Template, capacity: number): TargetBatch {
    return new TargetBatch(template, capacity, this.family);
  }

  listen(receiver: PortReplyReceiver, capacity?: ReceiverCapacity): Promise<void> {
    this.#receiver = receiver;
    this.#capacity = capacity;
    this.#deliver();
    return this.#listening.promise;
  }

  flush(batch: TargetBatch, signal?: AbortSignal): number | Promise<number> {
    if (batch.length === 0 || this.#isEnded) return this.#ended();
    const run: Run = { batch, from: this.#clock.now(), at: 0, accepted: 0 };
    if (this.#waiting === 0) {
      const at = this.#loop.poll(CALLS_BETWEEN_BATCHES);
      if (at !== undefined) this.#ring.expire(at, GRACE_MS);
      this.#deliver();
      if (this.#isEnded) return this.#ended();
      const obstacle = this.#advance(run);
      this.#loop.start();
      if (obstacle === undefined) return run.accepted;
      if (typeof obstacle === "number") this.#countShortage(obstacle);
    }
    this.#waiting++;
    const finished = this.#finish(run, this.#last, signal);
    this.#last = finished.catch(() => {}); // the caller gets the error
    return finished;
  }

  get #isEnded(): boolean {
    return this.#closed !== undefined || this.#failure !== undefined;
  }

  /** The result of sending with a socket that has ended. */
  #ended(): number | Promise<number> {
    return this.#failure === undefined ? 0 : Promise.reject(this.#failure);
  }

  /** Connects to the rest of a batch after the batches before it. */
  async #finish(
    run: Run,
    before: Promise<unknown> | undefined,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    await before;
    try {
      for (;;) {
        if (this.#isEnded) return run.accepted + await this.#ended();
        if (signal?.aborted) return run.accepted;
        const obstacle = this.#advance(run);
        this.#loop.start();
        if (obstacle === undefined) return run.accepted;
        if (typeof obstacle === "number") this.#countShortage(obstacle);
        await this.#untilWoken(signal, pauseAfter(obstacle));
      }
    } finally {
      this.#waiting--;
    }
  }

  #countShortage(errno: number): void {
    if (!this.#isShort) countError(this.errors.waits, errno);
    this.#isShort = true;
    this.#options.shortage?.recordFailure(errorName(errno));
  }

  /** Waits until a socket may be free, the signal aborts, or a time has passed, milliseconds. */
  #untilWoken(signal: AbortSignal | undefined, ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel?.();
        signal?.removeEventListener("abort", done);
        this.#wake = undefined;
        resolve();
      };
      const cancel = ms === undefined ? undefined : this.#clock.after(ms, done);
      signal?.addEventListener("abort", done);
      this.#wake = done;
    });
  }

  /** Connects to the next targets of a batch. Returns why it has to wait; `undefined`: all are tried. */
  #advance(run: Run): Obstacle | undefined {
    const { batch } = run;
    const { gate } = this;
    let now = this.#clock.now();
    for (; run.at < batch.length; run.at++) {
      if (run.at % PER_CLOCK_READING === 0) now = this.#clock.now();
      if (this.#ring.slots.settled >= MAX_UNDELIVERED) return "undelivered";
      if (gate?.isOpen() === false) {
        gate.keptBack += batch.length - run.at;
        return undefined;
      }
      if (!this.#neighbours.has(now)) return "neighbours";
      const errno = this.#ring.connect(batch, run.at, Math.round((now - run.from) * 1000), now);
      if (errno === RING_FULL) return "full";
      if (errno !== 0 && this.#isShortageOf(batch, run.at, errno)) return errno;
      if (errno === 0) this.#accepted(run);
      else countError(this.errors.send, errno);
    }
    return undefined;
  }

  #isShortageOf(batch: TargetBatch, i: number, errno: number): boolean {
    if (errno === EADDRNOTAVAIL) return this.#ring.hasSource(batch, i);
    return errno === ENOSPC || isShortage(errorName(errno));
  }

  #accepted(run: Run): void {
    run.accepted++;
    this.#begun++;
    this.#neighbours.use();
    if (!this.#isShort) return;
    this.#isShort = false;
    this.#options.shortage?.recordSuccess();
  }

  /** After a poll of the loop: see {@linkcode EventLoop}. */
  #polled(at: number | undefined): EventWait | undefined {
    if (this.#isEnded) return undefined;
    const isBusy = this.#begun >= BUSY_CONNECTIONS;
    this.#begun = 0;
    if (at !== undefined) this.#ring.expire(at, isBusy || this.#waiting > 0 ? GRACE_MS : 0);
    this.#deliver();
    this.#wake?.();
    return this.#waitFor(isBusy);
  }

  /** How long to wait for events; `undefined`: no connection is pending. */
  #waitFor(isBusy: boolean): EventWait | undefined {
    const { oldestPending, times } = this.#ring.slots;
    if (oldestPending === undefined) return undefined;
    if (isBusy && this.#waiting === 0) return { ms: LATE_MS.idle, endsEarly: false };
    const left = times[oldestPending] + this.#options.wait.ms - this.#clock.now();
    const ms = Math.max(this.#waiting > 0 ? LATE_MS.waiting : LATE_MS.idle, left);
    return { ms, endsEarly: ms > SHORT_MS };
  }

  /** Delivers replies while the receiver accepts them. */
  #deliver(): void {
    const { slots } = this.#ring;
    try {
      while (slots.settled > 0 && this.#receiver !== undefined && !this.#isEnded) {
        const full = this.#capacity?.();
        if (full !== undefined) return void this.#awaitCapacity(full);
        this.#deliverOne(this.#receiver);
      }
    } catch (error) {
      this.#fail(error as Error);
    }
    if (slots.settled === 0) this.#drain.delivered(0, true);
  }

  #deliverOne(receiver: PortReplyReceiver): void {
    const ring = this.#ring;
    const { slots } = ring;
    const slot = slots.oldestSettled!;
    const errno = slots.errors[slot];
    const from = ring.endpointOf(slot);
    const token = slots.tokens[slot] >>> 0;
    const state = stateOf(errno);
    // The receiver measures the round trip, which ended when the reply arrived.
    const held = Math.round((this.#clock.now() - slots.times[slot]) * 1000);
    const clock = slots.stamps[slot] + held >>> 0;
    const socket = ring.take();
    const stream = socket === undefined ? undefined : new ConnectedStream(this.#loop, socket);
    this.#drain.delivered(1, false);
    if (errno !== ETIMEDOUT) receiver({ state, token, clock, stream }, from); // nothing has replied
  }

  /** Delivers again when the receiver has capacity. */
  async #awaitCapacity(full: Promise<void>): Promise<void> {
    if (this.#awaitsCapacity) return;
    this.#awaitsCapacity = true;
    try {
      await full;
    } catch (error) {
      this.#fail(error as Error);
    }
    this.#awaitsCapacity = false;
    this.#deliver();
    this.#wake?.();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#ring.close();
    this.#listening.reject(this.#failure);
    this.#drain.delivered(0, true);
    this.#wake?.();
  }

  drained(): Promise<void> {
    if (this.#isEnded || this.#receiver === undefined) return Promise.resolve();
    const isComplete = this.#loop.poll(CALLS_BETWEEN_BATCHES) !== undefined;
    this.#deliver();
    if (isComplete && this.#ring.slots.settled === 0) return Promise.resolve();
    this.#loop.start();
    return this.#drain.wait();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#closed ??= this.#close();
  }

  async #close(): Promise<void> {
    this.#wake?.();
    this.#ring.close();
    this.#drain.delivered(0, true);
    this.#listening.resolve();
    await this.#loop.detach();
    await this.#last;
  }
}

/** The time after which a batch tries again if nothing wakes it, milliseconds. */
function pauseAfter(obstacle: Obstacle): number | undefined {
  if (typeof obstacle === "number") return RETRY_MS;
  return obstacle === "neighbours" ? PAUSE_MS : undefined;
}

function stateOf(errno: number): PortState {
  if (errno === 0) return "open";
  // A connection that is reset at once is of no use, as if it were refused.
  return errno === ECONNREFUSED || errno === ECONNRESET ? "refused" : "unreachable";
}
