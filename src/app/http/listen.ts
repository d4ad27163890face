/**
 * Listens for connections.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { freeDescriptors } from "../../net/file_descriptors.ts";
import { reason } from "../environment.ts";

/** Descriptors that connections leave free for databases, threads and files. */
const KEPT_DESCRIPTORS = 64;
/** Minimum of {@linkcode affordableConnections}. */
const FEWEST_CONNECTIONS = 4;

/**
 * Listens on an address and a port.
 *
 * @param purpose What cannot be done if this fails, for the error: `serve metrics`.
 * @throws InputError when it cannot listen; Deno.errors.NotCapable.
 */
export function listenOn(purpose: string, hostname: string, port: number): Deno.TcpListener {
  try {
    return Deno.listen({ hostname, port });
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new InputError(`Cannot ${purpose} on ${listenText(hostname, port)}: ${reason(error)}`);
  }
}

/**
 * The number of connections that a server may have open with the descriptors that are free now, at most
 * `most`. UDP sockets with the port of the listener count them: the permission to listen covers these.
 */
export function affordableConnections({ addr }: Deno.TcpListener, most: number): number {
  const { hostname, port } = addr;
  const open = () => {
    const conn = Deno.listenDatagram({ transport: "udp", hostname, port, reuseAddress: true });
    return { [Symbol.dispose]: () => conn.close() };
  };
  const left = freeDescriptors(most + KEPT_DESCRIPTORS, open);
  return Math.max(FEWEST_CONNECTIONS, left - KEPT_DESCRIPTORS);
}

/** An address and a port as a URL contains them. */
export function listenText(hostname: string, port: number): string {
  return `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}
