/**
 * Accepts TCP connections through Deno's sockets, on every system.
 *
 * @module
 */
import { type Endpoint, formatAddress, parseAddress } from "../../core/address.ts";
import { DenoStream } from "./tcp_dialer.ts";
import type { Stream } from "../socket.ts";

/** A TCP listener on one endpoint. */
export class StreamListener implements Disposable {
  readonly #listener: Deno.TcpListener;
  #closed = false;

  /**
   * Opens the listener.
   *
   * @throws Deno.errors.AddrInUse, and other errors of the system.
   */
  constructor({ address, port }: Endpoint) {
    this.#listener = Deno.listen({ hostname: formatAddress(address), port });
  }

  /** The local port, chosen by the system if port 0 was requested. */
  get port(): number {
    return this.#listener.addr.port;
  }

  /**
   * Delivers every accepted connection.
   *
   * @returns Resolves when the listener is disposed of; rejects when it fails.
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

  /** Stops accepting; open connections stay open. */
  [Symbol.dispose](): void {
    if (!this.#closed) this.#listener.close();
    this.#closed = true;
  }
}
