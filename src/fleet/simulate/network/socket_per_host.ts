/**
 * A socket for each host: portable, for some thousands.
 *
 * @module
 */
import { type Endpoint, endpointKey, formatEndpoint } from "../../../core/address.ts";
import { InputError } from "../../../core/errors.ts";
import { openSocket } from "../../../net/deno/udp_socket.ts";
import type { DatagramSocket } from "../../../net/socket.ts";
import type { DatagramNetwork } from "./fleet_network.ts";

/** The largest request that a host reads. */
const LARGEST_REQUEST = 2048;

const EVERYBODY = 0xffffffff;

/** Sockets for hosts, and for what is sent to everybody in their networks. */
export class SocketPerHost implements DatagramNetwork {
  readonly #sockets = new Map<number | bigint, { host: Endpoint; socket: DatagramSocket }>();
  readonly #broadcast: { port: number; socket: DatagramSocket }[] = [];

  /**
   * Opens the sockets.
   *
   * @param networks Networks in which the hosts hear broadcasts.
   * @throws InputError for the first address that is taken, or not ours.
   */
  constructor(
    hosts: readonly Endpoint[],
    networks: readonly { readonly address: number; readonly netmask: number }[],
  ) {
    try {
      for (const host of hosts) {
        this.#sockets.set(endpointKey(host), { host, socket: open(host, this.#sockets.size) });
      }
      const everybody = networks.map(({ address, netmask }) => (address | ~netmask) >>> 0);
      for (const port of networks.length === 0 ? [] : new Set(hosts.map((host) => host.port))) {
        for (const address of new Set([EVERYBODY, ...everybody])) {
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
 * Opens something for a host.
 *
 * @param others How many are open.
 * @throws InputError when it cannot be had.
 */
export function opening<T>(endpoint: Endpoint, others: number, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    const { message } = error as Error;
    const advice = /too many open files/i.test(message)
      ? `; ${others} are open: raise the limit (ulimit -n), ask for fewer servers, or for none on TCP`
      : "";
    throw new InputError(`Cannot open ${formatEndpoint(endpoint)}: ${message}${advice}`);
  }
}
