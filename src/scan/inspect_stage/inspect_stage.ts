/**
 * Turns sightings into rows: interviews each sighted server, unless its first reply is enough.
 *
 * @module
 */
import { type Endpoint, family } from "../../core/address.ts";
import { attachedOf } from "../../inspect/attachments.ts";
import {
  type Inspection,
  inspectionWithoutQuery,
  type InspectOptions,
} from "../../inspect/inspect.ts";
import type { ProtocolReply } from "../../inspect/protocol_reply.ts";
import { InspectionPool, interviewsAtOnce } from "../../inspect/inspection_pool.ts";
import { ConnectionSlots } from "../../net/connection_slots.ts";
import type { Demultiplexer } from "../../net/demultiplexer.ts";
import type { Link } from "../../net/socket.ts";
import { withoutPlayers } from "../../protocols/declared_facts.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import {
  ATTACHMENTS,
  type RecordWithAttachments,
  type ServerRecord,
  type Sighting,
} from "../../core/record.ts";
import { Aliases } from "./aliases.ts";
import { inspectDespiteFloods } from "./flooding_host_interviews.ts";
import { requestedNameOf } from "../requested_names.ts";
import { nonceOf } from "../random_numbers.ts";
import type { OptOutRecorder } from "../opt_outs/opt_out_recorder.ts";
import type { ScanConnections } from "../scan_connections.ts";
import type { ScanSetup } from "../scan_setup.ts";
import type { ScanTables } from "../scan_tables.ts";
import type { WriteStage } from "../write_stage.ts";
import type { LossAndRate } from "../sweep_stage/loss_and_rate.ts";
import { reclassify } from "../../sweep/reply_counts.ts";
import { buildRecord } from "./build_record.ts";
import { UnprovedBudget } from "./unproved_budget.ts";
import type { KnownSubject, Sighted, SightingQueue, Subject } from "./sighting_queue.ts";
import { omit, reasonToSkip } from "./skipped_sightings.ts";

/** The parts of the scan that interviews use, apart from the tables. */
export interface InspectStageParts {
  /** The sockets of the sweep. */
  readonly demultiplexer: Demultiplexer;
  /** Opens TCP connections, a limited number at once. */
  readonly connections: ScanConnections;
  /** The queue of sightings. */
  readonly sightings: SightingQueue;
  /** The stage that writes rows. */
  readonly rows: WriteStage;
  /** The loss measurement. It uses servers with a row as canaries. */
  readonly lossAndRate: LossAndRate;
  /** Records opt-outs. */
  readonly optOuts: OptOutRecorder;
}

/** The interviews of one scan. */
export class InspectStage {
  readonly #options: ScanSetup;
  readonly #tables: ScanTables;
  readonly #parts: InspectStageParts;
  readonly #pool: InspectionPool;
  /** Limits the interview time of an address's unproved endpoints. */
  readonly #budget: UnprovedBudget;
  /** Limits the number of sockets that serve one interview each. */
  readonly #exclusiveSlots: ConnectionSlots;
  readonly #aliases: Aliases;
  /** Number of rows, including those of earlier parts of the scan. */
  #accepted: number;

  /** Creates the stage; no interview runs yet. */
  constructor(options: ScanSetup, tables: ScanTables, parts: InspectStageParts) {
    const { targets, limits, io: { random, state } } = options;
    this.#options = options;
    this.#tables = tables;
    this.#parts = parts;
    this.#exclusiveSlots = new ConnectionSlots(limits.exclusiveSockets ?? Infinity, Infinity);
    const atOnce = interviewsAtOnce(limits.rates.hostRate);
    const onError = (error: Error) => tables.stop.fail(error);
    this.#pool = new InspectionPool(limits.concurrency, onError, atOnce);
    this.#budget = new UnprovedBudget(atOnce);
    this.#aliases = new Aliases(random(8), targets.allProtocols);
    this.#accepted = state.written;
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
    this.#budget.sweepEnded(this.#options.io.clock.now());
    await sightings.idle();
    sightings.close();
  }

  /** Builds the row at once if no query is needed; otherwise adds an interview to the pool. */
  #begin(subject: Subject): void {
    if ("plan" in subject) {
      return this.#pool.add(subject.endpoint.address, () => this.#interview(subject), true);
    }
    const { sighting } = subject;
    if (this.#needsNoQuery(subject)) return this.#parts.sightings.finish(subject);
    this.#pool.add(sighting.endpoint.address, () => this.#interview(subject), sighting.verified);
  }

