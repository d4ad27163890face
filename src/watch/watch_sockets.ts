/**
 * The sockets of a watch. They are opened again after a failure of the network.
 *
 * @module
 */
import { type Clock, sleep } from "../net/clock.ts";
import { type DatagramSocket, Demultiplexer, type Throttle } from "../net/mod.ts";

/** Pause before an attempt to open sockets again, milliseconds. */
const PAUSE_MS = 1000;

/** Options of {@linkcode WatchSockets}. */
export interface WatchSocketsOptions {
  /** Opens the first sockets, and later ones that replace failed sockets. */
  readonly open: () => readonly DatagramSocket[];
  /** The rate limit of sent datagrams. */
  readonly throttle: Throttle;
  /** The clock of pauses. */
  readonly clock: Clock;
  /** Ends {@linkcode WatchSockets.listen} and closes the sockets. */
  readonly signal: AbortSignal;
  /** Receives a message when a socket fails, and when new sockets are open. */
  readonly report: (line: string) => void;
}

/** A demultiplexer that is replaced, with all its sockets, when one of its sockets fails. */
export class WatchSockets {
  /** Whether sockets failed, and no new ones are open yet. */
  failing = false;
  #demultiplexer: Demultiplexer;

  /**
   * Opens the sockets.
   *
   * @throws Errors of {@linkcode WatchSocketsOptions.open}.
   */
  constructor(private readonly options: WatchSocketsOptions) {
    this.#demultiplexer = this.#open();
  }

  /** The current demultiplexer. After a failure, the old one until it is replaced. */
  get current(): Demultiplexer {
    return this.#demultiplexer;
  }

  /**
   * Receives until the signal. Opens new sockets after a failure.
   *
   * @throws Deno.errors.NotCapable when the permission to open sockets is missing.
   */
  async listen(): Promise<void> {
    const { signal, report } = this.options;
    while (!signal.aborted) {
      const reason = await this.#listenUntilFailure();
      if (signal.aborted) break;
      report(`a socket failed (${reason}); opening new sockets`);
      this.failing = true;
      await this.#demultiplexer[Symbol.asyncDispose]();
      await this.#reopen();
    }
    await this.#demultiplexer[Symbol.asyncDispose]();
  }

  /** Receives until a socket fails, or until the signal. Returns the reason of the failure. */
  async #listenUntilFailure(): Promise<string> {
    const demultiplexer = this.#demultiplexer;
    const { signal } = this.options;
    const end = () => {
      demultiplexer.cancel();
      void demultiplexer[Symbol.asyncDispose]();
    };
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    try {
      await demultiplexer.listen(() => {});
      return "it was closed";
    } catch (error) {
      return (error as Error).message;
    } finally {
      signal.removeEventListener("abort", end);
    }
  }

  async #reopen(): Promise<void> {
    const { clock, signal, report } = this.options;
    let reported = false;
    for (;;) {
      await sleep(clock, PAUSE_MS, signal);
      if (signal.aborted) return;
      try {
        this.#demultiplexer = this.#open();
        this.failing = false;
        return report("sockets are open again");
      } catch (error) {
        if (error instanceof Deno.errors.NotCapable) throw error;
        if (!reported) {
          report(`sockets cannot be opened (${(error as Error).message}); trying again`);
        }
        reported = true;
      }
    }
  }

  #open(): Demultiplexer {
    const { open, throttle, clock } = this.options;
    return new Demultiplexer(open(), throttle, clock);
  }
}
