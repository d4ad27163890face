/**
 * What follows the passes of a scan where flooding hosts disturbed them.
 *
 * @module
 */
import { sleep } from "../../net/clock.ts";
import type { FloodingHosts } from "../../sweep/flooding_hosts.ts";
import { sweep, type SweepOptions } from "../../sweep/sweep.ts";
import type { ScanIo, ScanLimits } from "../scan_options.ts";

/** How often such passes are begun at the most, by all parts of a scan together. */
const MOST = 2;

/**
 * Probes unresponsive targets once more in each protocol without an undisturbed pass, up to twice and
 * as often as retries are allowed. The hosts that flooded are left out by now.
 *
 * @returns Whether more of that is left to do: the passes were cut off.
 */
export async function sweepDisturbed(
  options: SweepOptions & Pick<ScanLimits, "retries"> & Pick<ScanIo, "state">,
  floods: FloodingHosts,
): Promise<boolean> {
  const { clock, gapMs, retries, signal, state } = options;
  const kinds = new Map(options.passes.map((pass) => [pass.kind.protocol, pass]));
  for (;;) {
    const passes = [...kinds].filter(([name]) => floods.disturbed.includes(name));
    if (passes.length === 0 || floods.further >= Math.min(retries, MOST)) return false;
    if (signal.aborted) return true;
    await sleep(clock, gapMs, signal);
    if (signal.aborted) return true;
    floods.beginFurther();
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
    if (!signal.aborted) floods.end();
  }
}
