/**
 * What a host does on one connection, as time goes by.
 *
 * @module
 */
import { type Clock, sleep } from "../../../net/clock.ts";
import type { Stream } from "../../../net/socket.ts";
import type { StreamAct, StreamTalk } from "../responder.ts";

/** How long a host waits for its peer, milliseconds: vanilla's patience. */
const IDLE_MS = 30_000;

/** What one side of a connection does: the peer `in`, the host `out`. */
export interface StreamEvent {
  /** Whether the peer (`in`) or the host (`out`) did it. */
  readonly way: "in" | "out";
  /** What: it opened or closed the connection, or sent these bytes. */
  readonly did: "open" | "closed" | Uint8Array;
}

/** What a connection needs. */
export interface ConnectionOptions {
  /** The clock. */
  readonly clock: Clock;
  /** How late each answer is, milliseconds. */
  readonly delay: () => number;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Told of all that happens. */
  readonly note: (event: StreamEvent) => void;
}

/** Does what the host does, until one of the two closes. */
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

/** Whether the connection is open still. */
async function perform(
  stream: Stream,
  acts: readonly StreamAct[],
  { clock, delay, signal, note }: ConnectionOptions,
): Promise<boolean> {
  for (const act of acts) {
    // The system resets what is closed with something unread in it; it cannot be told to.
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
