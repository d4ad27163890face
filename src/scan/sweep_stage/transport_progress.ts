/**
 * Counts the progress of the passes over UDP or TCP in the state of a scan.
 *
 * @module
 */
import type { Protocol } from "../../protocols/protocol.ts";
import type { Mark, Pass, PassProgress } from "../../sweep/mod.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";
import type { PassCounts } from "../setup/scan_state.ts";

/** Copies the progress of passes to the counters of a scan. */
export class TransportProgress implements PassProgress {
  readonly #counts: PassCounts;
  /** Number of positions that this transport visited before the first one of each pass. */
  readonly #before = new Map<number, number>();
  #visited = 0;

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
    this.#repeat({ pass, position });
    hooks?.onPass?.(this.transport);
  }

  /** Takes back the positions that are visited again, because a pass begins again. */
  #repeat({ pass, position }: Mark): void {
    if (pass === 0) return; // a detecting pass, which is not one of the scan's passes
    const before = this.#before.get(pass);
    if (before === undefined) return void this.#before.set(pass, this.#visited - position);
    const again = this.#visited - before - position;
    this.#visited -= again;
    this.options.io.state.visited -= again;
  }

  note(visited: number, sent: number): void {
    this.#counts.position += visited;
    this.#visited += visited;
    this.#counts.sent += sent;
    this.options.io.state.visited += visited;
  }
}
