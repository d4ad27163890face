/**
 * Keeping a checkpoint while a scan runs. The order is what makes it true at any moment: rows go to
 * all outputs, then to the list; outputs and list go to the disk, then the checkpoint that speaks of
 * them takes the place of the one before.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import type { Clock } from "../../net/clock.ts";
import type { ServerRecord } from "../../core/record.ts";
import { type Disk, type DiskFile, replaceFile } from "../../sinks/file_operations.ts";
import type { Sink } from "../../sinks/sink.ts";
import type { Marks } from "./low_water_mark.ts";
import type { Checkpointer } from "../scan_setup.ts";
import type { ScanState } from "../scan_state.ts";
import {
  type Checkpoint,
  type CheckpointState,
  countersOf,
  formatCheckpoint,
  type Offsets,
} from "./checkpoint_file.ts";
import { WrittenRows, writtenRowsPath } from "./written_rows.ts";
import { configurationDigest } from "./resumed_rows.ts";

/** What every checkpoint of a scan says. */
export type ScanIdentity = Pick<Checkpoint, "program" | "scanId" | "seed" | "shard" | "key">;

/** What keeping a checkpoint needs. */
export interface WriterOptions {
  /** Where it goes. */
  readonly disk: Disk;
  /** Its path. */
  readonly path: string;
  /** Tells when it was saved. */
  readonly clock: Pick<Clock, "wall">;
  /** What all of them say. */
  readonly identity: ScanIdentity;
  /** The configuration, JSON. */
  readonly configuration: string;
  /** Where rows go. */
  readonly sinks: readonly Sink[];
  /** How long the outputs are before the first row; `null` for those without a way back. */
  readonly offsets: Offsets;
  /** Told what cannot be saved, and why: once, until it can be saved again. */
  readonly onFailure: (error: Error) => void;
}

/** Writes checkpoints. */
export class CheckpointWriter implements Checkpointer {
  readonly #options: WriterOptions;
  readonly #list: WrittenRows;
  readonly #digest: string;
  #offsets: Offsets;
  #rows: number;
  /** Whether the outputs hold what the disk may not. */
  #dirty = false;
  #failing = false;

  private constructor(options: WriterOptions, list: WrittenRows, rows: number) {
    this.#options = options;
    this.#list = list;
    this.#digest = configurationDigest(options.configuration);
    this.#offsets = options.offsets;
    this.#rows = rows;
  }

  /**
   * Starts a list and a checkpoint in the place of older ones; the outputs have been emptied.
   *
   * @param claimed The file of the list.
   * @throws Error when they cannot be written: a list that was started is empty then.
   */
  static async start(
    options: WriterOptions,
    claimed: DiskFile,
    from: Marks,
    state: ScanState,
  ): Promise<CheckpointWriter> {
    await options.disk.remove(options.path); // no checkpoint shall speak of another one's list
    const list = await WrittenRows.start(claimed, options.configuration);
    const writer = new CheckpointWriter(options, list, 0);
    try {
      await writer.#save(from, state);
    } catch (error) {
      await claimed.truncate(0).catch(() => {}); // without a checkpoint, it is of no use
      throw error;
    }
    return writer;
  }

  /**
   * Goes on with a list; the outputs have been cut.
   *
   * @param rows How many it holds.
   */
  static resume(options: WriterOptions, list: WrittenRows, rows: number): CheckpointWriter {
    return new CheckpointWriter(options, list, rows);
  }

  async accepted(records: readonly ServerRecord[]): Promise<void> {
    const { sinks } = this.#options;
    this.#offsets = this.#offsets.map((offset, i) => offset === null ? null : sinks[i].position());
    this.#rows += records.length;
    this.#dirty = true;
    this.#list.rows(records, this.#offsets);
    await this.#try(() => this.#list.write());
  }

  async optedOut(address: Address): Promise<void> {
    this.#list.optOut(address);
    await this.#try(() => this.#list.write());
  }

  async save(marks: Marks, state: ScanState): Promise<void> {
    if (await this.#try(() => this.#save(marks, state))) this.#failing = false;
  }

  /**
   * Ends with the scan, whose outputs are closed: saves what an unfinished scan came to, and removes
   * checkpoint and list of a finished one.
   *
   * @returns Whether the scan can be resumed.
   */
  async end(marks: Marks, state: ScanState): Promise<boolean> {
    const { ended = "running" } = state;
    if (ended === "done" || ended === "max-results") {
      await this.#remove();
      return false;
    }
    this.#dirty = false;
    await this.#try(() => this.#save(marks, state, ended)); // the one before it is true as well
    const change = await this.#list.pathChange();
    await this.#list[Symbol.asyncDispose]();
    return change === undefined;
  }

  /** Removes the checkpoint first: a list that is left alone harms nobody. */
  async #remove(): Promise<void> {
    const { disk, path } = this.#options;
    const removed = await this.#try(() => disk.remove(path));
    await this.#list[Symbol.asyncDispose]();
    if (removed) await this.#try(() => disk.remove(writtenRowsPath(path)));
  }

  async #save(marks: Marks, state: ScanState, ended?: CheckpointState): Promise<void> {
    const { disk, path, sinks } = this.#options;
    // What is added to list and outputs from here on is not what this checkpoint speaks of.
    const text = formatCheckpoint(this.#checkpoint(marks, state, ended));
    if (this.#dirty) {
      this.#dirty = false;
      try {
        await Promise.all(sinks.map((sink) => sink.flush()));
      } catch (error) {
        this.#dirty = true;
        throw error;
      }
    }
    await this.#list.sync();
    const change = await this.#list.pathChange();
    if (change !== undefined) throw new Error(`of the list beside it, ${change}`);
    await replaceFile(disk, path, new TextEncoder().encode(text));
  }

  #checkpoint(
    marks: Marks,
    state: ScanState,
    ended: CheckpointState = "running",
  ): Checkpoint {
    const { identity, clock } = this.#options;
    const { program, ...rest } = identity;
    return {
      program,
      savedAt: clock.wall(),
      ...rest,
      configuration: this.#digest,
      state: ended,
      marks,
      outputs: this.#offsets,
      rows: this.#rows,
      list: this.#list.stand,
      counters: countersOf(state),
    };
  }

  /** What cannot be saved is told, and the scan goes on. */
  async #try(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (!this.#failing) this.#options.onFailure(error as Error);
      this.#failing = true;
      return false;
    }
  }
}
