/**
 * A persistent queue of events for a webhook. Its file survives the end of the program. The file is
 * truncated when the queue is empty, and rewritten when it is twice as large as the queue may be. The
 * queue is in memory too, with an equal bound.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { type Disk, type DiskFile, systemDisk } from "../../sinks/file_operations.ts";
import {
  concatenate,
  emptyContent,
  NEW_LINE,
  parseSpool,
  type QueuedEvent,
  SPOOL_HEAD,
  type SpoolContent,
} from "./spool_format.ts";

/** Default for the maximum size of the queue, bytes. The file may be twice as large. */
export const MAX_SPOOLED_BYTES = 32 * 1024 * 1024;

/** Options of {@linkcode EventSpool.open}. */
export interface EventSpoolOptions {
  /** Path of the spool file; `undefined`: the queue is in memory only. */
  readonly path: string | undefined;
  /** Called with the reason when writing the file begins to fail. Later writes are still attempted. */
  readonly onWriteError: (reason: string) => void;
  /** The file system. Default: the machine's. */
  readonly disk?: Disk;
  /** Maximum size of the queue, bytes. Default: {@linkcode MAX_SPOOLED_BYTES}. */
  readonly maxBytes?: number;
}

/** A persistent first-in, first-out queue of events. */
export class EventSpool {
  /** Number of events in the file when it was opened. */
  readonly recovered: number;
  /** Number of lines in the file that could not be parsed. */
  readonly damaged: number;
  #queue: QueuedEvent[];
  /** Index of the oldest event in the array: those before it are removed. */
  #first = 0;
  /** Size of the queue. */
  #bytes = 0;
  /** Lines that are not written to the file yet. */
  #pending: Uint8Array<ArrayBuffer>[] = [];
  /** Size of the file, bytes. */
  #length: number;
  /** Whether a write failed, so that the file must be rewritten. */
  #broken = false;
  /** Whether the present failure was reported. */
  #reported = false;
  #writing: Promise<void> | undefined;

  private constructor(
    private file: DiskFile | undefined,
    { events, damaged, length }: SpoolContent,
    private readonly options: EventSpoolOptions,
  ) {
    this.#queue = events;
    this.recovered = events.length;
    this.damaged = damaged;
    this.#length = length;
    for (const { line } of events) this.#bytes += line.length + 1;
  }

