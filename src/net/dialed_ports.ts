/**
 * Probes of TCP ports by connections of a dialer, without raw sockets or FFI. A connection without a reply
 * in time is cancelled, which sends no packet.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../core/address.ts";
import { sleep } from "./clock.ts";
import { HeldReplies } from "./dialed/held_replies.ts";
import { PortBatch } from "./dialed/port_batch.ts";
import { Waves } from "./dialed/waves.ts";
import {
  bufferFor,
  type PortReply,
  type PortReplyReceiver,
  type PortSocket,
  type PortSocketOptions,
} from "./port_socket.ts";
import {
  type ConnectFailure,
  type Dialer,
  noErrors,
  type ReceiverCapacity,
  type SocketErrors,
  type Stream,
  type Template,
} from "./socket.ts";

/** Maximum number of replies that wait for the receiver. While there are so many, no connection begins. */
const MAX_HELD = 256;
/** Pause after a shortage of descriptors or ports, milliseconds. */
const PAUSE_MS = 100;
/** Time without a shortage after which more connections may wait again, milliseconds. */
const CALM_MS = 5000;

/** A probe of one target. */
class Attempt {
  /** The code of the system's error, which the dialer sets. */
  code: string | undefined;
  /** The connections that began together with this one. */
  burst: Burst | undefined;
  /** Whether the gate has kept it back, which counts once. */
  wasKeptBack = false;
  /** The stamp, microseconds modulo 2^32. */
  clock = 0;

  /** @param stamp The stamp at the time `flushedAt` (milliseconds). */
  constructor(
    readonly to: Endpoint,
    readonly token: number,
    readonly stamp: number,
    readonly flushedAt: number,
    readonly signal: AbortSignal | undefined,
  ) {}
}

/** Connections that begin together. Until all have begun, errors are those that the system returns at once. */
class Burst {
  isBeginning = true;
  /** Number of connections that the system refused. */
  refused = 0;
  /** Number of connections that the gate kept back. */
  keptBack = 0;
  /** The connections for which the system lacked a descriptor or port. */
  readonly short: Attempt[] = [];
  /** The error of the dialer. */
  failure: unknown;
}

/** Number of connections that begin between two polls for replies, if replies arrive, and otherwise. */
const BUSY_BURST = 64;
const QUIET_BURST = 512;

/** Probes TCP ports by opening connections. */
export class DialedPorts implements PortSocket<PortBatch> {
  readonly receiveBuffer: number;
  readonly dropped = 0;
  readonly errors: SocketErrors;
  readonly #dialer: Dialer;
  readonly #options: PortSocketOptions;
  /** Number of connections that wait for a reply. */
  #connecting = 0;
  /** The keys of their endpoints. */
  readonly #endpoints = new Set<number | bigint>();
  /** Number of connections that began since the runtime polled for replies, and of replies since. */
  #begun = 0;
  #replied = 0;
  /** Number of probes that wait for a descriptor or for the gate after their flush has ended. */
  #late = 0;
  /** Maximum number of connections that may wait now. */
  #most: number;
  /** When descriptors or ports were last short, milliseconds. */
  #shortAt = -Infinity;
  readonly #waves: Waves;
  readonly #held: HeldReplies;
  readonly #closed = Promise.withResolvers<void>();
  readonly #disposed = new AbortController();
  /** Settles when a connection has ended or a reply was delivered; `undefined`: nothing waits for it. */
  #change: PromiseWithResolvers<void> | undefined;

  /** Creates a socket without connections. */
  constructor(readonly family: 4 | 6, dialer: Dialer, options: PortSocketOptions) {
    this.#dialer = dialer;
    this.#options = options;
    this.errors = options.errors ?? noErrors();
    this.#held = new HeldReplies(
      options.clock,
      () => this.#changed(),
      (error) => this.#closed.reject(error),
    );
    this.#waves = new Waves(options.clock, options.wait);
    this.#most = Math.max(1, options.atOnce);
    this.receiveBuffer = bufferFor(this.#most);
    this.#closed.promise.catch(() => {}); // the caller of listen() gets the error
  }

