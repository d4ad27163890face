/**
 * The portable engine: UDP through Deno's sockets, on every system, without FFI.
 *
 * @module
 */
import {
  type Address,
  type Endpoint,
  family,
  formatAddress,
  formatHost,
  parseAddress,
  parseIpv4,
} from "../../core/address.ts";
import { maxDatagramsIn } from "../receive_drain.ts";
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

/** The largest UDP datagram, bytes; a Query stat may be as large, in fragments. */
const LARGEST = 65535;
/**
 * Default receive buffer of Linux, bytes, which Deno cannot change. Other systems have larger ones.
 */
export const USUAL_RECEIVE_BUFFER = 212_992;

/**
 * Opens a UDP socket.
 *
 * @param local The local address, and the local port or 0 for any.
 * @param largest Largest datagram to receive, bytes; larger ones are cut. Default: 65,535.
 * @param gate The gate of its datagrams. Default: none.
 * @throws Deno.errors.AddrInUse, Deno.errors.AddrNotAvailable, Deno.errors.NotCapable.
 */
export function openSocket(
  { address, port }: Endpoint,
  largest: number = LARGEST,
  gate?: SendGate,
): DatagramSocket {
  const socket = Deno.listenDatagram({ transport: "udp", hostname: formatAddress(address), port });
  return new DenoSocket(socket, family(address), largest, gate);
}

/**
 * Opens a UDP socket on one link. IPv6 multicast from it leaves only on that link.
 *
 * @param address The local address on the link; other links may have an equal one.
 * @param zone The name of the link's interface.
 * @throws The errors of {@linkcode openSocket}; other errors on a system without IPv6.
 */
export function openLinkSocket(address: bigint, zone: string): DatagramSocket {
  try {
    const hostname = `${formatAddress(address)}%${zone}`;
    return new DenoSocket(Deno.listenDatagram({ transport: "udp", hostname, port: 0 }), 6, LARGEST);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "Error" || "code" in error) throw error;
    throw lookupFailure(error);
  }
}

/** Number of descriptors that a zone lookup may need. The lookups of musl and glibc need fewer. */
const LOOKUP_DESCRIPTORS = 4;

/**
 * The cause of a failed zone lookup, whose error has no code: a shortage of descriptors, or a
 * missing link.
 */
function lookupFailure({ message }: Error): unknown {
  const held: Deno.DatagramConn[] = [];
  try {
    while (held.length < LOOKUP_DESCRIPTORS) {
      held.push(Deno.listenDatagram({ transport: "udp", hostname: "::", port: 0 }));
    }
    return new Deno.errors.AddrNotAvailable(message);
  } catch (error) {
    return error;
  } finally {
    held.forEach((one) => one.close());
  }
}

/** A multicast group to receive from. */
export interface MulticastGroup {
  /** The multicast address. */
  readonly address: Address;
  /** The port, which other programs may share. */
  readonly port: number;
  /** The interfaces to listen on: their local addresses, for an IPv6 group their indices. */
  readonly interfaces: readonly number[];
  /** Largest datagram to receive, bytes; larger ones are cut. */
  readonly largest: number;
}

/**
 * Opens a UDP socket that receives multicast of a group and broadcasts on the group's port.
 * Interfaces that cannot join the group are skipped.
 *
 * @throws Deno.errors.AddrInUse when another program has the port and does not share it.
 */
export async function openGroupSocket(
  { address, port, interfaces, largest }: MulticastGroup,
): Promise<DatagramSocket> {
  const bits = family(address);
  const hostname = bits === 4 ? "0.0.0.0" : "::";
  const socket = Deno.listenDatagram({ transport: "udp", hostname, port, reuseAddress: true });
  for (const one of interfaces) {
    const joined = bits === 4
      ? socket.joinMulticastV4(formatAddress(address), formatAddress(one))
      : socket.joinMulticastV6(formatAddress(address), one);
    // Joining fails for a second address of a joined interface, and on links without multicast.
    await joined.catch(() => {});
  }
  return new DenoSocket(socket, bits, largest);
}

/** Number of buffers that are allocated at once. */
const BUFFERS_AT_ONCE = 64;
/**
 * Free buffers for the largest datagram. They are parts of large blocks and are reused. Only pages
 * that a datagram was written to take memory. A buffer that is allocated alone would be filled with
 * zeros, and would take memory until the next garbage collection.
 */
const freeBuffers: Uint8Array<ArrayBuffer>[] = [];

