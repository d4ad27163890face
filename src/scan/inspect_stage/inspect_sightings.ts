/**
 * From sightings to rows: whoever was sighted is asked the rest, where there is more to ask.
 *
 * @module
 */
import { type Endpoint, family } from "../../core/address.ts";
import { EndpointSet } from "../../core/endpoint_set.ts";
import type { Endpoints } from "../../core/endpoints.ts";
import { attachedOf } from "../../inspect/attachments.ts";
import { type Inspection, type InspectOptions, settled } from "../../inspect/inspect.ts";
import type { ProtocolReply } from "../../inspect/merge.ts";
import { InspectionPool, unprovedAtOnce } from "../../inspect/inspection_pool.ts";
import { ConnectionSlots } from "../../net/connection_slots.ts";
import type { Link } from "../../net/socket.ts";
import { motdAsSent, type Protocol } from "../../protocols/protocol.ts";
import type { AttachedRecord, ServerRecord, Sighting } from "../../core/record.ts";
import { Aliases } from "./aliases.ts";
import { inspectDespiteFloods } from "./flooding_host_interviews.ts";
import { seedOf } from "../sweep_stage/suppression_passes.ts";
import type { InspectStageParts } from "./inspection_parts.ts";
import type { KnownPlan } from "./known_server_plan.ts";
import { requestedNameOf } from "../requested_names.ts";
import type { ScanOptions } from "../scan_options.ts";
import { buildRecord, withoutPlayers } from "./build_record.ts";
import { Uninspected } from "./uninspected_servers.ts";
import { UnprovedBudget } from "./unproved_budget.ts";
import { omit, waitForHold } from "../waiting.ts";

/** Inspections that may wait before the sweep does. */
const MOST_WAITING = 4096;

/** The inspections of one scan. */
export class InspectStage {
  readonly #options: ScanOptions;
  readonly #parts: InspectStageParts;
  readonly #pool: InspectionPool;
  /** Sockets that serve one inspection each. */
  readonly #soles: ConnectionSlots;
  readonly #aliases: Aliases;
  readonly #uninspected: Uninspected;
  readonly #budget: UnprovedBudget;
  /** Endpoints that are being asked: the sweep does not speak into a conversation. */
  readonly #asked: EndpointSet;
  /** Rows, those of an earlier part of the scan included. */
  #accepted: number;
  readonly #optsOut = ({ statement }: ProtocolReply) =>
    this.#options.interviews.optsOut(motdAsSent(statement));

