/**
 * Counts inspected servers, and gathers what their rows are made from.
 *
 * @module
 */
import type { Sighting } from "../../core/record.ts";
import type { Inspection, UndecodedReply } from "../../inspect/mod.ts";
import type { EarlyStop } from "../tables/early_stop.ts";
import type { OwnNetwork } from "../tables/own_network.ts";
import { requestedName } from "../setup/requested_names.ts";
import type { RowSource } from "../rows/row_maker.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";
import type { LossAndRate } from "../tables/loss_and_rate.ts";

/** Gathers the sources of a scan's rows, up to the number of `--max-results`. */
export class ServerRows {
  /** Number of rows, including those of earlier runs of the scan. */
  #accepted: number;

  /**
   * Counts from the number of rows of earlier runs of the scan.
   *
   * @param stop Ends the scan after its last row.
   * @param network Queries servers with a row if nothing else replies.
   * @param lossAndRate The loss measurement. It uses servers with a row as canaries.
   */
  constructor(
    private readonly options: ScanSetup,
    private readonly stop: EarlyStop,
    private readonly network: Pick<OwnNetwork, "add">,
    private readonly lossAndRate: LossAndRate,
  ) {
    this.#accepted = options.io.state.written;
  }

  /**
   * The source of a server's row; `cut`: the scan already has as many rows as `--max-results` allows.
   */
  of(sighting: Sighting, result: Inspection): RowSource | "cut" {
    const { state } = this.options.io;
    if (result.failure !== undefined) state.noStatus++;
    if (result.exhausted) state.inspectedInPart++;
    const { replies, latencyMs, isCutShort } = result;
    return this.#gather(sighting, { replies, latencyMs, isCutShort });
  }

  /** The source of the row of a server whose first reply is enough, and was not decoded yet. */
  ofUndecoded(sighting: Sighting, replies: UndecodedReply): RowSource | "cut" {
    const { latencyMs = null } = sighting;
    return this.#gather(sighting, { replies, latencyMs, isCutShort: false });
  }

  #gather(
    sighting: Sighting,
    found: Pick<RowSource, "replies" | "latencyMs" | "isCutShort">,
  ): RowSource | "cut" {
    const { targets, limits: { maxResults = Infinity }, io: { clock } } = this.options;
    const { endpoint, at } = sighting;
    const { replies, latencyMs, isCutShort } = found;
    if (this.#accepted >= maxResults) return "cut";
    if (++this.#accepted >= maxResults) this.stop.stop("max-results");
    const all = "raw" in replies ? [replies] : replies;
    this.network.add({ endpoint, protocol: all[0].protocol });
    this.lossAndRate.add(sighting, all.map(({ protocol }) => protocol));
    return {
      endpoint,
      seenAt: Math.round(clock.wall() - (clock.now() - at)),
      latencyMs,
      requestedAs: requestedName(targets, endpoint).column,
      isCutShort,
      replies,
    };
  }
}