  async #interview(subject: Subject): Promise<void> {
    const { sightings, rows } = this.#parts;
    try {
      await ("plan" in subject ? this.#interviewKnown(subject) : this.#interviewSighted(subject));
      await rows.whenFree;
    } finally {
      sightings.finish(subject);
    }
  }

  /** Builds the row if the first reply contains enough. Returns whether it did. */
  #needsNoQuery({ sighting, firstReply, onFinished }: Sighted): boolean {
    if (reasonToSkip(sighting, this.#tables) !== undefined) return false;
    const { follow, verify } = this.#options.interviews;
    const protocols = this.#protocolsFor(sighting.endpoint);
    const optsOut = () => false; // the caller has checked the reply for an opt-out
    const inspection = inspectionWithoutQuery(sighting, {
      protocols,
      follow,
      verify,
      optsOut,
      firstReply,
    });
    if (inspection === undefined) return false;
    const row = this.#row(sighting, inspection);
    if (row !== "cut") this.#parts.rows.add(row, onFinished);
    return true;
  }

  async #interviewSighted(subject: Sighted): Promise<void> {
    const { sighting, sighting: { endpoint }, onFinished } = subject;
    const { stop, responders } = this.#tables;
    try {
      const found = await this.#inspect(subject);
      if (found === "short") return this.#postpone(sighting, onFinished);
      if (found === "cut") return;
      const finishEarlier = this.#tables.uninspected.remove(endpoint);
      const finishAll = () => {
        finishEarlier();
        onFinished();
      };
      if (found === "nothing") finishAll();
      else this.#parts.rows.add(found, finishAll);
    } finally {
      if (!stop.interviewSignal.aborted) responders.ended(endpoint);
    }
  }

