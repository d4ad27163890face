/**
 * Counts the progress of the passes over UDP or TCP in the state of a scan.
 *
 * @module
 */
import type { Protocol } from "../../protocols/protocol.ts";
import type { Pass, PassProgress } from "../../sweep/passes.ts";
import type { Mark } from "../../sweep/mark_history.ts";
import type { ScanSetup } from "../scan_setup.ts";
import type { PassCounts } from "../scan_state.ts";

/** Copies the progress of passes to the counters of a scan. */
export class TransportProgress implements PassProgress {
  readonly #counts: PassCounts;

  /** Counts for one transport. */
  constructor(
    private readonly options: Pick<ScanSetup, "io" | "hooks">,
    private readonly transport: Protocol["transport"],
  ) {
    const { state } = options.io;
    this.#counts = transport === "tcp" ? state.tcp : state;
  }

  begin(_pass: Pass | undefined, { pass, position }: Mark, size: number): void {
    const { hooks, io: { clock, state } } = this.options;
    if (size > 0) state.firstProbeAt ??= clock.wall();
    Object.assign(this.#counts, { pass, size, position });
    hooks?.onPass?.(this.transport);
  }

  note(visited: number, sent: number): void {
    this.#counts.position += visited;
    this.#counts.sent += sent;
    this.options.io.state.visited += visited;
  }
}