  get gate(): PortSocketOptions["gate"] {
    return this.#options.gate;
  }

  get pending(): number {
    return this.#connecting + this.#late;
  }

  hasPending(endpoint: Endpoint): boolean {
    return this.#endpoints.has(endpointKey(endpoint));
  }

  batch(_template: Template, _capacity: number): PortBatch {
    return new PortBatch();
  }

  /**
   * Begins a connection to each target, and waits while too many wait for a reply.
   *
   * @param signal Ends the wait: the rest of the targets is not probed.
   * @throws Deno.errors.NotCapable.
   */
  async flush(batch: PortBatch, signal?: AbortSignal): Promise<number> {
    const { length, addresses, ports, tokens, clocks } = batch;
    const now = this.#options.clock.now();
    const attempts: Attempt[] = [];
    for (let i = 0; i < length; i++) {
      const to = { address: addresses[i], port: ports[i] };
      attempts.push(new Attempt(to, tokens[i], clocks[i], now, signal));
    }
    return (await this.#beginAll(attempts, signal)).accepted;
  }

  /** Begins connections. Returns the numbers of those that the system accepted and refused. */
  async #beginAll(
    attempts: readonly Attempt[],
    signal: AbortSignal | undefined,
  ): Promise<{ accepted: number; refused: number }> {
    const all = { accepted: 0, refused: 0 };
    for (let rest = attempts; rest.length > 0 && await this.#whenFree(signal);) {
      const burst = new Burst();
      const now = this.#options.clock.now();
      this.#growAt(now);
      let begun = 0;
      const most = Math.min(rest.length, this.#replied > 0 ? BUSY_BURST : QUIET_BURST);
      while (begun < most && this.#isFree) void this.#connect(rest[begun++], burst, now);
      await this.#dialer.whenBegun?.();
      burst.isBeginning = false;
      if (burst.failure !== undefined) throw burst.failure;
      const { refused, keptBack, short } = burst;
      const accepted = begun - refused - keptBack - short.length;
      all.accepted += accepted;
      all.refused += refused;
      if (accepted > 0) this.#options.shortage?.recordSuccess();
      await this.#pollAfter(begun);
      if (keptBack > 0) return all;
      rest = [...short, ...rest.slice(begun)];
      if (short.length > 0) await this.#pause(signal);
    }
    return all;
  }

  /** Lets the runtime deliver replies before more connections begin than it delivers meanwhile. */
  async #pollAfter(begun: number): Promise<void> {
    this.#begun += begun;
    if (this.#begun < (this.#replied > 0 ? BUSY_BURST : QUIET_BURST)) return;
    this.#begun = this.#replied = 0;
    await this.#options.clock.pollSockets();
  }

  get #isFree(): boolean {
    const held = this.#held.length; // they may have connections, which need descriptors
    return this.#connecting + held < this.#most && held < MAX_HELD;
  }

  /** Waits until a connection may begin; `false`: none may begin any more. */
  async #whenFree(signal: AbortSignal | undefined): Promise<boolean> {
    const mayBegin = () => signal?.aborted !== true && !this.#disposed.signal.aborted;
    if (this.#isFree) return mayBegin();
    const end = () => this.#changed();
    signal?.addEventListener("abort", end);
    while (mayBegin() && !this.#isFree) await this.#nextChange();
    signal?.removeEventListener("abort", end);
    return mayBegin();
  }

  #nextChange(): Promise<void> {
    return (this.#change ??= Promise.withResolvers()).promise;
  }

  #changed(): void {
    this.#change?.resolve();
    this.#change = undefined;
  }

  async #connect(attempt: Attempt, burst: Burst, now: number): Promise<void> {
    const waited = Math.round(1000 * (now - attempt.flushedAt));
    attempt.clock = attempt.stamp + waited >>> 0;
    attempt.burst = burst;
    const wave = this.#waves.join(now);
    const key = endpointKey(attempt.to);
    this.#connecting++;
    this.#endpoints.add(key);
    let outcome: Stream | ConnectFailure | "kept back" | undefined;
    try {
      const { signal } = wave.controller;
      outcome = await this.#dialer.connect(attempt.to, signal, this.#options.gate, attempt);
    } catch (error) {
      if (burst.isBeginning) burst.failure = error;
      else this.#closed.reject(error);
    }
    this.#connecting--;
    this.#endpoints.delete(key);
    this.#waves.leave(wave);
    if (outcome !== undefined) this.#settle(attempt, outcome);
    if (this.#change !== undefined) this.#changed();
  }

  #settle(attempt: Attempt, outcome: Stream | ConnectFailure | "kept back"): void {
    const burst = attempt.burst!;
    switch (outcome) {
      case "timeout":
      case "cancelled":
        break;
      case "refused":
        this.#deliver(attempt, outcome);
        break;
      case "unreachable":
        if (!burst.isBeginning) this.#deliver(attempt, outcome);
        else {
          burst.refused++;
          count(this.errors.send, attempt.code ?? outcome);
        }
        break;
      case "exhausted":
        this.#noteShortage(attempt.code);
        if (burst.isBeginning) burst.short.push(attempt);
        else void this.#retry(attempt);
        break;
      case "kept back":
        if (!attempt.wasKeptBack) this.gate!.keptBack++;
        attempt.wasKeptBack = true;
        if (burst.isBeginning) burst.keptBack++;
        else void this.#retry(attempt);
        break;
      default:
        this.#deliver(attempt, "open", outcome);
    }
  }

