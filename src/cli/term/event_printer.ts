/**
 * Printing what a watch tells, as it comes.
 *
 * @module
 */
import type { WatchEvent } from "../../watch/mod.ts";
import { print, terminalSize } from "./console.ts";
import { eventJson, eventLine } from "./event_lines.ts";

/** Prints events, one after the other. */
export class EventPrinter {
  readonly #failed = new AbortController();
  #printed: Promise<void> = Promise.resolve();

  /**
   * @param json Whether as NDJSON, and not as lines for eyes.
   * @param write Writes a line. Default: to standard output.
   */
  constructor(
    private readonly json: boolean,
    private readonly write: (line: string) => Promise<void> = print,
  ) {}

  /** Set off when nobody takes the events any longer. */
  get signal(): AbortSignal {
    return this.#failed.signal;
  }

  /** Takes an event; returns at once. */
  add(event: WatchEvent): void {
    const text = this.json ? eventJson(event) : eventLine(event, terminalSize().columns);
    this.#printed = this.#printed.then(() => this.write(text)).catch((error) =>
      this.#failed.abort(error)
    );
  }

  /** Waits until all are printed; throws why they could not be. */
  async printed(): Promise<void> {
    await this.#printed;
    this.signal.throwIfAborted();
  }
}
