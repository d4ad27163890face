/** A simulated proxy of Java servers: the name in the handshake selects the server that replies. */
import { concat, Truncated } from "../../src/core/bytes.ts";
import type { StreamResponder, StreamTalk } from "../../src/fleet/simulate/responder.ts";
import { decodeStatusRequest } from "../../src/protocols/slp/mod.ts";

/** A proxy of servers by name. It closes connections with other names. */
export class NameProxy implements StreamResponder {
  /** The names in handshakes, in order. */
  readonly requested: string[] = [];

  /** @param servers The server of each name. */
  constructor(private readonly servers: ReadonlyMap<string, StreamResponder>) {}

  accept(peer: Parameters<StreamResponder["accept"]>[0]): StreamTalk {
    let received: Uint8Array = new Uint8Array();
    let server: StreamTalk | undefined;
    return {
      opening: [],
      receive: (bytes) => {
        if (server !== undefined) return server.receive(bytes);
        received = concat(received, bytes);
        const host = hostIn(received);
        if (host === undefined) return [];
        this.requested.push(host);
        server = this.servers.get(host)?.accept(peer);
        return server?.receive(received) ?? ["close"];
      },
    };
  }
}

/** The name in a handshake; `undefined` while bytes are missing. */
function hostIn(received: Uint8Array): string | undefined {
  try {
    return decodeStatusRequest(received)?.host;
  } catch (error) {
    if (error instanceof Truncated) return undefined;
    throw error;
  }
}
