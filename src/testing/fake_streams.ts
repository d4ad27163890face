/**
 * TCP on the fake network. Connections open, are refused, or time out. Bytes arrive in chunks of random
 * sizes after random delays. Connections are reset or become half-open. A seed determines all of this.
 *
 * A handshake of TLS consists of one message of each side, and its bytes are not encrypted: the client
 * sends {@linkcode FAKE_HELLO} and a host with TLS replies with {@linkcode fakeServerHello}. Other hosts
 * receive the client's message as if it were a request.
 */
import { concat } from "../core/bytes.ts";
import { type Endpoint, endpointKey } from "../core/address.ts";
import { Random, type StreamAct, type StreamResponder, type StreamTalk } from "../fleet/mod.ts";
import type {
  ConnectFailure,
  Dialer,
  EncryptedStream,
  SendGate,
  Stream,
  TlsFailure,
} from "../net/mod.ts";
import type { FakeNetwork } from "./fake_network.ts";

/** Faults that the network injects into connections. */
export interface StreamFaults {
  /** Delay of every chunk, milliseconds. */
  readonly delay: number;
  /** Maximum of the additional random delay, milliseconds. Chunks stay in order. */
  readonly jitter: number;
  /** Maximum size of a chunk, bytes. */
  readonly largest: number;
  /** Share of chunks that are replaced by a reset of the connection. */
  readonly reset: number;
  /** Share of connections that lose all data. */
  readonly halfOpen: number;
}

/** No faults: nothing is lost or delayed. */
export const NO_STREAM_FAULTS: StreamFaults = {
  delay: 0,
  jitter: 0,
  largest: 1460,
  reset: 0,
  halfOpen: 0,
};

/** The behaviour of an endpoint in a test. */
export type EndpointBehaviour = StreamResponder | Exclude<ConnectFailure, "cancelled">;

/** The message that begins a handshake of TLS on the fake network. It begins as a real one does. */
export const FAKE_HELLO: Uint8Array = Uint8Array.of(0x16, 3, 1, 0, 1, 1);

/** The first bytes of a host's handshake; 32 bytes follow. */
const SERVER_HELLO = Uint8Array.of(0x16, 3, 3, 0, 32);

/**
 * The message of a host in a handshake of TLS on the fake network.
 *
 * @param sha256 The SHA-256 of its certificate: 64 hexadecimal digits.
 */
export function fakeServerHello(sha256: string): Uint8Array {
  return concat(SERVER_HELLO, Uint8Array.fromHex(sha256));
}

/** Opens connections to hosts of a fake network. */
export class FakeStreams implements Dialer {
  readonly errors: Map<string, number> = new Map();
  /** The endpoint and time of each connection attempt. */
  readonly begun: { readonly at: number; readonly to: Endpoint }[] = [];
  /** The written bytes with their time and destination. */
  readonly written: { readonly at: number; readonly to: Endpoint; readonly bytes: Uint8Array }[] =
    [];
  /** The name in each TLS handshake; `undefined`: none. */
  readonly serverNames: (string | undefined)[] = [];
  /** Number of connections that are pending or open. */
  open = 0;
  /** Maximum number of connections that were pending or open at once. */
  most = 0;
  /** The behaviour of endpoints without a server. */
  absent: EndpointBehaviour = "refused";
  /** Random source of faults and chunk sizes. */
  readonly random: Random;
  readonly #behaviours = new Map<number | bigint, EndpointBehaviour>();

  /**
   * Creates a dialer without hosts.
   *
   * @param network The network, for its clock.
   * @param seed Seed of the faults: equal seeds give equal faults.
   * @param faults Faults of connections. Default: none.
   */
  constructor(
    readonly network: FakeNetwork,
    seed: number,
    readonly faults: StreamFaults = NO_STREAM_FAULTS,
  ) {
    this.random = new Random(seed);
  }

  /** Places a host that accepts connections, or an endpoint at which connections fail. */
  host(endpoint: Endpoint, behaviour: EndpointBehaviour): void {
    this.#behaviours.set(endpointKey(endpoint), behaviour);
  }

  connect(
    to: Endpoint,
    signal: AbortSignal,
    gate?: SendGate,
  ): Promise<Stream | ConnectFailure | "kept back"> {
    if (gate?.isOpen() === false) return Promise.resolve("kept back");
    this.begun.push({ at: this.network.now(), to: { ...to } });
    this.most = Math.max(this.most, ++this.open);
    const behaviour = this.#behaviours.get(endpointKey(to)) ?? this.absent;
    return new Promise((resolve) => {
      const fail = (failure: ConnectFailure) => {
        signal.removeEventListener("abort", cancelled);
        this.open--;
        resolve(failure);
      };
      const cancelled = () => fail("cancelled");
      if (signal.aborted) return cancelled();
      signal.addEventListener("abort", cancelled, { once: true });
      if (behaviour === "timeout") return;
      this.network.after(this.delay(), () => {
        if (signal.aborted) return;
        if (typeof behaviour === "string") return fail(behaviour);
        signal.removeEventListener("abort", cancelled);
        resolve(new FakeStream(this, { ...to }, behaviour));
      });
    });
  }

