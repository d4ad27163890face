/**
 * TCP connections of Node.js and Bun.
 *
 * @module
 */
import { type Endpoint, family, formatHost } from "../../core/address.ts";
import { nodeNet, nodeOs } from "../../core/node_modules.ts";
import type { SendGate } from "../send_gate.ts";
import type {
  ConnectError,
  ConnectFailure,
  Dialer,
  EncryptedStream,
  Stream,
  TlsFailure,
} from "../stream.ts";
import { codeOf, connectFailure } from "../tcp/connect_failure.ts";
import { NodeStream, untilConnected } from "../tcp/node_stream.ts";
import { encrypt } from "../tcp/tls_stream.ts";

/** Creates the dialer of Node.js and Bun. */
export function nodeDialer(): Dialer {
  return new NodeDialer();
}

class NodeDialer implements Dialer {
  readonly errors = new Map<string, number>();

  async connect(
    to: Endpoint,
    signal: AbortSignal,
    gate?: SendGate,
    given?: ConnectError,
  ): Promise<Stream | ConnectFailure | "kept back"> {
    if (signal.aborted) return "cancelled";
    if (gate?.isOpen() === false) return "kept back";
    try {
      const socket = nodeNet().connect({
        host: formatHost(to),
        port: to.port,
        allowHalfOpen: true,
      });
      await untilConnected(socket, signal);
      return new NodeStream(socket, this.#count);
    } catch (error) {
      if (signal.aborted) return "cancelled";
      const code = given === undefined ? this.#count(error) : given.code = codeOf(error);
      return connectFailure(code, () => hasAddress(family(to.address)));
    }
  }

  async encrypt(stream: Stream, serverName?: string): Promise<EncryptedStream | TlsFailure> {
    return await encrypt(stream, serverName, this.#count);
  }

  /** Counts an error by its code, and returns the code. */
  readonly #count = (error: unknown): string => {
    const code = codeOf(error);
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
    return code;
  };
}

/** Whether this machine has an address of a family. The loopback address is enough. */
function hasAddress(bits: 4 | 6): boolean {
  const all = Object.values(nodeOs().networkInterfaces());
  return all.some((addresses = []) => addresses.some(({ family }) => family === `IPv${bits}`));
}
