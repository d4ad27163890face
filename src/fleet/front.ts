/**
 * The contract between a fleet and its network.
 *
 * @module
 */
import type { Endpoint } from "../address.ts";

/** What connects a fleet with the network: it answers from the address that was asked. */
export interface Front extends AsyncDisposable {
  /**
   * Hands on every datagram, with the host that it was sent to.
   *
   * @returns Rejects when receiving fails; resolves when the front was disposed of.
   */
  listen(receiver: (datagram: Uint8Array, from: Endpoint, host: Endpoint) => void): Promise<void>;
  /** Sends a host's answer. */
  send(datagram: Uint8Array, host: Endpoint, to: Endpoint): void;
}
