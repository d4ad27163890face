/**
 * The contracts between a fleet and its network.
 *
 * @module
 */
import type { Endpoint } from "../../../core/address.ts";
import type { Stream } from "../../../net/socket.ts";

/** What connects a fleet with the network: it answers from the address that was asked. */
export interface DatagramNetwork extends AsyncDisposable {
  /**
   * Hands on every datagram, with the host that it was sent to.
   *
   * @returns Rejects when receiving fails; resolves when the front was disposed of.
   */
  listen(receiver: (datagram: Uint8Array, from: Endpoint, host: Endpoint) => void): Promise<void>;
  /** Sends a host's answer. */
  send(datagram: Uint8Array, host: Endpoint, to: Endpoint): void;
}

/** What connects a fleet with those who open connections to it. */
export interface StreamNetwork extends Disposable {
  /**
   * Hands on every connection, with the host that it was opened to.
   *
   * @returns Rejects when accepting fails; resolves when the front was disposed of.
   */
  listen(onStream: (stream: Stream, from: Endpoint, host: Endpoint) => void): Promise<void>;
}