  async encrypt(stream: Stream, serverName?: string): Promise<EncryptedStream | TlsFailure> {
    this.serverNames.push(serverName);
    if (!await stream.write(FAKE_HELLO)) return "closed";
    const length = SERVER_HELLO.length + 32;
    let bytes = new Uint8Array();
    while (bytes.length < length) {
      const part = await stream.read();
      if (typeof part === "string") return bytes.length === 0 ? part : "noTls";
      bytes = concat(bytes, part);
      if (bytes.some((byte, i) => i < SERVER_HELLO.length && byte !== SERVER_HELLO[i])) {
        return "noTls";
      }
    }
    const rest = [bytes.subarray(length)].filter((part) => part.length > 0);
    return {
      certificate: bytes.slice(SERVER_HELLO.length, length).toHex(),
      stream: {
        read: async () => rest.shift() ?? await stream.read(),
        write: (part) => stream.write(part),
        [Symbol.dispose]: () => stream[Symbol.dispose](),
      },
    };
  }

  /** Random delay of the next chunk, milliseconds. */
  delay(): number {
    return this.faults.delay + this.faults.jitter * this.random.below(1000) / 1000;
  }
}

/** The client's end of all connections. */
const CLIENT: Endpoint = { address: 0x7f000001, port: 50000 };

class FakeStream implements Stream {
  readonly #arrived: (Uint8Array | "closed" | "reset")[] = [];
  #talk: StreamTalk;
  readonly #deaf: boolean;
  /** Whether the host has received anything. */
  #begun = false;
  #wake: (() => void) | undefined;
  #over = false;
  /** Arrival times of the host's last chunk, and of the program's last chunk. */
  #hostAt = 0;
  #ownAt = 0;

  constructor(
    private readonly streams: FakeStreams,
    private readonly to: Endpoint,
    private readonly responder: StreamResponder,
  ) {
    this.#deaf = streams.random.chance(streams.faults.halfOpen);
    this.#talk = responder.accept(CLIENT);
    this.#play(this.#talk.opening);
  }

  #play(acts: readonly StreamAct[]): void {
    const { network, random, faults } = this.streams;
    this.#hostAt = Math.max(this.#hostAt, network.now());
    for (const act of this.#deaf ? [] : acts) {
      if (act === "close" || act === "reset") this.#arrive(act === "close" ? "closed" : act);
      else if ("waitMs" in act) this.#hostAt += act.waitMs;
      else {
        for (let at = 0; at < act.bytes.length;) {
          const end = at + 1 + random.below(faults.largest);
          if (random.chance(faults.reset)) return this.#arrive("reset");
          this.#arrive(act.bytes.slice(at, end));
          at = end;
        }
      }
    }
  }

  #arrive(what: Uint8Array | "closed" | "reset"): void {
    const { network } = this.streams;
    this.#hostAt += this.streams.delay();
    network.after(this.#hostAt - network.now(), () => {
      this.#arrived.push(what);
      this.#wake?.();
    });
  }

  /** Passes bytes to the host. A handshake in its first bytes begins TLS, if it has TLS. */
  #receive(bytes: Uint8Array): readonly StreamAct[] {
    const tls = this.#begun || bytes[0] !== FAKE_HELLO[0] ? undefined : this.responder.tls;
    this.#begun = true;
    if (tls === undefined) return this.#talk.receive(bytes);
    this.#talk = tls.accept(CLIENT);
    return [{ bytes: fakeServerHello(tls.certificate.sha256) }, ...this.#talk.opening];
  }

  async read(): Promise<Uint8Array | "closed" | "reset"> {
    while (this.#arrived.length === 0 && !this.#over) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    if (this.#over) return "closed";
    const [next] = this.#arrived;
    // the end of a stream is returned by all later reads
    if (typeof next !== "string") this.#arrived.shift();
    return next;
  }

  write(bytes: Uint8Array): Promise<boolean> {
    const { network, written } = this.streams;
    if (this.#over || this.#arrived.includes("reset")) return Promise.resolve(false);
    const copy = bytes.slice();
    written.push({ at: network.now(), to: this.to, bytes: copy });
    this.#ownAt = Math.max(this.#ownAt, network.now() + this.streams.delay());
    network.after(this.#ownAt - network.now(), () => {
      if (!this.#over) this.#play(this.#receive(copy));
    });
    return Promise.resolve(true);
  }

  [Symbol.dispose](): void {
    if (!this.#over) this.streams.open--;
    this.#over = true;
    this.#wake?.();
  }
}
