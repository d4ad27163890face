/**
 * Turns sightings into rows: interviews each sighted server, unless its first reply is enough.
 *
 * The interview of a host that floods, or whose address is forged in a flood, uses one protocol and
 * no follow-ups. It uses a socket of its own, because a sender of forged datagrams cannot find out the
 * port of that socket.
 *
 * @module
 */
import type { Sighting } from "../../core/record.ts";
import {
  inspect,
  type Inspection,
  InspectionPool,
  inspectKnown,
  type InspectOptions,
  interviewsAtOnce,
} from "../../inspect/mod.ts";
import { reclassify } from "../../sweep/mod.ts";
import type { DiscoveredServers } from "../tables/discovered_servers.ts";
import type { RowSource } from "../rows/row_maker.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";
import type { ScanTables } from "../tables/scan_tables.ts";
import type { LossAndRate } from "../tables/loss_and_rate.ts";
import type { QueryResult, Witness } from "../tables/witnesses.ts";
import type { WriteStage } from "../rows/write_stage.ts";
import {
  type InterviewDependencies,
  interviewOptions,
  type InterviewOptionsOf,
} from "./interview_options.ts";
import { ServerRows } from "./server_rows.ts";
import type { KnownSubject, Sighted, SightingQueue, Subject } from "./sighting_queue.ts";
import { omit, reasonToSkip } from "./skipped_sightings.ts";
import { UnprovedBudget } from "./unproved_budget.ts";

/** The objects of the scan that this stage uses, apart from the tables. */
export interface InspectStageDependencies extends InterviewDependencies {
  readonly sightings: SightingQueue;
  readonly rows: WriteStage;
  /** Collects the servers that an adaptive scan finds. Default: nothing does. */
  readonly found?: Pick<DiscoveredServers, "add">;
  /** The loss measurement. It uses servers with a row as canaries. */
  readonly lossAndRate: LossAndRate;
}

/**
 * Why a sighting has no row. `cut`: the scan ended first; `short`: no descriptor was free; `nothing`:
 * any other reason.
 */
type WithoutRow = "nothing" | "cut" | "short";

/** Takes servers from the queue of sightings, interviews them, and passes on their rows. */
export class InspectStage {
  readonly #options: ScanSetup;
  readonly #tables: ScanTables;
  readonly #dependencies: InspectStageDependencies;
  readonly #pool: InspectionPool;
  readonly #serverRows: ServerRows;
  readonly #optionsFor: InterviewOptionsOf;
  /** Limits the interview time of an address's unproved endpoints. */
  readonly #budget: UnprovedBudget;

