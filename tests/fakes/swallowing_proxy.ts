/** A proxy on loopback that can swallow all data, as a network does that drops every packet. */

/** A running proxy. */
export interface SwallowingProxy extends AsyncDisposable {
  readonly port: number;
  /** Number of connections so far. */
  readonly connections: number;
  /** Forwards nothing from now on, and closes nothing. It still accepts connections. */
  readonly stall: () => void;
  /** Forwards what it has held back, and what follows. */
  readonly resume: () => void;
}

/** Starts a proxy for the TCP port of a server on loopback. */
export function startSwallowingProxy(serverPort: number): SwallowingProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  let connections = 0;
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  let isClosed = false;
  const close = (connection: Deno.Conn) => {
    if (open.delete(connection)) connection.close();
  };
  const forward = async (from: Deno.Conn, to: Deno.Conn) => {
    const buffer = new Uint8Array(65_536);
    try {
      for (;;) {
        const size = await from.read(buffer);
        await gate.promise;
        if (size === null) break;
        for (let sent = 0; sent < size;) sent += await to.write(buffer.subarray(sent, size));
      }
    } catch {
      // the other direction has closed the connections
    }
    close(from);
    close(to);
  };
  const serve = async (client: Deno.Conn) => {
    open.add(client);
    await gate.promise;
    if (isClosed) return close(client);
    const server = await Deno.connect({ hostname: "127.0.0.1", port: serverPort });
    open.add(server);
    await Promise.all([forward(client, server), forward(server, client)]);
  };
  const served: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const client of listener) {
      connections++;
      served.push(serve(client));
    }
  })();
  return {
    port: (listener.addr as Deno.NetAddr).port,
    get connections() {
      return connections;
    },
    stall: () => gate = Promise.withResolvers<void>(),
    resume: () => gate.resolve(),
    async [Symbol.asyncDispose]() {
      isClosed = true;
      listener.close();
      await accepting;
      for (const connection of open) close(connection);
      gate.resolve();
      await Promise.all(served);
    },
  };
}