  /** Allows one connection less than wait now: other connections of the process need descriptors too. */
  #noteShortage(code: string | undefined): void {
    count(this.errors.waits, code ?? "exhausted");
    this.#options.shortage?.recordFailure(code);
    this.#shortAt = this.#options.clock.now();
    this.#most = Math.max(1, Math.min(this.#most, this.#connecting - 1));
  }

  async #pause(signal: AbortSignal | undefined): Promise<void> {
    const { signal: disposed } = this.#disposed;
    const either = signal === undefined ? disposed : AbortSignal.any([signal, disposed]);
    await sleep(this.#options.clock, PAUSE_MS, either);
  }

  /**
   * Begins a connection again that lacked a descriptor, or that the gate kept back, after its flush had
   * ended.
   */
  async #retry(attempt: Attempt): Promise<void> {
    const { signal } = attempt;
    this.#late++;
    try {
      let isBegun = false;
      while (!isBegun && signal?.aborted !== true && !this.#disposed.signal.aborted) {
        await this.#pause(signal);
        const { accepted, refused } = await this.#beginAll([attempt], signal);
        isBegun = accepted + refused > 0;
      }
    } catch (error) {
      this.#closed.reject(error);
    }
    this.#late--;
    this.#changed();
  }

  /** Allows more connections to wait some time after a shortage. */
  #growAt(now: number): void {
    if (this.#most >= this.#options.atOnce || now - this.#shortAt < CALM_MS) return;
    this.#shortAt = now;
    const more = this.#most + Math.max(1, this.#most >> 3);
    this.#most = Math.min(this.#options.atOnce, more);
  }

  /** Delivers a reply as soon as the receiver accepts it. */
  #deliver({ to, token, clock }: Attempt, state: PortReply["state"], stream?: Stream): void {
    if (this.#disposed.signal.aborted) return stream?.[Symbol.dispose]();
    this.#replied++;
    this.#held.add({ state, token, clock, stream }, to);
  }

  listen(receiver: PortReplyReceiver, capacity?: ReceiverCapacity): Promise<void> {
    this.#held.deliverTo(receiver, capacity);
    return this.#closed.promise;
  }

  async drained(): Promise<void> {
    await this.#options.clock.pollSockets();
    while (this.#held.length > 0 && !this.#disposed.signal.aborted) await this.#nextChange();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#disposed.signal.aborted) {
      this.#disposed.abort();
      this.#waves.end();
      this.#held.dispose();
      this.#changed();
      this.#closed.resolve();
    }
    while (this.pending > 0) await this.#nextChange();
  }
}

function count(errors: Map<string, number>, code: string): void {
  errors.set(code, (errors.get(code) ?? 0) + 1);
}
