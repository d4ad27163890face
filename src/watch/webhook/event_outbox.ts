/**
 * The events for a webhook that no database has. They wait in memory, and in a file that survives the end
 * of the program at any point. Of an accepted event that the database may get later, the id stays, so that
 * the event is not sent again.
 *
 * @module
 */
import { jsonText, parseRow } from "../../sinks/json.ts";
import type { Row } from "../../store/database/database.ts";
import type { WatchEvent } from "../../store/events/watch_event.ts";
import { validEvent } from "../../store/mod.ts";
import { openOutboxFile, type OutboxFile } from "./outbox_file.ts";

/** Default for the maximum size of the waiting events, bytes of JSON. */
export const MAX_OUTBOX_BYTES = 32 * 1024 * 1024;
/** Maximum number of ids of accepted events. */
const MAX_SENT = 100_000;
/** Time after a failed write in which changes cause no other one, milliseconds: each writes all that waits. */
const RETRY_MS = 10_000;
/** How long ids of accepted events are kept, milliseconds: after a week, a webhook counts as new. */
const KEPT_MS = 7 * 86_400_000;

/** Options of {@linkcode EventOutbox.open}. */
export interface EventOutboxOptions {
  /** Path of the file; `undefined`: the events are in memory only. */
  readonly path: string | undefined;
  /** The kinds of events that the webhook gets: others in the file are removed. Default: all. */
  readonly kinds?: readonly string[];
  /** Called with the reason when writing the file begins to fail. Writes are still attempted. */
  readonly onWriteError: (reason: string) => void;
  /** Opens the file. Default: {@linkcode openOutboxFile}. */
  readonly openFile?: (path: string) => Promise<OutboxFile>;
  /** Maximum size of the waiting events, bytes of JSON. Default: {@linkcode MAX_OUTBOX_BYTES}. */
  readonly maxBytes?: number;
}

/** An event, and its size in bytes of JSON. */
interface WaitingEvent {
  readonly event: WatchEvent;
  readonly bytes: number;
}

/** Events that wait for a webhook, in the order in which they were added. */
export class EventOutbox {
  /** Number of events in the file when it was opened. */
  readonly recovered: number;
  /** Number of rows in the file that were not events. */
  readonly damaged: number;
  /** The waiting events by id, the oldest first. */
  readonly #waiting = new Map<string, WaitingEvent>();
  /** Size of the waiting events. */
  #bytes = 0;
  /** The webhooks of accepted events that the database may get later, by the events' ids, the oldest first. */
  readonly #sent = new Map<string, string>();
  /** Ids whose rows have to be written: with the event's JSON, if it waits and is not in the file yet. */
  #unwritten = new Map<string, string | undefined>();
  /** When the last write failed, Unix milliseconds; `undefined`: it did not fail. */
  #failedAt: number | undefined;
  #writing: Promise<void> | undefined;

  private constructor(
    private readonly file: OutboxFile | undefined,
    rows: readonly Row[],
    private readonly options: EventOutboxOptions,
  ) {
    const kept = (file?.database.now() ?? 0) - KEPT_MS;
    let damaged = 0;
    for (const row of rows) {
      const id = String(row.id);
      const event = row.event === null ? undefined : validEvent(parseRow(String(row.event)));
      const isEvent = event?.id === id;
      const isWanted = isEvent && options.kinds?.includes(event.event) !== false;
      if (isWanted) this.#insert(event, byteLength(String(row.event)));
      else if (row.event === null && Number(row.sent) > kept) {
        this.#sent.set(id, String(row.webhook));
      } else {
        if (row.event !== null && !isEvent) damaged++;
        this.#unwritten.set(id, undefined);
      }
    }
    this.recovered = this.size;
    this.damaged = damaged;
  }

  /**
   * Opens a file with the events of an earlier watch, or creates one.
   *
   * @throws InputError when another watch uses the file, or when it is not an outbox; errors of the file
   * system and of SQLite.
   */
  static async open(options: EventOutboxOptions): Promise<EventOutbox> {
    const { path, openFile = openOutboxFile } = options;
    if (path === undefined) return new EventOutbox(undefined, [], options);
    const file = await openFile(path);
    await using stack = new AsyncDisposableStack();
    stack.use(file.database);
    const rows = await file.database.rows(
      "select id, event, webhook, sent from outbox order by seq",
    );
    stack.move();
    return new EventOutbox(file, rows, options);
  }

  /** Number of waiting events. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Whether an event waits. */
  has(id: string): boolean {
    return this.#waiting.has(id);
  }

  /** Path of the file; `undefined`: the events are lost when the program ends. */
  get path(): string | undefined {
    return this.options.path;
  }

