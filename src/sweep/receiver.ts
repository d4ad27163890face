/**
 * What comes back: every datagram is counted as one thing, and only what proves itself, or is worth
 * a second question, goes on.
 *
 * @module
 */
import type { Address, Endpoint } from "../core/address.ts";
import { Malformed, Truncated } from "../core/bytes.ts";
import type { Clock } from "../net/clock.ts";
import type { Probe, Reply, ReplyContent } from "../protocols/protocol.ts";
import type { Sighting } from "../core/record.ts";
import type { FloodingHosts } from "./flooding_hosts.ts";
import type { ProbeWindow } from "./probe_window.ts";
import type { Responders } from "./responders.ts";
import type { Tokens } from "./token.ts";

/** Received datagrams by class. */
export interface ReplyCounts {
  /** Replies to our probes, the first of each endpoint. */
  valid: number;
  /** Further replies of endpoints that had replied. */
  duplicate: number;
  /** Replies of responders that were probed again to measure packet loss. */
  canary: number;
  /** Replies without our token, which have to be confirmed. */
  unverified: number;
  /** Replies with a wrong token, and unverified ones that were not confirmed. */
  forged: number;
  /** Replies without our token of endpoints that were not interviewed: no hold, or no time, was left. */
  omitted: number;
  /** Replies that cannot be decoded. */
  malformed: number;
  /** Replies that only show where another protocol has to be suppressed. */
  suppressing: number;
  /** Everything else, and everything from endpoints that were not probed. */
  unsolicited: number;
}

/** No replies yet. */
export function noReplies(): ReplyCounts {
  return {
    valid: 0,
    duplicate: 0,
    canary: 0,
    unverified: 0,
    forged: 0,
    omitted: 0,
    malformed: 0,
    suppressing: 0,
    unsolicited: 0,
  };
}

/** A kind of probe in a scan. */
export interface ProbeKind {
  /** The protocol. */
  readonly protocol: string;
  /** Its probe. */
  readonly probe: Probe<unknown>;
  /** Its number, which goes into the token: its place among the protocols. */
  readonly kind: number;
}

/** What a receiver needs. */
export interface ReceiverOptions {
  /** All kinds of probes that the scan sends: replies may come late, in the next pass. */
  readonly kinds: readonly ProbeKind[];
  /** The scan's tokens. */
  readonly tokens: Tokens;
  /** Whether the scan probes an endpoint in a protocol; with none given, in any. */
  readonly isTarget: (endpoint: Endpoint, protocol?: string) => boolean;
  /** Whether it probes endpoints of an address. */
  readonly isTargetHost: (address: Address) => boolean;
  /** Who has answered. */
  readonly responders: Responders;
  /** Which hosts flood. */
  readonly floods: FloodingHosts;
  /** The clock that the probes were stamped by. */
  readonly clock: Clock;
  /** Where replies are counted. */
  readonly counts: ReplyCounts;
  /** Servers that were probed again: their replies bring another token. Default: none were. */
  readonly canaries?: CanaryReplies;
  /** Where replies in flight are counted. Default: nowhere. */
  readonly window?: Pick<ProbeWindow, "answered">;
  /** Where it is noted which endpoints sent anything. Default: nowhere. */
  readonly notes?: ReplyNotes;
  /** Where sightings go. */
  readonly sightings: SightingIntake;
}

/** Tells replies to canaries from others. */
export interface CanaryReplies {
  /** Takes a reply with another token than the sweep's; `undefined` where no canary brought it. */
  answered(kind: ProbeKind, from: Endpoint, mac: number): "canary" | "duplicate" | undefined;
}

/** Notes which endpoints sent anything: other protocols may be suppressed there. */
export interface ReplyNotes {
  /** Whether anything needs to be noted. */
  readonly isActive: boolean;
  /** Notes a reply of a target, proven or not; returns whether nothing else is to be made of it. */
  note(protocol: string, endpoint: Endpoint, proven: boolean): boolean;
  /** Notes any other datagram of a target, and in which protocol it is a broken reply, if in any. */
  noteStray(protocol: string | undefined, endpoint: Endpoint): void;
}

/** What takes sightings. It drops none. */
export interface SightingIntake {
  /** Takes the sighting of an endpoint. */
  push(sighting: Sighting): void;
  /** Takes the sighting of an endpoint that has to wait for a hold. */
  pushWhenHeld(sighting: Sighting): void;
}

/** Microseconds modulo 2^32, as probes are stamped with them. */
export function stampClock(ms: number): number {
  return Math.floor(ms * 1000) % 2 ** 32;
}

