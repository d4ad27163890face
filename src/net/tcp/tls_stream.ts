/**
 * TLS over an open connection, as a client. Certificates are not verified: what is read is public, and a
 * server may have any certificate. Nothing else of the program may accept such certificates.
 *
 * @module
 */
import type { TLSSocket } from "node:tls";
import { nodeStream, nodeTls } from "../../core/node_modules.ts";
import type { ConnectionEnd, EncryptedStream, Stream, TlsFailure } from "../socket.ts";

/** The state of the connection below TLS. */
interface Below {
  /** Whether any byte has arrived. */
  hasReceived: boolean;
  /** How the connection ended; `undefined` while it is open. */
  end: ConnectionEnd | undefined;
}

/**
 * Makes a TLS handshake: see `Dialer.encrypt`.
 *
 * @param raw The connection.
 * @param serverName The name to send (SNI). Default: none.
 * @param count Called with the error of a handshake that fails with `"noTls"`.
 */
export async function encrypt(
  raw: Stream,
  serverName: string | undefined,
  count: (error: Error) => void,
): Promise<EncryptedStream | TlsFailure> {
  const below: Below = { hasReceived: false, end: undefined };
  const socket = nodeTls().connect({
    socket: duplexOf(raw, below),
    ...serverName !== undefined && { servername: serverName },
    rejectUnauthorized: false,
    minVersion: "TLSv1.2",
    ALPNProtocols: ["http/1.1"],
  });
  const error = await handshakeError(socket);
  const certificate = error === undefined ? fingerprintOf(socket) : undefined;
  if (certificate !== undefined) {
    return { stream: new TlsStream(socket, raw, below), certificate };
  }
  socket.destroy();
  raw[Symbol.dispose]();
  if (below.end !== undefined && !below.hasReceived) return below.end;
  count(error ?? new Error("the peer has no certificate"));
  return "noTls";
}

/** Waits for the end of the handshake. `undefined`: it succeeded. Later errors are ignored. */
function handshakeError(socket: TLSSocket): Promise<Error | undefined> {
  return new Promise((resolve) => {
    socket.on("error", resolve); // for later errors too: without a listener they end the process
    socket.once("secureConnect", () => resolve(undefined));
    socket.once("close", () => resolve(new Error("the connection was closed")));
  });
}

/** The SHA-256 of the peer's certificate, as lower-case digits; `undefined`: it has none. */
function fingerprintOf(socket: TLSSocket): string | undefined {
  return socket.getPeerCertificate()?.fingerprint256?.replaceAll(":", "").toLowerCase();
}

/** A stream of Node.js over a connection. Its end is noted in `below`. */
function duplexOf(raw: Stream, below: Below) {
  const duplex = new (nodeStream().Duplex)({
    async read() {
      const bytes = await raw.read();
      if (typeof bytes === "string") {
        below.end ??= bytes;
        duplex.push(null);
      } else {
        below.hasReceived = true;
        duplex.push(bytes);
      }
    },
    async write(bytes, _encoding, done) {
      if (await raw.write(bytes)) return done();
      below.end ??= "reset";
      done(new Error("the connection is closed"));
    },
    destroy(error, done) {
      raw[Symbol.dispose]();
      done(error);
    },
  });
  return duplex.on("error", () => {}); // the TLS connection reports it too
}

/** The decrypted bytes of a connection. */
class TlsStream implements Stream {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #closed = false;

  constructor(
    private readonly socket: TLSSocket,
    private readonly raw: Stream,
    private readonly below: Below,
  ) {
    this.#chunks = socket[Symbol.asyncIterator]();
  }

  /** An error of TLS after the handshake, such as an alert, counts as a reset. */
  async read(): Promise<Uint8Array | ConnectionEnd> {
    try {
      const { done, value } = await this.#chunks.next();
      if (!done) return new Uint8Array(value);
      return this.#closed ? "closed" : this.below.end ?? "closed";
    } catch {
      return this.#closed ? "closed" : this.below.end ?? "reset";
    }
  }

  write(bytes: Uint8Array): Promise<boolean> {
    return new Promise((resolve) => this.socket.write(bytes, (error) => resolve(error == null)));
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    this.socket.destroy();
    this.raw[Symbol.dispose]();
  }
}