  /** Postpones a server to a later pass, or to a resumed scan. */
  #postpone({ endpoint }: Sighting, onFinished: () => void): void {
    this.#tables.responders.release(endpoint);
    this.#tables.uninspected.add(endpoint, onFinished);
  }

  /** Interviews a server that was known before the scan; no pass visits it. */
  async #interviewKnown({ endpoint, plan, onFinished }: KnownSubject): Promise<void> {
    const { optedOut, responders, uninspected, stop, stop: { reason } } = this.#tables;
    if (reason === "failed" || reason === "max-results") return;
    const at = this.#options.io.clock.now();
    const found = await this.#inspectEndpoint({ endpoint, spoken: plan.probed });
    if (found.hasOptedOut) await this.#parts.optOuts.record(endpoint.address);
    if (optedOut.has(endpoint.address)) return onFinished();
    if (found.replies.length === 0) {
      if (found.exhausted) uninspected.add(endpoint, onFinished);
      else if (!found.isCutShort || !stop.interviewSignal.aborted) onFinished();
      return;
    }
    if (!responders.add(endpoint)) return onFinished();
    const [{ protocol }] = found.replies;
    const row = this.#row({ endpoint, protocol, verified: false, at, socket: -1 }, found);
    if (row !== "cut") this.#parts.rows.add(row, onFinished);
  }

  /** The protocols in which an endpoint is queried after its first reply. */
  #protocolsFor(endpoint: Endpoint): readonly Protocol[] {
    return this.#tables.known.planOf(endpoint)?.all ?? this.#options.targets.protocols;
  }

  #inspectOptions(endpoint: Endpoint, signal: AbortSignal): InspectOptions {
    const { targets, limits: { retries, timeoutMs }, interviews, io: { clock, random } } =
      this.#options;
    const { suppression, probed, optedOut, shortage } = this.#tables;
    const { demultiplexer, connections } = this.#parts;
    return {
      allProtocols: targets.allProtocols,
      follow: interviews.follow,
      verify: interviews.verify,
      retries,
      timeoutMs,
      clock,
      protocols: this.#protocolsFor(endpoint),
      signal,
      link: (peer, socket) => demultiplexer.link(peer, demultiplexer.socketFor(peer, socket)),
      exclusiveLink: (peer) => this.#exclusiveLink(peer),
      streamLink: (peer, protocol, connectMs) =>
        connections.open(peer, protocol, connectMs, signal),
      shortage,
      nameOf: (peer) => requestedNameOf(targets, peer),
      nonce: () => nonceOf(random),
      optsOut: this.#parts.optOuts.isOptOut,
      optedOut: (peer) => optedOut.has(peer.address),
      replied: (peer) => suppression.hasReplied(peer),
      withoutReply: (peer, protocol) =>
        suppression.hasProbedFor(protocol) && probed.has(peer, protocol),
    };
  }

  /** Opens a link on its own socket. Waits while too many such sockets are open. */
  async #exclusiveLink(peer: Endpoint): Promise<Link> {
    const free = await this.#exclusiveSlots.acquire(peer.address);
    try {
      const socket = this.#options.io.openExclusive(family(peer.address));
      return this.#parts.demultiplexer.exclusiveLink(peer, socket, free);
    } catch (error) {
      free();
      throw error;
    }
  }

  /**
   * Inspects a sighting. Returns its row, or the reason why it has none. `cut`: the scan ended
   * first; `short`: no descriptor was free.
   */
  async #inspect(
    { sighting, firstReply }: Sighted,
  ): Promise<ServerRecord | "nothing" | "cut" | "short"> {
    const { stop, optedOut } = this.#tables;
    if (stop.reason === "failed") this.#parts.rows.lost++;
    const reason = reasonToSkip(sighting, this.#tables);
    if (reason === "nothing") this.#settleUnverified(sighting, "forged");
    if (reason !== undefined) return reason;
    const { endpoint, endpoint: { address } } = sighting;
    if (!sighting.verified && this.#budget.isSpent(address)) {
      omit(sighting, this.#options.io.state);
      return "nothing";
    }
    const begun = this.#options.io.clock.now();
    const result = await this.#inspectEndpoint(sighting, firstReply);
    if (result.hasOptedOut) await this.#parts.optOuts.record(address);
    if (result.replies.length === 0 && !optedOut.has(address)) {
      if (result.failure !== "exhausted") {
        this.#budget.charge(address, begun, this.#options.io.clock.now());
      }
      return this.#unconfirmed(sighting, result);
    }
    const isConfirmed = result.replies.length > 0;
    const isFirst = sighting.verified || isConfirmed && this.#tables.responders.add(endpoint);
    this.#settleUnverified(sighting, isFirst ? "valid" : isConfirmed ? "duplicate" : "forged");
    return isFirst && !optedOut.has(address) ? this.#row(sighting, result) : "nothing";
  }

  /**
   * Inspects a sighting or a known server. A flooding host is queried only in the first protocol.
   */
  #inspectEndpoint(
    subject: Parameters<typeof inspectDespiteFloods>[0],
    firstReply?: ProtocolReply,
  ): Promise<Inspection> {
    const { endpoint, endpoint: { address } } = subject;
    const { floods, signals } = this.#tables;
    const isFlooding = () => floods.has(address);
    return signals.run(address, (signal) => {
      const options = { ...this.#inspectOptions(endpoint, signal), firstReply };
      return inspectDespiteFloods(subject, options, isFlooding);
    });
  }

  /** Counts a sighting that no reply confirmed, and returns why it has no row. */
  #unconfirmed(sighting: Sighting, { failure }: Inspection): "nothing" | "cut" | "short" {
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

  /**
   * Builds the row of a server; `cut`: the scan already has as many rows as `--max-results` allows.
   */
  #row(sighting: Sighting, result: Inspection): ServerRecord | "cut" {
    const { targets, limits: { maxResults = Infinity }, interviews, io: { state } } = this.#options;
    if (result.failure !== undefined) state.noStatus++;
    if (result.exhausted) state.inspectedInPart++;
    if (this.#accepted >= maxResults) return "cut";
    if (++this.#accepted >= maxResults) this.#tables.stop.stop("max-results");
    this.#parts.lossAndRate.add(sighting);
    const record: RecordWithAttachments = buildRecord(sighting, result, this.#options);
    if (interviews.attach) record[ATTACHMENTS] = attachedOf(result.replies, interviews.players);
    record.alias_of = this.#aliases.of(record, sighting.endpoint);
    if (record.alias_of !== null) state.aliases++;
    return interviews.players ? record : withoutPlayers(record, targets.allProtocols);
  }
}
