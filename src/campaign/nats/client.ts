/**
 * Loads the client for NATS, which only campaigns use.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { NatsClient } from "./client_types.ts";

/** Constants, not literals in `import()`: Deno then downloads a module only when it is loaded. */
const TRANSPORT = "npm:@nats-io/transport-node@3.4.0";
const MODULES = [
  TRANSPORT,
  "npm:@nats-io/jetstream@3.4.0",
  "npm:@nats-io/kv@3.4.0",
  "npm:@nats-io/obj@3.4.0",
];

/**
 * Loads the client.
 *
 * @throws InputError when a module cannot be loaded.
 */
export async function loadNatsClient(): Promise<NatsClient> {
  const { NodeTransport } = await loadModule(`${TRANSPORT}/lib/node_transport.js`);
  correctTransport(NodeTransport.prototype);
  return Object.assign({}, ...await Promise.all(MODULES.map(loadModule)));
}

/** The part of a Node.js socket that is used here. */
interface NodeSocket {
  on(event: "error", listener: () => void): NodeSocket;
  removeAllListeners(...events: string[]): NodeSocket;
}

/** The methods of the client's transport that are corrected here. */
interface NodeTransport {
  options: { tls?: object | null };
  connect(server: { tlsName: string; hostname: string }, options: unknown): Promise<void>;
  dial(server: unknown): Promise<NodeSocket>;
  startTLS(): Promise<NodeSocket>;
}

const corrected = new WeakSet<object>();

/**
 * Corrects two faults of the client 3.4.0 with Deno 2.9.6.
 *
 * - The transport removes its listeners before it destroys a socket. Deno may still report a reset
 *   connection afterwards, and an error without a listener ends the program: this happened in 69 of
 *   300 connections with a wrong password. Therefore each socket keeps a listener.
 * - Without a host name, the certificate was checked for `localhost`. It is checked for the address.
 */
function correctTransport(transport: NodeTransport): void {
  if (corrected.has(transport)) return;
  corrected.add(transport);
  const { connect, dial, startTLS } = transport;
  const hosts = new WeakMap<NodeTransport, string>();
  transport.connect = function (server, options) {
    hosts.set(this, server.hostname);
    return connect.call(this, server, options);
  };
  transport.dial = async function (server) {
    return withErrorListener(await dial.call(this, server));
  };
  transport.startTLS = async function () {
    // A certificate is checked for `tlsName` if there is one, otherwise for `host`.
    this.options = { ...this.options, tls: { ...this.options.tls, host: hosts.get(this) } };
    return withErrorListener(await startTLS.call(this));
  };
}

function withErrorListener(socket: NodeSocket): NodeSocket {
  const remove = socket.removeAllListeners.bind(socket);
  // The transport has handled the error, or has given up the socket.
  const listen = () => socket.on("error", () => {});
  socket.removeAllListeners = (...events) => {
    remove(...events);
    return listen();
  };
  return listen();
}

// deno-lint-ignore no-explicit-any -- the callers know the types of the modules
async function loadModule(name: string): Promise<any> {
  try {
    return await import(name);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new InputError(`Cannot load ${name}: ${(error as Error).message.split("\n")[0]}`);
  }
}