function takeBuffer(): Uint8Array<ArrayBuffer> {
  if (freeBuffers.length === 0) {
    const piece = new ArrayBuffer(BUFFERS_AT_ONCE * (LARGEST + 1));
    for (let i = BUFFERS_AT_ONCE - 1; i >= 0; i--) {
      freeBuffers.push(new Uint8Array(piece, i * (LARGEST + 1), LARGEST));
    }
  }
  return freeBuffers.pop()!;
}

class DenoSocket implements DatagramSocket<DatagramBatch> {
  readonly port: number;
  readonly receiveBuffer = USUAL_RECEIVE_BUFFER;
  readonly dropped = 0;
  readonly errors: SocketErrors = noErrors();
  readonly #socket: Deno.DatagramConn;
  readonly #buffer: Uint8Array<ArrayBuffer>;
  #capacity: ReceiverCapacity | undefined;
  /** Settles when the receiver accepts the next datagram; `undefined`: the receiver accepts one now. */
  #full: Promise<void> | undefined;
  #receiving: Promise<void> = Promise.resolve();
  #closed = false;
  /** Number of datagrams and errors that arrived. */
  #arrived = 0;

  constructor(
    socket: Deno.DatagramConn,
    readonly family: 4 | 6,
    largest: number,
    readonly gate?: SendGate,
  ) {
    this.#socket = socket;
    this.#buffer = largest === LARGEST ? takeBuffer() : new Uint8Array(largest);
    this.port = (socket.addr as Deno.NetAddr).port;
  }

  listen(receiver: DatagramReceiver, capacity?: ReceiverCapacity): Promise<void> {
    this.#capacity = capacity;
    return this.#receiving = this.#receive(receiver);
  }

  async #receive(receiver: DatagramReceiver): Promise<void> {
    for (;;) {
      this.#full = this.#capacity?.();
      if (this.#full !== undefined) await this.#full;
      const arrival = await this.#next();
      if (arrival === undefined) return;
      this.#arrived++;
      if (arrival !== "error") receiver(arrival[0], toEndpoint(arrival[1], this.family));
    }
  }

  /** Polls until a poll delivers nothing, because the runtime does not report pending datagrams. */
  async drained(): Promise<void> {
    const most = this.#arrived + maxDatagramsIn(this.receiveBuffer);
    for (let before = -1; this.#arrived !== before && this.#arrived < most && !this.#closed;) {
      await this.#full; // while the receiver accepts none, no datagram is delivered
      before = this.#arrived;
      await systemClock.pollSockets();
    }
  }

  /** The next datagram or error; `undefined` when the socket is closed. */
  async #next(): Promise<[Uint8Array, Deno.NetAddr] | "error" | undefined> {
    try {
      return await this.#socket.receive(this.#buffer) as [Uint8Array, Deno.NetAddr];
    } catch (error) {
      if (isClosed(error)) return undefined;
      if (!isPeerError(error)) throw error;
      count(this.errors.receive, error);
      return "error";
    }
  }

  async send(datagram: Uint8Array, peer: Endpoint): Promise<boolean> {
    const { port } = peer;
    const to: Deno.NetAddr = { transport: "udp", hostname: formatHost(peer), port };
    if (this.gate?.isOpen() === false) {
      this.gate.keptBack++;
      return false;
    }
    try {
      await this.#socket.send(datagram, to);
      return true;
    } catch (error) {
      if (isClosed(error)) return false;
      if (error instanceof Deno.errors.NotCapable) throw error;
      count(this.errors.send, error);
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
    }
    return sent;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const isFirst = !this.#closed;
    if (isFirst) this.#socket.close();
    this.#closed = true;
    await this.#receiving.catch(() => {}); // the caller of listen() gets the error
    if (isFirst && this.#buffer.length === LARGEST) freeBuffers.push(this.#buffer);
  }
}

function toEndpoint({ hostname, port }: Deno.NetAddr, bits: 4 | 6): Endpoint {
  return { address: bits === 4 ? parseIpv4(hostname) : parseAddress(hostname)!, port };
}

/** Whether an error means that the socket was closed. */
function isClosed(error: unknown): boolean {
  return error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted;
}

/** Whether an error concerns a peer. The socket still works after such an error. */
function isPeerError(error: unknown): boolean {
  return error instanceof Deno.errors.ConnectionReset ||
    error instanceof Deno.errors.ConnectionRefused ||
    error instanceof Error && "code" in error && PEER_CODES.has(error.code as string);
}

const PEER_CODES = new Set(["EHOSTUNREACH", "ENETUNREACH", "EMSGSIZE", "WSAECONNRESET"]);

function count(errors: Map<string, number>, error: unknown): void {
  const { code, name } = error as { code?: string; name: string };
  const key = code ?? name;
  errors.set(key, (errors.get(key) ?? 0) + 1);
}
