/**
 * Runs the actions of a host on one TCP connection, with their delays.
 *
 * @module
 */
import { type Clock, sleep } from "../../../net/clock.ts";
import type { Stream } from "../../../net/socket.ts";
import type { StreamAct, StreamTalk } from "../responder.ts";

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

/** Runs the host's actions until either side closes the connection. */
export async function serve(
  stream: Stream,
  talk: StreamTalk,
  options: ConnectionOptions,
): Promise<void> {
  const { clock, signal, note } = options;
  using _closing = stream;
  const hangUp = () => stream[Symbol.dispose]();
  signal.addEventListener("abort", hangUp, { once: true });
  try {
    note({ way: "in", did: "open" });
    let open = await perform(stream, talk.opening, options);
    while (open && !signal.aborted) {
      const cancel = clock.after(IDLE_MS, hangUp);
      const bytes = await stream.read();
      cancel();
      if (typeof bytes === "string") return note({ way: "in", did: "closed" });
      note({ way: "in", did: bytes });
      open = await perform(stream, talk.receive(bytes), options);
    }
    note({ way: "out", did: "closed" });
  } finally {
    signal.removeEventListener("abort", hangUp);
  }
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
