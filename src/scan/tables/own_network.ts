/**
 * Distinguishes an outage of the scan's own network from targets that do not reply. While nothing
 * replies, servers that replied before (witnesses) are queried again. If none of them replies, or the
 * system refuses to send anything, the scan is offline: it pauses until a witness replies, and then
 * repeats what the outage may have swallowed.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import { sleep } from "../../net/clock.ts";
import { STREAM_LIMITS } from "../../net/mod.ts";
import type { OfflineReason } from "../../store/events/watch_event.ts";
import type { EarlyStop } from "./early_stop.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";
import { acceptedSyns } from "../setup/scan_state.ts";
import { noNetwork } from "./socket_counts.ts";
import type { KnownWitness, Look, QueryResult, Witness } from "./witnesses.ts";

/** Maximum number of checks for which an interview waits. */
const MAX_CHECKS = 4;
/** Interval at which the counters of the scan are read, milliseconds. */
const LOOK_MS = 250;
/** Time without a reply after which a witness is queried, milliseconds. */
const QUIET_MS = 2000;
/** The same while an interview waits for the result. */
const WAITING_MS = 1000;
/** Number of packets without a reply after which a witness is queried, and the time without them. */
const QUIET_SENT = 100;
const LONG_QUIET_MS = 10_000;
/** Number of addresses that have to have replied before their silence counts as an outage. */
const MIN_WITNESSES = 3;
/** The same if fewer than that have replied again: a host may reply once and never again. */
const MIN_UNPROVED = 8;
/** Number of servers that are kept as witnesses, one per address: those that replied last. */
const KEPT = 64;
/** Time after the last packet to a host before a witness there is queried, milliseconds. */
const HOST_MS = 1000;
/** Maximum number of witnesses that are queried at once, and while the scan is offline. */
const MAX_QUERIED = 16;
const REQUERIED = 4;
/** Time for the reply of the first witness before others are queried too, milliseconds. */
const FIRST_MS = 1000;
/** Number of missing replies in a row after which a server is no witness any more. */
const MAX_MISSES = 3;
/** Number of refused packets, and time without any other, after which the system sends nothing. */
const MIN_REFUSED = 8;
const REFUSED_MS = 1500;
/** Interval at which a scan without network queries witnesses, milliseconds. */
const REQUERY_MS = 2000;
/** Longest time after which it queries the same witness again; it doubles until then. */
const REQUERY_HOST_MS = 30_000;
/** Time after which a scan with too few witnesses tries to send again, milliseconds. */
const TRIAL_MS = 5000;
/** Time after which refusals in such a trial are an outage again, milliseconds. */
const TRIED_MS = 10_000;
/** Time without network after which a scan ends, milliseconds. */
export const GIVE_UP_MS = 300_000;

/** The state of the scan's own network, as far as replies and refusals show it. */
export class OwnNetwork {
  /** When a packet was last sent to a host. Until it is set, no witness is queried. */
  lastTo: ((address: Address) => number) | undefined;
  /** Queries a witness once. */
  query: ((witness: Witness) => Promise<QueryResult>) | undefined;
  readonly #options: ScanSetup;
  readonly #stop: EarlyStop;
  /** Servers that replied, one per address, with the end of the interview or the last query. */
  readonly #witnesses = new Map<Address, KnownWitness>();
  #outage = new AbortController();
  #back = Promise.withResolvers<void>();
  #last: Look;
  /** When a target replied, and how many packets had been sent before. */
  #repliedAt: number;
  #begunAtReply: number;
  /** When the system last accepted a packet, and how many it has refused since. */
  #acceptedAt: number;
  #refused = 0;
  /** When the outage was noticed, and when the scan last tried to send without witnesses. */
  #offlineAt: number | undefined;
  #triedAt = -Infinity;
  #check: Promise<void> | undefined;
  #cancelLook = () => {};
  #cancelRequery = () => {};

