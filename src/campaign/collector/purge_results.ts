/**
 * Empties the stream of results, which no limit of age empties.
 *
 * @module
 */
import { RESULTS } from "../names.ts";
import type { JetStreamManager } from "../nats/client_types.ts";

/** What {@linkcode purgeResults} uses of NATS. */
export interface ResultStreams {
  readonly jsm: {
    readonly streams: Pick<JetStreamManager["streams"], "info" | "purge">;
    readonly consumers: Pick<JetStreamManager["consumers"], "list">;
  };
}

/**
 * Removes the results that the collectors of all databases have acknowledged.
 *
 * @returns The number of removed messages.
 */
export async function purgeResults({ jsm }: ResultStreams): Promise<number> {
  let [stored, collectors] = [Infinity, 0];
  for await (const { ack_floor } of jsm.consumers.list(RESULTS)) {
    stored = Math.min(stored, ack_floor.stream_seq);
    collectors++;
  }
  const { state } = await jsm.streams.info(RESULTS);
  // A cluster omits consumers whose leader is being chosen.
  if (collectors < state.consumer_count) return 0;
  // A server takes a purge up to the sequence number 1 for a purge of everything, also of messages
  // that have arrived since.
  if (stored === Infinity || stored < Math.max(1, state.first_seq)) return 0;
  return (await jsm.streams.purge(RESULTS, { seq: stored + 1 })).purged;
}
