/**
 * The host's side of a TLS connection, over a connection that is already open.
 *
 * @module
 */
import type { Duplex } from "node:stream";
import type { SecureContext, TLSSocket } from "node:tls";
import { nodeStream, nodeTls } from "../../../core/node_modules.ts";
import type { ConnectionEnd, Stream } from "../../../net/mod.ts";
import { type Certificate, pemOf } from "./certificate.ts";

/** The first byte of a TLS connection: a record of the handshake. */
const HANDSHAKE = 0x16;

/** Whether a peer begins with a TLS handshake. */
export function isHello(bytes: Uint8Array): boolean {
  return bytes[0] === HANDSHAKE;
}

/** A TLS connection of a host. */
export class TlsStream implements Stream {
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
  readonly #socket: TLSSocket;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #carrier: Duplex;
  #ending = false;

  /**
   * Begins the handshake.
   *
   * @param raw The connection, which belongs to the TLS connection from now on.
   * @param hello The first bytes of the peer.
   * @param certificate The certificate of the host.
   */
  constructor(raw: Stream, hello: Uint8Array, certificate: Certificate) {
    this.#carrier = duplexOf(raw, hello);
    this.closed = new Promise((resolve) => this.#carrier.once("close", resolve));
    this.#socket = new (nodeTls().TLSSocket)(this.#carrier, {
      isServer: true,
      secureContext: contextOf(certificate),
      ALPNProtocols: ["http/1.1"],
    });
    // Reading reports the error too.
    this.#socket.on("error", () => {});
    this.#chunks = this.#socket[Symbol.asyncIterator]();
  }

  async read(): Promise<Uint8Array | "closed" | "reset"> {
    try {
      const { done, value } = await this.#chunks.next();
      return done ? "closed" : new Uint8Array(value);
    } catch {
      return this.#ending ? "closed" : "reset";
    }
  }

  write(bytes: Uint8Array): Promise<boolean> {
    return new Promise((resolve) => this.#socket.write(bytes, (error) => resolve(error == null)));
  }

  /**
   * Says goodbye and closes the connection when everything is written; a second call closes it at once.
   */
  [Symbol.dispose](): void {
    if (this.#ending) {
      this.#socket.destroy();
      this.#carrier.destroy();
    } else this.#socket.end();
    this.#ending = true;
  }
}

const CONTEXTS = new WeakMap<Certificate, SecureContext>();

/** The keys of a host, which are read once. */
function contextOf(certificate: Certificate): SecureContext {
  const known = CONTEXTS.get(certificate);
  if (known !== undefined) return known;
  const context = nodeTls().createSecureContext({
    key: pemOf("PRIVATE KEY", certificate.key),
    cert: pemOf("CERTIFICATE", certificate.der),
  });
  CONTEXTS.set(certificate, context);
  return context;
}

/** A stream of Node.js over a connection, whose first bytes were already read. */
function duplexOf(raw: Stream, first: Uint8Array): Duplex {
  let next: Promise<Uint8Array | ConnectionEnd> = Promise.resolve(first);
  return new (nodeStream().Duplex)({
    read() {
      next.then((bytes) => {
        if (bytes === "reset" || bytes === "slow") {
          return this.destroy(new Error("the connection was lost"));
        }
        this.push(bytes === "closed" ? null : bytes);
        next = bytes === "closed" ? next : raw.read();
      });
    },
    write(bytes, _encoding, done) {
      raw.write(bytes).then((written) => done(written ? null : new Error("the peer is gone")));
    },
    final(done) {
      raw[Symbol.dispose]();
      done();
    },
    destroy(error, done) {
      raw[Symbol.dispose]();
      done(error);
    },
  });
}
