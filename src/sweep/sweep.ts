/**
 * The sweep: one pass per kind of probe and retry, over all targets that have not answered.
 *
 * @module
 */
import { sleep } from "../net/clock.ts";
import { type Segment, type TargetOrder, TargetSpace } from "../targets/space.ts";
import { cooldown, Outstanding, type SentPass } from "./cooldown.ts";
import type { ProbeKind } from "./receiver.ts";
import { type Mark, Trail } from "./trail.ts";
import { Sender, type SenderOptions, type SendProgress } from "./sender.ts";

/** One pass: a kind of probe over its targets. */
export interface Pass {
  /** The kind of probe. */
  readonly kind: ProbeKind;
  /** Its targets, which differ by the usual ports of the protocol. */
  readonly segments: readonly Segment[];
}

/** What a sweep needs besides what its senders need. */
export interface SweepOptions extends SenderOptions {
  /** The passes, in order. */
  readonly passes: readonly Pass[];
  /** Which targets a pass visits, and in which order. */
  readonly order: TargetOrder;
  /** Where to start. */
  readonly from: Mark;
  /**
   * Pause behind a pass in which something left, milliseconds: at least a second between two questions
   * to one host.
   */
  readonly gapMs: number;
  /** How long to wait for late answers at the end, milliseconds. */
  readonly cooldownMs: number;
  /** Told when a pass starts. */
  readonly onPass: (pass: number, size: number) => void;
  /** Where it is noted how far the sweep came, and when. Default: known at the end alone. */
  readonly trail?: Trail;
  /** Whether the signal wants an end soon, without the whole cooldown. Default: yes. */
  readonly hurried?: () => boolean;
}

/**
 * Builds the passes: for every kind one more than there are retries, kind by kind.
 *
 * @param retries How often the silent are asked again.
 */
export function planPasses(
  kinds: readonly ProbeKind[],
  retries: number,
  segmentsFor: (protocol: string) => readonly Segment[],
): Pass[] {
  return kinds.flatMap((kind) => {
    const segments = segmentsFor(kind.protocol);
    return Array.from({ length: retries + 1 }, () => ({ kind, segments }));
  });
}

/** The space of one pass. */
export function spaceOf({ segments }: Pass, pass: number, order: TargetOrder): TargetSpace {
  return new TargetSpace(segments, { ...order, pass });
}

/**
 * Runs the passes and waits for late answers: so long after the last probe, and only while somebody
 * who was asked within that time has not answered.
 *
 * @returns Where it stands: behind the last pass, unless the signal came. After a signal that wants
 * an end soon, late answers are awaited no longer than a pause between passes lasts, and it stands
 * before those that may answer later still: whoever goes on there asks them again.
 */
export async function sweep(options: SweepOptions): Promise<Mark> {
  const { passes, signal, clock, gapMs, cooldownMs } = options;
  let mark = options.from;
  let lastSent = -Infinity;
  const trail = options.trail ?? new Trail(mark, clock.now(), cooldownMs);
  while (mark.pass <= passes.length && !signal.aborted) {
    const pass = passes[mark.pass - 1];
    const space = spaceOf(pass, mark.pass, options.order);
    options.onPass(mark.pass, space.size);
    let visited = mark.position;
    let quiet = mark.position === 0; // and so far nothing of it has left
    const onProgress = (progress: SendProgress) => {
      visited += progress.visited;
      if (progress.sent > 0) {
        lastSent = clock.now();
        quiet = false;
      }
      trail.note(mark.pass, visited, clock.now());
      options.onProgress(progress);
    };
    const sender = new Sender(pass.kind, { ...options, onProgress });
    const position = await sender.send(space, mark.position);
    if (position < space.size) {
      mark = { pass: mark.pass, position };
      break;
    }
    mark = { pass: mark.pass + 1, position: 0 };
    if (mark.pass <= passes.length && !quiet) await sleep(clock, gapMs, signal);
  }
  const hurried = () => signal.aborted && (options.hurried?.() ?? true);
  const late = trail.before(clock.now() - cooldownMs) ?? mark;
  const outstanding = new Outstanding(late, mark, (pass) => sentPass(pass, options));
  const waitMs = () => hurried() ? Math.min(gapMs, cooldownMs) : cooldownMs;
  await cooldown(clock, () => lastSent + waitMs(), outstanding);
  return hurried() ? trail.before(clock.now() - cooldownMs) ?? mark : mark;
}

/** A pass, to look who of it has not answered. */
function sentPass(pass: number, options: SweepOptions): SentPass {
  const { kind: { protocol } } = options.passes[pass - 1];
  return {
    space: spaceOf(options.passes[pass - 1], pass, options.order),
    settled: (targets, i) => options.skip(targets, i, protocol),
  };
}
