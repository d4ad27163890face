/**
 * Several sockets shared by the sweep and by links, each of which has one peer. A datagram from the
 * peer of a link goes to that link, any other datagram to the sweep.
 *
 * @module
 */
import { type Address, type Endpoint, endpointKey, family } from "../core/address.ts";
import type { Clock } from "./clock.ts";
import type { DatagramSocket, Link, ReceiverCapacity } from "./socket.ts";
import { exclusivePeerLink, PeerLink } from "./peer_link.ts";
import type { Throttle } from "./throttle.ts";

/**
 * Called for each datagram whose sender is not the peer of a link, for example for a pong.
 *
 * @param datagram A view into the socket's buffer, valid until the call returns.
 */
export type UnlinkedReceiver = (datagram: Uint8Array, from: Endpoint, socket: number) => void;

/** Sockets and the links on them. */
export class Demultiplexer implements AsyncDisposable {
  readonly #links: Map<number | bigint, PeerLink>[];
  readonly #exclusive = new Set<PeerLink>();
  /** Hosts whose links on shared sockets are cancelled. */
  readonly #cancelledHosts = new Set<Address>();
  #allCancelled = false;
  /** Index of the socket that was chosen last. */
  #lastSocket = -1;

  /**
   * Takes ownership of sockets: disposing of the demultiplexer disposes of them.
   *
   * @param sockets The sockets, at least one.
   * @param throttle The rate limit and caps for the datagrams of links.
   */
  constructor(
    readonly sockets: readonly DatagramSocket[],
    private readonly throttle: Throttle,
    private readonly clock: Clock,
  ) {
    this.#links = sockets.map(() => new Map());
  }

  /**
   * Starts receiving.
   *
   * @param onUnlinked Called for each datagram that belongs to no link.
   * @param capacity Whether the receiver accepts datagrams that belong to no link. It is not called
   * while a socket has a link, because a link without its datagrams would time out.
   * @param onOverflow Called for each datagram that a full link drops.
   * @returns Resolves when all sockets are closed; rejects when one fails.
   */
  async listen(
    onUnlinked: UnlinkedReceiver,
    capacity: ReceiverCapacity = () => undefined,
    onOverflow: (from: Endpoint) => void = () => {},
  ): Promise<void> {
    await Promise.all(this.sockets.map((socket, i) => {
      const links = this.#links[i];
      return socket.listen((datagram, from) => {
        const link = links.get(endpointKey(from));
        if (link === undefined) onUnlinked(datagram, from, i);
        else if (!link.deliver(datagram)) onOverflow(from);
      }, () => links.size === 0 ? capacity() : undefined);
    }));
  }

  /** Resolves when every datagram that has arrived so far was delivered. */
  async drained(): Promise<void> {
    await Promise.all(this.sockets.map((socket) => socket.drained()));
  }

  /**
   * The index of a socket of the endpoint's address family: `preferred` if it has that family, else
   * the next socket of that family in rotation. -1: no socket has that family. The rotation
   * distributes the replies over all receive buffers.
   */
  socketFor({ address }: Endpoint, preferred: number): number {
    const bits = family(address);
    if (this.sockets[preferred]?.family === bits) return preferred;
    const count = this.sockets.length;
    for (let i = 0; i < count; i++) {
      this.#lastSocket = (this.#lastSocket + 1) % count;
      if (this.sockets[this.#lastSocket].family === bits) return this.#lastSocket;
    }
    return -1;
  }

  /**
   * Opens a link. Until it is disposed of, it receives all datagrams of the peer on one socket.
   *
   * @param socket The index of the socket.
   */
  link(peer: Endpoint, socket: number): Link {
    const links = this.#links[socket];
    const key = endpointKey(peer);
    const onClose = () => {
      if (links.get(key) === opened) links.delete(key);
    };
    const opened = new PeerLink(
      peer,
      this.sockets[socket],
      this.throttle,
      this.clock,
      onClose,
    );
    links.set(key, opened);
    if (this.#isCancelled(peer)) opened.cancel();
    return opened;
  }

  /**
   * Opens a link on a socket of its own. No other host receives datagrams from the port of this
   * socket. Such a link is therefore allowed to a host whose links on shared sockets were
   * cancelled.
   *
   * @param socket The socket, which is disposed of with the link.
   * @param onClose Called when the link is disposed of.
   */
  exclusiveLink(peer: Endpoint, socket: DatagramSocket, onClose: () => void = () => {}): Link {
    const opened = exclusivePeerLink(peer, socket, this.throttle, this.clock, () => {
      this.#exclusive.delete(opened);
      onClose();
    });
    this.#exclusive.add(opened);
    if (this.#allCancelled) opened.cancel();
    return opened;
  }

  #isCancelled({ address }: Endpoint): boolean {
    return this.#allCancelled || this.#cancelledHosts.has(address);
  }

  /**
   * Cancels links, also those that are opened later. They send and receive nothing more.
   *
   * @param address The host whose links on shared sockets are cancelled. Default: all links.
   */
  cancel(address?: Address): void {
    if (address === undefined) this.#allCancelled = true;
    else this.#cancelledHosts.add(address);
    this.#cancelLinks((peer) => this.#isCancelled(peer));
  }

  /** Cancels the open links to a host, but none that is opened later. */
  cancelOpen(address: Address): void {
    this.#cancelLinks((peer) => peer.address === address);
  }

  #cancelLinks(isCancelled: (peer: Endpoint) => boolean): void {
    const shared = this.#links.map((map) => map.values());
    for (const links of [...shared, this.#exclusive]) {
      for (const one of links) if (isCancelled(one.peer)) one.cancel();
    }
  }

  /** Disposes of the sockets. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.sockets.map((socket) => socket[Symbol.asyncDispose]()));
  }
}
