/**
 * Classifies received datagrams. Each is counted in exactly one class. Valid and unverified replies
 * become sightings; an unverified one moves to another class when its interview ends.
 *
 * @module
 */
import type { Address, Endpoint } from "../core/address.ts";
import { Malformed, Truncated } from "../core/bytes.ts";
import type { Clock } from "../net/clock.ts";
import type { Reply } from "../protocols/protocol.ts";
import type { Sighting } from "../core/record.ts";
import type { FloodingHosts } from "./flooding_hosts.ts";
import type { ProbeWindow } from "./probe_window.ts";
import type { ReplyCounts } from "./reply_counts.ts";
import type { Responders } from "./responders.ts";
import { type ProbeKind, stampClock } from "./probe_kind.ts";
import type { Tokens } from "../targets/token.ts";

/**
 * Maximum length of a later reply that is searched for opt-outs, bytes: that of one packet.
 * Decoding longer replies would take too much time in a flood.
 */
const MAX_SEARCHED = 1500;

/** Options of {@linkcode ReplyReceiver}. */
export interface ReceiverOptions {
  /** All kinds of probes that the scan sends, because late replies may arrive in the next pass. */
  readonly kinds: readonly ProbeKind[];
  /** The token generator of the scan. */
  readonly tokens: Tokens;
  /** The endpoints that the scan probes. */
  readonly targets: TargetLookup;
  /** The endpoints that have replied. */
  readonly responders: Responders;
  /** Counts surplus datagrams, and detects hosts that flood. */
  readonly floods: FloodingHosts;
  /** The clock that the probes were stamped by. */
  readonly clock: Clock;
  /** The counters to increment. */
  readonly counts: ReplyCounts;
  /**
   * Recognises replies to canary probes, which repeat another token. Default: no canary probes are
   * sent.
   */
  readonly canaries?: CanaryReplies;
  /** The window of probes in flight, which counts replies. Default: none. */
  readonly window?: Pick<ProbeWindow, "replied">;
  /** Records which endpoints sent a datagram. Default: nothing is recorded. */
  readonly notes?: ReplyNotes;
  /** The queue that receives sightings. */
  readonly sightings: SightingIntake;
  /**
   * Whether a valid reply is passed on without its status being decoded. It is asked only for probes
   * with `wholeStatus`. Default: every reply is decoded.
   */
  readonly defers?: (datagram: Uint8Array, from: Endpoint) => boolean;
  /** Searches for opt-outs in replies that become no sighting. Default: no search. */
  readonly optOuts?: OptOutIntake;
}

/** The endpoints that a scan probes. */
export interface TargetLookup {
  /** Whether the scan probes an endpoint in a protocol, or in any protocol if none is given. */
  has(endpoint: Endpoint, protocol?: string): boolean;
  /** Whether the scan probes endpoints of an address. */
  hasHost(address: Address): boolean;
}

/** Recognises replies to canary probes. */
export interface CanaryReplies {
  /**
   * Takes a reply whose token is not that of the sweep's probe; `undefined` if it is not a reply to
   * a canary probe.
   */
  reply(kind: ProbeKind, from: Endpoint, mac: number): "canary" | "duplicate" | undefined;
}

/** Records which endpoints sent a datagram. Other protocols may then be suppressed for them. */
export interface ReplyNotes {
  /** Whether anything needs to be recorded. */
  readonly isActive: boolean;
  /**
   * Records a reply of a target, proved or not. Returns whether the reply is only recorded and not
   * processed further.
   */
  note(protocol: string, endpoint: Endpoint, proved: boolean): boolean;
  /**
   * Records any other datagram of a target. `protocol` is that of a malformed reply, otherwise
   * `undefined`.
   */
  noteStray(protocol: string | undefined, endpoint: Endpoint): void;
}

