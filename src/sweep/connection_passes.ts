/**
 * The sweep over TCP: each target of a pass is visited by a connection of its own, and so many are in
 * flight at once.
 *
 * @module
 */
import type { Address, Endpoint } from "../core/address.ts";
import { sleep } from "../net/clock.ts";
import type { ConnectionSlots } from "../net/connection_slots.ts";
import type { Throttle } from "../net/throttle.ts";
import type { TargetSpace } from "../targets/space.ts";
import type { Pass, PassOptions, PassVisitor, Visited } from "./passes.ts";
import type { Mark } from "./trail.ts";

/** What visiting needs. */
export interface ConnectionVisitorOptions
  extends Pick<PassOptions, "clock" | "signal" | "progress"> {
  /** How many visits at once. */
  readonly slots: ConnectionSlots;
  /** When a connection may be opened: it counts as a datagram. */
  readonly throttle: Throttle;
  /** Targets that are left out of the passes of a protocol. */
  readonly skip: (endpoint: Endpoint, protocol: string) => boolean;
  /** Whether visits have to wait, because those who answered are not yet asked. */
  readonly backlogged: () => boolean;
  /** Visits a target. False: it was cut off, and is to be visited again by who goes on. */
  readonly visit: (protocol: string, target: Endpoint) => Promise<boolean>;
}

/** Positions that are looked at between two turns, where nearly all are skipped. */
const GLANCES = 16384;
/**
 * Connections between two sure turns of the receiver, which are timers: a mere turn of the runtime
 * may pass while others are refused. Those that are refused at once, as on loopback, keep it so busy
 * that it does not look at other sockets (measured: for seconds).
 */
const BURST = 32;
/** How long to wait when the backlog is full, milliseconds. */
const PAUSE_MS = 10;

/** Visits the targets of passes by connections. */
export class ConnectionVisitor implements PassVisitor {
  #number = 0;
  #pass: ConnectionPass | undefined;

  /** Nothing was visited yet. */
  constructor(private readonly options: ConnectionVisitorOptions) {}

  /** Everything before this mark was visited to its end. `undefined` before the first pass. */
  get mark(): Mark | undefined {
    return this.#pass && { pass: this.#number, position: this.#pass.position };
  }

  async visit(pass: Pass, space: TargetSpace, from: Mark): Promise<Visited> {
    this.#number = from.pass;
    this.#pass = new ConnectionPass(pass.protocol, space, this.options, from.position);
    const position = await this.#pass.run();
    return { position, isQuiet: this.#pass.begun === 0 };
  }
}

/** One pass in progress. */
class ConnectionPass {
  /** Positions that are being visited. */
  readonly #open = new Set<number>();
  /** The first position of a visit that was cut off. */
  #cut = Infinity;
  #failure: Error | undefined;
  #idle: (() => void) | undefined;
  /** Visits that have begun. */
  begun = 0;
  /** The next position. */
  #next: number;

  constructor(
    private readonly protocol: string,
    private readonly space: TargetSpace,
    private readonly options: ConnectionVisitorOptions,
    from: number,
  ) {
    this.#next = from;
  }

  /** The first position of which the visit has not ended: they begin in ascending order. */
  get position(): number {
    return Math.min(this.#cut, this.#open.values().next().value ?? this.#next);
  }

  /** Visits all targets; returns the first position that was not visited to its end. */
  async run(): Promise<number> {
    const { signal, skip, progress, clock } = this.options;
    const target: Endpoint = { address: 0 as Address, port: 0 };
    let skipped = 0;
    for (; this.#next < this.space.size && !signal.aborted; this.#next++) {
      this.space.at(this.#next, target);
      if (!skip(target, this.protocol) && !await this.#depart(this.#next, { ...target })) break;
      progress.note(1, 0, 0);
      if (++skipped % GLANCES === 0) await clock.yieldToEvents();
      if (this.#failure !== undefined) break;
    }
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#idle = resolve);
    if (this.#failure !== undefined) throw this.#failure;
    return this.position;
  }

  /** Starts a visit when it may; false when all ended first. */
  async #depart(position: number, target: Endpoint): Promise<boolean> {
    const { slots, throttle, clock, signal, backlogged, skip, progress } = this.options;
    while (backlogged() && !signal.aborted) await sleep(clock, PAUSE_MS, signal);
    const free = await slots.acquire(target.address);
    const now = clock.now();
    const departure = signal.aborted ? now : throttle.reserve(target.address, now);
    if (departure > now) await sleep(clock, departure - now, signal);
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
