/** Java servers on loopback whose status is any text. */

/** The port of the servers. */
export const PORT = 25_565;

function varint(value: number): number[] {
  return value < 128 ? [value] : [value & 127 | 128, ...varint(value >>> 7)];
}

/** The packet with a status. */
function statusPacket(status: string): Uint8Array {
  const json = new TextEncoder().encode(status);
  const body = [0, ...varint(json.length), ...json];
  return Uint8Array.from([...varint(body.length), ...body]);
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

/** Serves the status of each host's index until it is disposed. */
export function hostileFleet(
  hosts: readonly string[],
  statusOf: (i: number) => string,
): AsyncDisposable {
  const listeners = hosts.map((hostname) => Deno.listen({ hostname, port: PORT }));
  const serving = listeners.map(async (listener, i) => {
    for await (const connection of listener) {
      using open = connection;
      const buffer = new Uint8Array(1024);
      if (await open.read(buffer) === null) continue;
      try {
        await writeAll(open, statusPacket(statusOf(i)));
      } catch (error) {
        // A client that has waited for too long has closed its end.
        const { BrokenPipe, ConnectionReset } = Deno.errors;
        if (!(error instanceof BrokenPipe || error instanceof ConnectionReset)) throw error;
      }
      while (await open.read(buffer).catch(() => null) !== null);
    }
  });
  return {
    async [Symbol.asyncDispose]() {
      for (const listener of listeners) listener.close();
      await Promise.all(serving);
    },
  };
}
