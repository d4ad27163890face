/**
 * UDP sockets of Node.js and Bun.
 *
 * @module
 */
import type { RemoteInfo, Socket } from "node:dgram";
import {
  type Endpoint,
  family,
  formatAddress,
  formatHost,
  parseAddress,
} from "../../core/address.ts";
import { nodeDgram } from "../../core/node_modules.ts";
import { systemClock } from "../clock.ts";
import type { SendGate } from "../send_gate.ts";
import {
  DatagramBatch,
  type DatagramReceiver,
  type DatagramSocket,
  noErrors,
  type ReceiverCapacity,
  type SocketErrors,
  type Template,
} from "../socket.ts";
import { codeOf } from "../tcp/connect_failure.ts";

/**
 * Number of datagrams after which a batch yields to the event loop. Node.js receives nothing while
 * sends complete at once.
 */
const SENDS_PER_YIELD = 16;
/** Default receive buffer of Linux, bytes. */
const RECEIVE_BUFFER = 212_992;

/**
 * Opens a UDP socket.
 *
 * @param local The local address, and the local port or 0 for any.
 * @param gate The gate of its datagrams. Default: none.
 * @throws The error of the system, with its `code`. Bun binds later: it reports the error to `listen()`.
 */
export function openNodeSocket({ address, port }: Endpoint, gate?: SendGate): DatagramSocket {
  const bits = family(address);
  const socket = nodeDgram().createSocket({
    type: `udp${bits}`,
    ipv6Only: bits === 6,
    // All addresses are literal. Without a function that returns them at once, the socket binds later.
    lookup: (host, _, done) => done(null, host, bits),
  });
  const opened = new NodeSocket(socket, bits, gate);
  socket.bind({ address: formatAddress(address), port, exclusive: true });
  opened.throwIfFailed();
  return opened;
}

class NodeSocket implements DatagramSocket<DatagramBatch> {
  readonly receiveBuffer = RECEIVE_BUFFER;
  readonly errors: SocketErrors = noErrors();
  dropped = 0;
  /** Datagrams that arrived while the receiver accepted none. Node.js cannot leave them in the system's buffer. */
  readonly #held: [Uint8Array, Endpoint][] = [];
  #heldBytes = 0;
  /** Settles when the receiver accepts the next datagram; `undefined`: it accepts one now. */
  #full: Promise<void> | undefined;
  readonly #bound = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  /** The error with which the socket failed. */
  #failure: Error | undefined;
  #isBound = false;
  #isClosed = false;
  #sent = 0;

  constructor(
    private readonly socket: Socket,
    readonly family: 4 | 6,
    readonly gate?: SendGate,
  ) {
    // The callers of throwIfFailed() and listen() get the errors.
    this.#bound.promise.catch(() => {});
    this.#closed.promise.catch(() => {});
    socket.once("listening", () => {
      this.#isBound = true;
      this.#bound.resolve();
    });
    socket.on("error", (error) => {
      if (this.#isBound) this.#count(this.errors.receive, error);
      else this.#fail(error);
    });
  }

  /** The local port. In Bun it is known a little later than the socket. */
  get port(): number {
    return this.#isBound && !this.#isClosed ? this.socket.address().port : 0;
  }

  /** Throws the error with which the system refused to bind the socket. */
  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  listen(receiver: DatagramReceiver, capacity?: ReceiverCapacity): Promise<void> {
    const deliver = () => {
      while (!this.#isClosed && this.#full === undefined && this.#held.length > 0) {
        const full = capacity?.();
        if (full !== undefined) {
          const retry = () => {
            this.#full = undefined;
            deliver();
          };
          this.#full = full.then(retry, (error) => this.#fail(error));
          return;
        }
        const [datagram, from] = this.#held.shift()!;
        this.#heldBytes -= datagram.length;
        try {
          receiver(datagram, from);
        } catch (error) {
          this.#fail(error as Error);
        }
      }
    };
    this.socket.on("message", (message: Uint8Array, from: RemoteInfo) => {
      if (this.#heldBytes + message.length > RECEIVE_BUFFER) return void this.dropped++;
      const { buffer, byteOffset, length } = message;
      this.#held.push([new Uint8Array(buffer, byteOffset, length), endpointOf(from)]);
      this.#heldBytes += length;
      deliver();
    });
    return this.#closed.promise;
  }

  async send(datagram: Uint8Array, to: Endpoint): Promise<boolean> {
    if (this.gate?.isOpen() === false) {
      this.gate.keptBack++;
      return false;
    }
    try {
      // Node.js refuses this port itself, with a code of its own.
      if (to.port === 0) throw Object.assign(new Error("port 0"), { code: "EINVAL" });
      if (!this.#isBound) await this.#bound.promise;
      await new Promise<void>((resolve, reject) =>
        this.socket.send(
          datagram,
          to.port,
          formatHost(to),
          (error) => error ? reject(error) : resolve(),
        )
      );
      return true;
    } catch (error) {
      if (!this.#isClosed) this.#count(this.errors.send, error);
      return false;
    }
  }

  batch(template: Template, capacity: number): DatagramBatch {
    return new DatagramBatch(template, capacity);
  }

  async flush(batch: DatagramBatch): Promise<number> {
    const { length, addresses, ports } = batch;
    let sent = 0;
    for (let slot = 0; slot < length; slot++) {
      const to = { address: addresses[slot], port: ports[slot] };
      if (await this.send(batch.datagram(slot), to)) sent++;
      if (++this.#sent % SENDS_PER_YIELD === 0) await systemClock.yieldToEvents();
    }
    return sent;
  }

  async drained(): Promise<void> {
    await systemClock.pollSockets();
    while (this.#full !== undefined && !this.#isClosed) await this.#full;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#close();
    return Promise.resolve();
  }

  /** Closes the socket after an error before it was bound, or of the receiver. */
  #fail(error: Error): void {
    this.#failure ??= error;
    this.#bound.reject(error);
    this.#closed.reject(error);
    this.#close();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (!this.#isBound) this.#bound.reject(new Error("the socket is closed"));
    this.#closed.resolve();
    this.socket.close();
  }

  #count(errors: Map<string, number>, error: unknown): void {
    const code = codeOf(error);
    errors.set(code, (errors.get(code) ?? 0) + 1);
  }
}

/** The sender of a datagram. Its zone is left out. */
function endpointOf({ address, port }: RemoteInfo): Endpoint {
  return { address: parseAddress(address.replace(/%.*/, ""))!, port };
}
