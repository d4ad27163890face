/**
 * Sending one pass: positions in order, each with its token, at the pace that is allowed.
 *
 * @module
 */
import { Endpoints } from "../core/endpoints.ts";
import { type Clock, sleep } from "../net/clock.ts";
import { type DatagramSocket, MOST_IN_BATCH } from "../net/socket.ts";
import type { Throttle } from "../net/throttle.ts";
import type { TargetSpace } from "../targets/space.ts";
import type { Canaries } from "./canaries/canaries.ts";
import { BatchesInFlight, type BatchInFlight } from "./batches_in_flight.ts";
import { type ProbeKind, stampClock } from "./receiver.ts";
import type { Tokens } from "./token.ts";
import { capacityOf, type ProbeWindow } from "./probe_window.ts";

/**
 * Datagrams that are stamped and sent at once: as many as a socket can take the answers of, but few,
 * so that stamps are close to departures (within a millisecond).
 */
const PER_BATCH = 1 / 4;
/**
 * Batches under way for each thread: one that leaves, and others that wait until we are awake to fill
 * more: where all cores send, that may take milliseconds (measured: with four, a thread is idle for a
 * quarter of its time).
 */
const FLIGHTS_A_THREAD = 8;
/** Positions that one look at the clock is for. */
const PER_LOOK = 64;
/**
 * Which part of what the sockets' buffers hold may leave between two turns of the receiver, and
 * between two sure ones, so that nothing is lost where everybody answers at once.
 */
const PER_TURN = 1 / 64;
const PER_SURE_TURN = 1 / 2;
/**
 * How long others wait for their turn where buffers are large, milliseconds; and where there is only
 * the display to be drawn: a turn costs what hundreds of probes do.
 */
const TURN_MS = 10;
const QUIET_TURN_MS = 50;
/**
 * How long they wait for a sure one: without it, where others use the processor too, sockets were not
 * looked at for a second (measured), and who had answered was taken for silent.
 */
const LOOK_MS = 20;
/** Positions that are looked at between two turns, where nearly all are skipped. */
const GLANCES = 16384;
/** Targets that are drawn at once. */
const DRAWN = 256;
/** How long to wait when the window or the backlog is full. */
const PAUSE_MS = 1;

/** What sending needs. */
export interface SenderOptions {
  /** The sockets, of one or both families. */
  readonly sockets: readonly DatagramSocket[];
  /** The scan's tokens. */
  readonly tokens: Tokens;
  /** Threads that send for the sockets: batches are filled meanwhile. Default: none. */
  readonly threads?: number;
  /** When datagrams may leave. */
  readonly throttle: Throttle;
  /** How many may be under way. */
  readonly window: ProbeWindow;
  /** Whom to ask again, among the probes. Default: nobody. */
  readonly canaries?: Canaries;
  /** The clock. */
  readonly clock: Clock;
  /** Ends the pass early. */
  readonly signal: AbortSignal;
  /** Targets that are left out: those that answered, or opted out, or suppress the protocol. */
  readonly skip: (targets: Endpoints, i: number, protocol: string) => boolean;
  /** Whether sending has to wait, because those who answered are not yet asked. */
  readonly backlogged: () => boolean;
  /** Whether others have something to do now. Default: always. */
  readonly isBusy?: () => boolean;
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
  readonly #flights: BatchesInFlight;
  /** Targets that were drawn, and the positions of the first one and behind the last. */
  readonly #targets = new Endpoints(DRAWN);
  #drawn = 0;
  #drawnTo = 0;
  /** How many datagrams the sockets' buffers hold, and a batch. */
  readonly #capacity: number;
  readonly #batch: number;
  /** Whether some socket hears nothing while it sends. */
  readonly #deaf: boolean;
  /** Probes since the last sure turn of the receiver. */
  #unseen = 0;
  /** Probes since its last turn, and when that was. */
  #unheard = 0;
  #turned = -Infinity;
  #looked = -Infinity;
  /** Whether the next target's departure is reserved, and when it is. */
  #reserved = false;
  readonly #departure = new Float64Array(1);
  /** Microseconds that probes are stamped with. */
  #stamp = 0;
  /** The server that is asked again next, and whether there is one. */
  readonly #again = new Endpoints(1);
  #asking = false;

