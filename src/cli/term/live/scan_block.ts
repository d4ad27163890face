/**
 * The progress of a scan as a block of lines: a bar, speeds over time, losses, and the latest rows.
 * Pure: the time and the size of the terminal are arguments.
 *
 * @module
 */
import { cutWidth, displayWidth, fitWidth } from "../../../core/display_width.ts";
import { countOf, withCommas } from "../../../core/quantities.ts";
import { harmlessText } from "../../../core/text.ts";
import { serverId, type ServerRecord } from "../../../core/record.ts";
import type { ScanState } from "../../../scan/mod.ts";
import { estimateLoss } from "../../../sweep/mod.ts";
import type { DurationLimit } from "../../../app/targets/mod.ts";
import { playersText } from "../../../app/outputs/mod.ts";
import { foundIn, type ScanProgress } from "../../../app/scan/mod.ts";
import type { TerminalSize } from "../console.ts";
import { percent } from "../loss_lines.ts";
import { coloredName, paintText } from "../server_description.ts";
import {
  adaptiveItems,
  digits,
  fitItems,
  limitText,
  type LineItem,
  passItems,
  shortTime,
} from "../status_line.ts";

/** Number of rows that the block shows. */
export const LATEST_ROWS = 3;
/** Maximum width of the block, columns. */
const WIDEST = 120;
/** Widths of the texts in the lines, columns. */
const WIDTHS = { name: 10, number: 11, players: 9, version: 12, times: 37 };
/** Minimum period of a sample, seconds. */
const SAMPLE = 1;
/** Maximum number of samples: the width of the longest sparkline. */
const MAX_SAMPLES = 60;

/** Whether a terminal has enough columns and rows for the block. */
export function fitsBlock({ columns, rows }: TerminalSize): boolean {
  return columns >= 80 && rows >= 20;
}

/** Speeds in one period of a scan. */
export interface SpeedSample {
  /** Packets and connections a second. */
  readonly sent: number;
  /** Valid replies a second. */
  readonly found: number;
}

/** The speeds of a scan in the last minute. */
export class SpeedHistory {
  /** The samples, the latest last. */
  samples: readonly SpeedSample[] = [];
  #last: { readonly at: number; readonly sent: number; readonly found: number };

  /** Starts with the state of a scan at a time, in seconds. */
  constructor(state: ScanState, at: number) {
    this.#last = { at, sent: sentIn(state), found: foundIn(state) };
  }

