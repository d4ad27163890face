/**
 * The status line of a scan. Pure: the state and the progress are arguments.
 *
 * @module
 */
import type { AdaptiveReport, ScanState } from "../../scan/mod.ts";
import type { RateReason } from "../../sweep/mod.ts";
import { foundIn, type ScanProgress } from "../../app/scan/mod.ts";
import type { DurationLimit } from "../../app/targets/mod.ts";
import { clockTime, countOf, withCommas } from "../../core/quantities.ts";

/** An item of a line. In a narrow terminal the item with the highest rank is left out first. */
export type LineItem = readonly [rank: number, text: string];

/**
 * The text of the status line. Parts that do not fit the columns are left out, least important
 * first.
 */
export function statusLine(
  state: ScanState,
  { elapsed, left, share, rate, replyRate, hitRate }: ScanProgress,
  limitedBy: DurationLimit,
  columns = Infinity,
): string {
  const { tcp } = state;
  const limit = limitText(state, limitedBy);
  const items: LineItem[] = [
    [6, shortTime(elapsed)],
    [0, `${(100 * share).toFixed(1)}%${state.adaptive === undefined ? "" : " of budget"}`],
    [1, `ETA ${shortTime(left)}`],
    ...passItems(state, 8),
    [7, `${withCommas(state.sent + tcp.sent)} sent`],
    [3, `${withCommas(Math.round(rate))}/s`],
    ...(limit === "" ? [] : [[10, limit] as const]),
    [2, `${withCommas(foundIn(state))} found (${digits(replyRate)}/s)`],
    ...(state.inspecting === 0
      ? []
      : [[5, `${countOf(state.inspecting, "interview")} pending`] as const]),
    ...state.adaptive !== undefined
      ? adaptiveItems(state.adaptive)
      : hitRate === undefined
      ? []
      : [[4, `hit rate ${digits(100 * hitRate)}%`] as const],
    [12, `${countOf(state.written, "row")} written`],
    ...(state.noStatus === 0
      ? []
      : [[11, `${withCommas(state.noStatus)} without status`] as const]),
    ...(state.lost === 0 ? [] : [[3, `${withCommas(state.lost)} lost`] as const]),
  ];
  return fitItems(items, columns);
}

/** The figures of the status line, for messages as JSON. */
export function progressFigures(
  state: ScanState,
  { elapsed, left, share, rate }: ScanProgress,
): Record<string, number | null> {
  return {
    share: Number(share.toFixed(4)),
    elapsed_s: Math.round(elapsed),
    left_s: Number.isFinite(left) ? Math.round(left) : null,
    packets_per_second: Math.round(rate),
    ...countFigures(state),
  };
}

/** The counters of a scan, for messages as JSON. */
export function countFigures(state: ScanState): Record<string, number> {
  return {
    sent: state.sent + state.tcp.sent,
    found: foundIn(state),
    interviews_pending: state.inspecting,
    written: state.written,
    without_status: state.noStatus,
    lost: state.lost,
  };
}

/** The items of the status line: servers per million probes now, and the estimated number of servers. */
export function adaptiveItems({ spent, recentYield, estimates }: AdaptiveReport): LineItem[] {
  if (spent === 0) return [];
  const sum = (of: "found" | "total") =>
    withCommas(Math.round(estimates.reduce((all, { estimate }) => all + estimate[of], 0)));
  return [
    [4, `${digits(recentYield)} per million probes now`],
    ...estimates.length === 0
      ? []
      : [[8, `${sum("found")} on default ports of about ${sum("total")}`] as const],
  ];
}

/**
 * The passes that run. An adaptive scan does not know their number beforehand.
 *
 * @param rank The rank of the pass over UDP; that of the pass over TCP is the next.
 */
export function passItems({ pass, passes, tcp, adaptive }: ScanState, rank: number): LineItem[] {
  if (adaptive !== undefined) return [[rank, `pass ${Math.max(pass, tcp.pass)}`]];
  return [
    ...(passes > 0 ? [[rank, `pass ${pass}/${passes}`] as const] : []),
    ...(tcp.passes > 0 ? [[rank + 1, `TCP ${tcp.pass}/${tcp.passes}`] as const] : []),
  ];
}

export function fitItems(items: readonly LineItem[], columns: number): string {
  const fitting = [...items];
  const text = () => fitting.map(([, item]) => item).join("  ");
  while (fitting.length > 1 && text().length > columns) {
    const least = Math.max(...fitting.map(([rank]) => rank));
    fitting.splice(fitting.findIndex(([rank]) => rank === least), 1);
  }
  return text().slice(0, columns);
}

/** The reasons of `--rate auto` in a few words. */
const RATE_REASONS: Readonly<Record<RateReason, string>> = {
  loss: "loss at higher rates",
  buffers: "buffers full at higher rates",
  sender: "limited by caps or this machine",
  limit: "highest allowed rate",
  searching: "searching",
  unknown: "too few replies",
};

/** The limit of the rate, if it is not `--rate` alone. */
export function limitText({ rate }: ScanState, limitedBy: DurationLimit): string {
  if (limitedBy.endsWith("-rate")) return `(limited by --${limitedBy})`;
  return rate === undefined ? "" : `(--rate auto: ${RATE_REASONS[rate.reason]})`;
}

/** `1:05`, `2:01:05`, or `?`. */
export function shortTime(seconds: number): string {
  return clockTime(seconds).replace(/^00:0?/, "").replace(/^0(?=\d:)/, "");
}

/** A number with two significant digits, or all digits of its integer part. */
export function digits(value: number): string {
  return value >= 10 ? withCommas(Math.round(value)) : String(Number(value.toPrecision(2)));
}
