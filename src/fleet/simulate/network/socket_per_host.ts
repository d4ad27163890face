/**
 * UDP sockets and TCP listeners, one per host: portable, for up to some thousand hosts.
 *
 * @module
 */
import { type Endpoint, endpointKey, formatEndpoint } from "../../../core/address.ts";
import { InputError } from "../../../core/errors.ts";
import { openSocket, StreamListener } from "../../../net/deno/mod.ts";
import type { DatagramSocket, Stream } from "../../../net/mod.ts";
import type { DatagramNetwork, StreamNetwork } from "./fleet_network.ts";

/** Size of the receive buffer, bytes: more than any request has. */
const LARGEST_REQUEST = 2048;

const BROADCAST = 0xffffffff;

/** Opens a UDP socket for each host, and one for the broadcasts of each network. */
export class SocketPerHost implements DatagramNetwork {
  readonly #sockets = new Map<number | bigint, { host: Endpoint; socket: DatagramSocket }>();
  readonly #broadcast: { port: number; socket: DatagramSocket }[] = [];

  /**
   * Opens the sockets.
   *
   * @param networks Networks whose broadcasts the hosts receive.
   * @throws InputError for the first address that is in use, or not of this machine.
   */
  constructor(
    hosts: readonly Endpoint[],
    networks: readonly { readonly address: number; readonly netmask: number }[],
  ) {
    try {
      for (const host of hosts) {
        this.#sockets.set(endpointKey(host), { host, socket: open(host, this.#sockets.size) });
      }
      const broadcasts = networks.map(({ address, netmask }) => (address | ~netmask) >>> 0);
      for (const port of networks.length === 0 ? [] : new Set(hosts.map((host) => host.port))) {
        for (const address of new Set([BROADCAST, ...broadcasts])) {
          this.#broadcast.push({ port, socket: open({ address, port }, this.#sockets.size) });
        }
      }
    } catch (error) {
      void this[Symbol.asyncDispose]();
      throw error;
    }
  }

  async listen(
    receiver: (datagram: Uint8Array, from: Endpoint, host: Endpoint) => void,
  ): Promise<void> {
    const own = [...this.#sockets.values()];
    await Promise.all([
      ...own.map(({ host, socket }) =>
        socket.listen((datagram, from) => receiver(datagram, from, host))
      ),
      ...this.#broadcast.map(({ port, socket }) =>
        socket.listen((datagram, from) => {
          for (const { host } of own) if (host.port === port) receiver(datagram, from, host);
        })
      ),
    ]);
  }

  send(datagram: Uint8Array, host: Endpoint, to: Endpoint): void {
    void this.#sockets.get(endpointKey(host))!.socket.send(datagram, to);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#sockets.values(), ...this.#broadcast];
    await Promise.all(all.map(({ socket }) => socket[Symbol.asyncDispose]()));
  }
}

function open(endpoint: Endpoint, others: number): DatagramSocket {
  return opening(endpoint, others, () => openSocket(endpoint, LARGEST_REQUEST));
}

/**
 * Opens a socket or listener for a host.
 *
 * @param others Number of sockets that are already open.
 * @throws InputError when the socket cannot be opened.
 */
function opening<T>(endpoint: Endpoint, others: number, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    const { message } = error as Error;
    const advice = /too many open files/i.test(message)
      ? `; ${others} are open: raise the limit (ulimit -n), or use fewer --servers, or --no-tcp`
      : "";
    const text = `Cannot open ${formatEndpoint(endpoint)}: ${message}${advice}`;
    throw new InputError(text, { cause: error });
  }
}

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
