/**
 * What follows the passes of a scan where flooding hosts disturbed them.
 *
 * @module
 */
import { sleep } from "../net/clock.ts";
import type { Floods } from "../sweep/floods.ts";
import { sweep, type SweepOptions } from "../sweep/sweep.ts";
import type { ScanOptions } from "./options.ts";

/** Passes of one protocol that follow, at the most. */
const MOST = 2;

/**
 * Probes unresponsive targets once more in each protocol all of whose passes were disturbed, up to
 * twice and as often as retries are allowed. The hosts that flooded are left out by now.
 */
export async function sweepDisturbed(
  options: SweepOptions & Pick<ScanOptions, "retries" | "state">,
  floods: Floods,
): Promise<void> {
  const { clock, gapMs, retries, signal, state } = options;
  const kinds = new Map(options.passes.map((pass) => [pass.kind.protocol, pass]));
  for (let left = Math.min(retries, MOST); left > 0; left--) {
    const passes = [...kinds].filter(([name]) => floods.disturbed.includes(name));
    if (passes.length === 0 || signal.aborted) return;
    await sleep(clock, gapMs, signal);
    await sweep({
      ...options,
      passes: passes.map(([, pass]) => pass),
      from: { pass: 1, position: 0 },
      trail: undefined,
      onPass: (pass, size) => {
        floods.begin(passes[pass - 1][0]);
        Object.assign(state, { size, position: 0, total: state.total + size });
      },
    });
  }
}
