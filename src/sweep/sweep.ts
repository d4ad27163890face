/**
 * The sweep: passes of probes over all targets that have not replied, and the wait for late replies.
 *
 * @module
 */
import { cooldown, Outstanding, type SentPass } from "./cooldown.ts";
import { runPasses, spaceOf } from "./passes.ts";
import { type ProbePassOptions, ProbeVisitor } from "./probe_passes.ts";
import type { Mark } from "./mark_history.ts";

/** Options of {@linkcode sweep}, with those of its passes. */
export interface SweepOptions extends ProbePassOptions {
  /** Whether a cancelled sweep shortens the cooldown. Default: yes. */
  readonly skipsCooldown?: () => boolean;
}

/**
 * Runs the passes and waits for late replies: up to `cooldownMs` after the last probe, and only
 * while an endpoint that was probed within that time has not replied.
 *
 * @returns The final mark: the end of the last pass, unless cancelled. After a signal that shortens
 * the cooldown, late replies are awaited at most as long as the pause between two passes. The mark
 * is then before the endpoints that may still reply, and a resumed scan probes these endpoints
 * again.
 */
export async function sweep(options: SweepOptions): Promise<Mark> {
  const { signal, clock, gapMs, cooldownMs } = options;
  const visitor = new ProbeVisitor(options);
  const { history } = visitor;
  const mark = await runPasses(options, visitor);
  const skipsCooldown = () => signal.aborted && (options.skipsCooldown?.() ?? true);
  const late = history.before(clock.now() - cooldownMs) ?? mark;
  const outstanding = new Outstanding(late, mark, (pass) => sentPass(pass, options));
  const waitMs = () => skipsCooldown() ? Math.min(gapMs, cooldownMs) : cooldownMs;
  await cooldown(clock, () => visitor.lastSent + waitMs(), outstanding);
  return skipsCooldown() ? history.before(clock.now() - cooldownMs) ?? mark : mark;
}

/** The targets of a pass, for the search for outstanding replies. */
function sentPass(number: number, { passes, order, skip }: SweepOptions): SentPass {
  const pass = passes[number - 1];
  return {
    space: spaceOf(pass, order),
    settled: (targets, i) => skip(targets, i, pass.protocol),
  };
}
