/**
 * The latest rows of a scan, for its display on a terminal.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import type { MadeRows } from "../../sinks/sink.ts";
import { RowObserver } from "./row_observer.ts";

export class LatestRows extends RowObserver {
  #rows: readonly ServerRecord[] = [];

  /** @param most Maximum number of rows. */
  constructor(private readonly most: number) {
    super();
  }

  /** The latest rows, the newest first. */
  get rows(): readonly ServerRecord[] {
    return this.#rows.toReversed();
  }

  override read(records: readonly ServerRecord[]): void {
    this.#rows = [...this.#rows, ...records.slice(-this.most)].slice(-this.most);
  }

  /** Keeps the latest rows that a thread made. */
  writeMade({ latest }: MadeRows): Promise<void> {
    return this.write(latest);
  }
}
