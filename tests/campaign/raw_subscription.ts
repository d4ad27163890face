/**
 * A subscription by the text protocol of NATS that is back some milliseconds after a server listens
 * again. The client's own connection may be back after those of the workers, and would miss messages.
 */

/** A message of a subject. */
export interface RawMessage {
  readonly subject: string;
  readonly text: string;
}

/**
 * Yields the messages of a subject, from one of several servers, without end.
 *
 * @param urls The servers, like `nats://127.0.0.1:4222`.
 */
export async function* subscribeRaw(
  urls: readonly string[],
  subject: string,
): AsyncGenerator<RawMessage> {
  for (let i = 0;; i++) {
    const { hostname, port } = new URL(urls[i % urls.length].replace("nats:", "http:"));
    try {
      using connection = await Deno.connect({ hostname, port: Number(port) });
      yield* messages(connection, subject);
    } catch (error) {
      const isGone = ["ConnectionRefused", "ConnectionReset", "BrokenPipe"].some((name) =>
        error instanceof Error && error.name === name
      );
      if (!isGone) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Yields the messages of a connection until its server closes it. */
async function* messages(connection: Deno.TcpConn, subject: string): AsyncGenerator<RawMessage> {
  const send = async (text: string) => {
    for (let bytes = new TextEncoder().encode(text); bytes.length > 0;) {
      bytes = bytes.subarray(await connection.write(bytes));
    }
  };
  await send(`CONNECT {"verbose":false,"pedantic":false}\r\nSUB ${subject} 1\r\n`);
  let rest = "";
  // The leases are ASCII, so one character is one byte.
  for await (const chunk of connection.readable.pipeThrough(new TextDecoderStream("latin1"))) {
    rest += chunk;
    for (let end; (end = rest.indexOf("\r\n")) >= 0;) {
      const [word, name, ...numbers] = rest.slice(0, end).split(" ");
      const length = word === "MSG" ? Number(numbers.at(-1)) : 0;
      const next = end + 2 + (word === "MSG" ? length + 2 : 0);
      if (rest.length < next) break;
      if (word === "PING") await send("PONG\r\n");
      if (word === "MSG") yield { subject: name, text: rest.slice(end + 2, end + 2 + length) };
      rest = rest.slice(next);
    }
  }
}
