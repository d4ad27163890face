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
import {
  type Address,
  type Endpoint,
  formatAddress,
  parseAddress,
  parseEndpoint,
} from "../../address.ts";
import { InputError } from "../../errors.ts";
import { serverId, type ServerRecord } from "../../record.ts";
import type { Disk, DiskFile } from "../../sinks/disk.ts";
import { type ListStand, type Offsets, refusal, sha256 } from "./file.ts";

const HEAD = "blocksweep rows ";

/** Where the list of a checkpoint is. */
export function listPath(checkpoint: string): string {
  return `${checkpoint}.list`;
}

/** A list that is open, and nobody else's. */
export class RowList implements AsyncDisposable {
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
  static async start(file: DiskFile, configuration: string): Promise<RowList> {
    const list = new RowList(file);
    await file.truncate(0);
    list.#add(HEAD + configuration);
    await list.sync();
    return list;
  }

  /**
   * Opens a list to go on with it.
   *
   * @param stand How far it went when the checkpoint was saved.
   * @throws InputError when it is not the one of that checkpoint, or in use.
   */
  static async resume(disk: Disk, path: string, stand: ListStand): Promise<ResumedList> {
    const file = await openOwn(disk, path, "edit");
    try {
      return new ResumedList(file, await file.read(), stand, path);
    } catch (error) {
      await file[Symbol.asyncDispose]();
      throw refusal(path, error);
    }
  }

  /** Goes on behind what a file holds. */
  static async behind(file: DiskFile, kept: Uint8Array): Promise<RowList> {
    await file.truncate(kept.length);
    const list = new RowList(file);
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

  /** Closes it; what was not written is lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing;
    await this.#file[Symbol.asyncDispose]();
  }
}

async function openOwn(disk: Disk, path: string, how: "edit" | "make"): Promise<DiskFile> {
  let file: DiskFile;
  try {
    file = await disk.open(path, how);
  } catch (error) {
    if (how === "edit") throw refusal(path, error);
    throw error;
  }
  if (await file.lock()) return file;
  await file[Symbol.asyncDispose]();
  throw new InputError(`Cannot use "${path}": a scan that is running has it open`);
}

/** Rows of the list: how long the outputs were behind them, and where their line ends. */
interface Batch {
  readonly offsets: Offsets;
  readonly servers: readonly Endpoint[];
  readonly end: number;
}

/** A list as another process left it. */
export class ResumedList implements AsyncDisposable {
  /** The configuration. */
  readonly configuration: string;
  /** SHA-256 of its line. */
  readonly digest: string;
  readonly #optOuts: readonly { readonly address: Address; readonly end: number }[];
  readonly #batches: readonly Batch[];

  constructor(
    private readonly file: DiskFile,
    private readonly bytes: Uint8Array,
    private readonly stand: ListStand,
    path: string,
  ) {
    const fail = (what: string) => new InputError(`Cannot resume "${path}": ${what}`);
    const saved = bytes.subarray(0, stand.bytes);
    if (saved.length < stand.bytes) {
      throw fail(`it has ${saved.length} bytes of the ${stand.bytes} that the checkpoint knows`);
    }
    if (sha256(saved) !== stand.sha256) {
      throw fail("it was changed, or belongs to another checkpoint");
    }
    const lines = linesOf(bytes);
    const head = lines.next().value;
    if (!head?.line.startsWith(HEAD)) throw fail("it is no list of rows");
    this.configuration = head.line.slice(HEAD.length);
    this.digest = configurationDigest(this.configuration);
    const batches: Batch[] = [];
    const optOuts: { address: Address; end: number }[] = [];
    for (const { line, end } of lines) {
      const address = line.startsWith("! ") ? parseAddress(line.slice(2)) : undefined;
      const batch = address === undefined ? parseBatch(line, end) : undefined;
      if (address !== undefined) optOuts.push({ address, end });
      else if (batch !== undefined) batches.push(batch);
      else throw fail(`it was changed: "${line.slice(0, 40)}" is no line of it`);
    }
    this.#batches = batches;
    this.#optOuts = optOuts;
  }

  /** Addresses that opted out. */
  get optedOut(): Address[] {
    return this.#optOuts.map(({ address }) => address);
  }

  /**
   * Drops the rows that outputs have lost since the checkpoint was saved: a system that crashed may
   * have kept the list and not them.
   *
   * @param saved How long the outputs were when the checkpoint was saved.
   * @param outputs What they are now; none of them is cut yet.
   * @throws InputError for the first that has become shorter than it was then.
   */
  cut(saved: Offsets, outputs: readonly ReopenedOutput[]): CutList {
    for (const [i, { name, length }] of outputs.entries()) {
      if ((saved[i] === null) !== (length === null)) {
        throw new InputError(`Cannot resume: "${name}" is no longer what it was, a file or a pipe`);
      }
      const least = saved[i] ?? 0;
      if (length === null || length >= least) continue;
      throw new InputError(
        `Cannot resume: "${name}" has ${length} bytes of the ${least} that the scan had written; ` +
          "it was changed",
      );
    }
    const fits = ({ offsets }: Batch) =>
      offsets.every((offset, i) => offset === null || offset <= (outputs[i].length ?? Infinity));
    const lost = this.#batches.findIndex((batch) => !fits(batch));
    const kept = lost < 0 ? this.#batches : this.#batches.slice(0, lost);
    const whole = this.bytes.lastIndexOf(0x0a) + 1;
    const end = lost < 0 ? whole : Math.max(this.stand.bytes, kept.at(-1)?.end ?? 0);
    return {
      offsets: kept.at(-1)?.offsets ?? saved,
      answered: kept.flatMap(({ servers }) => servers),
      open: async () => {
        const list = await RowList.behind(this.file, this.bytes.subarray(0, end));
        for (const one of this.#optOuts) if (one.end > end) list.optOut(one.address);
        return list;
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.file[Symbol.asyncDispose]();
  }
}

/** An output of a scan that goes on. */
export interface ReopenedOutput {
  /** How errors name it. */
  readonly name: string;
  /** How long it is, bytes; `null`: it has no way back. */
  readonly length: number | null;
}

/** What of a list holds. */
export interface CutList {
  /** How long outputs are to be. */
  readonly offsets: Offsets;
  /** The servers of the rows in them. */
  readonly answered: readonly Endpoint[];
  /** Goes on with the list; to be called when the outputs have been cut. */
  readonly open: () => Promise<RowList>;
}

/** The digest of a configuration. */
export function configurationDigest(configuration: string): string {
  return sha256(`${HEAD}${configuration}\n`);
}

/** The lines of a list, without a torn last one. */
function* linesOf(bytes: Uint8Array): Generator<{ line: string; end: number }, undefined> {
  const decoder = new TextDecoder();
  for (let start = 0;;) {
    const feed = bytes.indexOf(0x0a, start);
    if (feed < 0) return;
    yield { line: decoder.decode(bytes.subarray(start, feed)), end: feed + 1 };
    start = feed + 1;
  }
}

function parseBatch(line: string, end: number): Batch | undefined {
  const [sign, lengths, ...ids] = line.split(" ");
  const servers = ids.map(parseEndpoint);
  if (sign !== "+" || !/^(\d{1,15}|-)(,(\d{1,15}|-))*$/.test(lengths ?? "")) return undefined;
  if (servers.length === 0 || servers.includes(undefined)) return undefined;
  const offsets = lengths.split(",").map((text) => text === "-" ? null : Number(text));
  return { offsets, servers: servers as Endpoint[], end };
}
