/**
 * Events that wait for a webhook, in a file, so that they survive the end of the program:
 *
 *     blocksweep webhook spool 1     the first line
 *     {"id":"...",...}               an event, as it is sent
 *     - ID                           events up to this one are done with
 *
 * Lines are only appended. The file is cut when nothing waits, and replaced when most of it is done
 * with. What waits is in memory too, within the same bound.
 *
 * @module
 */
import { InputError } from "../core/errors.ts";
import { type Disk, type DiskFile, systemDisk } from "../sinks/file_operations.ts";

/** The first line. */
const HEAD = "blocksweep webhook spool 1\n";
/** Bytes of events that wait at the most; of the file, twice as many. */
export const MOST_SPOOLED = 32 * 1024 * 1024;

/** An event that waits. */
interface Waiting {
  readonly id: string;
  /** Its line, without the end. */
  readonly line: Uint8Array<ArrayBuffer>;
}

/** Where events wait, and how many may. */
export interface EventSpoolOptions {
  /** The file's path; `undefined`: in memory alone. */
  readonly path: string | undefined;
  /** Told once why the file cannot be written, each time that it begins: it is tried again. */
  readonly onTrouble: (reason: string) => void;
  /** The file system. Default: the machine's. */
  readonly disk?: Disk;
  /** Bytes that may wait. Default: {@linkcode MOST_SPOOLED}. */
  readonly most?: number;
}

/** A queue of events: the oldest first. */
export class EventSpool {
  /** Events that were in the file when it was opened. */
  readonly recovered: number;
  /** Lines of the file that could not be read. */
  readonly damaged: number;
  readonly #queue: Waiting[];
  /** The first of the queue that waits. */
  #first = 0;
  #bytes = 0;
  /** Lines that are not in the file yet. */
  #pending: Uint8Array<ArrayBuffer>[] = [];
  /** Bytes of the file. */
  #length: number;
  /** Whether the file lacks something that can only come back by writing it anew. */
  #broken = false;
  #told = false;
  #writing: Promise<void> | undefined;

  private constructor(
    private file: DiskFile | undefined,
    { waiting, damaged, length }: Found,
    private readonly options: EventSpoolOptions,
  ) {
    this.#queue = waiting;
    this.recovered = waiting.length;
    this.damaged = damaged;
    this.#length = length;
    for (const { line } of waiting) this.#bytes += line.length + 1;
  }