/** Searches for opt-outs in replies. */
export interface OptOutIntake {
  /** Records the address of a reply whose status contains an opt-out. */
  take(reply: Pick<Sighting, "endpoint" | "protocol" | "status" | "raw">): void;
}

/** The receiver of sightings. It drops none. */
export interface SightingIntake {
  /** Takes the sighting of an endpoint. */
  push(sighting: Sighting): void;
  /** Takes the sighting of an endpoint that has to wait for a hold. */
  pushWhenHeld(sighting: Sighting): void;
}

/** Classifies and counts replies. */
export class ReplyReceiver {
  readonly #options: ReceiverOptions;
  readonly #begunAt: number;

  /** Creates a receiver that increments the given counters. */
  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#begunAt = options.clock.now();
  }

  /**
   * Processes one datagram.
   *
   * @param datagram The datagram. It is only read during the call; stored parts are copied.
   */
  receive(datagram: Uint8Array, from: Endpoint, socket: number): void {
    const { kinds, counts, floods, clock } = this.#options;
    if (floods.drops(from.address, clock) && !this.#isAwaited(from)) {
      counts.unsolicited++;
      this.#noteStray(undefined, from);
      return;
    }
    let broken: string | undefined;
    for (const kind of kinds) {
      const reply = orBroken(() => kind.probe.read(datagram));
      if (reply === "broken") broken ??= kind.protocol;
      else if (reply !== undefined) return this.#classify(kind, reply, datagram, from, socket);
    }
    this.#surplus(broken === undefined ? "unsolicited" : "malformed", from);
    this.#noteStray(broken, from);
  }

  /**
   *  Whether a reply of an endpoint is outstanding. Such a reply is processed even if its host
   *  floods, because the source address of the flood may be forged.
   */
  #isAwaited(from: Endpoint): boolean {
    const { targets, responders } = this.#options;
    return !responders.has(from) && targets.has(from);
  }

  #noteStray(protocol: string | undefined, from: Endpoint): void {
    const { notes, targets } = this.#options;
    if (notes?.isActive && targets.has(from)) notes.noteStray(protocol, from);
  }

  /** Counts a datagram that is not a first reply. If it comes from a probed host, it also counts towards
   * a flood of that host. */
  #surplus(as: keyof ReplyCounts, from: Endpoint, foreign = false): void {
    const { counts, floods, targets } = this.#options;
    counts[as]++;
    if (targets.has(from)) floods.surplus(from, foreign);
    else if (targets.hasHost(from.address)) floods.stray(from.address);
  }

  #classify(
    kind: ProbeKind,
    reply: Reply,
    datagram: Uint8Array,
    from: Endpoint,
    socket: number,
  ): void {
    const { targets, responders, counts, clock } = this.#options;
    const { probe, protocol } = kind;
    if (!targets.has(from, protocol)) return this.#surplus("unsolicited", from);
    const token = this.#tokenOf(kind, from);
    const mac = reply.mac === undefined ? undefined : reply.mac >>> 0;
    if (mac !== undefined && mac !== token) {
      const canary = this.#options.canaries?.reply(kind, from, mac);
      if (canary !== undefined) this.#findOptOut(kind, datagram, from);
      if (canary === "duplicate") return this.#surplus(canary, from);
      if (canary !== undefined) {
        counts[canary]++;
        return;
      }
    }
    if (this.#options.notes?.note(protocol, from, mac === token)) {
      if (mac === token) this.#findOptOut(kind, datagram, from);
      return this.#surplus("suppressing", from);
    }
    if (mac !== token) {
      this.#holdUnverified(kind, from, socket);
      return;
    }
    if (responders.has(from)) {
      this.#findOptOut(kind, datagram, from);
      return this.#surplus("duplicate", from);
    }
    const content = this.#contentOf(kind, datagram, from);
    if (content === "broken") return this.#surplus("malformed", from);
    responders.add(from);
    counts[probe.guessable ? "unverified" : "valid"]++;
    const at = clock.now();
    const latencyMs = reply.clock === undefined ? undefined : this.#since(reply.clock, at);
    const sighting = { endpoint: { ...from }, protocol, latencyMs, verified: true, at, socket };
    this.#options.window?.replied(latencyMs, at);
    this.#options.sightings.push({ ...sighting, ...content });
  }

  /** The content of a valid reply, with a copy of the reply if it contains a status. */
  #contentOf(
    { probe }: ProbeKind,
    datagram: Uint8Array,
    from: Endpoint,
  ): Pick<Sighting, "status" | "known" | "raw"> | "broken" {
    if (probe.content === undefined) return {};
    const raw = datagram.slice();
    if (probe.wholeStatus && this.#options.defers?.(datagram, from)) return { raw };
    const content = orBroken(() => probe.content!(raw));
    return content === "broken" || content.status === undefined ? content : { ...content, raw };
  }

  #tokenOf({ kind, probe }: ProbeKind, from: Endpoint): number {
    return (this.#options.tokens.of(kind, from) & probe.macMask) >>> 0;
  }

  /** Searches for an opt-out in a reply that repeats the probe's token and becomes no sighting. */
  #findOptOut({ protocol, probe }: ProbeKind, datagram: Uint8Array, from: Endpoint): void {
    const { optOuts } = this.#options;
    if (optOuts === undefined || datagram.length > MAX_SEARCHED) return;
    const content = orBroken(() => probe.content?.(datagram) ?? {});
    if (content !== "broken") optOuts.take({ endpoint: { ...from }, protocol, ...content });
  }

  /** Processes a datagram that arrived after the cooldown. It is only searched for an opt-out. */
  receiveLate(datagram: Uint8Array, from: Endpoint): void {
    const { kinds, floods, clock, targets } = this.#options;
    if (floods.drops(from.address, clock) && !this.#isAwaited(from)) return;
    if (targets.has(from)) floods.surplus(from);
    for (const kind of kinds) {
      const reply = orBroken(() => kind.probe.read(datagram));
      if (reply === "broken" || reply?.mac === undefined) continue;
      const isProved = reply.mac >>> 0 === this.#tokenOf(kind, from);
      if (isProved && targets.has(from, kind.protocol)) {
        this.#findOptOut(kind, datagram, from);
      }
    }
  }

  /**
   * Time since a probe was stamped, milliseconds; `undefined` if an earlier run of the scan sent
   * the probe.
   */
  #since(stamp: number, now: number): number | undefined {
    const ms = (stampClock(now) - stamp >>> 0) / 1000;
    return ms <= now - this.#begunAt + 1 ? ms : undefined; // stamps are rounded down to microseconds
  }

  /**
   * Processes a reply without the probe's token: the reply is forged, or a second query has to
   * confirm it. If no hold is free, the endpoint waits for one only in a protocol that echoes
   * nothing. In other protocols nearly all servers return the token.
   */
  #holdUnverified({ probe, protocol }: ProbeKind, from: Endpoint, socket: number): void {
    const { responders, counts, clock, floods, window, sightings } = this.#options;
    const held = probe.mayLackToken ? responders.hold(from) : "full";
    if (held === "known") return this.#surplus("duplicate", from, true);
    if (held === "full" && probe.macMask !== 0) return this.#surplus("forged", from, true);
    const sighting = { endpoint: { ...from }, protocol, verified: false, at: clock.now(), socket };
    counts.unverified++;
    window?.replied(undefined, clock.now());
    if (held === "held") return sightings.push(sighting);
    floods.surplus(from, true);
    sightings.pushWhenHeld(sighting);
  }
}

/** The result of a decoder, or `"broken"` when the message is malformed. */
function orBroken<T>(decode: () => T): T | "broken" {
  try {
    return decode();
  } catch (error) {
    if (error instanceof Truncated || error instanceof Malformed) return "broken";
    throw error;
  }
}
