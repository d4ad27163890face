/**
 * The sweep over TCP: passes over positions like those of the probes, but each target is visited by
 * a connection of its own, and so many are under way at once.
 *
 * @module
 */
import type { Address, Endpoint } from "../address.ts";
import { type Clock, sleep } from "../net/clock.ts";
import type { Slots } from "../net/slots.ts";
import type { Throttle } from "../net/throttle.ts";
import { type Segment, type Shard, TargetSpace } from "../targets/space.ts";
import type { Mark } from "./sweep.ts";

/** One pass: a protocol over its targets. */
export interface VisitPass {
  /** The protocol. */
  readonly protocol: string;
  /** Its targets. */
  readonly segments: readonly Segment[];
}

/** What visiting needs. */
export interface VisitOptions {
  /** The passes, in order. */
  readonly passes: readonly VisitPass[];
  /** Seed of the order; `undefined`: no shuffling. */
  readonly seed: number | undefined;
  /** Which part of the targets. */
  readonly shard: Shard;
  /** How many targets a pass visits at the most. */
  readonly limit: number;
  /** Where to start. */
  readonly from: Mark;
  /** Pause between passes, milliseconds. */
  readonly gapMs: number;
  /** How many visits at once. */
  readonly slots: Slots;
  /** When a connection may be opened: it counts as a datagram. */
  readonly throttle: Throttle;
  /** The clock. */
  readonly clock: Clock;
  /** Ends the pass early; visits under way are finished. */
  readonly signal: AbortSignal;
  /** Targets that are left out. */
  readonly skip: (endpoint: Endpoint) => boolean;
  /** Whether visits have to wait, because those who answered are not yet asked. */
  readonly backlogged: () => boolean;
  /** Visits a target. False: it was cut off, and is to be visited again by who goes on. */
  readonly visit: (protocol: string, target: Endpoint) => Promise<boolean>;
  /** Told when a pass starts. */
  readonly onPass: (pass: number, size: number) => void;
  /** Told of positions left behind, and of visits among them. */
  readonly onProgress: (visited: number, sent: number) => void;
}

/** Orders of their own: no host is visited when its probe is sent, but by chance. */
const ORDERS = 1 << 20;
/** Positions that are looked at between two turns, where nearly all are skipped. */
const GLANCES = 16384;
/** How long to wait when the backlog is full, milliseconds. */
const PAUSE_MS = 10;

/** The space of one pass. */
export function visitSpace(
  { segments }: VisitPass,
  pass: number,
  { seed, shard, limit }: Pick<VisitOptions, "seed" | "shard" | "limit">,
): TargetSpace {
  return new TargetSpace(segments, { seed, pass: ORDERS + pass, shard, limit });
}

/**
 * Runs the passes, and waits for the last visits.
 *
 * @returns Where it stands: everything before it was visited to its end.
 */
export async function visitAll(options: VisitOptions): Promise<Mark> {
  const { passes, clock, signal, gapMs } = options;
  let mark = options.from;
  while (mark.pass <= passes.length && !signal.aborted) {
    const pass = passes[mark.pass - 1];
    const space = visitSpace(pass, mark.pass, options);
    options.onPass(mark.pass, space.size);
    const position = await new Tour(pass.protocol, space, options).run(mark.position);
    if (position < space.size) return { pass: mark.pass, position };
    mark = { pass: mark.pass + 1, position: 0 };
    if (mark.pass <= passes.length && space.size > 0) await sleep(clock, gapMs, signal);
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

  constructor(
    private readonly protocol: string,
    private readonly space: TargetSpace,
    private readonly options: VisitOptions,
  ) {}

  /** Visits all from a position on, and returns where it stands then. */
  async run(from: number): Promise<number> {
    const { signal, skip, onProgress, clock } = this.options;
    const target: Endpoint = { address: 0 as Address, port: 0 };
    let position = from;
    let skipped = 0;
    for (; position < this.space.size && !signal.aborted; position++) {
      this.space.at(position, target);
      if (!skip(target) && !await this.#depart(position, { ...target })) break;
      onProgress(1, 0);
      if (++skipped % GLANCES === 0) await clock.turn();
      if (this.#failure !== undefined) break;
    }
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#idle = resolve);
    if (this.#failure !== undefined) throw this.#failure;
    return Math.min(position, this.#cut);
  }

  /** Starts a visit when it may; false when all ended first. */
  async #depart(position: number, target: Endpoint): Promise<boolean> {
    const { slots, throttle, clock, signal, backlogged, skip, onProgress } = this.options;
    while (backlogged() && !signal.aborted) await sleep(clock, PAUSE_MS, signal);
    const free = await slots.take(target.address);
    const now = clock.now();
    const departure = signal.aborted ? now : throttle.reserve(target.address, now);
    if (departure > now) await sleep(clock, departure - now, signal);
    if (signal.aborted || skip(target)) {
      free();
      return !signal.aborted;
    }
    onProgress(0, 1);
    this.#open.add(position);
    void this.#visit(position, target).finally(free);
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
