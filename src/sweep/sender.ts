/**
 * Sending one pass: positions in order, each with its token, at the pace that is allowed.
 *
 * @module
 */
import { type Address, type Endpoint, family } from "../address.ts";
import { type Clock, sleep } from "../net/clock.ts";
import { Batch, type DatagramSocket } from "../net/socket.ts";
import type { Throttle } from "../net/throttle.ts";
import type { TargetSpace } from "../targets/space.ts";
import { type ProbeKind, stampClock } from "./receiver.ts";
import type { Tokens } from "./token.ts";
import type { Window } from "./window.ts";

/** Datagrams that are stamped and sent at once: few, so that stamps are close to departures. */
const BATCH = 64;
/**
 * Datagrams that leave one socket between two sure turns of the receiver: half of what its buffer
 * holds, so that nothing is lost where everybody answers at once.
 */
const BURST = 128;
/** Positions that are looked at between two turns, where nearly all are skipped. */
const GLANCES = 16384;
/** How long to wait when the window or the backlog is full. */
const PAUSE_MS = 1;

/** What sending needs. */
export interface SenderOptions {
  /** The sockets, of one or both families. */
  readonly sockets: readonly DatagramSocket[];
  /** The scan's tokens. */
  readonly tokens: Tokens;
  /** When datagrams may leave. */
  readonly throttle: Throttle;
  /** How many may be under way. */
  readonly window: Window;
  /** The clock. */
  readonly clock: Clock;
  /** Ends the pass early. */
  readonly signal: AbortSignal;
  /** Targets that are left out: those that answered, or opted out, or are spared the protocol. */
  readonly skip: (endpoint: Endpoint, protocol: string) => boolean;
  /** Whether sending has to wait, because those who answered are not yet asked. */
  readonly backlogged: () => boolean;
  /** Told after every batch. */
  readonly onProgress: (progress: SendProgress) => void;
}

/** What was done since the last report. */
export interface SendProgress {
  /** Positions left behind. */
  readonly visited: number;
  /** Probes that left. */
  readonly sent: number;
  /** Probes that the system refused. */
  readonly refused: number;
}

/** Sends the probes of one pass. */
export class Sender {
  readonly #options: SenderOptions;
  readonly #kind: ProbeKind;
  readonly #batches: Record<4 | 6, Batch>;
  readonly #byFamily: Record<4 | 6, readonly DatagramSocket[]>;
  readonly #target: Endpoint = { address: 0 as Address, port: 0 };
  /** How many batches went to the sockets: they take turns. */
  #flushed = 0;
  /** Probes since the last sure turn of the receiver. */
  #unseen = 0;
  /** When the next target may be asked, once that was reserved. */
  #departure: number | undefined;

  /** Starts a pass of one kind of probe. */
  constructor(kind: ProbeKind, options: SenderOptions) {
    this.#kind = kind;
    this.#options = options;
    const batch = () => new Batch(kind.probe.template, BATCH);
    this.#batches = { 4: batch(), 6: batch() };
    const ofFamily = (bits: 4 | 6) => options.sockets.filter((socket) => socket.family === bits);
    this.#byFamily = { 4: ofFamily(4), 6: ofFamily(6) };
  }

  /**
   * Sends to all positions from `from` on.
   *
   * @returns The first position that was not visited: the space's size, unless the signal came.
   */
  async send(space: TargetSpace, from: number): Promise<number> {
    const { clock, signal } = this.#options;
    let position = from;
    while (position < space.size && !signal.aborted) {
      const start = position;
      position = this.#fill(space, start, this.#room());
      await this.#flush(position - start);
      const wait = this.#wait();
      const full = this.#unseen >= BURST * this.#options.sockets.length;
      if (wait > 0 || full) {
        await sleep(clock, Math.max(0, wait), signal);
        this.#unseen = 0;
      } else {
        await clock.turn();
      }
    }
    return position;
  }

  /** How many probes may leave now: a whole batch or none, so that all sockets get the same. */
  #room(): number {
    const { sockets, backlogged, window, clock } = this.#options;
    const room = backlogged() ? 0 : Math.min(BATCH, window.room(clock.now()));
    return room < BATCH && sockets.length > 1 ? 0 : room;
  }

  /** How long nothing can be sent, milliseconds. */
  #wait(): number {
    if (this.#departure !== undefined) return this.#departure - this.#options.clock.now();
    return this.#room() < 1 ? PAUSE_MS : 0;
  }

  /** Draws targets into the batches until there are enough, or one has to wait. */
  #fill(space: TargetSpace, from: number, most: number): number {
    const { tokens, throttle, clock, skip } = this.#options;
    const { probe, kind, protocol } = this.#kind;
    const target = this.#target;
    const end = Math.min(space.size, from + GLANCES);
    let position = from;
    for (let filled = 0; filled < most && position < end; position++) {
      space.at(position, target);
      if (skip(target, protocol)) {
        this.#departure = undefined; // it answered while it waited
        continue;
      }
      const now = clock.now();
      this.#departure ??= throttle.reserve(target.address, now);
      if (this.#departure > now) break;
      this.#departure = undefined;
      const batch = this.#batches[family(target.address)];
      const mac = tokens.of(kind, target) & probe.macMask;
      probe.stamp(batch.slots, batch.add(target), mac, stampClock(now));
      filled++;
    }
    return position;
  }

  /** Sends the batches, each from the next socket of its family. */
  async #flush(visited: number): Promise<void> {
    const { window, clock, onProgress } = this.#options;
    const turn = this.#flushed++;
    let filled = 0;
    let sent = 0;
    for (const bits of [4, 6] as const) {
      const batch = this.#batches[bits];
      if (batch.length === 0) continue;
      const sockets = this.#byFamily[bits];
      filled += batch.length;
      sent += await sockets[turn % sockets.length].flush(batch);
      batch.clear();
    }
    this.#unseen += sent;
    window.sent(sent, clock.now());
    onProgress({ visited, sent, refused: filled - sent });
  }
}
