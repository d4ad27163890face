/**
 * The sweep over TCP: passes over positions like those of the probes, but each target is visited by
 * a connection of its own, and so many are under way at once.
 *
 * @module
 */
import type { Address, Endpoint } from "../core/address.ts";
import { type Clock, sleep } from "../net/clock.ts";
import type { ConnectionSlots } from "../net/connection_slots.ts";
import type { Throttle } from "../net/throttle.ts";
import { type Segment, type TargetOrder, TargetSpace } from "../targets/space.ts";
import type { Mark } from "./trail.ts";

/** One pass: a protocol over its targets. */
export interface ConnectionPass {
  /** The protocol. */
  readonly protocol: string;
  /** Its targets. */
  readonly segments: readonly Segment[];
}

/** What visiting needs. */
export interface ConnectionPassOptions {
  /** The passes, in order. */
  readonly passes: readonly ConnectionPass[];
  /** Which targets a pass visits, and in which order. */
  readonly order: TargetOrder;
  /** Where to start. */
  readonly from: Mark;
  /** Pause behind a pass in which something was visited, milliseconds. */
  readonly gapMs: number;
  /** How many visits at once. */
  readonly slots: ConnectionSlots;
  /** When a connection may be opened: it counts as a datagram. */
  readonly throttle: Throttle;
  /** The clock. */
  readonly clock: Clock;
  /** Ends the pass early; visits under way are finished. */
  readonly signal: AbortSignal;
  /** Targets that are left out of the passes of a protocol. */
  readonly skip: (endpoint: Endpoint, protocol: string) => boolean;
  /** Whether visits have to wait, because those who answered are not yet asked. */
  readonly backlogged: () => boolean;
  /** Visits a target. False: it was cut off, and is to be visited again by who goes on. */
  readonly visit: (protocol: string, target: Endpoint) => Promise<boolean>;
  /** Told when a pass starts. */
  readonly onPass: (pass: number, size: number) => void;
  /** Given, when a pass starts, what tells at any time where it stands. */
  readonly onTour?: (stand: () => Mark) => void;
  /** Told of positions left behind, and of visits among them. */
  readonly onProgress: (visited: number, sent: number) => void;
}

/** Orders of their own: no host is visited when its probe is sent, but by chance. */
const ORDERS = 1 << 20;
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

/** The space of one pass. */
export function connectionSpace(
  { segments }: ConnectionPass,
  pass: number,
  order: TargetOrder,
): TargetSpace {
  return new TargetSpace(segments, { ...order, pass: ORDERS + pass });
}

/**
 * Runs the passes, and waits for the last visits.
 *
 * @returns Where it stands: everything before it was visited to its end.
 */
export async function runConnectionPasses(options: ConnectionPassOptions): Promise<Mark> {
  const { passes, clock, signal, gapMs } = options;
  let mark = options.from;
  while (mark.pass <= passes.length && !signal.aborted) {
    const pass = passes[mark.pass - 1];
    const space = connectionSpace(pass, mark.pass, options.order);
    options.onPass(mark.pass, space.size);
    const tour = new Tour(pass.protocol, space, options, mark.position);
    const whole = mark.position === 0;
    const { pass: number } = mark;
    options.onTour?.(() => ({ pass: number, position: tour.stand }));
    const position = await tour.run();
    if (position < space.size) return { pass: mark.pass, position };
    mark = { pass: mark.pass + 1, position: 0 };
    const quiet = whole && tour.begun === 0;
    if (mark.pass <= passes.length && !quiet) await sleep(clock, gapMs, signal);
  }
  return mark;
}

/** One pass under way. */
class Tour {
  /** Positions that are being visited. */
  readonly #open = new Set<number>();
  /** The first position of a visit that was cut off. */
  #cut = Infinity;
  #failure: Error | undefined;
  #idle: (() => void) | undefined;
  /** Visits that have begun. */
  begun = 0;
  /** The next position. */
  #position: number;

  constructor(
    private readonly protocol: string,
    private readonly space: TargetSpace,
    private readonly options: ConnectionPassOptions,
    from: number,
  ) {
    this.#position = from;
  }

  /** The first position of which the visit has not ended: they begin in ascending order. */
  get stand(): number {
    return Math.min(this.#cut, this.#open.values().next().value ?? this.#position);
  }

  /** Visits all, and returns where it stands then. */
  async run(): Promise<number> {
    const { signal, skip, onProgress, clock } = this.options;
    const target: Endpoint = { address: 0 as Address, port: 0 };
    let skipped = 0;
    for (; this.#position < this.space.size && !signal.aborted; this.#position++) {
      this.space.at(this.#position, target);
      if (!skip(target, this.protocol) && !await this.#depart(this.#position, { ...target })) break;
      onProgress(1, 0);
      if (++skipped % GLANCES === 0) await clock.yieldToEvents();
      if (this.#failure !== undefined) break;
    }
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#idle = resolve);
    if (this.#failure !== undefined) throw this.#failure;
    return this.stand;
  }

  /** Starts a visit when it may; false when all ended first. */
  async #depart(position: number, target: Endpoint): Promise<boolean> {
    const { slots, throttle, clock, signal, backlogged, skip, onProgress } = this.options;
    while (backlogged() && !signal.aborted) await sleep(clock, PAUSE_MS, signal);
    const free = await slots.acquire(target.address);
    const now = clock.now();
    const departure = signal.aborted ? now : throttle.reserve(target.address, now);
    if (departure > now) await sleep(clock, departure - now, signal);
    if (signal.aborted || skip(target, this.protocol)) {
      free();
      return !signal.aborted;
    }
    onProgress(0, 1);
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
