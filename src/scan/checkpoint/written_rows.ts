/**
 * The list beside a checkpoint: its configuration, and then which rows were written, and who opted
 * out. Lines are only ever added, behind the rows that they speak of:
 *
 *     blocksweep rows {…}                       the configuration, JSON
 *     + 5120,4711,- 10.0.0.1:19132 [::1]:25565  rows, and how long each output was behind them
 *     ! 10.0.0.9                                an address that opted out
 *
 * What stands in an output behind the last length that is listed was accepted by some outputs and
 * not by all, or torn: it is cut off, and those servers are asked again. So nothing has to be read
 * back from outputs, whatever their format, and all of them hold the same rows.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { type Address, formatAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { serverId, type ServerRecord } from "../../core/record.ts";
import type { Disk, DiskFile } from "../../sinks/file_operations.ts";
import { checkpointError, type ListStand, type Offsets } from "./checkpoint_file.ts";

/** What the first line of a list starts with. */
export const HEAD = "blocksweep rows ";

/** Where the list of a checkpoint is. */
export function writtenRowsPath(checkpoint: string): string {
  return `${checkpoint}.list`;
}

/** A list that is open, and nobody else's. */
export class WrittenRows implements AsyncDisposable {
  readonly #file: DiskFile;
  readonly #encoder = new TextEncoder();
  readonly #hash = createHash("sha256");
  /** What was added, and what of it is written, bytes. */
  #length = 0;
  #written = 0;
  #pending: Uint8Array[] = [];
  #writing: Promise<void> = Promise.resolve();

  private constructor(file: DiskFile) {
    this.#file = file;
  }

  /**
   * Opens the file of a new list; what an older one held is still there.
   *
   * @throws InputError when another process has it open.
   */
  static claim(disk: Disk, path: string): Promise<DiskFile> {
    return openOwn(disk, path, "make");
  }

  /** Starts a list. */
  static async start(file: DiskFile, configuration: string): Promise<WrittenRows> {
    const list = new WrittenRows(file);
    await file.truncate(0);
    list.#add(HEAD + configuration);
    await list.sync();
    return list;
  }

  /** Goes on behind what a file holds. */
  static async behind(file: DiskFile, kept: Uint8Array): Promise<WrittenRows> {
    await file.truncate(kept.length);
    const list = new WrittenRows(file);
    list.#hash.update(kept);
    list.#length = list.#written = kept.length;
    return list;
  }

  /** How far it goes, with what was added and is not written yet. */
  get stand(): ListStand {
    return { bytes: this.#length, sha256: this.#hash.copy().digest("hex") };
  }

  /** Adds rows. */
  rows(records: readonly ServerRecord[], offsets: Offsets): void {
    const lengths = offsets.map((offset) => offset ?? "-").join();
    this.#add(`+ ${lengths} ${records.map(serverId).join(" ")}`);
  }

  /** Adds an address that opted out. */
  optOut(address: Address): void {
    this.#add(`! ${formatAddress(address)}`);
  }

  #add(line: string): void {
    const bytes = this.#encoder.encode(`${line}\n`);
    this.#hash.update(bytes);
    this.#pending.push(bytes);
    this.#length += bytes.length;
  }

  /** Writes what was added. What could not be written is tried again at the same place. */
  write(): Promise<void> {
    const write = async () => {
      while (this.#pending.length > 0) {
        const [bytes] = this.#pending;
        await this.#file.write(this.#written, bytes);
        this.#written += bytes.length;
        this.#pending.shift();
      }
    };
    const writing = this.#writing.then(write);
    this.#writing = writing.catch(() => {}); // whoever waits for this one is told
    return writing;
  }

  /** Writes, and hands it on to the disk. */
  async sync(): Promise<void> {
    await this.write();
    await this.#file.sync();
  }

  /** What became of its file since it was opened; `undefined` where it is still there. */
  pathChange(): Promise<string | undefined> {
    return this.#file.pathChange();
  }

  /** Closes it; what was not written is lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing;
    await this.#file[Symbol.asyncDispose]();
  }
}

/**
 * Opens the file of a list, and keeps it from other processes.
 *
 * @throws InputError when another process has it open, or it cannot be edited.
 */
export async function openOwn(disk: Disk, path: string, how: "edit" | "make"): Promise<DiskFile> {
  let file: DiskFile;
  try {
    file = await disk.open(path, how);
  } catch (error) {
    if (how === "edit") throw checkpointError(path, error);
    throw error;
  }
  if (await file.lock()) return file;
  await file[Symbol.asyncDispose]();
  throw new InputError(`Cannot use "${path}": a scan that is running has it open`);
}
