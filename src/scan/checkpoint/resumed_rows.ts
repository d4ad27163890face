/**
 * Reads the list file of an interrupted scan, checks it against the checkpoint, and reduces it to
 * the rows that the outputs contain.
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
import { HEAD, openOwn, PASS_SIGN, WrittenRows } from "./written_rows.ts";

/** The fields of a checkpoint that describe its list. */
export type SavedList = Pick<Checkpoint, "list" | "outputs" | "rows">;

/**
 * Opens a list to continue it.
 *
 * @param saved The checkpoint's description of the list.
 * @throws InputError when the list belongs to another checkpoint, was edited, or is in use.
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

/**
 * One line of rows: their servers, the lengths of the outputs after these rows, and the position of
 * the line's end.
 */
interface WrittenLine {
  readonly offsets: Offsets;
  readonly servers: readonly Endpoint[];
  readonly end: number;
}

/** The list of an interrupted scan. */
export class ResumedRows implements AsyncDisposable {
  /** The configuration, JSON text. */
  readonly configuration: string;
  /** SHA-256 of the configuration's line. */
  readonly digest: string;
  readonly #optOuts: readonly { readonly address: Address; readonly end: number }[];
  readonly #batches: readonly WrittenLine[];
  readonly #passes: readonly { readonly line: string; readonly end: number }[];

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
      throw fail(
        `it has ${known.length} bytes, but had ${list.bytes} when the checkpoint was saved`,
      );
    }
    if (sha256(known) !== list.sha256) {
      throw fail("it was changed, or belongs to another checkpoint");
    }
    const lines = linesOf(bytes);
    const head = lines.next().value;
    if (!head?.line.startsWith(HEAD)) throw fail("it is not a list of rows");
    this.configuration = head.line.slice(HEAD.length);
    this.digest = configurationDigest(this.configuration);
    const batches: WrittenLine[] = [];
    const optOuts: { address: Address; end: number }[] = [];
    const passes: { line: string; end: number }[] = [];
    for (const { line, end } of lines) {
      const address = line.startsWith("! ") ? parseAddress(line.slice(2)) : undefined;
      const batch = address === undefined ? parseWrittenLine(line, end) : undefined;
      if (address !== undefined) optOuts.push({ address, end });
      else if (line.startsWith(PASS_SIGN)) passes.push({ line, end });
      else if (batch !== undefined) batches.push(batch);
      else throw fail(`it was changed: "${line.slice(0, 40)}" is not a line of a list`);
    }
    this.#batches = batches;
    this.#optOuts = optOuts;
    this.#passes = passes;
    const fault = batchFault(batches, saved);
    if (fault !== undefined) throw fail(fault);
  }

  /** Addresses that opted out. */
  get optedOut(): Address[] {
    return this.#optOuts.map(({ address }) => address);
  }

  /** The lines with closed passes of an adaptive scan. */
  get passes(): string[] {
    return this.#passes.map(({ line }) => line);
  }

  /** The servers whose rows are listed. */
  get servers(): string[] {
    return this.#batches.flatMap(({ servers }) => servers.map(formatEndpoint));
  }

  /**
   * Drops the rows that outputs have lost since the checkpoint was saved. After a system crash, the
   * list may contain rows that the outputs do not.
   *
   * @param outputs The current outputs, none of them truncated yet.
   * @throws InputError for the first output that is shorter than at the checkpoint, or lacks rows
   * of the checkpoint.
   */
  cut(outputs: readonly ReopenedOutput[]): CutList {
    const saved = this.saved.outputs;
    for (const [i, { name, length }] of outputs.entries()) {
      if ((saved[i] === null) !== (length === null)) {
        throw new InputError(
          `Cannot resume: ${name} was a file and is a pipe now, or the other way round`,
        );
      }
      const least = saved[i] ?? 0;
      if (length === null || length >= least) continue;
      throw new InputError(
        `Cannot resume: ${name} has ${length} bytes, but the scan had written ${least}; ` +
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
      responders: kept.flatMap(({ servers }) => servers),
      open: async () => {
        const list = await WrittenRows.behind(this.file, this.bytes.subarray(0, end));
        for (const one of this.#optOuts) if (one.end > end) list.optOut(one.address);
        for (const one of this.#passes) if (one.end > end) list.pass(one.line);
        return list;
      },
    };
  }

  /**
   * Checks that no output lacks rows from before the checkpoint. The servers of later rows are
   * probed again, but those of earlier rows are not.
   */
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

/** An output of a resumed scan. */
export interface ReopenedOutput {
  /** Name of the output, for errors. */
  readonly name: string;
  /** Length, bytes; `null`: the output cannot be truncated. */
  readonly length: number | null;
  /** Listed servers without a row in the database. Default: none. */
  readonly missing?: ReadonlySet<string>;
}

/** Number of these servers whose rows are missing. */
function countOf(servers: readonly Endpoint[], missing: ReadonlySet<string> = NONE): number {
  if (missing.size === 0) return 0;
  return servers.filter((server) => missing.has(formatEndpoint(server))).length;
}

const NONE: ReadonlySet<string> = new Set();

/** The valid part of a list. */
export interface CutList {
  /** Lengths to which the outputs must be truncated. */
  readonly offsets: Offsets;
  /** The servers whose rows remain. */
  readonly responders: readonly Endpoint[];
  /** Continues the list. Call it after the outputs have been truncated. */
  readonly open: () => Promise<WrittenRows>;
}

/** SHA-256 of the list's first line, hexadecimal. */
export function configurationDigest(configuration: string): string {
  return sha256(`${HEAD}${configuration}\n`);
}

/** Describes the first row that contradicts the checkpoint or an earlier row. */
function batchFault(
  batches: readonly WrittenLine[],
  { list, outputs, rows }: SavedList,
): string | undefined {
  const behind = batches.findIndex(({ end }) => end > list.bytes);
  const known = behind < 0 ? batches : batches.slice(0, behind);
  const named = known.reduce((sum, { servers }) => sum + servers.length, 0);
  if (named !== rows) return `it names ${named} rows, and its checkpoint counts ${rows}`;
  const last = known.at(-1)?.offsets ?? outputs;
  if (last.join() !== outputs.join()) {
    return `the lengths of outputs are [${outputs}] in its checkpoint, and [${last}] in its last line`;
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

/** The lines of a list, without a partial last line. */
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
