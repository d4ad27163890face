/**
 * A tap: a relay in front of a server. It forwards datagrams in both directions, and counts them.
 */

/** The addresses of a tap and of the server behind it, and the ports that get replies. */
export interface TapOptions {
  readonly host: string;
  readonly port: number;
  readonly server: Deno.NetAddr;
  /** Number of scanner ports that get replies: the first ones that send a request. */
  readonly replies: number;
}

/** A tap, open until it is disposed of. */
export class Tap implements AsyncDisposable {
  /** Every datagram to the server, in order: its source port and its size, bytes. */
  readonly queried: { readonly port: number; readonly size: number }[] = [];
  readonly #front: Deno.DatagramConn;
  readonly #backs = new Map<number, Deno.DatagramConn>();
  readonly #options: TapOptions;
  readonly #running: Promise<void>[];

  /** Starts listening. */
  constructor(options: TapOptions) {
    this.#options = options;
    this.#front = openUdp(options.host, options.port);
    this.#running = [this.#handOn()];
  }

  async #handOn(): Promise<void> {
    for await (const [datagram, from] of this.#front) {
      const client = from as Deno.NetAddr;
      this.queried.push({ port: client.port, size: datagram.length });
      await this.#backOf(client).send(datagram, this.#options.server);
    }
  }

  /** The socket that forwards the datagrams of one port of the scanner. */
  #backOf(client: Deno.NetAddr): Deno.DatagramConn {
    const open = this.#backs.get(client.port);
    if (open !== undefined) return open;
    const back = openUdp("127.0.0.1", 0);
    this.#backs.set(client.port, back);
    if (this.#backs.size <= this.#options.replies) this.#running.push(this.#reply(back, client));
    return back;
  }

  async #reply(back: Deno.DatagramConn, client: Deno.NetAddr): Promise<void> {
    for await (const [datagram] of back) await this.#front.send(datagram, client);
  }

  /** Stops listening. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#front.close();
    for (const back of this.#backs.values()) back.close();
    await Promise.all(this.#running);
  }
}

function openUdp(hostname: string, port: number): Deno.DatagramConn {
  return Deno.listenDatagram({ transport: "udp", hostname, port });
}
