/**
 * Passes over targets, one after the other: with probes, or with connections.
 *
 * @module
 */
import { type Clock, sleep } from "../net/clock.ts";
import { type Segment, type TargetOrder, TargetSpace } from "../targets/space.ts";
import type { Mark } from "./trail.ts";

/** One pass: a protocol over its targets. */
export interface Pass {
  /** The name of the protocol. */
  readonly protocol: string;
  /** The targets, which differ by the usual ports of the protocol. */
  readonly segments: readonly Segment[];
  /** The number of the order in which it visits them: each pass has an order of its own. */
  readonly number: number;
}

/**
 * Orders of passes with connections are numbered from here on: no host gets a connection when its
 * probe is sent, but by chance.
 */
export const CONNECTION_ORDERS = 1 << 20;

/**
 * Plans passes: for every protocol one more than there are retries, protocol by protocol.
 *
 * @param orders The passes have the orders after this one.
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

/** The space of one pass. */
export function spaceOf({ segments, number }: Pass, order: TargetOrder): TargetSpace {
  return new TargetSpace(segments, { ...order, pass: number });
}

/** Where passes publish how far they have come. */
export interface PassProgress {
  /** A pass begins, at a mark. */
  begin(pass: Pass, mark: Mark, size: number): void;
  /** So many positions were visited, so many probes or connections left, and so many could not. */
  note(visited: number, sent: number, refused: number): void;
}

/** How far the visitor of a pass came. */
export interface Visited {
  /** The first position that was not visited to its end: the size of the pass, unless it was cut. */
  readonly position: number;
  /** Whether nothing was sent. */
  readonly isQuiet: boolean;
}

/** Visits the targets of passes. */
export interface PassVisitor {
  /** Visits those of a pass, in its order, from a mark on. */
  visit(pass: Pass, space: TargetSpace, from: Mark): Promise<Visited>;
}

/** What running passes needs. */
export interface PassOptions {
  /** The passes, in order. */
  readonly passes: readonly Pass[];
  /** Which targets a pass visits, and in which order. */
  readonly order: TargetOrder;
  /** Where to start. */
  readonly from: Mark;
  /**
   * Pause behind a pass in which something was sent, milliseconds: at least a second between two
   * probes of one host.
   */
  readonly gapMs: number;
  /** The clock. */
  readonly clock: Clock;
  /** Ends the passes early. */
  readonly signal: AbortSignal;
  /** Where it is published how far they have come. */
  readonly progress: PassProgress;
}

/**
 * Runs passes, with pauses between them.
 *
 * @returns Where they stand: behind the last one, unless the signal came.
 */
export async function runPasses(options: PassOptions, visitor: PassVisitor): Promise<Mark> {
  const { passes, order, gapMs, clock, signal, progress } = options;
  let mark = options.from;
  while (mark.pass <= passes.length && !signal.aborted) {
    const pass = passes[mark.pass - 1];
    const space = spaceOf(pass, order);
    progress.begin(pass, mark, space.size);
    const { position, isQuiet } = await visitor.visit(pass, space, mark);
    if (position < space.size) return { pass: mark.pass, position };
    const isWhole = mark.position === 0;
    mark = { pass: mark.pass + 1, position: 0 };
    const pauses = mark.pass <= passes.length && !(isWhole && isQuiet);
    if (pauses) await sleep(clock, gapMs, signal);
  }
  return mark;
}
