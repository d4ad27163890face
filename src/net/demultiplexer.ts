/**
 * Several sockets shared by the sweep and by conversations: what comes from a peer that is being
 * talked to goes into that conversation, all else to the sweep.
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
 * @param datagram A view into the socket's buffer: gone when the call returns.
 */
export type UnsolicitedReceiver = (datagram: Uint8Array, from: Endpoint, socket: number) => void;

/** Sockets and the conversations on them. */
export class Demultiplexer implements AsyncDisposable {
  readonly #talks: Map<number | bigint, Conversation>[];
  readonly #sole = new Set<Conversation>();
  /** Hosts to which nothing more is sent from shared sockets. */
  readonly #closed = new Set<Address>();
  #over = false;
  /** The socket that was handed out last. */
  #turn = -1;

  /**
   * Takes the sockets over: disposing of the switchboard disposes of them.
   *
   * @param sockets At least one.
   * @param throttle When datagrams of conversations may leave.
   */
  constructor(
    readonly sockets: readonly DatagramSocket[],
    private readonly throttle: Throttle,
    private readonly clock: Clock,
  ) {
    this.#talks = sockets.map(() => new Map());
  }

  /**
   * Starts receiving.
   *
   * @param capacity Whether there is room for what belongs to no conversation. Who talks is heard all the
   * same, or would be taken for silent.
   * @param surplus Called for each datagram that a full conversation drops.
   * @returns Resolves when all sockets are closed; rejects when one fails.
   */
  async listen(
    stray: UnsolicitedReceiver,
    capacity: ReceiverCapacity = () => undefined,
    surplus: (from: Endpoint) => void = () => {},
  ): Promise<void> {
    await Promise.all(this.sockets.map((socket, i) => {
      const talks = this.#talks[i];
      return socket.listen((datagram, from) => {
        const talk = talks.get(endpointKey(from));
        if (talk === undefined) stray(datagram, from, i);
        else if (!talk.deliver(datagram)) surplus(from);
      }, () => talks.size === 0 ? capacity() : undefined);
    }));
  }

  /** Resolves when all that has arrived by now was handed on. */
  async drained(): Promise<void> {
    await Promise.all(this.sockets.map((socket) => socket.drained()));
  }

  /**
   * A socket for an endpoint's family: the given one where it fits, else those that do take turns,
   * so that no buffer has to hold the answers of all.
   */
  socketFor({ address }: Endpoint, preferred: number): number {
    const bits = family(address);
    if (this.sockets[preferred]?.family === bits) return preferred;
    const count = this.sockets.length;
    for (let i = 0; i < count; i++) {
      this.#turn = (this.#turn + 1) % count;
      if (this.sockets[this.#turn].family === bits) return this.#turn;
    }
    return -1;
  }

  /**
   * Opens a conversation. Until it is disposed of, all that the peer sends to this socket is its.
   *
   * @param socket Which socket to use.
   */
  link(peer: Endpoint, socket: number): Link {
    const talks = this.#talks[socket];
    const key = endpointKey(peer);
    const talk = new Conversation(peer, this.sockets[socket], this.throttle, this.clock, () => {
      if (talks.get(key) === talk) talks.delete(key);
    });
    talks.set(key, talk);
    if (this.#isClosed(peer)) talk.cancel();
    return talk;
  }

  /**
   * Opens a conversation on a socket of its own: nobody but the peer learns its port, so that it may
   * begin with a host whose other conversations were ended.
   *
   * @param socket Disposed of with the conversation.
   * @param onClose Called when the conversation is disposed of.
   */
  exclusiveLink(peer: Endpoint, socket: DatagramSocket, onClose: () => void = () => {}): Link {
    const talk = exclusiveConversation(peer, socket, this.throttle, this.clock, () => {
      this.#sole.delete(talk);
      onClose();
    });
    this.#sole.add(talk);
    if (this.#over) talk.cancel();
    return talk;
  }

  #isClosed({ address }: Endpoint): boolean {
    return this.#over || this.#closed.has(address);
  }

  /**
   * Ends conversations, those that begin later too: nothing more is sent or awaited in them.
   *
   * @param address The host whose conversations end, and which begins none on shared sockets.
   * Default: all conversations end.
   */
  cancel(address?: Address): void {
    if (address === undefined) this.#over = true;
    else this.#closed.add(address);
    for (const talks of [...this.#talks.map((map) => map.values()), this.#sole]) {
      for (const talk of talks) if (this.#isClosed(talk.peer)) talk.cancel();
    }
  }

  /** Closes the sockets. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.sockets.map((socket) => socket[Symbol.asyncDispose]()));
  }
}

/** A conversation on a socket of its own, without a switchboard. */
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
  const talk = new Conversation(peer, socket, throttle, clock, () => {
    onClose();
    return socket[Symbol.asyncDispose]();
  });
  const key = endpointKey(peer);
  void socket.listen((datagram, from) => {
    if (endpointKey(from) === key) talk.deliver(datagram);
  });
  return talk;
}

/** Datagrams that wait to be read; what comes beyond them is lost, as in a socket's buffer. */
const MOST_WAITING = 32;

class Conversation implements Link {
  readonly #waiting: Uint8Array[] = [];
  /** Ends the wait for a datagram, or for the time to send one. */
  #wake: (() => void) | undefined;
  #depart: (() => void) | undefined;
  #over = false;

  constructor(
    readonly peer: Endpoint,
    private readonly socket: DatagramSocket,
    private readonly throttle: Throttle,
    private readonly clock: Clock,
    private readonly close: () => PromiseLike<void> | void,
  ) {}

  /** Takes a copy of a datagram; false when it is full. */
  deliver(datagram: Uint8Array): boolean {
    if (this.#waiting.length >= MOST_WAITING) return false;
    this.#waiting.push(datagram.slice());
    this.#wake?.();
    return true;
  }

  async send(datagram: Uint8Array): Promise<boolean> {
    if (this.#over) return false;
    const now = this.clock.now();
    const wait = this.throttle.reserve(this.peer.address, now) - now;
    if (wait > 0) await this.#wait(wait);
    return !this.#over && await this.socket.send(datagram, this.peer);
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
    if (this.#waiting.length > 0 || this.#over) return Promise.resolve(this.#waiting.shift());
    return new Promise((resolve) => {
      const done = () => {
        if (this.#wake !== done) return; // it came while we caught up
        cancel();
        this.#wake = undefined;
        resolve(this.#waiting.shift());
      };
      this.#wake = done;
      // Where we were held up ourselves, an answer may be there that nobody has read yet.
      const late = () => void this.socket.drained().then(done, done);
      const cancel = this.clock.after(timeoutMs, late);
    });
  }

  cancel(): void {
    this.#over = true;
    this.#depart?.();
    this.#wake?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cancel();
    await this.close();
  }
}
