/**
 * Interviews the servers of a scan, and passes their rows to the write stage.
 *
 * @module
 */
import type { ServerRecord, Sighting } from "../../core/record.ts";
import type { Inspection } from "../../inspect/inspect.ts";
import { reclassify } from "../../sweep/reply_counts.ts";
import type { ScanSetup } from "../scan_setup.ts";
import type { ScanTables } from "../scan_tables.ts";
import type { WriteStage } from "../write_stage.ts";
import { EndpointInspections, type InspectionParts } from "./endpoint_inspections.ts";
import type { ServerRows } from "./server_rows.ts";
import type { KnownSubject, Sighted, Subject } from "./sighting_queue.ts";
import { omit, reasonToSkip } from "./skipped_sightings.ts";
import { UnprovedBudget } from "./unproved_budget.ts";

/** The parts of the scan that interviews use, apart from the tables. */
export interface InterviewParts extends InspectionParts {
  /** The stage that writes rows. */
  readonly rows: WriteStage;
}

/** The interviews of one scan. */
export class Interviews {
  readonly #inspections: EndpointInspections;
  /** Limits the interview time of an address's unproved endpoints. */
  readonly #budget: UnprovedBudget;

  /**
   * Starts without any interview.
   *
   * @param serverRows Builds the rows.
   * @param atOnce Number of unproved endpoints of one address that are interviewed at once.
   */
  constructor(
    private readonly options: ScanSetup,
    private readonly tables: ScanTables,
    private readonly parts: InterviewParts,
    private readonly serverRows: ServerRows,
    atOnce: number,
  ) {
    this.#inspections = new EndpointInspections(options, tables, parts);
    this.#budget = new UnprovedBudget(atOnce);
  }

  /** Interviews a server. */
  async run(subject: Subject): Promise<void> {
    await ("plan" in subject ? this.#known(subject) : this.#sighted(subject));
  }

  /**
   * Records that the sweep has ended. From now on, interviews use up the time budgets of their
   * addresses.
   */
  sweepEnded(): void {
    this.#budget.sweepEnded(this.options.io.clock.now());
  }

  async #sighted(subject: Sighted): Promise<void> {
    const { sighting, sighting: { endpoint }, onFinished } = subject;
    const { stop, responders } = this.tables;
    try {
      const found = await this.#inspect(subject);
      if (found === "short") return this.#postpone(sighting, onFinished);
      if (found === "cut") return;
      const finishEarlier = this.tables.uninspected.remove(endpoint);
      const finishAll = () => {
        finishEarlier();
        onFinished();
      };
      if (found === "nothing") finishAll();
      else this.parts.rows.add(found, finishAll);
    } finally {
      if (!stop.interviewSignal.aborted) responders.ended(endpoint);
    }
  }

  /** Postpones a server to a later pass, or to a resumed scan. */
  #postpone({ endpoint }: Sighting, onFinished: () => void): void {
    this.tables.responders.release(endpoint);
    this.tables.uninspected.add(endpoint, onFinished);
  }

  /** Interviews a server that was known before the scan; no pass visits it. */
  async #known({ endpoint, plan, onFinished }: KnownSubject): Promise<void> {
    const { optedOut, responders, uninspected, stop, stop: { reason } } = this.tables;
    if (reason === "failed" || reason === "max-results") return;
    const at = this.options.io.clock.now();
    const found = await this.#inspections.inspect({ endpoint, spoken: plan.probed });
    if (found.hasOptedOut) await this.parts.optOuts.record(endpoint.address);
    if (optedOut.has(endpoint.address)) return onFinished();
    if (found.replies.length === 0) {
      if (found.exhausted) uninspected.add(endpoint, onFinished);
      else if (!found.isCutShort || !stop.interviewSignal.aborted) onFinished();
      return;
    }
    if (!responders.add(endpoint)) return onFinished();
    const [{ protocol }] = found.replies;
    const row = this.serverRows.of({ endpoint, protocol, verified: false, at, socket: -1 }, found);
    if (row !== "cut") this.parts.rows.add(row, onFinished);
  }

  /**
   * Inspects a sighting. Returns its row, or the reason why it has none. `cut`: the scan ended
   * first; `short`: no descriptor was free.
   */
  async #inspect(
    { sighting, firstReply }: Sighted,
  ): Promise<ServerRecord | "nothing" | "cut" | "short"> {
    const { stop, optedOut } = this.tables;
    if (stop.reason === "failed") this.parts.rows.lost++;
    const reason = reasonToSkip(sighting, this.tables);
    if (reason === "nothing") this.#settleUnverified(sighting, "forged");
    if (reason !== undefined) return reason;
    const { endpoint, endpoint: { address } } = sighting;
    if (!sighting.verified && this.#budget.isSpent(address)) {
      omit(sighting, this.options.io.state);
      return "nothing";
    }
    const begun = this.options.io.clock.now();
    const result = await this.#inspections.inspect(sighting, firstReply);
    if (result.hasOptedOut) await this.parts.optOuts.record(address);
    if (result.replies.length === 0 && !optedOut.has(address)) {
      if (result.failure !== "exhausted") {
        this.#budget.charge(address, begun, this.options.io.clock.now());
      }
      return this.#unconfirmed(sighting, result);
    }
    const isConfirmed = result.replies.length > 0;
    const isFirst = sighting.verified || isConfirmed && this.tables.responders.add(endpoint);
    this.#settleUnverified(sighting, isFirst ? "valid" : isConfirmed ? "duplicate" : "forged");
    return isFirst && !optedOut.has(address) ? this.serverRows.of(sighting, result) : "nothing";
  }

  /** Counts a sighting that no reply confirmed. Returns the reason why it has no row. */
  #unconfirmed(sighting: Sighting, { failure }: Inspection): "nothing" | "cut" | "short" {
    if (failure === "exhausted") return "short";
    // If the scan has not ended, the interview was cancelled because the protocol was suppressed
    // meanwhile.
    if (failure === "cancelled" && this.tables.stop.interviewSignal.aborted) return "cut";
    this.#settleUnverified(sighting, failure === "malformed" ? failure : "forged");
    return "nothing";
  }

  /** Moves the reply of a sighting to another class, if it was counted as unverified. */
  #settleUnverified(
    { verified, protocol: name }: Sighting,
    as: Parameters<typeof reclassify>[1],
  ): void {
    const { targets: { protocols }, io: { state } } = this.options;
    const probe = protocols.find((one) => one.name === name)?.probe;
    if (!verified || probe?.guessable) reclassify(state.replies, as);
  }
}
