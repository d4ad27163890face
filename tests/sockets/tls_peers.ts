/** Peers of TLS connections, on loopback: a server, and connections that break at any byte. */
import { connect, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import type { Endpoint } from "../../src/core/address.ts";
import { makeCertificate, pemOf } from "../../src/fleet/simulate/network/certificate.ts";

const CERTIFICATE = makeCertificate("test", 1n);
/** The SHA-256 of the certificate of all peers. */
export const SHA_256 = CERTIFICATE.sha256;

/** The address of all peers. */
const HOST = "127.59.0.1";

/** A listening peer. */
export interface Peer extends AsyncDisposable {
  readonly endpoint: Endpoint;
}

async function listen(server: Server): Promise<Peer> {
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.on("error", () => {}).on("close", () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  const { port } = server.address() as { port: number };
  return {
    endpoint: { address: 0x7f3b0001, port },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Listens, and passes each connection to a function. */
export function plainPeer(serve: (socket: Socket) => void): Promise<Peer> {
  return listen(createServer({ allowHalfOpen: true }, serve));
}

/** Listens with TLS, and passes each connection to a function after its handshake. */
export function tlsPeer(
  serve: (socket: TLSSocket) => void,
  version?: "TLSv1.2" | "TLSv1.3",
): Promise<Peer> {
  const server = createTlsServer({
    key: pemOf("PRIVATE KEY", CERTIFICATE.key),
    cert: pemOf("CERTIFICATE", CERTIFICATE.der),
    ALPNProtocols: ["http/1.1"],
    ...version !== undefined && { minVersion: version, maxVersion: version },
  }, (socket) => serve(socket.on("error", () => {})));
  return listen(server.on("tlsClientError", () => {}));
}

/** How a connection breaks. */
export type Break = "close" | "reset" | "silence" | "garbage" | "alert";

/**
 * Listens, and passes each connection on to a peer, until the peer has sent a number of bytes. Then the
 * connection breaks.
 *
 * @param next The number of bytes for the next connection, and how it breaks.
 * @param onEnd Called with the number of bytes of a connection that ended before it broke.
 */
export function breakingPeer(
  to: Peer,
  next: () => readonly [number, Break],
  onEnd: (passed: number) => void,
): Promise<Peer> {
  return plainPeer((socket) => {
    const [most, how] = next();
    const upstream = connect(to.endpoint.port, HOST).on("error", () => {});
    let passed = 0;
    socket.on("data", (bytes) => upstream.writable && upstream.write(bytes));
    socket.on("end", () => socket.end()).on("close", () => upstream.destroy());
    const end = () => {
      upstream.destroy();
      if (how === "close") socket.end();
      if (how === "reset") socket.resetAndDestroy();
      if (how === "garbage") socket.write(new Uint8Array(50_000).fill(0x47));
      if (how === "alert") socket.write(Uint8Array.of(0x15, 3, 3, 0, 2, 2, 0x28));
    };
    upstream.on("data", (bytes: Uint8Array) => {
      if (passed >= most) return;
      const part = bytes.subarray(0, most - passed);
      passed += part.length;
      socket.write(part, () => passed >= most && end());
    });
    upstream.on("end", () => {
      if (passed >= most) return;
      socket.end();
      onEnd(passed);
    });
    if (most === 0) socket.once("data", end);
  });
}
