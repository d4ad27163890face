/**
 * Writes checkpoints while a scan runs. The order of writes keeps the checkpoint valid at any time:
 * rows are written to all outputs, then to the list. Then the outputs and the list are flushed to
 * the disk. Then the new checkpoint replaces the old one.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import type { Clock } from "../../net/clock.ts";
import { type Disk, type DiskFile, replaceFile } from "../../sinks/file_operations.ts";
import type { Sink } from "../../sinks/sink.ts";
import type { Marks } from "../setup/low_water_mark.ts";
import type { Checkpointer } from "../setup/scan_setup.ts";
import type { ScanState } from "../setup/scan_state.ts";
import {
  type Checkpoint,
  type CheckpointState,
  countersOf,
  formatCheckpoint,
  type Offsets,
} from "./checkpoint_file.ts";
import { WrittenRows, writtenRowsPath } from "./written_rows.ts";
import { configurationDigest } from "./resumed_rows.ts";

/** The fields that are equal in every checkpoint of a scan. */
export type CheckpointIdentity = Pick<Checkpoint, "program" | "scanId" | "seed" | "shard" | "key">;

export interface WriterOptions {
  /** The disk that contains the checkpoint. */
  readonly disk: Disk;
  /** Path of the checkpoint file. */
  readonly path: string;
  /** The clock for the time of each save. */
  readonly clock: Pick<Clock, "wall">;
  /** The fields that are equal in every checkpoint. */
  readonly identity: CheckpointIdentity;
  /** The configuration, JSON text. */
  readonly configuration: string;
  /** The outputs of the rows. */
  readonly sinks: readonly Sink[];
  /** Lengths of the outputs before the first row; `null`: the output cannot be truncated. */
  readonly offsets: Offsets;
  /**
   * Called with the reason when a save fails. It is not called again until a save has succeeded.
   */
  readonly onFailure: (error: Error) => void;
}

/** Saves the checkpoint of a scan, and its list of written rows. */
export class CheckpointWriter implements Checkpointer {
  readonly #options: WriterOptions;
  readonly #list: WrittenRows;
  readonly #digest: string;
  #offsets: Offsets;
  #rows: number;
  /** Whether the outputs contain rows that are not flushed to the disk. */
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
   * Starts a list and a checkpoint that replace older ones. The caller has emptied the outputs.
   *
   * @param claimed The open file for the list.
   * @throws Error when a file cannot be written. The list file is then empty.
   */
  static async start(
    options: WriterOptions,
    claimed: DiskFile,
    from: Marks,
    state: ScanState,
  ): Promise<CheckpointWriter> {
    await options.disk.remove(options.path); // an old checkpoint must not stay beside a new list
    const list = await WrittenRows.start(claimed, options.configuration);
    const writer = new CheckpointWriter(options, list, 0);
    try {
      await writer.#save(from, state);
    } catch (error) {
      await claimed.truncate(0).catch(() => {}); // a list without a checkpoint cannot be resumed
      throw error;
    }
    return writer;
  }

  /**
   * Continues a list. The caller has truncated the outputs.
   *
   * @param rows Number of rows in the list.
   */
  static resume(options: WriterOptions, list: WrittenRows, rows: number): CheckpointWriter {
    return new CheckpointWriter(options, list, rows);
  }

  async accepted(ids: readonly string[]): Promise<void> {
    const { sinks } = this.#options;
    this.#offsets = this.#offsets.map((offset, i) => offset === null ? null : sinks[i].position());
    this.#rows += ids.length;
    this.#dirty = true;
    this.#list.rows(ids, this.#offsets);
    await this.#try(() => this.#list.write());
  }

  async optedOut(address: Address): Promise<void> {
    this.#list.optOut(address);
    await this.#try(() => this.#list.write());
  }

  async passed(line: string): Promise<void> {
    this.#list.pass(line);
    await this.#try(() => this.#list.sync());
  }

  async save(marks: Marks, state: ScanState): Promise<void> {
    if (await this.#try(() => this.#save(marks, state))) this.#failing = false;
  }

  /**
   * Ends the writer after the outputs are closed: saves the progress of an unfinished scan, and
   * removes the checkpoint and the list of a finished one.
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
    // if this save fails, the previous checkpoint is still valid
    await this.#try(() => this.#save(marks, state, ended));
    const change = await this.#list.pathChange();
    await this.#list[Symbol.asyncDispose]();
    return change === undefined;
  }

  /** Removes the checkpoint before the list: a list without a checkpoint is harmless. */
  async #remove(): Promise<void> {
    const { disk, path } = this.#options;
    const removed = await this.#try(() => disk.remove(path));
    await this.#list[Symbol.asyncDispose]();
    if (removed) await this.#try(() => disk.remove(writtenRowsPath(path)));
  }

  async #save(marks: Marks, state: ScanState, ended?: CheckpointState): Promise<void> {
    const { disk, path, sinks } = this.#options;
    // Rows that are added to the list and the outputs after this line are not part of this
    // checkpoint.
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
    if (change !== undefined) throw new Error(`the list beside it has changed: ${change}`);
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
      list: this.#list.fingerprint,
      counters: countersOf(state),
    };
  }

  /** Reports a failed save. The scan continues. */
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
