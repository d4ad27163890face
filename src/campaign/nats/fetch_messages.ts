/**
 * Fetches messages of a consumer.
 *
 * @module
 */
import type { Clock } from "../../net/clock.ts";
import type { Consumer, JsMsg } from "./client_types.ts";

/** How long the server waits for messages, milliseconds. Shorter times are refused. */
const FETCH_MS = 1000;
/** How long its reply may take besides, milliseconds. */
const GRACE_MS = 2000;

/**
 * Fetches messages for about a second. If the server is killed meanwhile, the client waits for ever, so
 * that a request ends after a while without a message.
 *
 * @param most Maximum number of messages.
 * @throws Error when the server does not reply, or a leader is being chosen.
 */
export async function* fetchMessages(
  consumer: Pick<Consumer, "fetch">,
  most: number,
  clock: Clock,
): AsyncGenerator<JsMsg> {
  const messages = await consumer.fetch({ max_messages: most, expires: FETCH_MS });
  const endLater = () => clock.after(FETCH_MS + GRACE_MS, () => messages.stop());
  let cancel = endLater();
  try {
    for await (const msg of messages) {
      cancel();
      yield msg;
      cancel = endLater();
    }
  } finally {
    cancel();
    messages.stop();
  }
}
