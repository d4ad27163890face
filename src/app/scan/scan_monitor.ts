/**
 * Follows a running scan: its speeds, when it is expected to end, and its status file.
 *
 * @module
 */
import type { Clock } from "../../net/clock.ts";
import type { ScanState } from "../../scan/mod.ts";
import { reason, userPath, writeRefusal } from "../environment.ts";
import { ProgressMeter, type ScanProgress, type ScanWork } from "./progress_meter.ts";
import { scanStatus } from "./scan_status.ts";

/** Interval at which the state is read and the status file is written, milliseconds. */
const EVERY_MS = 500;

/** Options of {@linkcode ScanMonitor}. */
export interface MonitorOptions {
  readonly state: ScanState;
  readonly work: ScanWork;
  /** Path of the status file; `undefined`: none. */
  readonly statusFile: string | undefined;
  /** The clock of the interval. */
  readonly clock: Clock;
  /** Receives a line when the status file cannot be written. */
  readonly warn: (line: string) => void;
}

/** Reads the state of a scan until it is disposed. */
export class ScanMonitor implements Disposable {
  readonly #options: MonitorOptions;
  readonly #meter: ProgressMeter;
  #cancel = () => {};
  #warned = false;
  #isOver = false;
  /** The progress at the last reading. */
  progress: ScanProgress;
  /** When the scan is expected to end, Unix milliseconds; `undefined`: unknown. */
  endsAt: number | undefined;
  onRead: () => void = () => {};

  /**
   * Reads once.
   *
   * @throws InputError or WriteError when the status file cannot be written before the scan.
   */
  constructor(options: MonitorOptions) {
    const { state, work, statusFile, clock } = this.#options = options;
    const now = clock.now() / 1000;
    this.#meter = new ProgressMeter(work, state, now);
    this.progress = this.#meter.read(state, now);
    try {
      this.#writeStatus();
    } catch (error) {
      throw writeRefusal(statusFile!, error);
    }
  }

  /** Starts to read at intervals. */
  start(): void {
    this.#cancel = this.#options.clock.after(EVERY_MS, () => this.#tick());
  }

  get state(): ScanState {
    return this.#options.state;
  }

  #tick(): void {
    const { clock, state } = this.#options;
    this.start();
    this.#tryStatus();
    const { left } = this.progress = this.#meter.read(state, clock.now() / 1000);
    this.endsAt = Number.isFinite(left) ? clock.wall() + 1000 * left : undefined;
    this.onRead();
  }

  /** Writes the status file. A failure is reported and does not end the scan. */
  #tryStatus(): void {
    try {
      this.#writeStatus();
    } catch (error) {
      const { statusFile, warn } = this.#options;
      if (!this.#warned) warn(`blocksweep: cannot write "${statusFile}": ${reason(error)}`);
      this.#warned = true;
    }
  }

  #writeStatus(): void {
    const { clock, state, statusFile } = this.#options;
    if (statusFile === undefined) return;
    const path = userPath(statusFile);
    const text = JSON.stringify({ ...scanStatus(state), updated_at: clock.wall() }, null, 2);
    // Written to another file and renamed: readers always find a complete file.
    Deno.writeTextFileSync(`${path}.part`, `${text}\n`);
    Deno.renameSync(`${path}.part`, path);
  }

  /** Writes the final state to the status file, and stops. */
  [Symbol.dispose](): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancel();
    this.#tryStatus();
  }
}
