/**
 * Links over UDP: the datagrams that are exchanged with one peer.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../core/address.ts";
import type { Clock } from "./clock.ts";
import type { SendGate } from "./send_gate.ts";
import type { DatagramSocket, Link } from "./socket.ts";
import type { Throttle } from "./throttle.ts";

/**
 * Maximum number of unread datagrams of a link; further ones are dropped, as in a socket's buffer.
 */
const MAX_UNREAD = 32;

/** A link whose owner delivers the datagrams of the peer. */
export class PeerLink implements Link {
  readonly #unread: Uint8Array[] = [];
  /** The two functions resolve the pending `next`, and the pending wait of `send`. */
  #wake: (() => void) | undefined;
  #endDelay: (() => void) | undefined;
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
    if (this.#unread.length >= MAX_UNREAD) return false;
    this.#unread.push(datagram.slice());
    this.#wake?.();
    return true;
  }

  async send(datagram: Uint8Array): Promise<boolean> {
    const { gate } = this.socket;
    while (!this.#cancelled) {
      await this.#waitForThrottle();
      if (this.#cancelled) break;
      const before = gate?.keptBack;
      if (await this.socket.send(datagram, this.peer)) return true;
      if (gate === undefined || gate.keptBack === before || !await this.#untilOpen(gate)) break;
    }
    return false;
  }

  async #waitForThrottle(): Promise<void> {
    const now = this.clock.now();
    const sendAt = this.throttle.reserve(this.peer.address, now);
    if (sendAt > now) {
      await this.#wait(sendAt - now);
      this.throttle.sent(this.peer.address, sendAt, this.clock.now());
    }
  }

  /** Waits until a gate is open. Returns `false` if it is closed for good. */
  #untilOpen(gate: SendGate): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#endDelay = () => resolve(true);
      gate.whenOpen().then(resolve, reject);
    });
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        this.#endDelay = undefined;
        resolve();
      };
      const cancel = this.clock.after(ms, done);
      this.#endDelay = done;
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
      // On a busy machine, the reply may be in the receive buffer already.
      const late = () => void this.socket.drained().then(done, done);
      const cancel = this.clock.after(timeoutMs, late);
    });
  }

  cancel(): void {
    this.#cancelled = true;
    this.#endDelay?.();
    this.#wake?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cancel();
    await this.close();
  }
}

/**
 * Opens a link on a socket of its own, without a demultiplexer.
 *
 * @param signal Cancels the link when it aborts.
 */
export function exclusiveLink(
  peer: Endpoint,
  socket: DatagramSocket,
  throttle: Throttle,
  clock: Clock,
  signal?: AbortSignal,
): Link {
  const cancel = () => link.cancel();
  const link = exclusivePeerLink(
    peer,
    socket,
    throttle,
    clock,
    () => signal?.removeEventListener("abort", cancel),
  );
  signal?.addEventListener("abort", cancel, { once: true });
  if (signal?.aborted) cancel();
  return link;
}

/**
 * Opens a link on a socket of its own, which is disposed of with the link.
 *
 * @param onClose Called when the link is disposed of.
 */
export function exclusivePeerLink(
  peer: Endpoint,
  socket: DatagramSocket,
  throttle: Throttle,
  clock: Clock,
  onClose: () => void,
): PeerLink {
  const opened = new PeerLink(peer, socket, throttle, clock, () => {
    onClose();
    return socket[Symbol.asyncDispose]();
  });
  const key = endpointKey(peer);
  void socket.listen((datagram, from) => {
    if (endpointKey(from) === key) opened.deliver(datagram);
  });
  return opened;
}
