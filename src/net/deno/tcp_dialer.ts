/**
 * TCP connections through Deno's sockets, on every system.
 *
 * @module
 */
import type { Socket } from "node:net";
import {
  type Address,
  type Endpoint,
  family,
  formatAddress,
  formatHost,
} from "../../core/address.ts";
import { openSocket } from "./udp_socket.ts";
import type { SendGate } from "../send_gate.ts";
import type {
  ConnectError,
  ConnectFailure,
  Dialer,
  EncryptedStream,
  Stream,
  TlsFailure,
} from "../socket.ts";
import { codeOf, connectFailure } from "../tcp/connect_failure.ts";
import { NodeStream, untilConnected } from "../tcp/node_stream.ts";

/** Maximum number of bytes of one read. */
const CHUNK = 16 * 1024;
/** Microtasks, and iterations of the event loop, after which a connection has begun or failed at once. */
const MICROTASKS = 8;
const ITERATIONS = 4;

/**
 * Creates the portable dialer.
 *
 * @param from The local address of its connections. Default: the system's choice.
 */
export function denoDialer(from?: Address): Dialer {
  return new DenoDialer(from);
}

class DenoDialer implements Dialer {
  readonly errors = new Map<string, number>();

  readonly #count = (error: unknown) => void this.count(error);

  /** The buffers that no read uses. */
  readonly #buffers: Uint8Array[] = [];

  /** Resolves when the connection of this process that began last through a gate was sent. */
  static #sent = Promise.resolve();

  constructor(private readonly from: Address | undefined) {}

  async connect(
    to: Endpoint,
    signal: AbortSignal,
    gate?: SendGate,
    given?: ConnectError,
  ): Promise<Stream | ConnectFailure | "kept back"> {
    const own = this.from !== undefined && family(this.from) === family(to.address);
    try {
      if (own) return await this.#connectFrom(this.from!, to, signal, gate);
      if (gate?.isOpen() === false) return "kept back";
      const { port } = to;
      const conn = await Deno.connect({ hostname: formatHost(to), port, signal });
      return new DenoStream(conn, this.#count, this.#buffers);
    } catch (error) {
      if (signal.aborted) return "cancelled";
      if (error instanceof Deno.errors.NotCapable) throw error;
      const code = given === undefined ? this.count(error) : given.code = codeOf(error);
      return connectFailure(code, () => hasAddress(family(to.address)));
    }
  }

  /**
   * Deno.connect() makes its system call at once. An error of the call reaches the caller after few
   * microtasks, or with `node:net` in the next iteration of the event loop (measured).
   */
  async whenBegun(): Promise<void> {
    if (this.from !== undefined) await import("node:net");
    for (let i = 0; i < MICROTASKS; i++) await undefined;
    if (this.from === undefined) return;
    await DenoDialer.#sent;
    for (let i = 0; i < ITERATIONS; i++) await new Promise((resolve) => setImmediate(resolve));
  }

  /**
   * Connects from a given address. `node:net` supports that, and Deno.connect() does not. But it sends
   * the first segment later, in the next iteration of the event loop. Connections with a gate
   * therefore begin one by one: if the process is stopped there, one segment has passed the gate.
   */
  async #connectFrom(
    own: Address,
    to: Endpoint,
    signal: AbortSignal,
    gate: SendGate | undefined,
  ): Promise<Stream | "kept back"> {
    const { connect } = await import("node:net"); // loading it takes 25 ms
    const [host, localAddress] = [formatHost(to), formatAddress(own)];
    const begin = () => connect({ host, port: to.port, localAddress });
    const socket = gate === undefined ? begin() : await this.#inTurn(gate, begin);
    if (socket === "kept back") return socket;
    await untilConnected(socket, signal);
    return new NodeStream(socket, this.#count);
  }

  async encrypt(stream: Stream, serverName?: string): Promise<EncryptedStream | TlsFailure> {
    const { encrypt } = await import("../tcp/tls_stream.ts"); // with node:tls it takes 30 ms
    return await encrypt(stream, serverName, this.#count);
  }

  /** Begins a connection through a gate when the one before was sent. */
  #inTurn(gate: SendGate, begin: () => Socket): Promise<Socket | "kept back"> {
    const begun = DenoDialer.#sent.then(() => gate.isOpen() ? begin() : "kept back");
    DenoDialer.#sent = begun.then(() => new Promise((resolve) => setImmediate(resolve)));
    return begun;
  }

  /** Counts an error by its code, and returns the code. */
  count(error: unknown): string {
    const code = codeOf(error);
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
    return code;
  }
}

/** Whether this machine has an address of a family. The loopback address is enough. */
function hasAddress(bits: 4 | 6): boolean {
  try {
    openSocket({ address: bits === 4 ? LOOPBACK : 1n, port: 0 }, 1)[Symbol.asyncDispose]();
    return true;
  } catch (error) {
    return (error as { code?: unknown }).code !== "EADDRNOTAVAIL";
  }
}

/** The IPv4 loopback address, 127.0.0.1. */
const LOOPBACK = 0x7f000001;

/** A stream over a connection of Deno. */
export class DenoStream implements Stream {
  #closed = false;

  /**
   * @param count Called with the error that breaks the connection.
   * @param free The buffers that no read of several connections uses. Default: none is shared.
   */
  constructor(
    private readonly conn: Deno.TcpConn,
    private readonly count: (error: unknown) => void,
    private readonly free: Uint8Array[] = [],
  ) {}

  async read(): Promise<Uint8Array | "closed" | "reset"> {
    const buffer = this.free.pop() ?? new Uint8Array(CHUNK);
    try {
      const size = await this.conn.read(buffer);
      return size === null ? "closed" : buffer.slice(0, size);
    } catch (error) {
      if (this.#closed) return "closed";
      this.count(error);
      return "reset";
    } finally {
      this.free.push(buffer);
    }
  }

  async write(bytes: Uint8Array): Promise<boolean> {
    try {
      for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await this.conn.write(rest));
      return true;
    } catch (error) {
      if (!this.#closed) this.count(error);
      return false;
    }
  }

  [Symbol.dispose](): void {
    if (!this.#closed) this.conn.close();
    this.#closed = true;
  }
}
