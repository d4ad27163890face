/**
 * The contracts between a fleet and its sockets.
 *
 * @module
 */
import type { Endpoint } from "../../../core/address.ts";
import type { Stream } from "../../../net/mod.ts";

/** The UDP sockets of a fleet. Each host sends from its own address. */
export interface DatagramNetwork extends AsyncDisposable {
  /**
   * Passes each datagram to `receiver`, with the host that it was sent to.
   *
   * @returns Resolves when the network is disposed of; rejects when receiving fails.
   */
  listen(receiver: (datagram: Uint8Array, from: Endpoint, host: Endpoint) => void): Promise<void>;
  send(datagram: Uint8Array, host: Endpoint, to: Endpoint): void;
}

/** The TCP listeners of a fleet. */
export interface StreamNetwork extends Disposable {
  /**
   * Passes each connection to `onStream`, with the host that it was opened to.
   *
   * @returns Resolves when the network is disposed of; rejects when accepting fails.
   */
  listen(onStream: (stream: Stream, from: Endpoint, host: Endpoint) => void): Promise<void>;
}
