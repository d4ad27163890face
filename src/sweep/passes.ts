/**
 * Plans passes over the targets and runs them one after the other, over UDP or TCP.
 *
 * @module
 */
import type { Clock } from "../net/clock.ts";
import { type ProbeSpace, type Segment, type TargetOrder, TargetSpace } from "../targets/space.ts";
import { cooldown, type Outstanding } from "./cooldown.ts";
import type { Mark } from "./mark_history.ts";

/** A pass: one protocol over all its targets. */
export interface Pass {
  /** Name of the pass's protocol. */
  readonly protocol: string;
  /** The targets, which differ by the usual ports of the protocol. */
  readonly segments: readonly Segment[];
  /** Number of the pass's permutation. Each pass visits the targets in a different order. */
  readonly number: number;
  /** The endpoints of a pass of an adaptive scan. Default: all targets. */
  readonly planned?: () => ProbeSpace;
}

/**
 * First permutation number of TCP passes. Their orders therefore differ from those of UDP passes, and
 * a host gets a probe and a connection at the same time only by chance.
 */
export const CONNECTION_ORDERS = 1 << 20;

/**
 * Plans the passes of all protocols in turn: one pass per protocol, and one per retry.
 *
 * @param orders The permutation number that precedes the number of the first pass.
 */
export function planPasses(
  protocols: readonly { readonly name: string }[],
  retries: number,
  segmentsFor: (protocol: string) => readonly Segment[],
  orders = 0,
): Pass[] {
  return protocols.flatMap(({ name }, i) => {
    const segments = segmentsFor(name);
    const first = orders + i * (retries + 1) + 1;
    return Array.from(
      { length: retries + 1 },
      (_, retry) => ({ protocol: name, segments, number: first + retry }),
    );
  });
}

export function spaceOf({ segments, number, planned }: Pass, order: TargetOrder): ProbeSpace {
  return planned?.() ?? new TargetSpace(segments, { ...order, pass: number });
}

export interface PassProgress {
  /** Called when a pass begins at a mark. `size`: number of positions in the pass. */
  begin(pass: Pass, mark: Mark, size: number): void;
  /**
   * Called with the number of visited positions, and with the numbers of sent and of refused probes
   * or connections.
   */
  note(visited: number, sent: number, refused: number): void;
}

/** The result of visiting the targets of a pass. */
export interface Visited {
  /** The first position whose visit has not ended: the size of a complete pass. */
  readonly position: number;
  /** Whether the pass sent nothing. */
  readonly isQuiet: boolean;
}

/** Visits the targets of passes over UDP or TCP. */
export interface PassVisitor {
  /** Visits the targets of a pass, in its order, from a mark on. */
  visit(pass: Pass, space: ProbeSpace, from: Mark): Promise<Visited>;
  /** The search for a target that a pass would probe. Default: each pass would probe some. */
  targetsOf?(pass: Pass): Pick<Outstanding, "some"> | undefined;
}

/** Options of {@linkcode runPasses}. */
export interface PassOptions {
  /** The passes to run, in order. */
  readonly passes: readonly Pass[];
  /** Seed and limit of the target order. */
  readonly order: TargetOrder;
  /** The mark to start from. */
  readonly from: Mark;
  /**
   * Pause after a pass that has sent anything, milliseconds. The pause keeps at least a second
   * between two probes of one host. It ends early if the next pass would probe no target.
   */
  readonly gapMs: number;
  /** The clock of pauses. */
  readonly clock: Clock;
  /** Ends the passes early. */
  readonly signal: AbortSignal;
  readonly progress: PassProgress;
}

/**
 * Runs passes with pauses between them.
 *
 * @returns The mark after the last visited position: the end of the last pass, unless cancelled.
 */
export async function runPasses(options: PassOptions, visitor: PassVisitor): Promise<Mark> {
  const { passes, order, gapMs, clock, signal, progress } = options;
  let mark = options.from;
  let pausedUntil = -Infinity;
  while (mark.pass <= passes.length && !signal.aborted) {
    const pass = passes[mark.pass - 1];
    const space = spaceOf(pass, order);
    progress.begin(pass, mark, space.size);
    const { position, isQuiet } = await visitor.visit(pass, space, mark);
    if (position < space.size) return { pass: mark.pass, position };
    const isWhole = mark.position === 0;
    mark = { pass: mark.pass + 1, position: 0 };
    if (!(isWhole && isQuiet)) pausedUntil = clock.now() + gapMs;
    const next = passes.at(mark.pass - 1);
    if (next === undefined) continue;
    const targets = visitor.targetsOf?.(next) ?? UNKNOWN;
    await cooldown(clock, () => signal.aborted ? -Infinity : pausedUntil, targets);
  }
  return mark;
}

/** Targets of which nothing is known. */
const UNKNOWN = { some: true };

/** The state of the network of this machine. */
export interface NetworkState {
  /** Aborted by an outage. The reason is the time before which nothing was lost. */
  readonly signal: AbortSignal;
  /** The time up to which the network certainly worked. */
  readonly sureUntil: number;
  /** Waits for the end of an outage, or until a signal is aborted. */
  online(signal: AbortSignal): Promise<void>;
  /** Waits until it is known whether the network worked at a time. */
  confirm(time: number): Promise<void>;
}

/** Ends passes early. */
export interface SweepStop {
  /** Aborted when the passes must end. */
  readonly sweepSignal: AbortSignal;
  /** Whether late replies to their probes are not awaited then. */
  readonly skipsCooldown: boolean;
}

/** Passes over UDP or TCP that can be run from any mark. */
export interface RepeatableSweep {
  /** Runs the passes from a mark on; returns the mark after them. The signal ends them early. */
  readonly run: (from: Mark, signal: AbortSignal) => Promise<Mark>;
  /**
   * A mark before which no packet was sent whose reply can have been lost after a time; `undefined`:
   * none was sent after it.
   */
  readonly before: (time: number) => Mark | undefined;
  /** Forgets what was measured in an outage that began after a time. */
  readonly forget: (time: number) => void;
}

/**
 * Runs passes. When the scan goes offline, they end; when it is online again, they begin again before
 * the outage.
 *
 * @returns The mark after the passes. If the scan ended while it was offline: the mark before the outage.
 */
export async function runRepeatedly(
  { network, stop }: { readonly network: NetworkState; readonly stop: SweepStop },
  clock: Clock,
  from: Mark,
  { run, before, forget }: RepeatableSweep,
): Promise<Mark> {
  const { sweepSignal } = stop;
  for (let start = from;;) {
    await network.online(sweepSignal);
    const { signal } = network;
    const end = await run(start, AbortSignal.any([sweepSignal, signal]));
    const isCut = sweepSignal.aborted && stop.skipsCooldown;
    if (!isCut) await network.confirm(clock.now() - LATE_MS);
    if (!signal.aborted) return isCut ? before(network.sureUntil) ?? end : end;
    forget(signal.reason);
    start = before(signal.reason) ?? end;
    if (sweepSignal.aborted) return start;
  }
}

/** Time before the end of passes in which no reply has to arrive, milliseconds. */
const LATE_MS = 2000;

/**
 * How long the marks of passes are kept, milliseconds: longer than an outage takes to be noticed.
 */
export const KEPT_MARKS_MS = 60_000;
