/**
 * Several sockets shared by the sweep and by conversations. A datagram from the peer of a
 * conversation goes to that conversation, any other datagram to the sweep.
 *
 * @module
 */
import { type Address, type Endpoint, endpointKey, family } from "../core/address.ts";
import type { Clock } from "./clock.ts";
import type { DatagramSocket, Link, ReceiverCapacity } from "./socket.ts";
import type { Throttle } from "./throttle.ts";

/**
 * Called for each datagram that belongs to no conversation.
 *
 * @param datagram A view into the socket's buffer, valid until the call returns.
 */
export type UnsolicitedReceiver = (datagram: Uint8Array, from: Endpoint, socket: number) => void;

/** Sockets and the conversations on them. */
export class Demultiplexer implements AsyncDisposable {
  readonly #conversations: Map<number | bigint, Conversation>[];
  readonly #exclusive = new Set<Conversation>();
  /** Hosts whose conversations on shared sockets are cancelled. */
  readonly #cancelledHosts = new Set<Address>();
  #allCancelled = false;
  /** Index of the socket that was chosen last. */
  #lastSocket = -1;

  /**
   * Takes ownership of sockets: disposing of the demultiplexer disposes of them.
   *
   * @param sockets The sockets, at least one.
   * @param throttle The rate limit and caps for the datagrams of conversations.
   */
  constructor(
    readonly sockets: readonly DatagramSocket[],
    private readonly throttle: Throttle,
    private readonly clock: Clock,
  ) {
    this.#conversations = sockets.map(() => new Map());
  }

  /**
   * Starts receiving.
   *
   * @param capacity Whether the receiver accepts datagrams of no conversation. Conversations
   * receive their datagrams in any case, so that their peers do not time out.
   * @param onOverflow Called for each datagram that a full conversation drops.
   * @returns Resolves when all sockets are closed; rejects when one fails.
   */
  async listen(
    unsolicited: UnsolicitedReceiver,
    capacity: ReceiverCapacity = () => undefined,
    onOverflow: (from: Endpoint) => void = () => {},
  ): Promise<void> {
    await Promise.all(this.sockets.map((socket, i) => {
      const conversations = this.#conversations[i];
      return socket.listen((datagram, from) => {
        const conversation = conversations.get(endpointKey(from));
        if (conversation === undefined) unsolicited(datagram, from, i);
        else if (!conversation.deliver(datagram)) onOverflow(from);
      }, () => conversations.size === 0 ? capacity() : undefined);
    }));
  }

  /** Resolves when every datagram that has arrived so far was delivered. */
  async drained(): Promise<void> {
    await Promise.all(this.sockets.map((socket) => socket.drained()));
  }

  /**
   * The index of a socket of the endpoint's address family: `preferred` if it has that family, else
   * the sockets in rotation, so that no single receive buffer has to hold all replies; -1: none.
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
   * Opens a conversation. Until it is disposed of, it receives all datagrams of the peer on a
   * socket.
   *
   * @param socket The index of the socket.
   */
  link(peer: Endpoint, socket: number): Link {
    const conversations = this.#conversations[socket];
    const key = endpointKey(peer);
    const onClose = () => {
      if (conversations.get(key) === opened) conversations.delete(key);
    };
    const opened = new Conversation(
      peer,
      this.sockets[socket],
      this.throttle,
      this.clock,
      onClose,
    );
    conversations.set(key, opened);
    if (this.#isCancelled(peer)) opened.cancel();
    return opened;
  }

  /**
   * Opens a conversation on a socket of its own. Only the peer learns its port, so that it is
   * allowed with a host whose conversations on shared sockets were cancelled.
   *
   * @param socket The socket, which is disposed of with the conversation.
   * @param onClose Called when the conversation is disposed of.
   */
  exclusiveLink(peer: Endpoint, socket: DatagramSocket, onClose: () => void = () => {}): Link {
    const opened = exclusiveConversation(peer, socket, this.throttle, this.clock, () => {
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
   * Cancels conversations, and those that are opened later. They send and receive nothing more.
   *
   * @param address The host whose conversations on shared sockets are cancelled. Default: all
   * conversations.
   */
  cancel(address?: Address): void {
    if (address === undefined) this.#allCancelled = true;
    else this.#cancelledHosts.add(address);
    const shared = this.#conversations.map((map) => map.values());
    for (const conversations of [...shared, this.#exclusive]) {
      for (const one of conversations) if (this.#isCancelled(one.peer)) one.cancel();
    }
  }

  /** Disposes of the sockets. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.sockets.map((socket) => socket[Symbol.asyncDispose]()));
  }
}

/** Opens a conversation on a socket of its own, without a demultiplexer. */
export function exclusiveLink(
  peer: Endpoint,
  socket: DatagramSocket,
  throttle: Throttle,
  clock: Clock,
): Link {
  return exclusiveConversation(peer, socket, throttle, clock, () => {});
}

function exclusiveConversation(
  peer: Endpoint,
  socket: DatagramSocket,
  throttle: Throttle,
  clock: Clock,
  onClose: () => void,
): Conversation {
  const opened = new Conversation(peer, socket, throttle, clock, () => {
    onClose();
    return socket[Symbol.asyncDispose]();
  });
  const key = endpointKey(peer);
  void socket.listen((datagram, from) => {
    if (endpointKey(from) === key) opened.deliver(datagram);
  });
  return opened;
}

/** Most unread datagrams of a conversation; further ones are dropped, as in a socket's buffer. */
const MOST_UNREAD = 32;

class Conversation implements Link {
  readonly #unread: Uint8Array[] = [];
  /** Resolves the pending `next`, and the pending delay of `send`. */
  #wake: (() => void) | undefined;
  #depart: (() => void) | undefined;
  #cancelled = false;

  constructor(
    readonly peer: Endpoint,
    private readonly socket: DatagramSocket,
    private readonly throttle: Throttle,
    private readonly clock: Clock,
    private readonly close: () => PromiseLike<void> | void,
  ) {}

  /** Queues a copy of a datagram; false when the queue is full. */
  deliver(datagram: Uint8Array): boolean {
    if (this.#unread.length >= MOST_UNREAD) return false;
    this.#unread.push(datagram.slice());
    this.#wake?.();
    return true;
  }

  async send(datagram: Uint8Array): Promise<boolean> {
    if (this.#cancelled) return false;
    const now = this.clock.now();
    const wait = this.throttle.reserve(this.peer.address, now) - now;
    if (wait > 0) await this.#wait(wait);
    return !this.#cancelled && await this.socket.send(datagram, this.peer);
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        this.#depart = undefined;
        resolve();
      };
      const cancel = this.clock.after(ms, done);
      this.#depart = done;
    });
  }

  next(timeoutMs: number): Promise<Uint8Array | undefined> {
    if (this.#unread.length > 0 || this.#cancelled) return Promise.resolve(this.#unread.shift());
    return new Promise((resolve) => {
      const done = () => {
        if (this.#wake !== done) return; // a datagram arrived while the socket was drained
        cancel();
        this.#wake = undefined;
        resolve(this.#unread.shift());
      };
      this.#wake = done;
      // On a busy machine the reply may have arrived without being read yet.
      const late = () => void this.socket.drained().then(done, done);
      const cancel = this.clock.after(timeoutMs, late);
    });
  }

  cancel(): void {
    this.#cancelled = true;
    this.#depart?.();
    this.#wake?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cancel();
    await this.close();
  }
}
