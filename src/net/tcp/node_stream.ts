/**
 * A connection of `node:net` as a stream.
 *
 * @module
 */
import type { Socket } from "node:net";
import type { Stream } from "../stream.ts";

/** A stream over a connection of `node:net`. */
export class NodeStream implements Stream {
  #closed = false;
  #error: unknown;
  /** Continues the pending read. */
  #wake = () => {};

  /**
   * Takes ownership of the connection.
   *
   * @param count Called with the error that breaks the connection.
   */
  constructor(
    private readonly socket: Socket,
    private readonly count: (error: unknown) => void,
  ) {
    // This event also reports a reset during a write. A later read then returns the reset.
    socket.on("error", (error) => this.#error ??= error);
    // An async iterator of the socket adds more listeners, and makes an error when the socket is destroyed.
    const wake = () => this.#wake();
    socket.on("readable", wake).on("end", wake).on("close", wake);
  }

  async read(): Promise<Uint8Array | "closed" | "reset"> {
    const { socket } = this;
    for (;;) {
      const chunk: Uint8Array | null = socket.destroyed ? null : socket.read();
      if (chunk !== null) return new Uint8Array(chunk);
      if (this.#closed) return "closed";
      if (this.#error !== undefined) break;
      if (socket.readableEnded || socket.closed) return "closed";
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    this.count(this.#error);
    return "reset";
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