  /** Starts a pass of one kind of probe. */
  constructor(kind: ProbeKind, options: SenderOptions) {
    this.#kind = kind;
    this.#options = options;
    this.#capacity = capacityOf(options.sockets);
    this.#deaf = !options.sockets.every(({ receivesWhileSending = false }) => receivesWhileSending);
    const least = Math.min(...options.sockets.map((socket) => capacityOf([socket])));
    this.#batch = Math.max(1, Math.min(MOST_IN_BATCH, Math.floor(PER_BATCH * least)));
    this.#flights = new BatchesInFlight({
      sockets: options.sockets,
      template: kind.probe,
      batch: this.#batch,
      signal: options.signal,
      count: Math.max(1, FLIGHTS_A_THREAD * (options.threads ?? 0)),
      onLanded(visited, sent, refused) {
        options.window.sent(sent, options.clock.now());
        options.onProgress({ visited, sent, refused });
      },
    });
  }

  /**
   * Sends to all positions from `from` on.
   *
   * @returns The first position that was not visited: the space's size, unless the signal came.
   */
  async send(space: TargetSpace, from: number): Promise<number> {
    const { signal } = this.#options;
    let position = from;
    while (position < space.size && !signal.aborted) {
      const flight = this.#flights.next;
      if (flight.landing !== undefined) await this.#flights.landed(flight);
      const start = position;
      position = this.#fill(space, start, this.#room(), flight);
      this.#unseen += flight.length;
      this.#unheard += flight.length;
      this.#flights.launch(position - start);
      if (this.#flights.single && !this.#flights.idle) await this.#flights.landed();
      const wait = this.#wait();
      if (wait > 0 || this.#mustTurn()) await this.#turn(wait);
    }
    if (this.#asking) this.#options.canaries!.dismiss();
    await this.#flights.landed();
    return position;
  }

  /** Whether others must have their turn, though there is something to send. */
  #mustTurn(): boolean {
    const { clock } = this.#options;
    const ms = this.#deaf || this.#isBusy ? TURN_MS : QUIET_TURN_MS;
    return this.#mustLook() ||
      this.#deaf && this.#unheard >= PER_TURN * this.#capacity ||
      clock.now() - this.#turned >= ms;
  }

  /** Whether so much has left, or it took so long, that the receiver has to be sure of its turn. */
  #mustLook(): boolean {
    if (this.#deaf && this.#unseen >= PER_SURE_TURN * this.#capacity) return true;
    return (this.#deaf || this.#isBusy) && this.#options.clock.now() - this.#looked >= LOOK_MS;
  }

  get #isBusy(): boolean {
    return this.#options.isBusy?.() !== false;
  }

  /** Waits, and lets others have their turn. */
  async #turn(wait: number): Promise<void> {
    const { clock, signal } = this.#options;
    if (wait > 0) await sleep(clock, wait, signal);
    if (this.#mustLook()) {
      await clock.pollSockets();
      this.#unseen = 0;
      this.#looked = clock.now();
    } else if (wait <= 0) {
      await clock.yieldToEvents();
    }
    this.#unheard = 0;
    this.#turned = clock.now();
  }

  /** How many probes may leave now: a whole batch or none, so that all sockets get the same. */
  #room(): number {
    const { sockets, backlogged, window, clock } = this.#options;
    const room = backlogged()
      ? 0
      : Math.min(this.#batch, window.room(clock.now()) - this.#flights.aloft);
    return room < this.#batch && sockets.length > 1 ? 0 : room;
  }

  /** How long nothing can be sent, milliseconds. */
  #wait(): number {
    const pause = this.#room() < 1 ? PAUSE_MS : 0;
    if (!this.#reserved) return pause;
    return Math.max(pause, this.#departure[0] - this.#options.clock.now());
  }

  /**
   * Writes probes into the batches until there are enough, or one has to wait. Nothing is allocated
   * for an IPv4 target: addresses, ports and departures stay in rows of numbers.
   */
  #fill(space: TargetSpace, from: number, most: number, flight: BatchInFlight): number {
    const { tokens, clock, skip, canaries } = this.#options;
    const { kind, protocol } = this.#kind;
    const { macMask } = this.#kind.probe;
    const targets = this.#targets;
    const end = Math.min(space.size, from + GLANCES);
    let position = from;
    let now = 0;
    for (let filled = 0, looks = 0; filled < most && position < end; looks++) {
      // Asking for the time takes as long as all the rest here; within a batch it hardly passes.
      if (looks % PER_LOOK === 0) {
        now = clock.now();
        this.#stamp = stampClock(now);
      }
      if (this.#asking) {
        if (!this.#askAgain(now, flight)) break;
        filled++;
        continue;
      }
      if (position >= this.#drawnTo) this.#draw(space, position);
      const i = position - this.#drawn;
      if (skip(targets, i, protocol)) {
        this.#reserved = false; // it answered while it waited
        position++;
        continue;
      }
      if (!this.#mayLeave(targets, i, now)) break;
      this.#write(flight, targets, i, tokens.at(kind, targets, i) & macMask);
      filled++;
      position++;
      if (canaries?.probe()) this.#asking = canaries.choose(this.#kind, this.#again);
    }
    return position;
  }

  /** Reserves a departure, unless that was done; whether it has come. */
  #mayLeave(row: Endpoints, i: number, now: number): boolean {
    const departure = this.#departure;
    if (!this.#reserved) {
      departure[0] = now;
      this.#options.throttle.reserveAt(row, i, departure);
      this.#reserved = true;
    }
    if (departure[0] > now) return false;
    this.#reserved = false;
    return true;
  }

  #write(flight: BatchInFlight, row: Endpoints, i: number, mac: number): void {
    const batch = (row.family(i) === 4 ? flight.ipv4 : flight.ipv6)!;
    batch.add(row, i, mac, this.#stamp);
  }

  /** Asks the server that was chosen, or not, if it may not be asked any more; false: not yet. */
  #askAgain(now: number, flight: BatchInFlight): boolean {
    const canaries = this.#options.canaries!;
    if (!this.#mayLeave(this.#again, 0, now)) return false;
    this.#asking = false;
    if (!canaries.welcome) canaries.dismiss();
    else {
      this.#write(flight, this.#again, 0, canaries.ask());
      flight.canaries++;
    }
    return true;
  }

  /** Draws the next targets. */
  #draw(space: TargetSpace, position: number): void {
    const count = Math.min(DRAWN, space.size - position);
    space.fill(position, count, this.#targets);
    this.#drawn = position;
    this.#drawnTo = position + count;
  }
}
