/**
 * Accepting connections through Deno's own sockets, on every system.
 *
 * @module
 */
import { type Endpoint, formatAddress, parseAddress } from "../../core/address.ts";
import { DenoStream } from "./tcp_dialer.ts";
import type { Stream } from "../socket.ts";

/** Listens on an endpoint. */
export class StreamListener implements Disposable {
  readonly #listener: Deno.TcpListener;
  #closed = false;

  /**
   * Opens it.
   *
   * @throws Deno.errors.AddrInUse, and what else the system says.
   */
  constructor({ address, port }: Endpoint) {
    this.#listener = Deno.listen({ hostname: formatAddress(address), port });
  }

  /** Its port, which the system has chosen where 0 was asked for. */
  get port(): number {
    return this.#listener.addr.port;
  }

  /**
   * Hands on every connection.
   *
   * @returns Resolves when the listener was disposed of; rejects when it fails.
   */
  async listen(onStream: (stream: Stream, peer: Endpoint) => void): Promise<void> {
    try {
      for await (const conn of this.#listener) {
        const { hostname, port } = conn.remoteAddr;
        const peer = { address: parseAddress(hostname)!, port };
        onStream(new DenoStream(conn, () => {}), peer);
      }
    } catch (error) {
      if (!this.#closed) throw error;
    }
  }

  /** Accepts nothing more; connections that are open stay so. */
  [Symbol.dispose](): void {
    if (!this.#closed) this.#listener.close();
    this.#closed = true;
  }
}
