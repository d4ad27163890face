/**
 * Turns sightings into rows: interviews each sighted server, unless its first reply is enough.
 *
 * @module
 */
import { InspectionPool, interviewsAtOnce } from "../../inspect/inspection_pool.ts";
import type { ScanSetup } from "../scan_setup.ts";
import type { ScanTables } from "../scan_tables.ts";
import type { LossAndRate } from "../sweep_stage/loss_and_rate.ts";
import { type InterviewParts, Interviews } from "./interviews.ts";
import { ServerRows } from "./server_rows.ts";
import type { Sighted, SightingQueue, Subject } from "./sighting_queue.ts";
import { reasonToSkip } from "./skipped_sightings.ts";

/** The parts of the scan that this stage uses, apart from the tables. */
export interface InspectStageParts extends InterviewParts {
  /** The queue of sightings. */
  readonly sightings: SightingQueue;
  /** The loss measurement. It uses servers with a row as canaries. */
  readonly lossAndRate: LossAndRate;
}

/** Takes servers from the queue of sightings, and starts their interviews. */
export class InspectStage {
  readonly #options: ScanSetup;
  readonly #tables: ScanTables;
  readonly #parts: InspectStageParts;
  readonly #pool: InspectionPool;
  readonly #serverRows: ServerRows;
  readonly #interviews: Interviews;

  /** Creates the stage; no interview runs yet. */
  constructor(options: ScanSetup, tables: ScanTables, parts: InspectStageParts) {
    const { limits: { concurrency, rates } } = options;
    this.#options = options;
    this.#tables = tables;
    this.#parts = parts;
    const atOnce = interviewsAtOnce(rates.hostRate);
    const onError = (error: Error) => tables.stop.fail(error);
    this.#pool = new InspectionPool(concurrency, onError, atOnce);
    this.#serverRows = new ServerRows(options, tables.stop, parts.lossAndRate);
    this.#interviews = new Interviews(options, tables, parts, this.#serverRows, atOnce);
  }

  /**
   * Takes servers from the queue until the queue is closed, and passes rows to the write stage.
   */
  async run(): Promise<void> {
    const { sightings, rows } = this.#parts;
    while (await sightings.arrival()) {
      for (let one = sightings.take(); one !== undefined; one = sightings.take()) {
        try {
          this.#begin(one);
        } catch (error) {
          this.#tables.stop.fail(error as Error);
          sightings.finish(one);
        }
        if (rows.whenFree !== undefined) await rows.whenFree;
      }
    }
  }

  /** Waits until all interviews have ended. Call it when the sweep has ended. */
  async drain(): Promise<void> {
    const { sightings } = this.#parts;
    this.#interviews.sweepEnded();
    await sightings.idle();
    sightings.close();
  }

  /** Builds the row at once if no query is needed; otherwise adds an interview to the pool. */
  #begin(subject: Subject): void {
    const { sightings, rows } = this.#parts;
    const isKnown = "plan" in subject;
    if (!isKnown && this.#needsNoQuery(subject)) return sightings.finish(subject);
    const { endpoint: { address } } = isKnown ? subject : subject.sighting;
    this.#pool.add(address, async () => {
      try {
        await this.#interviews.run(subject);
        await rows.whenFree;
      } finally {
        sightings.finish(subject);
      }
    }, isKnown || subject.sighting.verified);
  }

  /** Builds the row if the first reply contains enough. Returns whether it did. */
  #needsNoQuery({ sighting, firstReply, onFinished }: Sighted): boolean {
    const { follow, verify } = this.#options.interviews;
    const { endpoint, latencyMs = null } = sighting;
    if (firstReply === undefined || verify) return false;
    if (follow && this.#tables.known.protocolsFor(endpoint).length > 1) return false;
    if (reasonToSkip(sighting, this.#tables) !== undefined) return false;
    // The queue contains no sighting with an opt-out.
    const found = { replies: [firstReply], latencyMs, hasOptedOut: false, isCutShort: false };
    const row = this.#serverRows.of(sighting, found);
    if (row !== "cut") this.#parts.rows.add(row, onFinished);
    return true;
  }
}
