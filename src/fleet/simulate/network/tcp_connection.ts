/**
 * Runs the actions of a host on one TCP connection, with their delays.
 *
 * @module
 */
import type { Endpoint } from "../../../core/address.ts";
import { type Clock, sleep } from "../../../net/clock.ts";
import type { ConnectionEnd, Stream } from "../../../net/mod.ts";
import type { StreamAct, StreamResponder } from "../responder.ts";
import { isHello, TlsStream } from "./tls_stream.ts";

/** Idle timeout of a connection, milliseconds, as vanilla's. */
const IDLE_MS = 30_000;

/** An event of a connection, for the witness log. */
export interface StreamEvent {
  /** The side that acted: the peer (`in`) or the host (`out`). */
  readonly way: "in" | "out";
  /** The action: the connection was opened or closed, or bytes were sent. */
  readonly did: "open" | "closed" | Uint8Array;
}

/** Options of {@linkcode serve}. */
export interface ConnectionOptions {
  /** The clock of delays and timeouts. */
  readonly clock: Clock;
  /** Returns the delay of a reply, milliseconds. */
  readonly delay: () => number;
  /** Closes the connection when it is aborted. */
  readonly signal: AbortSignal;
  /** Called for each event of the connection. */
  readonly note: (event: StreamEvent) => void;
}

/**
 * Runs the host's actions until either side closes the connection. It is encrypted if the host speaks TLS
 * and the peer begins with a handshake.
 */
export async function serve(
  stream: Stream,
  responder: StreamResponder,
  peer: Endpoint,
  options: ConnectionOptions,
): Promise<void> {
  const { signal, note } = options;
  const { tls } = responder;
  let [open, talk] = [stream, responder.accept(peer)];
  const hangUp = () => open[Symbol.dispose]();
  signal.addEventListener("abort", hangUp, { once: true });
  try {
    note({ way: "in", did: "open" });
    let goesOn = await perform(open, talk.opening, options);
    while (goesOn && !signal.aborted) {
      const bytes = await readFrom(open, options);
      if (typeof bytes === "string") return note({ way: "in", did: "closed" });
      note({ way: "in", did: bytes });
      if (tls !== undefined && open === stream && isHello(bytes)) {
        [open, talk] = [new TlsStream(stream, bytes, tls.certificate), tls.accept(peer)];
        goesOn = await perform(open, talk.opening, options);
      } else goesOn = await perform(open, talk.receive(bytes), options);
    }
    note({ way: "out", did: "closed" });
  } finally {
    hangUp();
    if (open instanceof TlsStream) await finish(open, options);
    signal.removeEventListener("abort", hangUp);
  }
}

/** Reads the next bytes; an idle connection is closed. */
async function readFrom(
  stream: Stream,
  { clock }: ConnectionOptions,
): Promise<Uint8Array | ConnectionEnd> {
  const cancel = clock.after(IDLE_MS, () => stream[Symbol.dispose]());
  const bytes = await stream.read();
  cancel();
  return bytes;
}

/** Waits until an encrypted connection has said goodbye, and closes it if the peer does not read that. */
async function finish(stream: TlsStream, { clock, signal }: ConnectionOptions): Promise<void> {
  const close = () => stream[Symbol.dispose]();
  if (signal.aborted) close();
  const cancel = clock.after(IDLE_MS, close);
  await stream.closed;
  cancel();
}

/** Performs actions. Returns whether the connection is still open. */
async function perform(
  stream: Stream,
  acts: readonly StreamAct[],
  { clock, delay, signal, note }: ConnectionOptions,
): Promise<boolean> {
  for (const act of acts) {
    // There is no call that resets a connection. The system resets a connection that is closed with
    // unread bytes.
    if (act === "close" || act === "reset") return false;
    const wait = "waitMs" in act ? act.waitMs : delay();
    if (wait > 0) await sleep(clock, wait, signal);
    if (signal.aborted) return false;
    if (!("bytes" in act)) continue;
    note({ way: "out", did: act.bytes });
    if (!await stream.write(act.bytes)) return false;
  }
  return true;
}
