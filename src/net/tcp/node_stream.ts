/**
 * A connection of `node:net` as a stream.
 *
 * @module
 */
import type { Socket } from "node:net";
import type { Stream } from "../stream.ts";

/** A stream over a connection of `node:net`. */
export class NodeStream implements Stream {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #closed = false;

  /**
   * Takes ownership of the connection.
   *
   * @param count Called with the error that breaks the connection.
   */
  constructor(
    private readonly socket: Socket,
    private readonly count: (error: unknown) => void,
  ) {
    // This event reports a reset during a write. A later read then returns the reset.
    socket.on("error", () => {});
    // After the end of the peer's side, the own side can still be written.
    this.#chunks = socket.iterator({ destroyOnReturn: false });
  }

  async read(): Promise<Uint8Array | "closed" | "reset"> {
    try {
      const { done, value } = await this.#chunks.next();
      return done ? "closed" : new Uint8Array(value);
    } catch (error) {
      if (this.#closed) return "closed";
      this.count(error);
      return "reset";
    }
  }

  write(bytes: Uint8Array): Promise<boolean> {
    return new Promise((resolve) => this.socket.write(bytes, (error) => resolve(error == null)));
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    this.socket.destroy();
  }
}

/**
 * Waits until a connection is open.
 *
 * @param signal Cancels the attempt.
 * @throws The error of the attempt, or the reason of the signal. The connection is closed then.
 */
export async function untilConnected(socket: Socket, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = () => reject(signal.reason);
  socket.once("connect", resolve).once("error", reject);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    await promise;
  } catch (error) {
    socket.on("error", () => {}).destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
