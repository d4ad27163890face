/**
 * The list beside a checkpoint as another process left it: read, checked against the checkpoint, and
 * cut to what the outputs hold.
 *
 * @module
 */
import {
  type Address,
  type Endpoint,
  formatEndpoint,
  parseAddress,
  parseEndpoint,
} from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import type { Disk, DiskFile } from "../../sinks/file_operations.ts";
import { type Checkpoint, checkpointError, type Offsets, sha256 } from "./checkpoint_file.ts";
import { HEAD, openOwn, WrittenRows } from "./written_rows.ts";

/** What a checkpoint says of its list. */
export type SavedList = Pick<Checkpoint, "list" | "outputs" | "rows">;

/**
 * Opens a list to go on with it.
 *
 * @param saved What the checkpoint says of it.
 * @throws InputError when it is not the one of that checkpoint, was edited, or is in use.
 */
export async function resumeRows(disk: Disk, path: string, saved: SavedList): Promise<ResumedRows> {
  const file = await openOwn(disk, path, "edit");
  try {
    return new ResumedRows(file, await file.read(), saved, path);
  } catch (error) {
    await file[Symbol.asyncDispose]();
    throw checkpointError(path, error);
  }
}

/** Rows of the list: how long the outputs were behind them, and where their line ends. */
interface WrittenLine {
  readonly offsets: Offsets;
  readonly servers: readonly Endpoint[];
  readonly end: number;
}

/** A list as another process left it. */
export class ResumedRows implements AsyncDisposable {
  /** The configuration. */
  readonly configuration: string;
  /** SHA-256 of its line. */
  readonly digest: string;
  readonly #optOuts: readonly { readonly address: Address; readonly end: number }[];
  readonly #batches: readonly WrittenLine[];

  constructor(
    private readonly file: DiskFile,
    private readonly bytes: Uint8Array,
    private readonly saved: SavedList,
    path: string,
  ) {
    const fail = (what: string) => new InputError(`Cannot resume "${path}": ${what}`);
    const { list } = saved;
    const known = bytes.subarray(0, list.bytes);
    if (known.length < list.bytes) {
      throw fail(`it has ${known.length} bytes of the ${list.bytes} that the checkpoint knows`);
    }
    if (sha256(known) !== list.sha256) {
      throw fail("it was changed, or belongs to another checkpoint");
    }
    const lines = linesOf(bytes);
    const head = lines.next().value;
    if (!head?.line.startsWith(HEAD)) throw fail("it is no list of rows");
    this.configuration = head.line.slice(HEAD.length);
    this.digest = configurationDigest(this.configuration);
    const batches: WrittenLine[] = [];
    const optOuts: { address: Address; end: number }[] = [];
    for (const { line, end } of lines) {
      const address = line.startsWith("! ") ? parseAddress(line.slice(2)) : undefined;
      const batch = address === undefined ? parseWrittenLine(line, end) : undefined;
      if (address !== undefined) optOuts.push({ address, end });
      else if (batch !== undefined) batches.push(batch);
      else throw fail(`it was changed: "${line.slice(0, 40)}" is no line of it`);
    }
    this.#batches = batches;
    this.#optOuts = optOuts;
    const fault = batchFault(batches, saved);
    if (fault !== undefined) throw fail(fault);
  }

  /** Addresses that opted out. */
  get optedOut(): Address[] {
    return this.#optOuts.map(({ address }) => address);
  }

  /** The servers whose rows it names, as rows name them. */
  get servers(): string[] {
    return this.#batches.flatMap(({ servers }) => servers.map(formatEndpoint));
  }

