/**
 * Entries that are added to the list of opt-outs while a scan or watch runs.
 *
 * @module
 */
import type { Network } from "../../net/network.ts";
import { eachSecond } from "../../scan/checkpoint/save_timer.ts";
import type { Range } from "../../targets/ranges.ts";

/**
 * Compares the version of the list each second, and reads the list again after a change. A list that
 * cannot be read is reported once, and read again in the next second.
 *
 * @param add Called with all ranges of the list.
 * @returns Ends the comparisons.
 */
export function readChangedOptOuts(
  { optOuts, clock }: Pick<Network, "optOuts" | "clock">,
  report: (line: string) => void,
  add: (ranges: readonly Range[]) => void,
): AsyncDisposable {
  let [known, reported] = ["", ""];
  const check = async () => {
    try {
      const version = await optOuts.version!();
      if (version === known) return;
      add(await optOuts.read());
      [known, reported] = [version, ""];
    } catch (error) {
      const { message } = error as Error;
      if (message !== reported) report(`${message}; new opt-outs in it are not obeyed yet`);
      reported = message;
    }
  };
  const end = optOuts.version === undefined
    ? () => Promise.resolve()
    : eachSecond(clock, undefined, check);
  return { [Symbol.asyncDispose]: end };
}