  /** Starts online, without witnesses. */
  constructor(options: ScanSetup, stop: EarlyStop) {
    this.#options = options;
    this.#stop = stop;
    this.#last = this.#read();
    this.#repliedAt = this.#acceptedAt = this.#last.at;
    this.#begunAtReply = this.#last.begun;
  }

  /**
   * Aborted when the scan goes offline; each outage has a new signal. The reason is the time before
   * which nothing was lost: all replies that were sent earlier have arrived.
   */
  get signal(): AbortSignal {
    return this.#outage.signal;
  }

  /** The time up to which the network certainly worked; now, if nothing shows an outage. */
  get sureUntil(): number {
    if (this.signal.aborted) return this.signal.reason;
    const now = this.#options.io.clock.now();
    return Math.min(
      this.#check !== undefined || this.#isQuiet(now) ? this.#repliedAt : now,
      this.#refusesAll ? this.#sureBeforeRefusals : now,
    );
  }

  /** Begins to read the counters. */
  start(): void {
    this.#cancelLook = this.#options.io.clock.after(LOOK_MS, () => {
      this.start();
      this.#look();
      const now = this.#last.at;
      if (this.signal.aborted || this.#check !== undefined) return;
      if (this.#refusesAll && now - this.#acceptedAt >= REFUSED_MS) this.#begin("no_route");
      else if (this.#isQuiet(now)) this.#begin("no_reply");
    });
  }

  end(): void {
    this.#cancelLook();
    this.#cancelRequery();
    this.#back.resolve();
  }

  /** Adds a server that has replied. */
  add(witness: Witness): void {
    const { address } = witness.endpoint;
    const isProved = this.#witnesses.get(address)?.isProved ?? false;
    const at = this.#options.io.clock.now();
    this.remove(address);
    this.#witnesses.set(address, { ...witness, misses: 0, at, isProved });
    if (this.#witnesses.size > KEPT) this.remove(this.#witnesses.keys().next().value!);
  }

  /** Notes that the witness of an address, if there is one, has replied again. */
  prove(address: Address): void {
    const known = this.#witnesses.get(address);
    if (known !== undefined) Object.assign(known, { misses: 0, isProved: true });
  }

  /** Removes the witness of an address, which is queried no more. */
  remove(address: Address): void {
    this.#witnesses.delete(address);
  }

  /** Waits while the scan is offline, or until a signal is aborted. */
  async online(signal: AbortSignal): Promise<void> {
    while (this.signal.aborted && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => resolve(), { once: true });
      await Promise.race([this.#back.promise, promise]);
    }
  }

  /**
   * Waits until it is known whether the network worked at a time: until a target replies after it, or a
   * check has ended.
   *
   * @param time A time that is not in the future. Default: now.
   */
  async confirm(time: number = this.#options.io.clock.now()): Promise<void> {
    const { clock } = this.#options.io;
    const { interviewSignal: signal } = this.#stop;
    for (let checks = 0; checks < MAX_CHECKS && !signal.aborted && this.#mayBeLost(time);) {
      if (this.#check === undefined) {
        if (this.#refusesAll) this.#begin("no_route");
        else if (clock.now() - this.#repliedAt >= WAITING_MS) this.#begin("no_reply");
      }
      if (this.#check === undefined) await sleep(clock, LOOK_MS, signal);
      else {
        await this.#check;
        checks++;
      }
    }
  }

  /** Whether replies at a time may have been lost in an outage that was not noticed yet. */
  #mayBeLost(time: number): boolean {
    this.#look();
    if (this.signal.aborted) return false;
    return this.#refusesAll || this.#hasWitnesses && this.#hasSent && this.#repliedAt < time;
  }

  get #hasWitnesses(): boolean {
    return this.#witnesses.size >= MIN_WITNESSES;
  }

  /** Whether the silence of all witnesses shows an outage. */
  get #isProof(): boolean {
    const proved = [...this.#witnesses.values()].filter(({ isProved }) => isProved);
    return this.#witnesses.size >= MIN_UNPROVED || proved.length >= MIN_WITNESSES;
  }

  /** Whether anything was sent since the last reply. */
  get #hasSent(): boolean {
    return this.#last.begun > this.#begunAtReply || this.#options.io.state.inspecting > 0;
  }

  /** Whether the system has refused every packet for some time, after it had accepted others. */
  get #refusesAll(): boolean {
    const isTrial = this.#options.io.state.outage !== undefined;
    return this.#last.accepted > 0 && this.#refused >= (isTrial ? 1 : MIN_REFUSED);
  }

  /** The time before which no connection was lost that ended with a timeout. */
  get #sureBeforeRefusals(): number {
    const { connectMs } = this.#options.limits.streamLimits ?? STREAM_LIMITS;
    return this.#acceptedAt - connectMs - LOOK_MS;
  }

  #isQuiet(now: number): boolean {
    const quietMs = now - this.#repliedAt;
    const isEnough = this.#last.begun - this.#begunAtReply >= QUIET_SENT ||
      quietMs >= LONG_QUIET_MS;
    return quietMs >= QUIET_MS && this.#hasWitnesses && this.#hasSent && isEnough;
  }