/** Sorts replies. */
export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #begun: number;

  /** Starts with the counts that it is given. */
  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#begun = options.clock.now();
  }

  /**
   * Takes one datagram.
   *
   * @param datagram Read at once, and copied where something of it is kept.
   */
  receive(datagram: Uint8Array, from: Endpoint, socket: number): void {
    const { kinds, counts, floods, clock } = this.#options;
    if (floods.drops(from.address, clock) && !this.#isAwaited(from)) {
      counts.unsolicited++;
      this.#stray(undefined, from);
      return;
    }
    let broken: string | undefined;
    for (const kind of kinds) {
      const reply = orBroken(() => kind.probe.read(datagram));
      if (reply === "broken") broken ??= kind.protocol;
      else if (reply !== undefined) return this.#judge(kind, reply, datagram, from, socket);
    }
    this.#surplus(broken === undefined ? "unsolicited" : "malformed", from);
    this.#stray(broken, from);
  }

  /** Whether an endpoint is probed and has not answered: a flood may be forged in its host's name. */
  #isAwaited(from: Endpoint): boolean {
    const { isTarget, responders } = this.#options;
    return !responders.has(from) && isTarget(from);
  }

  #stray(protocol: string | undefined, from: Endpoint): void {
    const { notes, isTarget } = this.#options;
    if (notes?.isActive && isTarget(from)) notes.noteStray(protocol, from);
  }

  /** Counts a datagram that is no first reply: as part of a flood only where the scan probes. */
  #surplus(as: keyof ReplyCounts, from: Endpoint, foreign = false): void {
    const { counts, floods, isTarget, isTargetHost } = this.#options;
    counts[as]++;
    if (isTarget(from)) floods.surplus(from, foreign);
    else if (isTargetHost(from.address)) floods.stray(from.address);
  }

  #judge(
    kind: ProbeKind,
    reply: Reply,
    datagram: Uint8Array,
    from: Endpoint,
    socket: number,
  ): void {
    const { tokens, isTarget, responders, counts, clock } = this.#options;
    const { probe, protocol } = kind;
    if (!isTarget(from, protocol)) return this.#surplus("unsolicited", from);
    const token = (tokens.of(kind.kind, from) & probe.macMask) >>> 0;
    const mac = reply.mac === undefined ? undefined : reply.mac >>> 0;
    if (mac !== undefined && mac !== token) {
      const again = this.#options.canaries?.answered(kind, from, mac);
      if (again === "duplicate") return this.#surplus(again, from);
      if (again !== undefined) {
        counts[again]++;
        return;
      }
    }
    if (this.#options.notes?.note(protocol, from, mac === token)) {
      return this.#surplus("suppressing", from);
    }
    if (mac !== token) {
      this.#doubt(kind, from, socket);
      return;
    }
    if (responders.has(from)) return this.#surplus("duplicate", from);
    const learned = orBroken((): ReplyContent<unknown> => probe.readContent(datagram.slice()));
    if (learned === "broken") return this.#surplus("malformed", from);
    responders.add(from);
    counts.valid++;
    const at = clock.now();
    const latencyMs = reply.clock === undefined ? undefined : this.#since(reply.clock, at);
    const sighting = { endpoint: { ...from }, protocol, latencyMs, verified: true, at, socket };
    this.#options.window?.answered(latencyMs, at);
    this.#options.sightings.push({ ...sighting, ...learned });
  }

  /** How long ago a probe was stamped; `undefined` for those of an earlier part of the scan. */
  #since(stamp: number, now: number): number | undefined {
    const ms = (stampClock(now) - stamp >>> 0) / 1000;
    return ms <= now - this.#begun + 1 ? ms : undefined; // stamps are cut to microseconds
  }

  /**
   * A reply without our token: forged, or worth a second question. Only where the protocol echoes
   * nothing does an endpoint wait for a hold: elsewhere nearly all honest servers return the token.
   */
  #doubt({ probe, protocol }: ProbeKind, from: Endpoint, socket: number): void {
    const { responders, counts, clock, floods, window, sightings } = this.#options;
    const held = probe.mayLackToken ? responders.hold(from) : "full";
    if (held === "known") return this.#surplus("duplicate", from, true);
    if (held === "full" && probe.macMask !== 0) return this.#surplus("forged", from, true);
    const sighting = { endpoint: { ...from }, protocol, verified: false, at: clock.now(), socket };
    if (held === "held") {
      counts.unverified++;
      window?.answered(undefined, clock.now());
      return sightings.push(sighting);
    }
    floods.surplus(from, true);
    window?.answered(undefined, clock.now());
    sightings.pushWhenHeld(sighting);
  }
}

/** What a decoder yields, or that the message is broken. */
function orBroken<T>(decode: () => T): T | "broken" {
  try {
    return decode();
  } catch (error) {
    if (error instanceof Truncated || error instanceof Malformed) return "broken";
    throw error;
  }
}
