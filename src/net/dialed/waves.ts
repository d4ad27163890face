/**
 * Connections that begin at about the same time and share a timer and a signal.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { PortWait } from "../port_socket.ts";

/** Connections that begin within this time share a timer and a signal, milliseconds. */
const WAVE_MS = 20;

/** Maximum time for which accepted connections of a wave are looked for after its end, milliseconds. */
const LATE_MS = 80;

/** Connections that end together if they get no reply. */
export interface Wave {
  /** When the first of them began, milliseconds. */
  readonly at: number;
  /** When its time is over, milliseconds. */
  readonly endsAt: number;
  /** Cancels the connections. */
  readonly controller: AbortController;
  readonly cancelTimer: () => void;
  /** Number of connections that wait. */
  size: number;
  /** Whether its time is over. */
  isOver: boolean;
}

/** Cancels connections. One error for all, because each new one would get a stack trace. */
const OVER = new DOMException("The time for a reply is over", "TimeoutError");

export class Waves {
  /** The wave that connections join. */
  #current: Wave | undefined;
  /** The waves with connections that wait, and the current one, in the order of time. */
  readonly #all = new Set<Wave>();

  constructor(private readonly clock: Clock, private readonly wait: PortWait) {}

  /**
   * Adds a connection that begins now. A new wave ends those before it whose timers are late.
   *
   * @param now The time, milliseconds.
   */
  join(now: number): Wave {
    let wave = this.#current;
    if (wave === undefined || wave.isOver || now - wave.at >= WAVE_MS) {
      if (wave?.size === 0) this.#forget(wave);
      for (const earlier of this.#all) {
        if (now >= earlier.endsAt) void this.#expire(earlier);
      }
      this.#current = wave = this.#begin(now);
    }
    wave.size++;
    return wave;
  }

  /** Removes a connection that has ended. */
  leave(wave: Wave): void {
    if (--wave.size === 0 && wave !== this.#current) this.#forget(wave);
  }

  end(): void {
    for (const wave of [...this.#all]) this.#end(wave);
  }

  #begin(at: number): Wave {
    const { ms } = this.wait;
    const wave: Wave = {
      at,
      endsAt: at + ms,
      controller: new AbortController(),
      cancelTimer: this.clock.after(ms, () => void this.#expire(wave)),
      size: 0,
      isOver: false,
    };
    this.#all.add(wave);
    return wave;
  }

  /**
   * Ends a wave whose time is over, after the connections that were accepted in time: a busy program
   * learns of them later than of its timers.
   */
  async #expire(wave: Wave): Promise<void> {
    if (wave.isOver) return;
    wave.isOver = true;
    const last = this.clock.now() + LATE_MS;
    for (let before = Infinity; wave.size > 0 && wave.size < before && this.clock.now() < last;) {
      before = wave.size;
      await this.clock.pollSockets();
    }
    this.#end(wave);
  }

  #end(wave: Wave): void {
    this.#forget(wave);
    wave.controller.abort(OVER);
  }

  #forget(wave: Wave): void {
    wave.cancelTimer();
    this.#all.delete(wave);
    if (this.#current === wave) this.#current = undefined;
  }
}