  /**
   * Adds an event. Drops the oldest events when the waiting ones exceed their maximum size.
   *
   * @returns The number of dropped events.
   */
  add(event: WatchEvent): number {
    const { maxBytes = MAX_OUTBOX_BYTES } = this.options;
    const text = jsonText(event);
    this.#insert(event, byteLength(text));
    this.#change(event.id, text);
    let dropped = 0;
    for (const id of this.#waiting.keys()) {
      if (this.#bytes <= maxBytes || this.size === 1) break;
      this.#remove(id);
      dropped++;
    }
    return dropped;
  }

  /** The oldest events, at most `limit`. */
  oldest(limit: number): readonly WatchEvent[] {
    return this.#waiting.values().take(limit).map(({ event }) => event).toArray();
  }

  /**
   * Removes the oldest events, up to and including the one with this id.
   *
   * @param webhook The hash of the webhook, if a database may get the events later, so that their ids are
   * kept. No database gets events `players`.
   * @returns The number of removed events; 0 when the event was dropped before.
   */
  accept(last: string, webhook?: string): number {
    if (!this.#waiting.has(last)) return 0;
    let count = 0;
    for (const [id, { event }] of this.#waiting) {
      if (webhook !== undefined && event.event !== "players") this.#sent.set(id, webhook);
      this.#remove(id);
      count++;
      if (id === last) break;
    }
    for (const id of this.#sent.keys()) {
      if (this.#sent.size <= MAX_SENT) break;
      this.#forget(id);
    }
    return count;
  }

  /**
   * Notes that the database has an event: if it waits here, the database sends it instead.
   *
   * @returns Whether the event was sent to the webhook already.
   */
  handOver(id: string, webhook: string): boolean {
    if (this.#waiting.has(id)) this.#remove(id);
    return this.#sent.get(id) === webhook;
  }

  /** Removes waiting events from any place. Returns their number. */
  removeMatching(isRemoved: (event: WatchEvent) => boolean): number {
    const removed = [...this.#waiting.values()].filter(({ event }) => isRemoved(event));
    for (const { event } of removed) this.#remove(event.id);
    return removed.length;
  }

  /**
   * Waits until all changes are written.
   *
   * @returns Whether the file contains all events.
   */
  async written(): Promise<boolean> {
    await (this.#writing ??= this.#write());
    return this.file !== undefined && this.#unwritten.size === 0;
  }

  /** Writes all changes, and erases what the log of the file still has of removed events. */
  async eraseLog(): Promise<void> {
    if (!await this.written()) return;
    try {
      await this.file!.database.rows("pragma wal_checkpoint(truncate)");
    } catch (error) {
      this.options.onWriteError((error as Error).message);
    }
  }

  /**
   * Writes all changes and closes the file. Removes the file when it is empty.
   *
   * @param keepsIds Whether the ids of accepted events are kept for the next watch.
   * @returns The number of waiting events that the file does not contain.
   */
  async close(keepsIds = false): Promise<number> {
    if (!keepsIds) this.#sent.forEach((_, id) => this.#forget(id));
    const isSaved = await this.written();
    if (isSaved && this.size + this.#sent.size === 0) await this.file!.remove();
    else await this.file?.database[Symbol.asyncDispose]();
    if (this.file === undefined) return this.size;
    return this.#unwritten.values().filter((text) => text !== undefined).toArray().length;
  }

  #insert(event: WatchEvent, bytes: number): void {
    this.#waiting.set(event.id, { event, bytes });
    this.#bytes += bytes;
  }

  #remove(id: string): void {
    this.#bytes -= this.#waiting.get(id)!.bytes;
    this.#waiting.delete(id);
    // An event that is neither in the file nor being written leaves no trace.
    if (this.#unwritten.get(id) === undefined || this.#sent.has(id)) this.#change(id);
    else this.#unwritten.delete(id);
  }

  #forget(id: string): void {
    this.#sent.delete(id);
    this.#change(id);
  }

  #change(id: string, text?: string): void {
    if (this.file === undefined) return;
    this.#unwritten.set(id, text);
    this.startWrite();
  }

  /** Starts to write the changes that are not in the file yet, unless a write failed just now. */
  startWrite(): void {
    if (this.file === undefined || this.#unwritten.size === 0) return;
    const isSoon = this.file.database.now() - (this.#failedAt ?? -Infinity) < RETRY_MS;
    if (!isSoon) this.#writing ??= this.#write();
  }

  /** Writes until no change is left. After a failure, a later write contains all changes. */
  async #write(): Promise<void> {
    await Promise.resolve(); // changes of one iteration of the event loop are one transaction
    try {
      while (this.#unwritten.size > 0) {
        const changes = this.#unwritten;
        this.#unwritten = new Map();
        try {
          await this.#writeRows(changes);
        } catch (error) {
          this.#unwritten = new Map([...changes, ...this.#unwritten]);
          throw error;
        }
        this.#failedAt = undefined;
      }
    } catch (error) {
      if (this.#failedAt === undefined) this.options.onWriteError((error as Error).message);
      this.#failedAt = this.file!.database.now();
    } finally {
      this.#writing = undefined;
    }
  }

  async #writeRows(changes: ReadonlyMap<string, string | undefined>): Promise<void> {
    const { database } = this.file!;
    await database.transaction(async () => {
      for (const [id, text = null] of changes) {
        const webhook = this.#sent.get(id);
        if (text === null && webhook === undefined) {
          await database.run("delete from outbox where id = ?", [id]);
          continue;
        }
        await database.run(
          "insert into outbox (id, event, webhook, sent) values (?, ?, ?, ?) on conflict (id) " +
            "do update set event = excluded.event, webhook = excluded.webhook, sent = excluded.sent",
          [id, text, webhook ?? null, text === null ? database.now() : null],
        );
      }
    });
    await database.flush();
  }
}

function byteLength(text: string): number {
  return encoder.encode(text).length;
}

const encoder = new TextEncoder();