  /** Adds a sample, if the last one is at least a second old. */
  add(state: ScanState, at: number): void {
    const { at: before, sent, found } = this.#last;
    const seconds = at - before;
    if (seconds < SAMPLE) return;
    this.#last = { at, sent: sentIn(state), found: foundIn(state) };
    const sample = {
      sent: (this.#last.sent - sent) / seconds,
      found: (this.#last.found - found) / seconds,
    };
    this.samples = [...this.samples, sample].slice(-MAX_SAMPLES);
  }
}

function sentIn({ sent, tcp }: ScanState): number {
  return sent + tcp.sent;
}

export interface ScanView {
  readonly state: ScanState;
  /** Share, time left and speeds. */
  readonly progress: ScanProgress;
  /** What limits the rate. */
  readonly limitedBy: DurationLimit;
  /** The speeds of the last minute, the latest last. */
  readonly samples: readonly SpeedSample[];
  /** The latest rows, the newest first. */
  readonly latest: readonly ServerRecord[];
  readonly color: boolean;
}

/** The lines of the block. Each is narrower than the terminal; text of servers is escaped. */
export function scanBlockLines(view: ScanView, columns: number): string[] {
  const { state, progress, limitedBy, samples, color } = view;
  const width = Math.min(columns, WIDEST) - 1;
  const space = width - WIDTHS.name;
  const name = (text: string) => {
    const padded = text.padEnd(WIDTHS.name);
    return color && text !== "" ? paintText("dim", padded) : padded;
  };
  const rate = `${withCommas(Math.round(progress.rate))}/s`;
  const hitRate = progress.hitRate === undefined
    ? ""
    : `, hit rate ${digits(100 * progress.hitRate)}%`;
  const hits = `${withCommas(foundIn(state))} found${hitRate}`;
  const sparkline = (values: readonly number[], now: string, rest: string) =>
    speedText(values, now, rest, space);
  return [
    name("progress") + barText(progress, space),
    name("") + fitItems(countItems(state), space),
    name("rate") + sparkline(samples.map(({ sent }) => sent), rate, limitText(state, limitedBy)),
    name("hits") +
    sparkline(samples.map(({ found }) => found), `${digits(progress.replyRate)}/s`, hits),
    name("losses") + fitItems(lossItems(state), space),
    ...latestLines(view, space).map((line, i) => name(i === 0 ? "found" : "") + line),
  ];
}

/** Bar, share, remaining and elapsed time. */
function barText({ share, left, elapsed }: ScanProgress, space: number): string {
  const percentage = `${(100 * share).toFixed(1).padStart(5)}%`;
  const times = `ETA ${shortTime(left)}`.padEnd(11) + `  ${shortTime(elapsed)} elapsed`;
  const text = `${percentage}  ${times}`.padEnd(WIDTHS.times);
  return `[${bar(share, space - text.length - 4)}]  ${text}`.trimEnd();
}

/** Parts of a character, from an eighth of its width. */
const EIGHTHS = "▏▎▍▌▋▊▉";

/** A horizontal bar of a width. */
export function bar(share: number, width: number): string {
  const eighths = Math.floor(8 * width * Math.min(1, Math.max(0, share)));
  const part = EIGHTHS[eighths % 8 - 1] ?? "";
  return ("█".repeat(Math.floor(eighths / 8)) + part).padEnd(width);
}

const LEVELS = "▁▂▃▄▅▆▇█";

/** The latest values as a line of bars. Only a value of 0 has the lowest bar. */
export function sparkline(values: readonly number[], width: number): string {
  const shown = values.slice(-width);
  const most = Math.max(0, ...shown);
  const bars = shown.map((value) =>
    value <= 0 ? LEVELS[0] : LEVELS[Math.ceil((LEVELS.length - 1) * value / most)]
  );
  return bars.join("").padStart(width);
}

/** A sparkline, the speed now, and more about it. */
function speedText(values: readonly number[], now: string, rest: string, space: number): string {
  const width = Math.min(MAX_SAMPLES, Math.floor(space / 2) - WIDTHS.number);
  const number = now.padStart(WIDTHS.number);
  const left = space - width - number.length - 2;
  return `${sparkline(values, width)}${number}  ${cutWidth(rest, left)}`.trimEnd();
}

/** The passes and the counters. */
function countItems(state: ScanState): LineItem[] {
  const { inspecting, written, noStatus } = state;
  return [
    ...passItems(state, 4),
    ...state.adaptive === undefined ? [] : adaptiveItems(state.adaptive),
    [2, `${withCommas(sentIn(state))} sent`],
    ...(inspecting === 0 ? [] : [[3, `${countOf(inspecting, "interview")} pending`] as const]),
    [1, `${countOf(written, "row")} written`],
    ...(noStatus === 0 ? [] : [[6, `${withCommas(noStatus)} without status`] as const]),
  ];
}

/** Losses by their causes, the most severe first. */
function lossItems(state: ScanState): LineItem[] {
  const { tcp, replies, floods, canaries } = state;
  const estimate = estimateLoss(canaries);
  const causes: readonly (readonly [count: number, text: string])[] = [
    [state.lost, "not written"],
    [state.dropped, "dropped: buffer full or bad checksum"],
    [state.refused + tcp.refused, "refused by the system"],
    [state.uninspected, "without a descriptor"],
    [replies.omitted, "omitted"],
    [floods.datagrams, "of flooding hosts ignored"],
  ];
  const counted = causes.filter(([count]) => count > 0);
  const lost = estimate === undefined ? [[0, "packets: not measured yet"] as const] : [
    [0, `about ${percent(estimate.share)}% of packets`] as const,
    [9, `(95% confidence: ${percent(estimate.low)} to ${percent(estimate.high)}%)`] as const,
  ];
  return [
    ...lost,
    ...counted.map(([count, text], i) => [1 + i, `${withCommas(count)} ${text}`] as const),
  ];
}

/** The latest rows: server, players, version, and the name in its colours. */
function latestLines({ latest, color }: ScanView, space: number): string[] {
  const rows = latest.map((record) => [
    cutWidth(serverId(record), Math.floor(space / 2)),
    cutWidth(playersText(record), WIDTHS.players),
    cutWidth(harmlessText(record.version ?? ""), WIDTHS.version),
  ]);
  const widths = [0, 1, 2].map((i) => Math.max(0, ...rows.map((cells) => displayWidth(cells[i]))));
  const left = widths.reduce((rest, width) => rest - width - 2, space);
  return rows.map((cells, i) => {
    const facts = cells.map((text, column) => `${fitWidth(text, widths[column])}  `).join("");
    return facts + coloredName(latest[i], color, left);
  });
}
