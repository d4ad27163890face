/**
 * Copies the counters of sockets, tables and other stages into the state of a scan.
 *
 * @module
 */
import type { DatagramSocket } from "../net/socket.ts";
import type { SightingQueue } from "./inspect_stage/sighting_queue.ts";
import type { ScanSetup } from "./scan_setup.ts";
import type { ScanTables } from "./scan_tables.ts";
import { SendErrors } from "./sweep_stage/send_errors.ts";
import type { WriteStage } from "./write_stage.ts";

/** Interval between updates, milliseconds. */
const EVERY_MS = 20;

/** The parts of a scan that have counters. */
export interface CountStageParts {
  /** The sockets of the sweep. */
  readonly sockets: readonly DatagramSocket[];
  /** The queue of servers to interview. */
  readonly sightings: SightingQueue;
  /** The stage that writes rows. */
  readonly rows: WriteStage;
}

/** Copies the counters of the other stages into the scan's state. */
export class CountStage {
  readonly #errors: SendErrors;
  /**
   * Number of datagrams that were dropped for lack of buffer space in an earlier run of the scan.
   */
  readonly #dropped: number;
  #cancel = () => {};

  /** Creates the stage with the counters of the sockets; the other counters are added later. */
  constructor(
    private readonly options: Pick<ScanSetup, "io" | "hooks">,
    private readonly tables: Pick<ScanTables, "floods">,
    private readonly parts: CountStageParts,
  ) {
    const { io: { state, threads }, hooks } = options;
    state.threads = threads ?? 0;
    state.receiveBuffer = parts.sockets.reduce((sum, one) => sum + one.receiveBuffer, 0);
    this.#errors = new SendErrors(parts.sockets, hooks?.onTrouble ?? (() => {}));
    this.#dropped = state.dropped;
  }

  /** Starts updates at regular intervals. */
  start(): void {
    this.#cancel = this.options.io.clock.after(EVERY_MS, () => {
      this.count();
      this.start();
    });
  }

  /** Updates the state once. */
  count(): void {
    const { state } = this.options.io;
    const { sockets, sightings, rows } = this.parts;
    state.dropped = sockets.reduce((sum, { dropped }) => sum + dropped, this.#dropped);
    this.#errors.count(state);
    state.floods.disturbed = this.tables.floods.disturbed;
    state.inspecting = sightings.load;
    state.written = rows.written;
    state.lost = rows.lost;
    state.lastRowAt = rows.lastAt ?? state.lastRowAt;
  }

  /** Updates the state for the last time, and stops the updates. */
  end(): void {
    this.#cancel();
    this.count();
  }
}
