/**
 * The progress of a scan: a block or a line on a terminal.
 *
 * @module
 */
import { LatestRows } from "../../app/outputs/mod.ts";
import type { ScanMonitor } from "../../app/scan/mod.ts";
import type { DurationLimit, Plan } from "../../app/targets/mod.ts";
import { countOf, withCommas } from "../../core/quantities.ts";
import { reportFigures, reportLine, type TerminalSize } from "./console.ts";
import { LiveBlock, type LiveTerminal } from "./live/live_block.ts";
import { fitsBlock, LATEST_ROWS, scanBlockLines, SpeedHistory } from "./live/scan_block.ts";
import { StatusRow } from "./live/status_row.ts";
import { progressFigures, statusLine } from "./status_line.ts";

/** Options of {@linkcode Progress}. */
export interface ProgressOptions {
  /** Reads the state that is shown. */
  readonly monitor: ScanMonitor;
  /** What limits the rate. */
  readonly limitedBy: DurationLimit;
  /** What is redrawn in place on a terminal; `undefined`: nothing. */
  readonly display: "block" | "line" | undefined;
  readonly color: boolean;
  /** Interval of lines without a terminal, milliseconds; 0: no lines. */
  readonly everyMs: number;
  readonly terminal: LiveTerminal;
}

/** Shows progress until it is disposed. */
export class Progress implements Disposable {
  /** The latest rows, which the block shows. */
  readonly latest: LatestRows = new LatestRows(LATEST_ROWS);
  readonly #options: ProgressOptions;
  readonly #speeds: SpeedHistory;
  readonly #display: LiveBlock | StatusRow | undefined;
  #printed: number;

  constructor(options: ProgressOptions) {
    const { monitor, display, terminal } = this.#options = options;
    const now = this.#printed = terminal.clock.now();
    this.#speeds = new SpeedHistory(monitor.state, now / 1000);
    if (display === "block") this.#display = new LiveBlock(terminal, (size) => this.#block(size));
    if (display === "line") this.#display = new StatusRow(terminal, (size) => this.#line(size));
    monitor.onRead = () => this.#show();
  }

  #show(): void {
    const { terminal: { clock }, everyMs, monitor } = this.#options;
    const now = clock.now();
    this.#speeds.add(monitor.state, now / 1000);
    this.#display?.redraw();
    if (this.#display !== undefined || everyMs === 0 || now - this.#printed < everyMs) return;
    this.#printed = now;
    reportFigures(this.#line(), progressFigures(monitor.state, monitor.progress));
  }

  /** The status line for a terminal; without a terminal it has any length. */
  #line({ columns }: { readonly columns: number } = { columns: Infinity }): string {
    const { monitor: { state, progress }, limitedBy } = this.#options;
    return statusLine(state, progress, limitedBy, Math.max(1, columns - 1));
  }

  /** The lines for a terminal: in a small one only the status line. */
  #block(size: TerminalSize): string[] {
    if (!fitsBlock(size)) return [this.#line(size)];
    const { monitor: { state, progress }, limitedBy, color } = this.#options;
    const [{ samples }, latest] = [this.#speeds, this.latest.rows];
    return scanBlockLines({ state, progress, limitedBy, samples, latest, color }, size.columns);
  }

  /** Prints that a pass begins. */
  reportPass(plan: Plan, transport: "udp" | "tcp"): void {
    const { state } = this.#options.monitor;
    const { pass, passes, size } = transport === "tcp" ? state.tcp : state;
    if (pass === 0) {
      const [{ name, suppressed }] = plan.detectionPasses;
      reportLine(`detecting pass: ${name}; hosts that reply are not sent ${suppressed}`);
      return;
    }
    if (plan.adaptive !== undefined) {
      reportLine(`${transport === "tcp" ? "TCP " : ""}pass ${pass}: ${countOf(size, "target")}`);
      return;
    }
    const { protocols: { [pass - 1]: name }, probes: { [pass - 1]: probes } } =
      plan.passes[transport];
    const part = probes < size ? `${withCommas(probes)} of ` : "";
    reportLine(
      `${transport === "tcp" ? "TCP " : ""}pass ${pass} of ${passes}: ${name}, ${part}` +
        countOf(size, "target"),
    );
  }

  /** Erases what is drawn, and stops. */
  [Symbol.dispose](): void {
    this.#options.monitor.onRead = () => {};
    this.#display?.[Symbol.dispose]();
  }
}

/** A line on the effect of a suspended machine or a changed system clock. */
export function clockJumpLine(ms: number): string {
  const seconds = withCommas(Math.round(Math.abs(ms) / 1000));
  return ms < 0
    ? `blocksweep: the system clock was set back by ${seconds} s: this affects seen_at only`
    : `blocksweep: the system clock jumped ahead by ${seconds} s: if the machine was suspended, ` +
      "replies to the latest probes were lost; the next pass repeats them (--retries)";
}