  /**
   * Opens a spool file with the events of an earlier run, or creates one. An incomplete last line is
   * removed.
   *
   * @throws InputError when another process uses the file, or when it is not a spool file; errors of the
   * file system.
   */
  static async open(options: EventSpoolOptions): Promise<EventSpool> {
    const { path, disk = systemDisk } = options;
    if (path === undefined) return new EventSpool(undefined, emptyContent(), options);
    const file = await disk.open(path, "make");
    try {
      if (!await file.lock()) {
        throw new InputError(
          `Cannot use "${path}": another watch uses it; name another file with --webhook-spool`,
        );
      }
      const content = parseSpool(await file.read(), path);
      await disk.remove(`${path}.part`); // left by a process that was killed during a rewrite
      if (content.length === 0) await file.write(0, encoder.encode(SPOOL_HEAD));
      const length = Math.max(content.length, SPOOL_HEAD.length);
      await file.truncate(length);
      return new EventSpool(file, { ...content, length }, options);
    } catch (error) {
      await file[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Number of events in the queue. */
  get size(): number {
    return this.#queue.length - this.#first;
  }

  /** Path of the spool file; `undefined`: the queue is lost when the program ends. */
  get path(): string | undefined {
    return this.file === undefined ? undefined : this.options.path;
  }

  /**
   * Adds an event. Drops the oldest events when the queue exceeds its maximum size.
   *
   * @param text The event as one line of JSON.
   * @returns The number of dropped events.
   */
  add(id: string, text: string): number {
    const line = encoder.encode(text);
    this.#queue.push({ id, line });
    this.#bytes += line.length + 1;
    this.#append(line);
    let dropped = 0;
    for (; this.#bytes > this.#maxBytes && this.size > 1; dropped++) {
      this.removeUpTo(this.#queue[this.#first].id);
    }
    return dropped;
  }

  /** The oldest events, at most `limit`. There must be one. */
  oldest(limit: number): readonly QueuedEvent[] {
    return this.#queue.slice(this.#first, this.#first + limit);
  }

  /**
   * Removes the oldest events, up to and including the one with this id.
   *
   * @returns The number of removed events; 0 when the event was dropped before.
   */
  removeUpTo(id: string): number {
    const at = this.#queue.findIndex((event, i) => i >= this.#first && event.id === id);
    if (at < 0) return 0;
    const count = at + 1 - this.#first;
    for (let i = this.#first; i <= at; i++) this.#bytes -= this.#queue[i].line.length + 1;
    this.#first = at + 1;
    if (this.#first > 1024 && this.#first * 2 > this.#queue.length || this.size === 0) {
      this.#queue.splice(0, this.#first);
      this.#first = 0;
    }
    this.#append(encoder.encode(`- ${id}`));
    return count;
  }

  /**
   * Removes events from any place of the queue.
   *
   * @param isRemoved Gets the line of an event.
   * @returns The number of removed events.
   */
  removeMatching(isRemoved: (line: string) => boolean): number {
    const decoder = new TextDecoder();
    const kept = this.#queue.slice(this.#first).filter(({ line }) =>
      !isRemoved(decoder.decode(line))
    );
    const count = this.size - kept.length;
    if (count === 0) return 0;
    [this.#queue, this.#first] = [kept, 0];
    this.#bytes = kept.reduce((sum, { line }) => sum + line.length + 1, 0);
    this.#broken = true; // the file has to be rewritten
    this.#writing ??= this.#write();
    return count;
  }

  /**
   * Waits until pending lines are written.
   *
   * @returns Whether the file contains the whole queue.
   */
  async written(): Promise<boolean> {
    await (this.#writing ??= this.#write());
    return this.file !== undefined && !this.#broken;
  }

  /**
   * Writes pending lines and closes the file. Removes the file when the queue is empty.
   *
   * @returns Whether the file contains the whole queue.
   */
  async close(): Promise<boolean> {
    const isSaved = await this.written();
    const { path, disk = systemDisk } = this.options;
    if (this.file !== undefined && this.size === 0) await disk.remove(path!);
    await this.file?.[Symbol.asyncDispose]();
    return isSaved;
  }

  #append(line: Uint8Array): void {
    if (this.file === undefined) return;
    this.#pending.push(concatenate([line, NEW_LINE]));
    this.#writing ??= this.#write();
  }

  /** Writes until no line is pending. After a failure, the whole file is rewritten. */
  async #write(): Promise<void> {
    await Promise.resolve(); // lines that are added in one iteration of the event loop are one write
    try {
      while (this.#pending.length > 0 || this.#broken) {
        const pending = concatenate(this.#pending);
        this.#pending = [];
        if (this.size === 0) await this.#truncate();
        else if (this.#broken || this.#length + pending.length > 2 * this.#maxBytes) {
          await this.#rewrite();
        } else await this.#extend(pending);
        this.#reported = this.#broken = false;
      }
    } catch (error) {
      this.#broken = true;
      if (!this.#reported) this.options.onWriteError((error as Error).message);
      this.#reported = true;
    } finally {
      this.#writing = undefined;
    }
  }

  get #maxBytes(): number {
    return this.options.maxBytes ?? MAX_SPOOLED_BYTES;
  }

  async #truncate(): Promise<void> {
    await this.file!.truncate(SPOOL_HEAD.length);
    this.#length = SPOOL_HEAD.length;
    await this.file!.sync();
  }

  async #extend(bytes: Uint8Array): Promise<void> {
    await this.file!.write(this.#length, bytes);
    this.#length += bytes.length;
    await this.file!.sync();
  }

  /** Replaces the file by a new one that contains the queue only. */
  async #rewrite(): Promise<void> {
    const { path, disk = systemDisk } = this.options;
    const part = `${path}.part`;
    const lines = this.#queue.slice(this.#first).flatMap(({ line }) => [line, NEW_LINE]);
    const bytes = concatenate([encoder.encode(SPOOL_HEAD), ...lines]);
    await disk.remove(part);
    const file = await disk.open(part, "make");
    try {
      await file.lock();
      await file.write(0, bytes);
      await file.sync();
      await disk.rename(part, path!);
    } catch (error) {
      await file[Symbol.asyncDispose]();
      await disk.remove(part).catch(() => {}); // the first error is the reason
      throw error;
    }
    await this.file![Symbol.asyncDispose]();
    this.file = file;
    this.#length = bytes.length;
  }
}

const encoder = new TextEncoder();
