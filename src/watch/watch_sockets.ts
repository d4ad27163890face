/**
 * The sockets of a watch, which outlive a network that goes away.
 *
 * @module
 */
import { type Clock, sleep } from "../net/clock.ts";
import type { DatagramSocket } from "../net/socket.ts";
import { Demultiplexer } from "../net/demultiplexer.ts";
import type { Throttle } from "../net/throttle.ts";

/** How long to wait before sockets are opened again, milliseconds. */
const PAUSE_MS = 1000;

/** What lasting sockets need. */
export interface WatchSocketsOptions {
  /** Opens them. */
  readonly open: () => readonly DatagramSocket[];
  /** When datagrams may leave. */
  readonly throttle: Throttle;
  /** The clock. */
  readonly clock: Clock;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Told when sockets fail, and when others are open in their place. */
  readonly tell: (line: string) => void;
}

/** A switchboard that is replaced, with its sockets, when one of these fails. */
export class WatchSockets {
  #board: Demultiplexer;

  /**
   * Opens the first.
   *
   * @throws What opening throws.
   */
  constructor(private readonly options: WatchSocketsOptions) {
    this.#board = this.#open();
  }

  /** The one that works, or is about to be replaced. */
  get current(): Demultiplexer {
    return this.#board;
  }

  /**
   * Receives, on new sockets whenever one fails, until the signal.
   *
   * @throws Deno.errors.NotCapable where sockets may not be opened again.
   */
  async listen(): Promise<void> {
    const { signal, tell } = this.options;
    while (!signal.aborted) {
      const fault = await this.#listen();
      if (signal.aborted) break;
      tell(`a socket failed (${fault}): new ones are opened`);
      await this.#board[Symbol.asyncDispose]();
      await this.#reopen();
    }
    await this.#board[Symbol.asyncDispose]();
  }

  /** Receives until a socket fails; why. */
  async #listen(): Promise<string> {
    const board = this.#board;
    const { signal } = this.options;
    const end = () => {
      board.cancel();
      void board[Symbol.asyncDispose]();
    };
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    try {
      await board.listen(() => {});
      return "it was closed";
    } catch (error) {
      return (error as Error).message;
    } finally {
      signal.removeEventListener("abort", end);
    }
  }

  async #reopen(): Promise<void> {
    const { clock, signal, tell } = this.options;
    let told = false;
    for (;;) {
      await sleep(clock, PAUSE_MS, signal);
      if (signal.aborted) return;
      try {
        this.#board = this.#open();
        return tell("sockets are open again");
      } catch (error) {
        if (error instanceof Deno.errors.NotCapable) throw error;
        if (!told) tell(`sockets cannot be opened (${(error as Error).message}): tried again`);
        told = true;
      }
    }
  }

  #open(): Demultiplexer {
    const { open, throttle, clock } = this.options;
    return new Demultiplexer(open(), throttle, clock);
  }
}