  /**
   * Opens a file, or makes it, with what an earlier run left in it; a torn last line is cut off.
   *
   * @throws InputError when another process uses it, or it is something else; what opening throws.
   */
  static async open(options: EventSpoolOptions): Promise<EventSpool> {
    const { path, disk = systemDisk } = options;
    if (path === undefined) return new EventSpool(undefined, nothing(), options);
    const file = await disk.open(path, "make");
    try {
      if (!await file.lock()) {
        throw new InputError(
          `Cannot use "${path}": another watch uses it; name another file with --webhook-spool`,
        );
      }
      const found = readSpool(await file.read(), path);
      await disk.remove(`${path}.part`); // of a run that was killed while it replaced the file
      if (found.length === 0) await file.write(0, encoder.encode(HEAD));
      const length = Math.max(found.length, HEAD.length);
      await file.truncate(length);
      return new EventSpool(file, { ...found, length }, options);
    } catch (error) {
      await file[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** How many wait. */
  get size(): number {
    return this.#queue.length - this.#first;
  }

  /** Where they are kept when the program ends; `undefined`: nowhere. */
  get path(): string | undefined {
    return this.file === undefined ? undefined : this.options.path;
  }

  /**
   * Adds an event.
   *
   * @returns How many of the oldest were dropped for it.
   */
  add(id: string, text: string): number {
    const line = encoder.encode(text);
    this.#queue.push({ id, line });
    this.#bytes += line.length + 1;
    this.#append(line);
    let dropped = 0;
    for (; this.#bytes > (this.options.most ?? MOST_SPOOLED) && this.size > 1; dropped++) {
      this.done(this.#queue[this.#first].id);
    }
    return dropped;
  }

  /** The oldest events as a JSON list, and the last one's id. */
  oldest(most: number): { count: number; last: string; body: Uint8Array<ArrayBuffer> } {
    const some = this.#queue.slice(this.#first, this.#first + most);
    const parts = some.flatMap(({ line }, i) => [i === 0 ? OPEN : COMMA, line]);
    const body = joined([...parts, CLOSE]);
    return { count: some.length, last: some[some.length - 1].id, body };
  }

  /**
   * Takes events out, up to the one with this id.
   *
   * @returns How many: none where it was dropped meanwhile.
   */
  done(id: string): number {
    const at = this.#queue.findIndex((one, i) => i >= this.#first && one.id === id);
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
   * Resolves when all is written.
   *
   * @returns Whether the file has all that waits.
   */
  async written(): Promise<boolean> {
    await (this.#writing ??= this.#write());
    return this.file !== undefined && !this.#broken;
  }

  /** Writes what is left, closes the file, and removes it where nothing waits. */
  async close(): Promise<boolean> {
    const kept = await this.written();
    const { path, disk = systemDisk } = this.options;
    if (this.file !== undefined && this.size === 0) await disk.remove(path!);
    await this.file?.[Symbol.asyncDispose]();
    return kept;
  }

  #append(line: Uint8Array): void {
    if (this.file === undefined) return;
    this.#pending.push(joined([line, NEW_LINE]));
    this.#writing ??= this.#write();
  }

  /** Writes until nothing is pending; what fails is made up for by writing all anew. */
  async #write(): Promise<void> {
    await Promise.resolve(); // whoever adds several at once has them written together
    try {
      while (this.#pending.length > 0 || this.#broken) {
        const pending = joined(this.#pending);
        this.#pending = [];
        if (this.size === 0) await this.#empty();
        else if (this.#broken || this.#length + pending.length > 2 * this.#most) {
          await this.#replace();
        } else await this.#extend(pending);
        this.#told = this.#broken = false;
      }
    } catch (error) {
      this.#broken = true;
      if (!this.#told) this.options.onTrouble((error as Error).message);
      this.#told = true;
    } finally {
      this.#writing = undefined;
    }
  }

  get #most(): number {
    return this.options.most ?? MOST_SPOOLED;
  }

  async #empty(): Promise<void> {
    await this.file!.truncate(HEAD.length);
    this.#length = HEAD.length;
    await this.file!.sync();
  }

  async #extend(bytes: Uint8Array): Promise<void> {
    await this.file!.write(this.#length, bytes);
    this.#length += bytes.length;
    await this.file!.sync();
  }

  /** Puts a file with what waits into the place of the old one. */
  async #replace(): Promise<void> {
    const { path, disk = systemDisk } = this.options;
    const part = `${path}.part`;
    const lines = this.#queue.slice(this.#first).flatMap(({ line }) => [line, NEW_LINE]);
    const bytes = joined([encoder.encode(HEAD), ...lines]);
    await disk.remove(part);
    const file = await disk.open(part, "make");
    try {
      await file.lock();
      await file.write(0, bytes);
      await file.sync();
      await disk.rename(part, path!);
    } catch (error) {
      await file[Symbol.asyncDispose]();
      throw error;
    }
    await this.file![Symbol.asyncDispose]();
    this.file = file;
    this.#length = bytes.length;
  }
}

const encoder = new TextEncoder();
const NEW_LINE = encoder.encode("\n");
const [OPEN, COMMA, CLOSE] = ["[", ",", "]"].map((text) => encoder.encode(text));

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** What a file holds. */
interface Found {
  readonly waiting: Waiting[];
  readonly damaged: number;
  /** Bytes of whole lines. */
  readonly length: number;
}

function nothing(): Found {
  return { waiting: [], damaged: 0, length: 0 };
}

/** Reads a file up to its last whole line. */
function readSpool(bytes: Uint8Array, path: string): Found {
  const length = bytes.lastIndexOf(10) + 1;
  const decoder = new TextDecoder();
  if (length === 0 && HEAD.startsWith(decoder.decode(bytes))) return nothing();
  if (!decoder.decode(bytes.subarray(0, HEAD.length)).startsWith(HEAD)) {
    throw new InputError(`Cannot use "${path}": it is no spool of webhook events`);
  }
  let waiting: Waiting[] = [];
  let damaged = 0;
  for (let at = HEAD.length; at < length;) {
    const end = bytes.indexOf(10, at);
    const line = bytes.slice(at, end);
    const done = /^- (.+)$/.exec(decoder.decode(line.subarray(0, 100)))?.[1];
    const id = done === undefined ? idOf(decoder.decode(line)) : undefined;
    if (id !== undefined) waiting.push({ id, line });
    else if (done === undefined) damaged++;
    else waiting = waiting.slice(waiting.findIndex((one) => one.id === done) + 1);
    at = end + 1;
  }
  return { waiting, damaged, length };
}

/** The id of an event's line; `undefined` where it is none. */
function idOf(text: string): string | undefined {
  try {
    const { id } = JSON.parse(text);
    return typeof id === "string" ? id : undefined;
  } catch {
    return undefined; // a system that crashed may leave anything
  }
}