  /** Creates the stage; no interview runs yet. */
  constructor(options: ScanSetup, tables: ScanTables, dependencies: InspectStageDependencies) {
    const { limits: { concurrency, rates } } = options;
    this.#options = options;
    this.#tables = tables;
    this.#dependencies = dependencies;
    const atOnce = interviewsAtOnce(rates.hostRate);
    const onError = (error: Error) => tables.stop.fail(error);
    this.#pool = new InspectionPool(concurrency, onError, atOnce);
    this.#serverRows = new ServerRows(
      options,
      tables.stop,
      tables.network,
      dependencies.lossAndRate,
    );
    this.#optionsFor = interviewOptions(options, tables, dependencies);
    this.#budget = new UnprovedBudget(atOnce);
  }

  /**
   * Takes servers from the queue until the queue is closed, and passes rows to the write stage.
   */
  async run(): Promise<void> {
    const { sightings, rows } = this.#dependencies;
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

  /**
   * Waits until all interviews have ended. Call it when the sweep has ended: from now on, interviews
   * use up the time budgets of their addresses.
   */
  async drain(): Promise<void> {
    const { sightings } = this.#dependencies;
    this.#budget.sweepEnded(this.#options.io.clock.now());
    await sightings.idle();
    sightings.close();
  }

  /** Builds the row at once if no query is needed; otherwise adds an interview to the pool. */
  #begin(subject: Subject): void {
    const { sightings, rows } = this.#dependencies;
    const isKnown = "plan" in subject;
    if (!isKnown && this.#needsNoQuery(subject)) return sightings.finish(subject);
    const { endpoint: { address } } = isKnown ? subject : subject.sighting;
    this.#pool.add(address, async () => {
      try {
        await (isKnown ? this.#runKnown(subject) : this.#runSighted(subject));
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
    if (firstReply === undefined && sighting.raw === undefined || verify) return false;
    if (follow && this.#tables.known.protocolsFor(endpoint).length > 1) return false;
    if (reasonToSkip(sighting, this.#tables) !== undefined) return false;
    // The queue contains no sighting with an opt-out.
    if (firstReply === undefined) {
      const reply = { protocol: sighting.protocol, raw: sighting.raw! };
      this.#addRow(this.#serverRows.ofUndecoded(sighting, reply), onFinished);
      return true;
    }
    const found = {
      replies: [firstReply],
      latencyMs,
      ended: undefined,
      isCutShort: false,
      exhausted: false,
    };
    this.#addRow(this.#serverRows.of(sighting, found), onFinished);
    return true;
  }

  #addRow(row: RowSource | "cut", onFinished: () => void): void {
    if (row !== "cut") this.#dependencies.rows.add(row, onFinished);
  }

  async #runSighted(subject: Sighted): Promise<void> {
    const { sighting: { endpoint }, onFinished } = subject;
    const { stop, responders, uninspected } = this.#tables;
    try {
      const found = await this.#rowOf(subject);
      if (found === "cut") return;
      if (found === "short") { // a later pass, or a resumed scan, may sight the server again
        responders.release(endpoint);
        return uninspected.add(endpoint, onFinished);
      }
      const finishEarlier = uninspected.remove(endpoint);
      const finishAll = () => {
        finishEarlier();
        onFinished();
      };
      if (found === "nothing") finishAll();
      else this.#addRow(found, finishAll);
    } finally {
      if (!stop.interviewSignal.aborted) responders.ended(endpoint);
    }
  }

  /** Interviews a server that was known before the scan; no pass visits it. */
  async #runKnown(subject: KnownSubject): Promise<void> {
    const { endpoint, onFinished } = subject;
    const { optedOut, responders, uninspected, stop, stop: { reason } } = this.#tables;
    if (reason === "failed" || reason === "max-results") return;
    const at = this.#options.io.clock.now();
    const found = await this.#interview(subject);
    if (this.#isCutByOutage) return;
    if (found.ended === "optedOut") await this.#dependencies.optOuts.record(endpoint.address);
    if (optedOut.has(endpoint.address)) return onFinished();
    if (found.replies.length === 0) {
      if (found.exhausted) uninspected.add(endpoint, onFinished);
      else if (!found.isCutShort || !stop.interviewSignal.aborted) onFinished();
      return;
    }
    if (!responders.add(endpoint)) return onFinished();
    const [{ protocol }] = found.replies;
    const sighting = { endpoint, protocol, verified: false, at, socket: -1 };
    this.#addRow(this.#serverRows.of(sighting, found), onFinished);
  }

  /** Interviews the server of a sighting, and counts its reply. Returns its row. */
  async #rowOf(subject: Sighted): Promise<RowSource | WithoutRow> {
    const { sighting, sighting: { endpoint, endpoint: { address } } } = subject;
    const { io: { clock, state } } = this.#options;
    const { stop, optedOut, responders } = this.#tables;
    if (stop.reason === "failed") state.lost++;
    const reason = reasonToSkip(sighting, this.#tables);
    if (reason === "nothing") this.#settleUnverified(sighting, "forged");
    if (reason !== undefined) return reason;
    if (!sighting.verified && this.#budget.isSpent(address)) {
      omit(sighting, state);
      return "nothing";
    }
    const begun = clock.now();
    const result = await this.#interview(subject);
    if (this.#isCutByOutage) return "cut";
    if (result.ended === "optedOut") await this.#dependencies.optOuts.record(address);
    const isConfirmed = result.replies.length > 0;
    if (!isConfirmed && !optedOut.has(address)) {
      if (result.failure !== "exhausted") this.#budget.charge(address, begun, clock.now());
      return this.#unconfirmed(sighting, result);
    }
    const isFirst = sighting.verified || isConfirmed && responders.add(endpoint);
    if (isFirst && !sighting.verified) this.#dependencies.found?.add(sighting);
    this.#settleUnverified(sighting, isFirst ? "valid" : isConfirmed ? "duplicate" : "forged");
    return isFirst && !optedOut.has(address) ? this.#serverRows.of(sighting, result) : "nothing";
  }

  /** Counts a sighting that no reply confirmed. Returns the reason why it has no row. */
  #unconfirmed(sighting: Sighting, { failure }: Inspection): WithoutRow {
    if (failure === "exhausted") return "short";
    // If the scan has not ended, the interview was cancelled because the protocol was suppressed
    // meanwhile.
    if (failure === "cancelled" && this.#tables.stop.interviewSignal.aborted) return "cut";
    this.#settleUnverified(sighting, failure === "malformed" ? failure : "forged");
    return "nothing";
  }

  /** Moves the reply of a sighting to another class, if it was counted as unverified. */
  #settleUnverified(
    { verified, protocol: name }: Sighting,
    as: Parameters<typeof reclassify>[1],
  ): void {
    const { targets: { protocols }, io: { state } } = this.#options;
    const probe = protocols.find((one) => one.name === name)?.probe;
    if (!verified || probe?.guessable) reclassify(state.replies, as);
  }

  /** Queries a server once in one protocol. */
  async query({ endpoint, protocol: name }: Witness): Promise<QueryResult> {
    const { io: { gate }, targets: { allProtocols } } = this.#options;
    const spoken = allProtocols.filter((protocol) => protocol.name === name);
    const { replies, exhausted, ended } = await this.#tables.signals.run(
      endpoint.address,
      (signal) =>
        inspectKnown(endpoint, spoken, {
          ...this.#optionsFor(endpoint, -1, signal),
          follow: false,
          verify: false,
          retries: 0,
        }),
    );
    if (ended === "optedOut") await this.#dependencies.optOuts.record(endpoint.address);
    if (replies.length > 0) return "replied";
    return exhausted || ended !== undefined || gate?.isOpen() === false ? "unknown" : "silent";
  }

  /** Whether the scan ends in an outage. A resumed scan interviews the server again. */
  get #isCutByOutage(): boolean {
    const { network, stop } = this.#tables;
    return network.signal.aborted && stop.interviewSignal.aborted;
  }

  /** Interviews a server, and again if there was an outage meanwhile. */
  async #interview(subject: Subject): Promise<Inspection> {
    const { network, stop: { interviewSignal } } = this.#tables;
    for (;;) {
      await network.online(interviewSignal);
      const { signal } = network;
      const found = await this.#interviewOnce(subject);
      if (lacksReplies(subject, found, this.#options)) await network.confirm();
      if (!signal.aborted || interviewSignal.aborted) return found;
    }
  }

  /** Interviews a server. If its host floods, the interview ends after the first reply. */
  async #interviewOnce(subject: Subject): Promise<Inspection> {
    const isKnown = "plan" in subject;
    const { endpoint, socket } = isKnown ? { ...subject, socket: -1 } : subject.sighting;
    const { floods, signals } = this.#tables;
    return await signals.run(endpoint.address, async (signal) => {
      const options = this.#optionsFor(endpoint, socket, signal);
      if (!floods.has(endpoint.address)) {
        const found = await inspectSubject(subject, options);
        if (!floods.has(endpoint.address) || signal.aborted) return found;
        // The flood has cancelled the links of the interview.
        if (!isLost(found)) return withoutRest(found, options);
      }
      const links = { ...options.links, shared: options.links.exclusive };
      const firstOnly = { ...options, links, follow: false, verify: false };
      const again = isKnown
        ? subject
        : { ...subject, sighting: { ...subject.sighting, known: undefined } };
      return withoutRest(await inspectSubject(again, firstOnly), options);
    });
  }
}

function inspectSubject(subject: Subject, options: InspectOptions): Promise<Inspection> {
  return "plan" in subject
    ? inspectKnown(subject.endpoint, subject.plan.probed, options)
    : inspect(subject.sighting, { ...options, firstReply: subject.firstReply });
}

/** Whether a request of an interview got no reply, which an outage may have swallowed. */
function lacksReplies(
  subject: Subject,
  { replies, failure, ended }: Inspection,
  { targets: { protocols }, interviews: { follow } }: ScanSetup,
): boolean {
  if (ended !== undefined) return false;
  const plan = "plan" in subject ? subject.plan.probed : [];
  const queried = follow ? Math.max(protocols.length, plan.length) : 1;
  return failure !== undefined || replies.length < queried;
}

/** Whether the first exchange had no result, for a reason other than a lack of descriptors. */
function isLost({ replies, failure, exhausted }: Inspection): boolean {
  return failure === "noReply" || failure === "cancelled" ||
    failure === undefined && replies.length === 0 && !exhausted;
}

/**
 * Marks an inspection as incomplete (`isCutShort`) if follow-ups or a verification were omitted.
 */
function withoutRest(
  found: Inspection,
  { protocols, follow, verify }: InspectOptions,
): Inspection {
  const omitsRest = verify || follow && protocols.length > 1;
  return omitsRest && found.replies.length > 0 ? { ...found, isCutShort: true } : found;
}
