/**
 * The progress of a scan: a block or a line on a terminal, a JSON file for programs.
 *
 * @module
 */
import { formatEndpoint } from "../../core/address.ts";
import type { ScanState } from "../../scan/scan_state.ts";
import type { FloodReport } from "../../sweep/flooding_hosts.ts";
import { estimateLoss } from "../../sweep/canaries/loss_estimate.ts";
import { reportLine, type TerminalSize } from "./console.ts";
import { reason, userPath, writeRefusal } from "../../app/environment.ts";
import type { DurationLimit, Plan } from "../../app/targets/scan_plan.ts";
import { countOf, withCommas } from "../../core/quantities.ts";
import { LatestRows } from "../../app/outputs/latest_rows.ts";
import { ProgressMeter, type ScanProgress, type ScanWork, statusLine } from "./status_line.ts";
import { LiveBlock, type LiveTerminal } from "./live/live_block.ts";
import { fitsBlock, LATEST_ROWS, scanBlockLines, SpeedHistory } from "./live/scan_block.ts";
import { StatusRow } from "./live/status_row.ts";

/** Interval at which progress is drawn and the file is written, milliseconds. */
const EVERY_MS = 500;

/** Options of {@linkcode Progress}. */
export interface ProgressOptions {
  /** The counters that are shown. */
  readonly state: ScanState;
  /** What limits the rate. */
  readonly limitedBy: DurationLimit;
  /** The work of the scan. */
  readonly work: ScanWork;
  /** What is redrawn in place on a terminal; `undefined`: nothing. */
  readonly display: "block" | "line" | undefined;
  /** Whether the block has colours. */
  readonly color: boolean;
  /** Interval of lines without a terminal, milliseconds; 0: no lines. */
  readonly everyMs: number;
  /** Path of the status file; `undefined`: none. */
  readonly statusFile: string | undefined;
  /** The terminal. */
  readonly terminal: LiveTerminal;
}

/** Shows progress until it is disposed. */
export class Progress implements Disposable {
  /** The latest rows, which the block shows. */
  readonly latest: LatestRows = new LatestRows(LATEST_ROWS);
  readonly #options: ProgressOptions;
  readonly #meter: ProgressMeter;
  readonly #speeds: SpeedHistory;
  readonly #display: LiveBlock | StatusRow | undefined;
  #progress: ScanProgress;
  #cancel: () => void;
  #printed: number;
  #warned = false;
  #isOver = false;
  /** When the scan is expected to end, Unix milliseconds; `undefined`: unknown. */
  endsAt: number | undefined;

  /**
   * Starts showing.
   *
   * @throws InputError or WriteError when the status file cannot be written before the scan.
   */
  constructor(options: ProgressOptions) {
    const { state, work, display, terminal, statusFile } = this.#options = options;
    const now = this.#printed = terminal.clock.now();
    this.#meter = new ProgressMeter(work, state, now / 1000);
    this.#progress = this.#meter.read(state, now / 1000);
    this.#speeds = new SpeedHistory(state, now / 1000);
    try {
      this.#writeStatus();
    } catch (error) {
      throw writeRefusal(statusFile!, error);
    }
    if (display === "block") this.#display = new LiveBlock(terminal, (size) => this.#block(size));
    if (display === "line") this.#display = new StatusRow(terminal, (size) => this.#line(size));
    this.#cancel = terminal.clock.after(EVERY_MS, () => this.#tick());
  }