  /**
   * Drops the rows that outputs have lost since the checkpoint was saved: a system that crashed may
   * have kept the list and not them.
   *
   * @param outputs What the outputs are now; none of them is cut yet.
   * @throws InputError for the first that has become shorter than it was then, or lacks rows that it
   * held then.
   */
  cut(outputs: readonly ReopenedOutput[]): CutList {
    const saved = this.saved.outputs;
    for (const [i, { name, length }] of outputs.entries()) {
      if ((saved[i] === null) !== (length === null)) {
        throw new InputError(`Cannot resume: ${name} is no longer what it was, a file or a pipe`);
      }
      const least = saved[i] ?? 0;
      if (length === null || length >= least) continue;
      throw new InputError(
        `Cannot resume: ${name} has ${length} bytes of the ${least} that the scan had written; ` +
          "it was changed",
      );
    }
    this.#checkMissing(outputs);
    const fits = ({ offsets, servers }: WrittenLine) =>
      offsets.every((offset, i) => offset === null || offset <= (outputs[i].length ?? Infinity)) &&
      outputs.every(({ missing }) => countOf(servers, missing) === 0);
    const lost = this.#batches.findIndex((batch) => !fits(batch));
    const kept = lost < 0 ? this.#batches : this.#batches.slice(0, lost);
    const whole = this.bytes.lastIndexOf(0x0a) + 1;
    const end = lost < 0 ? whole : Math.max(this.saved.list.bytes, kept.at(-1)?.end ?? 0);
    return {
      offsets: kept.at(-1)?.offsets ?? saved,
      answered: kept.flatMap(({ servers }) => servers),
      open: async () => {
        const list = await WrittenRows.behind(this.file, this.bytes.subarray(0, end));
        for (const one of this.#optOuts) if (one.end > end) list.optOut(one.address);
        return list;
      },
    };
  }

  /** What is behind the checkpoint can be probed again; what is before it cannot. */
  #checkMissing(outputs: readonly ReopenedOutput[]): void {
    const { list, rows } = this.saved;
    const saved = this.#batches.filter(({ end }) => end <= list.bytes);
    for (const { name, missing } of outputs) {
      const count = saved.reduce((sum, { servers }) => sum + countOf(servers, missing), 0);
      if (count === 0) continue;
      throw new InputError(
        `Cannot resume: ${name} lacks ${count} of the ${rows} rows that the scan had written; ` +
          "restore it, import another output of the scan into it, or start a new scan",
      );
    }
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
  /** Of the list's servers, those that a database has no row of. Default: none. */
  readonly missing?: ReadonlySet<string>;
}

/** How many of these servers are missing. */
function countOf(servers: readonly Endpoint[], missing: ReadonlySet<string> = NONE): number {
  if (missing.size === 0) return 0;
  return servers.filter((server) => missing.has(formatEndpoint(server))).length;
}

const NONE: ReadonlySet<string> = new Set();

/** What of a list holds. */
export interface CutList {
  /** How long outputs are to be. */
  readonly offsets: Offsets;
  /** The servers of the rows in them. */
  readonly answered: readonly Endpoint[];
  /** Goes on with the list; to be called when the outputs have been cut. */
  readonly open: () => Promise<WrittenRows>;
}

/** The digest of a configuration. */
export function configurationDigest(configuration: string): string {
  return sha256(`${HEAD}${configuration}\n`);
}

/** What of the rows is not as the checkpoint, or the rows before them, say. */
function batchFault(
  batches: readonly WrittenLine[],
  { list, outputs, rows }: SavedList,
): string | undefined {
  const behind = batches.findIndex(({ end }) => end > list.bytes);
  const known = behind < 0 ? batches : batches.slice(0, behind);
  const named = known.reduce((sum, { servers }) => sum + servers.length, 0);
  if (named !== rows) return `it names ${named} rows, and rows of its checkpoint is ${rows}`;
  const last = known.at(-1)?.offsets ?? outputs;
  if (last.join() !== outputs.join()) {
    return `outputs of its checkpoint is [${outputs}], and it says [${last}]`;
  }
  let before: Offsets = outputs.map((offset) => offset === null ? null : 0);
  for (const { offsets } of [...known, { offsets: outputs }, ...batches.slice(known.length)]) {
    const follows = offsets.length === before.length &&
      offsets.every((offset, i) =>
        offset === null ? before[i] === null : before[i] !== null && offset >= before[i]
      );
    if (!follows) return `lengths of outputs [${offsets}] cannot follow [${before}]`;
    before = offsets;
  }
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

function parseWrittenLine(line: string, end: number): WrittenLine | undefined {
  const [sign, lengths, ...ids] = line.split(" ");
  const servers = ids.map(parseEndpoint);
  if (sign !== "+" || !/^(\d{1,15}|-)(,(\d{1,15}|-))*$/.test(lengths ?? "")) return undefined;
  if (servers.length === 0 || servers.includes(undefined)) return undefined;
  const offsets = lengths.split(",").map((text) => text === "-" ? null : Number(text));
  return { offsets, servers: servers as Endpoint[], end };
}
