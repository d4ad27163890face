/** Servers of the fleet that support Server List Ping, on simulated and real connections. */
import { concat } from "../../src/core/bytes.ts";
import { drawIdentity } from "../../src/fleet/simulate/server_identity.ts";
import { Random } from "../../src/fleet/random.ts";
import { answerSlp } from "../../src/fleet/simulate/slp/slp_replies.ts";
import { SLP_STYLES } from "../../src/fleet/simulate/slp/slp_styles.ts";
import type { StreamAct, StreamResponder, StreamTalk } from "../../src/fleet/simulate/responder.ts";

export const IDENTITY = drawIdentity(new Random(1));

/** A server of a software, and the bytes that it received on all connections. */
export function slpServer(software: string): StreamResponder & { readonly received: Uint8Array[] } {
  const received: Uint8Array[] = [];
  return { received, accept: () => new SlpTalk(software, received) };
}

class SlpTalk implements StreamTalk {
  readonly opening = [];
  #received = new Uint8Array();

  constructor(readonly software: string, readonly received: Uint8Array[]) {}

  receive(bytes: Uint8Array): readonly StreamAct[] {
    this.received.push(bytes.slice());
    this.#received = concat(this.#received, bytes);
    const acts: StreamAct[] = [];
    while (this.#received.length > 0) {
      const response = answerSlp(SLP_STYLES[this.software], IDENTITY, this.#received);
      if (response === undefined) break;
      this.#received = this.#received.slice(response.used);
      acts.push({ bytes: response.reply }, ...response.close ? ["close" as const] : []);
    }
    return acts;
  }
}

/** Runs a responder on a real socket until the result is disposed of. */
export function listenSlp(
  responder: StreamResponder,
  hostname: string,
): AsyncDisposable & { readonly port: number } {
  const listener = Deno.listen({ hostname, port: 0 });
  const serving = serve(listener, responder);
  return {
    port: listener.addr.port,
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving;
    },
  };
}

async function serve(listener: Deno.TcpListener, responder: StreamResponder): Promise<void> {
  const talks: Promise<void>[] = [];
  for await (const conn of listener) talks.push(talk(conn, responder));
  await Promise.all(talks);
}

export async function talk(conn: Deno.TcpConn, responder: StreamResponder): Promise<void> {
  using open = conn;
  const talk = responder.accept({ address: 0x7f000001, port: open.remoteAddr.port });
  const buffer = new Uint8Array(1024);
  try {
    for (let size; (size = await open.read(buffer)) !== null;) {
      for (const act of talk.receive(buffer.subarray(0, size))) {
        if (typeof act === "string") return;
        if ("bytes" in act) await open.write(act.bytes);
      }
    }
  } catch (error) {
    const { ConnectionReset, BrokenPipe } = Deno.errors; // the client has closed the connection
    if (!(error instanceof ConnectionReset || error instanceof BrokenPipe)) throw error;
  }
}
