/**
 * Reports the events of the scans of a crawl's discovery: new servers, and known ones that are online
 * again. The scans write the events into the database, from which they are read.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import { type Clock, sleep } from "../../net/clock.ts";
import type { Database } from "../../store/database/database.ts";
import type { WatchEvent } from "../../store/events/watch_event.ts";
import { type EventPosition, newestEnd, sendableEvents } from "../../store/mod.ts";

/** Pause between two readings of the database, milliseconds. */
const PAUSE_MS = 1000;
/** Maximum number of rows per reading. */
const PAGE = 100;

/** Options of {@linkcode RoundEvents}. */
export interface RoundEventsOptions {
  /** The database, over a connection of its own. It is closed at the end. */
  readonly database: Database;
  /** Returns a server's record as it may be shown. */
  readonly shown: (record: ServerRecord) => ServerRecord;
  readonly onEvent: (event: WatchEvent) => void;
  readonly clock: Clock;
  /** Receives a line when the database cannot be read. */
  readonly report: (line: string) => void;
}

export class RoundEvents implements AsyncDisposable {
  /** The identities of the scans. */
  readonly scans = new Set<string>();
  readonly #ending = new AbortController();
  readonly #reading: Promise<void>;
  #isFailing = false;

  private constructor(
    private readonly options: RoundEventsOptions,
    private position: EventPosition,
  ) {
    this.#reading = this.#run();
  }

  /** Begins to read the events that are written from now on. */
  static async open(options: RoundEventsOptions): Promise<RoundEvents> {
    return new RoundEvents(options, await newestEnd(options.database));
  }

  /** Reports the events that were written until now, and closes the database. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#reading;
    await this.#attempt();
    await this.options.database[Symbol.asyncDispose]();
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await sleep(this.options.clock, PAUSE_MS, signal);
      await this.#attempt();
    }
  }

  /** Reads and reports events. If the database is not available, that is tried again later. */
  async #attempt(): Promise<void> {
    try {
      await this.#read();
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) {
        this.options.report(`events of the discovery cannot be read: ${(error as Error).message}`);
      }
      this.#isFailing = true;
    }
  }

  async #read(): Promise<void> {
    const { database, shown, onEvent, clock } = this.options;
    for (;;) {
      const page = await sendableEvents(database, this.position, PAGE, shown);
      for (const { event, position } of page) {
        this.position = position;
        if (event === undefined || event === "damaged" || event.scan_id === null) continue;
        if (this.scans.has(event.scan_id) && event.event !== "scan_summary") onEvent(event);
      }
      if (page.length < PAGE) return;
      await clock.yieldToEvents();
    }
  }
}
