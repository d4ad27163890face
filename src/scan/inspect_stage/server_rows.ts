/**
 * Builds the rows of servers from their inspections.
 *
 * @module
 */
import {
  ATTACHMENTS,
  type RecordWithAttachments,
  type ServerRecord,
  type Sighting,
} from "../../core/record.ts";
import { attachedOf } from "../../inspect/attachments.ts";
import type { Inspection } from "../../inspect/inspect.ts";
import { mergeReplies } from "../../inspect/merge.ts";
import { withoutPlayers } from "../../protocols/declared_facts.ts";
import type { EarlyStop } from "../early_stop.ts";
import { requestedName } from "../requested_names.ts";
import type { ScanSetup } from "../scan_setup.ts";
import type { LossAndRate } from "../sweep_stage/loss_and_rate.ts";
import { Aliases } from "./aliases.ts";

/** Builds the rows of a scan, up to the number of `--max-results`. */
export class ServerRows {
  readonly #aliases: Aliases;
  /** Number of rows, including those of earlier runs of the scan. */
  #accepted: number;

  /**
   * Counts from the number of rows of earlier runs of the scan.
   *
   * @param stop Ends the scan after its last row.
   * @param lossAndRate The loss measurement. It uses servers with a row as canaries.
   */
  constructor(
    private readonly options: ScanSetup,
    private readonly stop: EarlyStop,
    private readonly lossAndRate: LossAndRate,
  ) {
    const { targets, io: { random, state } } = options;
    this.#aliases = new Aliases(random(8), targets.allProtocols);
    this.#accepted = state.written;
  }

  /**
   * Builds the row of a server; `cut`: the scan already has as many rows as `--max-results` allows.
   */
  of(sighting: Sighting, result: Inspection): ServerRecord | "cut" {
    const { targets, limits: { maxResults = Infinity }, interviews, io: { state } } = this.options;
    if (result.failure !== undefined) state.noStatus++;
    if (result.exhausted) state.inspectedInPart++;
    if (this.#accepted >= maxResults) return "cut";
    if (++this.#accepted >= maxResults) this.stop.stop("max-results");
    this.lossAndRate.add(sighting, result.replies.map(({ protocol }) => protocol));
    const record: RecordWithAttachments = buildRecord(sighting, result, this.options);
    if (interviews.attach) record[ATTACHMENTS] = attachedOf(result.replies, interviews.players);
    record.alias_of = this.#aliases.of(record, sighting.endpoint);
    if (record.alias_of !== null) state.aliases++;
    return interviews.players ? record : withoutPlayers(record, targets.allProtocols);
  }
}

/**
 * Builds the record of a server that replied. The record has the names of players; `alias_of` is
 * not set yet.
 */
function buildRecord(
  { endpoint, at }: Sighting,
  { replies, latencyMs, isCutShort }: Inspection,
  options: ScanSetup,
): ServerRecord {
  const { targets, io: { clock, state: { scanId } } } = options;
  const record = mergeReplies(replies, {
    endpoint,
    latencyMs,
    scanId,
    allProtocols: targets.allProtocols,
    seenAt: Math.round(clock.wall() - (clock.now() - at)),
    requestedAs: requestedName(targets, endpoint).column,
  });
  if (isCutShort) record.flags = [...record.flags, "cutShort"].sort();
  return record;
}