  #read(): Look {
    const { state, clock } = this.#options.io;
    const { replies: { valid, canary }, sent, refused, errors, tcp } = state;
    const { counts } = tcp;
    return {
      at: clock.now(),
      replied: valid + canary + counts.open + counts.refused + counts.canary,
      begun: sent + refused + tcp.sent + tcp.refused,
      // between two updates of the pending number the sum may be too low
      accepted: Math.max(this.#last?.accepted ?? 0, sent + acceptedSyns(tcp)),
      refused: noNetwork(Object.entries(errors)) + tcp.unrouted,
    };
  }

  /** Reads the counters. Their changes may be as old as the last look. */
  #look(): void {
    const before = this.#last;
    const now = this.#last = this.#read();
    if (now.replied > before.replied) {
      this.#repliedAt = Math.max(this.#repliedAt, before.at);
      this.#begunAtReply = before.begun;
    }
    if (now.accepted === before.accepted) this.#refused += now.refused - before.refused;
    else {
      this.#acceptedAt = now.at;
      this.#refused = 0;
      if (!this.signal.aborted) this.#reportOnline();
    }
  }

  #begin(reason: OfflineReason): void {
    this.#check = this.#stop.guard(() => this.#decide(reason), undefined)
      .finally(() => this.#check = undefined);
  }

  /** Queries witnesses, first one, and goes offline if none replies. */
  async #decide(reason: OfflineReason): Promise<void> {
    const { clock } = this.#options.io;
    const begunAt = clock.now();
    const [first, ...others] = this.#next(MAX_QUERIED);
    if (this.#witnesses.size === 0) {
      if (!this.#hasTriedInVain()) this.#refused = -Infinity;
      else this.#goOffline(reason);
    }
    if (first === undefined) return await sleep(clock, LOOK_MS, this.#stop.interviewSignal);
    const one = this.#ask(first);
    const replied = new AbortController();
    await Promise.race([one, sleep(clock, FIRST_MS, replied.signal)]);
    replied.abort();
    const isSilent = this.#repliedAt < begunAt &&
      await areSilent([one, ...others.map((witness) => this.#ask(witness))]);
    this.#look();
    const isOutage = this.#isProof || reason === "no_route" && this.#hasTriedInVain();
    if (isSilent && this.#repliedAt < begunAt && isOutage) return this.#goOffline(reason);
    if (reason === "no_route") this.#refused = -Infinity; // until the system accepts another packet
    for (const [address, { misses }] of this.#witnesses) {
      if (misses >= MAX_MISSES) this.remove(address);
    }
  }

  /**
   * Whether refusals are due to the network, if no witness shows it. They are due to the targets if the
   * system has accepted the packets before them again, after a pause.
   */
  #hasTriedInVain(): boolean {
    return this.#options.io.state.outage !== undefined ||
      this.#last.at - this.#triedAt > TRIED_MS;
  }

  /**
   * The witnesses that are queried next. No packet was sent to their hosts for a second, or for longer
   * the more replies are missing while the scan is offline.
   */
  #next(most: number): Witness[] {
    const now = this.#options.io.clock.now();
    return [...this.#witnesses.values()]
      .filter(({ endpoint: { address }, at, misses }) => {
        const ms = this.signal.aborted ? Math.min(HOST_MS * 2 ** misses, REQUERY_HOST_MS) : HOST_MS;
        return now - Math.max(at, this.lastTo?.(address) ?? now) >= ms;
      })
      .slice(0, most);
  }

  async #ask(witness: Witness): Promise<QueryResult> {
    const { address } = witness.endpoint;
    const known = this.#witnesses.get(address);
    if (known === undefined) return "unknown";
    this.remove(address);
    known.at = this.#options.io.clock.now();
    this.#witnesses.set(address, known); // the others are queried before it is queried again
    const result = await this.query!(witness);
    if (result === "silent") known.misses++;
    if (result !== "replied") return result;
    this.prove(witness.endpoint.address);
    this.#repliedAt = this.#options.io.clock.now();
    this.#begunAtReply = this.#last.begun;
    return result;
  }

  #goOffline(reason: OfflineReason): void {
    const { io: { clock, state }, hooks } = this.#options;
    if (this.#stop.sweepSignal.aborted && this.#stop.interviewSignal.aborted) return;
    const now = clock.now();
    const since = reason === "no_route" ? this.#acceptedAt : this.#repliedAt;
    this.#offlineAt ??= now;
    for (const witness of this.#witnesses.values()) witness.misses = 0;
    this.#outage.abort(reason === "no_route" ? this.#sureBeforeRefusals : since);
    if (state.outage === undefined) {
      state.outage = { since: Math.round(clock.wall() - (now - since)), reason };
      hooks?.onOutage?.(state.outage, undefined);
    }
    this.#requeryLater();
  }

  #requeryLater(): void {
    const { clock } = this.#options.io;
    const ms = this.#isProof ? REQUERY_MS : TRIAL_MS;
    this.#cancelRequery = clock.after(
      ms,
      () => void this.#stop.guard(() => this.#requery(), undefined),
    );
  }

  /** Queries witnesses, and goes online if one replies; with too few, tries to send again. */
  async #requery(): Promise<void> {
    const now = this.#options.io.clock.now();
    if (this.#stop.interviewSignal.aborted) return;
    if (now - this.#offlineAt! >= GIVE_UP_MS) return this.#stop.abandon("incomplete");
    const asked = this.#next(REQUERIED).map((witness) => this.#ask(witness));
    await areSilent(asked);
    const isSilent = this.#repliedAt < now;
    if (isSilent && this.#isProof) return this.#requeryLater();
    if (isSilent) this.#triedAt = now;
    else this.#reportOnline();
    this.#goOnline();
  }

  #goOnline(): void {
    this.#last = this.#read();
    this.#refused = 0;
    this.#repliedAt = this.#acceptedAt = this.#last.at;
    this.#begunAtReply = this.#last.begun;
    this.#outage = new AbortController();
    this.#back.resolve();
    this.#back = Promise.withResolvers();
  }

  /** Reports the end of the outage, if there is one. */
  #reportOnline(): void {
    const { io: { clock, state }, hooks } = this.#options;
    const { outage } = state;
    if (outage === undefined) return;
    state.outage = this.#offlineAt = undefined;
    hooks?.onOutage?.(outage, clock.wall());
  }
}

/** Resolves when one of the queries was not silent (`false`), or when all have ended. */
function areSilent(queries: readonly Promise<QueryResult>[]): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const results = queries.map(async (query) => {
      const isSilent = await query === "silent";
      if (!isSilent) resolve(false);
    });
    Promise.all(results).then(() => resolve(true), reject);
  });
}