  /** Nobody is being asked yet. */
  constructor(options: ScanOptions, parts: InspectStageParts) {
    this.#options = options;
    this.#parts = parts;
    this.#soles = new ConnectionSlots(options.limits.soleSockets ?? Infinity, Infinity);
    const atOnce = unprovedAtOnce(options.limits.rates.hostRate);
    this.#pool = new InspectionPool(
      options.limits.concurrency,
      (error) => parts.stop.fail(error),
      atOnce,
    );
    this.#budget = new UnprovedBudget(atOnce);
    this.#aliases = new Aliases(options.io.random(8), options.targets.allProtocols);
    this.#uninspected = new Uninspected(options.io.state);
    this.#asked = new EndpointSet(seedOf(options.io.random));
    this.#accepted = options.io.state.written;
  }

  /** How many are under way, or wait for that. */
  get load(): number {
    return this.#pool.load;
  }

  /** Whether the sweep has to wait, because those who answered are not yet asked. */
  get backlogged(): boolean {
    const { stop, rows } = this.#parts;
    return this.load > MOST_WAITING || rows.room !== undefined || stop.hard.aborted;
  }

  /** Whether an endpoint is being asked. */
  has(endpoint: Endpoint): boolean {
    return this.#asked.has(endpoint);
  }

  /** The same of a target in a row. */
  hasAt(targets: Endpoints, i: number): boolean {
    return this.#asked.hasAt(targets, i);
  }

  /** Resolves when none is under way. Call it when the sweep has ended. */
  idle(): Promise<void> {
    this.#budget.sweepEnded(this.#options.io.clock.now());
    return this.#pool.idle();
  }

  /** Makes a row of a sighting: at once where nobody has to be asked, else when its turn comes. */
  sight(sighting: Sighting, through: () => void = this.#parts.lowWater.begin()): void {
    const { responders, rows, stop } = this.#parts;
    const known = this.#dismissed(sighting) === undefined && this.#settled(sighting);
    if (known) {
      const row = this.#row(sighting, known);
      if (row !== "cut") rows.add(row, through);
      return;
    }
    this.#asked.add(sighting.endpoint);
    this.#pool.add(sighting.endpoint.address, async () => {
      try {
        const found = await this.#inspect(sighting);
        if (found === "short") return this.#deferred(sighting, through);
        if (found === "cut") return;
        const before = this.#uninspected.remove(sighting.endpoint);
        const all = () => {
          before();
          through();
        };
        if (found === "nothing") return all();
        rows.add(found, all);
        await rows.room;
      } finally {
        this.#asked.delete(sighting.endpoint);
        if (!stop.hard.aborted) responders.ended(sighting.endpoint);
      }
    }, sighting.verified);
  }

  /** Leaves a server to a later pass, or to who resumes the scan. */
  #deferred({ endpoint }: Sighting, through: () => void): void {
    this.#parts.responders.release(endpoint);
    this.#uninspected.add(endpoint, through);
  }

  /** Lets a sighting wait for which there was no hold. */
  wait(sighting: Sighting): void {
    waitForHold(sighting, {
      ...this.#parts,
      state: this.#options.io.state,
      dismissed: (one) => this.#dismissed(one),
      sight: (one, through) => this.sight(one, through),
    });
  }

  /** Interviews a server that was known before the scan; no pass visits it. */
  interview(endpoint: Endpoint, { probed }: KnownPlan, through: () => void): void {
    const { rows, optedOut, stop } = this.#parts;
    this.#pool.add(endpoint.address, async () => {
      const { reason } = stop;
      if (reason === "failed" || reason === "max-results") return;
      const at = this.#options.io.clock.now();
      const found = await this.#interview({ endpoint, spoken: probed });
      if (optedOut.has(endpoint.address)) return through();
      if (found.answers.length === 0) {
        if (found.exhausted) this.#uninspected.add(endpoint, through);
        else if (!found.cut || !stop.hard.aborted) through();
        return;
      }
      if (!this.#parts.responders.add(endpoint)) return through();
      const [{ protocol }] = found.answers;
      const row = found.stopped
        ? await this.#leaveAlone(endpoint)
        : this.#row({ endpoint, protocol, verified: false, at, socket: -1 }, found);
      if (row === "nothing") through();
      else if (row !== "cut") rows.add(row, through);
      await rows.room;
    });
  }

  /** What is known already, where nobody has to be asked, nor told that somebody opted out. */
  #settled(sighting: Sighting): Inspection | undefined {
    const { follow, verify } = this.#options.interviews;
    const protocols = this.#protocolsFor(sighting.endpoint);
    const known = settled(sighting, { protocols, follow, verify, stop: this.#optsOut });
    return known?.stopped ? undefined : known;
  }

  /** Why nobody is asked: nothing comes of it, or all ends before that is known. */
  #dismissed({ endpoint, protocol }: Sighting): "nothing" | "cut" | undefined {
    const { stop: { reason }, guard, optedOut } = this.#parts;
    if (reason === "failed" || reason === "max-results") return "cut";
    const unwanted = optedOut.has(endpoint.address) || guard.suppresses(endpoint, protocol);
    return unwanted ? "nothing" : undefined;
  }

  /** The protocols that an endpoint that has replied is sent. */
  #protocolsFor(endpoint: Endpoint): readonly Protocol[] {
    return this.#parts.known.protocolsOf(endpoint) ?? this.#options.targets.protocols;
  }

  #inspectOptions(endpoint: Endpoint): InspectOptions {
    const { targets, limits: { retries, timeoutMs }, interviews, io: { clock } } = this.#options;
    const { board, guard, probed, stop, optedOut, streamLink, nonce, shortage } = this.#parts;
    return {
      allProtocols: targets.allProtocols,
      follow: interviews.follow,
      verify: interviews.verify,
      retries,
      timeoutMs,
      clock,
      protocols: this.#protocolsFor(endpoint),
      signal: stop.hard,
      link: (peer, socket) => board.link(peer, board.socketFor(peer, socket)),
      exclusiveLink: (peer) => this.#soleLink(peer),
      ...{ streamLink, shortage },
      nameOf: (peer) => requestedNameOf(targets, peer),
      nonce,
      stop: this.#optsOut,
      optedOut: (peer) => optedOut.has(peer.address),
      replied: (peer) => guard.hasReplied(peer),
      unanswered: (peer, protocol) => guard.hasLookedFor(protocol) && probed.has(peer, protocol),
    };
  }

  /** A conversation on a socket of its own, once so few are open that files find descriptors. */
  async #soleLink(peer: Endpoint): Promise<Link> {
    const free = await this.#soles.acquire(peer.address);
    try {
      const socket = this.#options.io.openSole(family(peer.address));
      return this.#parts.board.exclusiveLink(peer, socket, free);
    } catch (error) {
      free();
      throw error;
    }
  }

  /** What comes of a sighting; it is cut off where all ends before that is known. */
  async #inspect(sighting: Sighting): Promise<ServerRecord | "nothing" | "cut" | "short"> {
    const { rows, stop, optedOut } = this.#parts;
    if (stop.reason === "failed") rows.lost++;
    const dismissed = this.#dismissed(sighting);
    if (dismissed !== undefined) return dismissed;
    const { endpoint, endpoint: { address } } = sighting;
    if (!sighting.verified && this.#budget.isSpent(address)) {
      omit(sighting, this.#options.io.state);
      return "nothing";
    }
    const begun = this.#options.io.clock.now();
    const result = await this.#interview(sighting);
    if (optedOut.has(address)) return "nothing";
    if (result.answers.length === 0) {
      if (result.failure !== "exhausted") {
        this.#budget.charge(address, begun, this.#options.io.clock.now());
      }
      return this.#disproved(result);
    }
    if (!sighting.verified && !this.#parts.responders.add(endpoint)) return "nothing";
    return result.stopped ? await this.#leaveAlone(endpoint) : this.#row(sighting, result);
  }

  /** Inspects a sighting or a known server; of a host that floods, nothing but the first protocol. */
  #interview(subject: Parameters<typeof inspectDespiteFloods>[0]): Promise<Inspection> {
    const { endpoint } = subject;
    const isFlooding = () => this.#parts.floods.has(endpoint.address);
    return inspectDespiteFloods(subject, this.#inspectOptions(endpoint), isFlooding);
  }

  /** Nobody confirmed that there is a server. */
  #disproved({ failure }: Inspection): "nothing" | "cut" | "short" {
    if (failure === "exhausted") return "short";
    if (failure === "cancelled") return "cut";
    this.#options.io.state.replies[failure === "malformed" ? "malformed" : "forged"]++;
    return "nothing";
  }

  /** Notes that somebody opted out. */
  async #leaveAlone({ address }: Endpoint): Promise<"nothing"> {
    const { io: { state, checkpoint }, hooks } = this.#options;
    state.optedOut++;
    this.#parts.optedOut.add(address);
    hooks?.onOptOut?.(address);
    await checkpoint?.optedOut(address);
    return "nothing";
  }

  /** The row of a server, while rows are wanted. */
  #row(sighting: Sighting, result: Inspection): ServerRecord | "cut" {
    const { limits: { maxResults = Infinity }, interviews, io: { state } } = this.#options;
    if (result.failure !== undefined) state.noStatus++;
    if (result.exhausted) state.inspectedInPart++;
    if (this.#accepted >= maxResults) return "cut";
    if (++this.#accepted >= maxResults) this.#parts.stop.stop("max-results");
    this.#parts.onServer(sighting);
    const record: AttachedRecord = buildRecord(sighting, result, this.#options);
    if (interviews.attach) record.attached = attachedOf(result.answers, interviews.players);
    record.alias_of = this.#aliases.of(record, sighting.endpoint);
    if (record.alias_of !== null) state.aliases++;
    return interviews.players ? record : withoutPlayers(record);
  }
}
