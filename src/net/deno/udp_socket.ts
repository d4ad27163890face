/**
 * The portable engine: UDP through Deno's own sockets, on every system, without FFI.
 *
 * @module
 */
import {
  type Endpoint,
  family,
  formatAddress,
  parseAddress,
  parseIpv4,
} from "../../core/address.ts";
import { mostDatagramsIn } from "../receive_drain.ts";
import { systemClock } from "../clock.ts";
import {
  DatagramBatch,
  type DatagramReceiver,
  type DatagramSocket,
  noErrors,
  type ReceiverCapacity,
  type SocketErrors,
  type Template,
} from "../socket.ts";

/** The largest datagram that UDP can carry: a Query stat may come in fragments up to it. */
const LARGEST = 65535;
/** What Linux gives a socket that asks for nothing, bytes; Deno cannot ask. Others give more. */
export const USUAL_RECEIVE_BUFFER = 212_992;

/**
 * Opens a UDP socket.
 *
 * @param local Its own address, and its port or 0 for any.
 * @param largest The largest datagram to receive, bytes; the rest of larger ones is lost.
 * @throws Deno.errors.AddrInUse, Deno.errors.AddrNotAvailable, Deno.errors.NotCapable.
 */
export function openSocket(local: Endpoint, largest: number = LARGEST): DatagramSocket {
  return denoSocket(formatAddress(local.address), local.port, family(local.address), largest);
}

/**
 * Opens a UDP socket on a link: what it sends to a group of IPv6 goes out there and nowhere else.
 *
 * @param address Our address on the link, which may occur on others too.
 * @param zone The link's interface.
 * @throws As {@linkcode openSocket}; whatever a system without IPv6 throws.
 */
export function openLinkSocket(address: bigint, zone: string): DatagramSocket {
  try {
    return denoSocket(`${formatAddress(address)}%${zone}`, 0, 6, LARGEST);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "Error" || "code" in error) throw error;
    throw lookupFailure(error);
  }
}

/** Descriptors that the lookup of a zone opens at the most: more than musl and glibc need. */
const LOOKUP_DESCRIPTORS = 4;

/** What a failed lookup, which has no code, comes from: a lack of descriptors, or a link that is gone. */
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

/** What to hear. */
export interface MulticastGroup {
  /** The multicast address. */
  readonly address: number;
  /** The port, which other programs may have open too. */
  readonly port: number;
  /** Our addresses in the networks in which to listen. */
  readonly interfaces: readonly number[];
  /** The largest datagram to receive, bytes; the rest of larger ones is lost. */
  readonly largest: number;
}

/**
 * Opens a UDP socket that hears what is sent to a multicast group, and to everybody, on its port.
 * Networks that cannot be joined are left out.
 *
 * @throws Deno.errors.AddrInUse when another program has the port and does not share it.
 */
export async function openGroupSocket(
  { address, port, interfaces, largest }: MulticastGroup,
): Promise<DatagramSocket> {
  const local = { transport: "udp" as const, hostname: "0.0.0.0", port, reuseAddress: true };
  const socket = Deno.listenDatagram(local);
  for (const ours of interfaces) {
    // A second address of an interface that was joined is refused; so are links without multicast.
    await socket.joinMulticastV4(formatAddress(address), formatAddress(ours)).catch(() => {});
  }
  return new DenoSocket(socket, 4, largest);
}

function denoSocket(hostname: string, port: number, bits: 4 | 6, largest: number): DatagramSocket {
  const socket = Deno.listenDatagram({ transport: "udp", hostname, port });
  return new DenoSocket(socket, bits, largest);
}

/** Buffers of the largest size that are allocated at once. */
const BUFFERS_AT_ONCE = 64;
/**
 * Those that nobody uses. Cut from large pieces, and used again and again, they take up as much memory
 * as has arrived in them: one by one, each is filled with zeros, and stays until the next collection.
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
  #room: ReceiverCapacity | undefined;
  /** What receiving waits for, where there is no room. */
  #full: Promise<void> | undefined;
  #receiving: Promise<void> = Promise.resolve();
  #closed = false;
  /** Datagrams and errors that arrived. */
  #arrived = 0;

  constructor(socket: Deno.DatagramConn, readonly family: 4 | 6, largest: number) {
    this.#socket = socket;
    this.#buffer = largest === LARGEST ? takeBuffer() : new Uint8Array(largest);
    this.port = (socket.addr as Deno.NetAddr).port;
  }

  listen(receiver: DatagramReceiver, room?: ReceiverCapacity): Promise<void> {
    this.#room = room;
    return this.#receiving = this.#receive(receiver);
  }

  async #receive(receiver: DatagramReceiver): Promise<void> {
    for (;;) {
      this.#full = this.#room?.();
      if (this.#full !== undefined) await this.#full;
      const arrival = await this.#next();
      if (arrival === undefined) return;
      this.#arrived++;
      if (arrival !== "error") receiver(arrival[0], toEndpoint(arrival[1], this.family));
    }
  }

  /** The runtime does not tell: where a look at the sockets brings nothing, nothing was there. */
  async drained(): Promise<void> {
    const most = this.#arrived + mostDatagramsIn(this.receiveBuffer);
    for (let before = -1; this.#arrived !== before && this.#arrived < most && !this.#closed;) {
      await this.#full; // there may be room already while receiving waits for more
      before = this.#arrived;
      await systemClock.pollSockets();
    }
  }

  /** The next datagram, or what came in its place; `undefined` when the socket is closed. */
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

  async send(datagram: Uint8Array, { address, port }: Endpoint): Promise<boolean> {
    const to: Deno.NetAddr = { transport: "udp", hostname: formatAddress(address), port };
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
    await this.#receiving.catch(() => {}); // whoever called listen() was told
    if (isFirst && this.#buffer.length === LARGEST) freeBuffers.push(this.#buffer);
  }
}

function toEndpoint({ hostname, port }: Deno.NetAddr, bits: 4 | 6): Endpoint {
  return { address: bits === 4 ? parseIpv4(hostname) : parseAddress(hostname)!, port };
}

/** Whether the socket was closed: the end of receiving, and of sending. */
function isClosed(error: unknown): boolean {
  return error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted;
}

/** Whether the error is about a peer, and the socket works on. */
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
