/**
 * Printing what a watch tells, as it comes.
 *
 * @module
 */
import type { WatchEvent } from "../watch/mod.ts";
import { print } from "./console.ts";
import { eventLine } from "./watch_view.ts";

/** Prints events, one after the other. */
export class EventPrinter {
  readonly #failed = new AbortController();
  #printed: Promise<void> = Promise.resolve();

  /** @param json Whether as NDJSON, and not as lines for eyes. */
  constructor(private readonly json: boolean) {}

  /** Set off when nobody takes the events any longer. */
  get signal(): AbortSignal {
    return this.#failed.signal;
  }

  /** Takes an event; returns at once. */
  add(event: WatchEvent): void {
    const text = this.json ? JSON.stringify({ schema: 1, ...event }) : eventLine(event);
    this.#printed = this.#printed.then(() => print(text)).catch((error) =>
      this.#failed.abort(error)
    );
  }

  /** Waits until all are printed; throws why they could not be. */
  async printed(): Promise<void> {
    await this.#printed;
    this.signal.throwIfAborted();
  }
}
