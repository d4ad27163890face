/**
 * One UDP socket per port for any number of hosts, by FFI on Linux.
 *
 * @module
 */
import { type Endpoint, isLoopback } from "../../../core/address.ts";
import { InputError } from "../../../core/errors.ts";
import { WildcardSocket } from "../../../net/linux/mod.ts";
import type { DatagramNetwork } from "./fleet_network.ts";

/** UDP sockets that receive on all loopback addresses. */
export class WildcardNetwork implements DatagramNetwork {
  readonly #sockets: Map<number, WildcardSocket>;

  /**
   * Opens the sockets.
   *
   * @throws InputError when the sockets cannot be opened, or a host is not on IPv4 loopback.
   */
  constructor(hosts: readonly Endpoint[]) {
    if (Deno.build.os !== "linux") {
      throw new InputError("Cannot simulate so many servers here: more than 4000 need Linux");
    }
    if (hosts.some(({ address }) => typeof address !== "number" || !isLoopback(address))) {
      throw new InputError(
        "Cannot simulate so many servers: more than 4000 have to be in 127.0.0.0/8",
      );
    }
    const ports = [...new Set(hosts.map(({ port }) => port))];
    this.#sockets = new Map(ports.map((port) => [port, open(port)]));
  }

  async listen(
    receiver: (datagram: Uint8Array, from: Endpoint, host: Endpoint) => void,
  ): Promise<void> {
    await Promise.all(
      [...this.#sockets].map(([port, socket]) =>
        socket.listen((datagram, from, to) => receiver(datagram, from, { address: to, port }))
      ),
    );
  }

  send(datagram: Uint8Array, host: Endpoint, to: Endpoint): void {
    this.#sockets.get(host.port)!.send(datagram, host.address as number, to);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#sockets.values()].map((socket) => socket[Symbol.asyncDispose]()));
  }
}

function open(port: number): WildcardSocket {
  try {
    return new WildcardSocket(port);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new InputError((error as Error).message);
  }
}
