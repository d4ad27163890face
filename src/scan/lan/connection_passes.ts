/**
 * The sweep of `lan` over TCP: opens one connection to each target of a pass, with a limited number in
 * flight.
 *
 * @module
 */
import type { Address, Endpoint } from "../../core/address.ts";
import { sleep } from "../../net/clock.ts";
import type { ConnectionSlots, Throttle } from "../../net/mod.ts";
import type { Mark, Pass, PassOptions, PassVisitor, Visited } from "../../sweep/mod.ts";
import type { ProbeSpace } from "../../targets/space.ts";

/** Options of {@linkcode ConnectionVisitor}. */
export interface ConnectionVisitorOptions
  extends Pick<PassOptions, "clock" | "signal" | "progress"> {
  /** Limits the number of connections in flight. */
  readonly slots: ConnectionSlots;
  /** The rate limit, for which a connection counts as a datagram. */
  readonly throttle: Throttle;
  /** Whether a target is skipped in the passes of a protocol. */
  readonly skip: (endpoint: Endpoint, protocol: string) => boolean;
  /** Whether the queue of inspections is full. While it is full, connections have to wait. */
  readonly backlogged: () => boolean;
  /** Connects to a target. `false`: the visit was cancelled, and a resumed scan must repeat it. */
  readonly visit: (protocol: string, target: Endpoint) => Promise<boolean>;
}

/** Maximum number of skipped positions between two yields to the event loop. */
const MAX_SKIPPED = 16384;
/**
 * Number of connections between two timers. A yield to the event loop alone does not poll sockets
 * while refused connections are pending. Connections that are refused at once, for example on
 * loopback, keep the event loop so busy that it polls no other sockets (measured: for seconds).
 */
const BURST = 32;
/** Pause while the queue of inspections is full, milliseconds. */
const PAUSE_MS = 10;

/** Runs the passes of TCP protocols. */
export class ConnectionVisitor implements PassVisitor {
  #number = 0;
  #pass: ConnectionPass | undefined;

  /** Creates a visitor that has visited no target. */
  constructor(private readonly options: ConnectionVisitorOptions) {}

  /** Low-water mark: all visits before this mark have ended. `undefined` before the first pass. */
  get mark(): Mark | undefined {
    return this.#pass && { pass: this.#number, position: this.#pass.position };
  }

  async visit(pass: Pass, space: ProbeSpace, from: Mark): Promise<Visited> {
    this.#number = from.pass;
    this.#pass = new ConnectionPass(pass.protocol, space, this.options, from.position);
    const position = await this.#pass.run();
    return { position, isQuiet: this.#pass.begun === 0 };
  }
}

/** A TCP pass that is running. */
class ConnectionPass {
  /** Positions of visits in flight, in ascending order. */
  readonly #open = new Set<number>();
  /** Position of the first cancelled visit. */
  #cut = Infinity;
  #failure: Error | undefined;
  #idle: (() => void) | undefined;
  /** Number of visits that have begun. */
  begun = 0;
  /** The next position to visit. */
  #next: number;

  constructor(
    private readonly protocol: string,
    private readonly space: ProbeSpace,
    private readonly options: ConnectionVisitorOptions,
    from: number,
  ) {
    this.#next = from;
  }

  /** The first position whose visit has not ended. Visits begin in ascending order. */
  get position(): number {
    return Math.min(this.#cut, this.#open.values().next().value ?? this.#next);
  }

  /** Visits all targets. Returns the first position whose visit has not ended. */
  async run(): Promise<number> {
    const { signal, skip, progress, clock } = this.options;
    const target: Endpoint = { address: 0 as Address, port: 0 };
    let skipped = 0;
    for (; this.#next < this.space.size && !signal.aborted; this.#next++) {
      this.space.at(this.#next, target);
      if (!skip(target, this.protocol) && !await this.#start(this.#next, { ...target })) break;
      progress.note(1, 0, 0);
      if (++skipped % MAX_SKIPPED === 0) await clock.yieldToEvents();
      if (this.#failure !== undefined) break;
    }
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#idle = resolve);
    if (this.#failure !== undefined) throw this.#failure;
    return this.position;
  }

  /**
   * Starts a visit when the limits allow it. Returns `false` when the pass was cancelled before the
   * start.
   */
  async #start(position: number, target: Endpoint): Promise<boolean> {
    const { slots, throttle, clock, signal, backlogged, skip, progress } = this.options;
    while (backlogged() && !signal.aborted) await sleep(clock, PAUSE_MS, signal);
    const free = await slots.acquire(target.address);
    const now = clock.now();
    const dueAt = signal.aborted ? now : throttle.reserve(target.address, now);
    if (dueAt > now) {
      await sleep(clock, dueAt - now, signal);
      throttle.sent(target.address, dueAt, clock.now());
    }
    if (signal.aborted || skip(target, this.protocol)) {
      free();
      return !signal.aborted;
    }
    progress.note(0, 1, 0);
    this.#open.add(position);
    void this.#visit(position, target).finally(free);
    if (++this.begun % BURST === 0) await sleep(clock, 0, signal);
    return true;
  }

  async #visit(position: number, target: Endpoint): Promise<void> {
    try {
      const whole = await this.options.visit(this.protocol, target);
      if (!whole) this.#cut = Math.min(this.#cut, position);
    } catch (error) {
      this.#failure ??= error as Error;
    }
    this.#open.delete(position);
    if (this.#open.size === 0) this.#idle?.();
  }
}
