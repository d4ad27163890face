/**
 * The list file beside a checkpoint: the configuration, the rows written, the addresses that
 * opted out, and the passes of an adaptive scan. Lines are only appended. A line of rows is appended after the outputs have accepted
 * these rows:
 *
 *     blocksweep rows {…}                       the configuration, JSON
 *     + 5120,4711,- 10.0.0.1:19132 [::1]:25565  rows, and the length of each output after them
 *     ! 10.0.0.9                                an address that opted out
 *     = {…}                                     a pass and the servers that it found, JSON
 *
 * Bytes of an output after its last listed length belong to rows that not all outputs accepted, or
 * to a partial row. A resumed scan removes these bytes and probes the servers again. It therefore
 * need not read outputs of any format, and all outputs contain the same rows.
 *
 * @module
 */
import { nodeCrypto } from "../../core/node_modules.ts";
import { type Address, formatAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import type { Disk, DiskFile } from "../../sinks/file_operations.ts";
import { checkpointError, type ListFingerprint, type Offsets } from "./checkpoint_file.ts";

/** Start of the first line of a list file. */
export const HEAD = "blocksweep rows ";
/** Start of a line with a pass of an adaptive scan. */
export const PASS_SIGN = "= ";

/** The path of a checkpoint's list file. */
export function writtenRowsPath(checkpoint: string): string {
  return `${checkpoint}.list`;
}

/** Another scan that is running has a list file open. */
export class ListInUse extends InputError {}

/** An open list file, locked against other processes. */
export class WrittenRows implements AsyncDisposable {
  readonly #file: DiskFile;
  readonly #encoder = new TextEncoder();
  readonly #hash = nodeCrypto().createHash("sha256");
  /** Number of bytes that were added, and number of bytes that are written. */
  #length = 0;
  #written = 0;
  #pending: Uint8Array[] = [];
  #writing: Promise<void> = Promise.resolve();

  private constructor(file: DiskFile) {
    this.#file = file;
  }

  /**
   * Opens the file for a new list. The content of an older list is kept until {@linkcode start}.
   *
   * @throws ListInUse when another process has it open.
   */
  static claim(disk: Disk, path: string): Promise<DiskFile> {
    return openOwn(disk, path, "make");
  }

  /** Empties the file and writes the configuration. */
  static async start(file: DiskFile, configuration: string): Promise<WrittenRows> {
    const list = new WrittenRows(file);
    await file.truncate(0);
    list.#add(HEAD + configuration);
    await list.sync();
    return list;
  }

  /** Continues a list after the bytes that are kept, and removes the rest. */
  static async behind(file: DiskFile, kept: Uint8Array): Promise<WrittenRows> {
    await file.truncate(kept.length);
    const list = new WrittenRows(file);
    list.#hash.update(kept);
    list.#length = list.#written = kept.length;
    return list;
  }

  /** Length and digest of the list, including lines that are not written yet. */
  get fingerprint(): ListFingerprint {
    return { bytes: this.#length, sha256: this.#hash.copy().digest("hex") };
  }

  /** Adds a line with rows, as `serverId()` names them. */
  rows(ids: readonly string[], offsets: Offsets): void {
    const lengths = offsets.map((offset) => offset ?? "-").join();
    this.#add(`+ ${lengths} ${ids.join(" ")}`);
  }

  /** Adds a line with an address that opted out. */
  optOut(address: Address): void {
    this.#add(`! ${formatAddress(address)}`);
  }

  /**
   * Adds a line with a pass of an adaptive scan.
   *
   * @param line It begins with {@linkcode PASS_SIGN}.
   */
  pass(line: string): void {
    this.#add(line);
  }

  #add(line: string): void {
    const bytes = this.#encoder.encode(`${line}\n`);
    this.#hash.update(bytes);
    this.#pending.push(bytes);
    this.#length += bytes.length;
  }

  /**
   * Writes the pending lines. A line that could not be written is written again at the same
   * position.
   */
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
    this.#writing = writing.catch(() => {}); // the caller gets the error from `writing`
    return writing;
  }

  /** Writes the pending lines and flushes the file to the disk. */
  async sync(): Promise<void> {
    await this.write();
    await this.#file.sync();
  }

  /** How the file's path has changed since the file was opened; `undefined` when it has not. */
  pathChange(): Promise<string | undefined> {
    return this.#file.pathChange();
  }

  /** Closes the file. Pending lines are lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing;
    await this.#file[Symbol.asyncDispose]();
  }
}

/**
 * Opens the file of a list and locks it against other processes.
 *
 * @throws ListInUse when another process has the file open; InputError when it is not writable.
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
  throw new ListInUse(`Cannot use "${path}": a scan that is running has it open`);
}
