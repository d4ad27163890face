/**
 * The progress of a scan: one line on a terminal, a JSON file for programs.
 *
 * @module
 */
import { formatEndpoint } from "../../core/address.ts";
import type { ScanState } from "../../scan/scan_state.ts";
import type { FloodReport } from "../../sweep/flooding_hosts.ts";
import { estimateLoss } from "../../sweep/canaries/loss_estimate.ts";
import { report, reportLine, terminalSize } from "./console.ts";
import { reason, userPath, writeRefusal } from "../../app/environment.ts";
import type { DurationLimit, Plan } from "../../app/targets/scan_plan.ts";
import { countOf, withCommas } from "../../core/quantities.ts";
import { ProgressMeter, type ScanWork, statusLine } from "./status_line.ts";

/** Interval at which the line is drawn and the file is written, milliseconds. */
const EVERY_MS = 500;

/** Options of {@linkcode Progress}. */
export interface ProgressOptions {
  /** The counters that the status line shows. */
  readonly state: ScanState;
  /** What limits the rate. */
  readonly limitedBy: DurationLimit;
  /** The work of the scan. */
  readonly work: ScanWork;
  /** Whether the line is redrawn in place. */
  readonly terminal: boolean;
  /** Interval of lines without a terminal, milliseconds; 0: no lines. */
  readonly everyMs: number;
  /** Path of the status file; `undefined`: none. */
  readonly statusFile: string | undefined;
}

/** Shows progress until it is disposed. */
export class Progress implements Disposable {
  readonly #options: ProgressOptions;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #meter: ProgressMeter;
  /** Width of the line that is on the terminal now, columns. */
  #drawn = 0;
  #printed = performance.now();
  #warned = false;
  /** When the scan is expected to end, Unix milliseconds; `undefined`: unknown. */
  endsAt: number | undefined;

  /**
   * Starts showing.
   *
   * @throws InputError or WriteError when the status file cannot be written before the scan.
   */
  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#meter = new ProgressMeter(options.work, options.state, performance.now() / 1000);
    try {
      this.#writeStatus();
    } catch (error) {
      throw writeRefusal(options.statusFile!, error);
    }
    this.#timer = setInterval(() => this.#tick(), EVERY_MS);
  }

  #tick(): void {
    const { terminal, everyMs, state, limitedBy } = this.#options;
    this.#tryStatus();
    const now = performance.now();
    const progress = this.#meter.read(state, now / 1000);
    this.endsAt = Number.isFinite(progress.left) ? Date.now() + 1000 * progress.left : undefined;
    if (terminal) {
      const columns = Math.max(1, terminalSize().columns - 1);
      this.#draw(statusLine(state, progress, limitedBy, columns), columns);
    } else if (everyMs > 0 && now - this.#printed >= everyMs) {
      this.#printed = now;
      reportLine(statusLine(state, progress, limitedBy));
    }
  }

  /** Draws the line over the previous one, without escape sequences. */
  #draw(line: string, columns: number): void {
    report(`\r${line.padEnd(Math.min(this.#drawn, columns))}`);
    this.#drawn = line.length;
  }

  /** Clears the line, so that something else can be printed. */
  clear(): void {
    if (this.#drawn > 0) report(`\r${" ".repeat(this.#drawn)}\r`);
    this.#drawn = 0;
  }

  /** Prints that a pass begins. */
  reportPass(plan: Plan, transport: "udp" | "tcp"): void {
    const { state } = this.#options;
    const { pass, passes, size } = transport === "tcp" ? state.tcp : state;
    this.clear();
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
        this.clear();
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

  /** Shows the final state and stops. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.clear();
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
