/**
 * Classifies the replies to SYN packets. Each is counted in exactly one class. The first proved reply
 * of an open port is passed on, so that the port is queried.
 *
 * @module
 */
import type { Address, Endpoint } from "../../core/address.ts";
import type { Clock } from "../../net/clock.ts";
import type { PortReply, Stream } from "../../net/mod.ts";
import type { Tokens } from "../../targets/token.ts";
import type { FoundPorts } from "./found_ports.ts";
import type { Canaries } from "../canaries/canaries.ts";
import { type ProbeKind, stampClock } from "../probe_kind.ts";
import type { ProbeWindow } from "../probe_window.ts";
import type { TargetLookup } from "../receiver.ts";

/** Numbers of replies to SYN packets, by class. */
export interface PortCounts {
  /** First replies of open ports. */
  open: number;
  /** Refusals: the port is closed. */
  refused: number;
  /** Reports of a router, or of this machine, that a target is unreachable. */
  unreachable: number;
  /** Repeated replies to a probe. */
  duplicate: number;
  /** Replies of hosts that were probed again to measure packet loss. */
  canary: number;
  /** Replies that do not repeat the token of a target. */
  forged: number;
}

/** The counters of a sweep without replies. */
export function noPorts(): PortCounts {
  return { open: 0, refused: 0, unreachable: 0, duplicate: 0, canary: 0, forged: 0 };
}

/** An open port, which repeated the token of its probe. */
export interface OpenPort {
  readonly endpoint: Endpoint;
  /** Name of the protocol whose pass probed the port. */
  readonly protocol: string;
  /** The open connection, if the engine has made one. The owner has to dispose of it. */
  readonly stream: Stream | undefined;
}

/** Options of {@linkcode PortReceiver}. */
export interface PortReceiverOptions {
  /** The kinds of probes of all protocols over TCP. */
  readonly kinds: readonly ProbeKind[];
  /** The token generator of the scan. */
  readonly tokens: Tokens;
  /** The endpoints that the scan probes. */
  readonly targets: TargetLookup;
  readonly foundPorts: FoundPorts;
  /** The clock that the probes were stamped by. */
  readonly clock: Clock;
  /** The counters to increment. */
  readonly counts: PortCounts;
  /** Recognises replies to canary probes, and gets hosts that refuse as further canaries. */
  readonly canaries: Pick<Canaries, "isFrom" | "reply" | "add">;
  /** The window of probes in flight, which counts replies. */
  readonly window: Pick<ProbeWindow, "replied">;
  /** Addresses that opted out. Their replies are not counted. */
  readonly optedOut: { has(address: Address): boolean };
  /** Gets each round trip, milliseconds. */
  readonly onRoundTrip: (ms: number) => void;
  /**
   * Gets the open ports.
   *
   * @param sentAt When the probe was sent, milliseconds of the clock; `undefined`: it is not known, or the
   * port was found before.
   */
  readonly onOpen: (port: OpenPort, sentAt: number | undefined) => void;
}

/** Classifies and counts replies to SYN packets. */
export class PortReceiver {
  readonly #options: PortReceiverOptions;
  readonly #begunAt: number;

  /** Creates a receiver that increments the given counters. */
  constructor(options: PortReceiverOptions) {
    this.#options = options;
    this.#begunAt = options.clock.now();
  }

  /** Processes one reply. Returns whether it repeats the token of a probe to its sender. */
  receive(reply: PortReply, from: Endpoint): boolean {
    const { kinds, counts, targets, tokens, canaries, optedOut } = this.#options;
    const isOptedOut = optedOut.has(from.address);
    for (const kind of isOptedOut ? [] : kinds) {
      if (!targets.has(from, kind.protocol)) continue;
      if (tokens.of(kind.kind, from) >>> 0 === reply.token) this.#proved(kind, reply, from);
      else if (canaries.isFrom(kind, from, reply.token)) this.#ofCanary(kind, reply, from);
      else continue;
      return true;
    }
    if (!isOptedOut) counts.forged++;
    reply.stream?.[Symbol.dispose]();
    return false;
  }

  /** Counts the reply to a canary probe. Its port is not queried. */
  #ofCanary(kind: ProbeKind, { state, token, stream }: PortReply, from: Endpoint): void {
    stream?.[Symbol.dispose]();
    if (state === "unreachable") return; // the probe, or its reply, did not get through
    const as = this.#options.canaries.reply(kind, from, token);
    if (as !== undefined) this.#options.counts[as]++;
  }

  #proved(
    kind: ProbeKind,
    { state, clock: stamp, stream, isRepeated }: PortReply,
    from: Endpoint,
  ): void {
    const { counts, clock, window, canaries, onRoundTrip } = this.#options;
    if (isRepeated) return void counts.duplicate++;
    const now = clock.now();
    const ms = stamp === undefined ? undefined : this.#since(stamp, now);
    window.replied(ms, now);
    if (state === "open") this.#opened(kind, stream, from, ms === undefined ? undefined : now - ms);
    else counts[state]++;
    if (state === "refused") canaries.add(kind, from);
    if (ms !== undefined && state !== "unreachable") onRoundTrip(ms);
  }

  #opened(
    { protocol }: ProbeKind,
    stream: Stream | undefined,
    from: Endpoint,
    sentAt: number | undefined,
  ): void {
    const { counts, foundPorts, onOpen } = this.#options;
    const added = foundPorts.add(from, protocol);
    counts[added === undefined ? "duplicate" : "open"]++;
    if (added === undefined) return stream?.[Symbol.dispose]();
    onOpen({ endpoint: { ...from }, protocol, stream }, added === "new" ? sentAt : undefined);
  }

  /** Time since a probe was stamped; `undefined` if an earlier run of the scan sent the probe. */
  #since(stamp: number, now: number): number | undefined {
    const ms = (stampClock(now) - stamp >>> 0) / 1000;
    return ms <= now - this.#begunAt + 1 ? ms : undefined; // stamps are rounded down to microseconds
  }
}
