/**
 * Entries that are added to the list of opt-outs while a scan or watch runs.
 *
 * @module
 */
import type { Network } from "../../net/mod.ts";
import { eachSecond } from "../../scan/mod.ts";
import type { Range } from "../../targets/ranges.ts";
import { PartlyReadOptOuts } from "./opt_out_file.ts";

/** A fault that stays is reported again after this time, milliseconds. */
const REPORT_MS = 3_600_000;

/**
 * Compares the version of the list each second, and reads the list again after a change. A list that
 * cannot be read is read again in the next second; if only some lines can be parsed, these apply.
 * Such a fault is reported at once, and again in each hour in which it stays.
 *
 * @param add Called with all ranges of the list.
 * @param known The version of the list whose ranges are left out already. Default: none.
 * @returns Ends the comparisons.
 */
export function readChangedOptOuts(
  { optOuts, clock }: Pick<Network, "optOuts" | "clock">,
  report: (line: string) => void,
  add: (ranges: readonly Range[]) => void,
  known = "",
): AsyncDisposable {
  let fault = "";
  let [reported, reportedAt] = ["", 0];
  /** Reads the list if it has changed. */
  const read = async () => {
    const version = await optOuts.version!();
    if (version === known) return;
    const [ranges, found] = await optOuts.read().then(
      (ranges) => [ranges, ""] as const,
      (error) => {
        if (!(error instanceof PartlyReadOptOuts)) throw error;
        return [error.ranges, `${error.message}; this line is not obeyed`] as const;
      },
    );
    add(ranges);
    [known, fault] = [version, found];
  };
  const check = async () => {
    const now = await read().then(
      () => fault,
      ({ message }: Error) => `${message}; new opt-outs in it are not obeyed yet`,
    );
    if (now !== "" && (now !== reported || clock.now() - reportedAt >= REPORT_MS)) {
      report(now);
      reportedAt = clock.now();
    }
    reported = now;
  };
  const end = optOuts.version === undefined
    ? () => Promise.resolve()
    : eachSecond(clock, undefined, check);
  return { [Symbol.asyncDispose]: end };
}