  #tick(): void {
    const { terminal: { clock }, everyMs, state } = this.#options;
    this.#cancel = clock.after(EVERY_MS, () => this.#tick());
    this.#tryStatus();
    const now = clock.now();
    const progress = this.#progress = this.#meter.read(state, now / 1000);
    this.#speeds.add(state, now / 1000);
    this.endsAt = Number.isFinite(progress.left) ? clock.wall() + 1000 * progress.left : undefined;
    this.#display?.redraw();
    if (this.#display !== undefined || everyMs === 0 || now - this.#printed < everyMs) return;
    this.#printed = now;
    reportLine(this.#line());
  }

  /** The status line for a terminal; without a terminal it has any length. */
  #line({ columns }: { readonly columns: number } = { columns: Infinity }): string {
    const { state, limitedBy } = this.#options;
    return statusLine(state, this.#progress, limitedBy, Math.max(1, columns - 1));
  }

  /** The lines for a terminal: in a small one only the status line. */
  #block(size: TerminalSize): string[] {
    if (!fitsBlock(size)) return [this.#line(size)];
    const { state, limitedBy, color } = this.#options;
    const [progress, { samples }, latest] = [this.#progress, this.#speeds, this.latest.rows];
    return scanBlockLines({ state, progress, limitedBy, samples, latest, color }, size.columns);
  }

  /** Prints that a pass begins. */
  reportPass(plan: Plan, transport: "udp" | "tcp"): void {
    const { state } = this.#options;
    const { pass, passes, size } = transport === "tcp" ? state.tcp : state;
    if (pass === 0) {
      const [{ name, suppressed }] = plan.detectionPasses;
      reportLine(
        `detecting pass: ${name}; hosts that reply are not sent ${suppressed}`,
      );
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

  /** Writes the status file. A failure is reported and does not end the scan. */
  #tryStatus(): void {
    try {
      this.#writeStatus();
    } catch (error) {
      if (!this.#warned) {
        reportLine(`blocksweep: cannot write "${this.#options.statusFile}": ${reason(error)}`);
      }
      this.#warned = true;
    }
  }

  #writeStatus(): void {
    const { state, statusFile } = this.#options;
    if (statusFile === undefined) return;
    const path = userPath(statusFile);
    const text = JSON.stringify({ ...statusOf(state), updated_at: Date.now() }, null, 2);
    // Written to another file and renamed: readers always find a complete file.
    Deno.writeTextFileSync(`${path}.part`, `${text}\n`);
    Deno.renameSync(`${path}.part`, path);
  }

  /** Erases what is drawn, writes the final state to the status file, and stops. */
  [Symbol.dispose](): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancel();
    this.#display?.[Symbol.dispose]();
    this.#tryStatus();
  }
}

/** Packet loss, estimated from the canaries. */
function lossOf({ canaries }: ScanState): Record<string, number> | null {
  const { sent, lost, stopped } = canaries;
  const estimate = estimateLoss(canaries);
  return estimate === undefined ? null : { sent, lost, stopped, ...estimate };
}

/** Hosts that flooded, and the protocols with incomplete results for that reason. */
function floodsOf({ floods }: ScanState): Omit<FloodReport, "passes"> {
  const { hosts, datagrams, addresses, disturbed } = floods;
  return { hosts, datagrams, addresses, disturbed };
}

/** The result of the search for the highest rate. */
function rateOf({ rate }: ScanState): Record<string, number | string | null> | null {
  if (rate === undefined) return null;
  const { lossAt = null, lossThere = null, usualLoss = null } = rate;
  return {
    rate: rate.rate,
    reason: rate.reason,
    loss_at: lossAt,
    loss_there: lossThere,
    usual_loss: usualLoss,
  };
}

/** The passes over TCP, and how their connections ended. */
function connectionsOf({ tcp }: ScanState): Record<string, number> {
  return {
    pass: tcp.pass,
    passes: tcp.passes,
    position: tcp.position,
    pass_size: tcp.size,
    connects: tcp.sent,
    unprobed: tcp.unprobed,
    ...tcp.counts,
  };
}

/** The state as the object of the status file. */
export function statusOf(state: ScanState): Record<string, unknown> {
  return {
    scan_id: state.scanId,
    state: state.ended ?? "running",
    pass: state.pass,
    passes: state.passes,
    position: state.position,
    pass_size: state.size,
    visited: state.visited,
    total: state.total,
    engine: state.engine,
    threads: state.threads,
    receive_buffer: state.receiveBuffer,
    probes_sent: state.sent,
    probes_refused: state.refused,
    errors: state.errors,
    waits: state.waits,
    datagrams_dropped: state.dropped,
    replies: state.replies,
    omitted_at: state.omittedAt.map(({ endpoint }) => formatEndpoint(endpoint)),
    floods: floodsOf(state),
    loss: lossOf(state),
    rate: rateOf(state),
    tcp: connectionsOf(state),
    inspecting: state.inspecting,
    written: state.written,
    aliases: state.aliases,
    lost: state.lost,
    first_probe_at: state.firstProbeAt ?? null,
    last_row_at: state.lastRowAt ?? null,
    no_status: state.noStatus,
    opted_out: state.optedOut,
    uninspected: state.uninspected,
    inspected_in_part: state.inspectedInPart,
  };
}

/** A line on the effect of a suspended machine or a changed system clock. */
export function clockJumpLine(ms: number): string {
  const seconds = withCommas(Math.round(Math.abs(ms) / 1000));
  return ms < 0
    ? `blocksweep: the system clock was set back by ${seconds} s: this affects seen_at only`
    : `blocksweep: the system clock jumped ahead by ${seconds} s: if the machine was suspended, ` +
      "replies to the latest probes were lost; the next pass repeats them (--retries)";
}
