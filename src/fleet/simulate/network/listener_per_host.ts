/**
 * TCP listeners, one per host.
 *
 * @module
 */
import type { Endpoint } from "../../../core/address.ts";
import { StreamListener } from "../../../net/deno/mod.ts";
import type { Stream } from "../../../net/mod.ts";
import type { StreamNetwork } from "./fleet_network.ts";
import { opening } from "./socket_per_host.ts";

/** Opens a TCP listener for each host. */
export class ListenerPerHost implements StreamNetwork {
  readonly #listeners: { readonly host: Endpoint; readonly listener: StreamListener }[] = [];

  /**
   * Opens the listeners.
   *
   * @throws InputError for the first address that is in use, or not of this machine.
   */
  constructor(hosts: readonly Endpoint[]) {
    try {
      for (const host of hosts) {
        const others = this.#listeners.length;
        const listener = opening(host, others, () => new StreamListener(host));
        this.#listeners.push({ host, listener });
      }
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  async listen(
    onStream: (stream: Stream, from: Endpoint, host: Endpoint) => void,
  ): Promise<void> {
    await Promise.all(
      this.#listeners.map(({ host, listener }) =>
        listener.listen((stream, from) => onStream(stream, from, host))
      ),
    );
  }

  [Symbol.dispose](): void {
    for (const { listener } of this.#listeners) listener[Symbol.dispose]();
  }
}
