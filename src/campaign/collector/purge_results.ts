/**
 * Empties the stream of results, which no limit of age empties.
 *
 * @module
 */
import { RESULTS, resultSubjects } from "../names.ts";
import type { JetStreamManager } from "../nats/client_types.ts";

/** What {@linkcode purgeResults} uses of NATS. */
export interface ResultStreams {
  readonly jsm: {
    readonly streams: Pick<JetStreamManager["streams"], "info" | "purge">;
    readonly consumers: Pick<JetStreamManager["consumers"], "list">;
  };
}

/**
 * Removes the results that the collectors of all databases have acknowledged. Results that wait for a
 * collector of another version stay.
 *
 * @returns The number of removed messages.
 */
export async function purgeResults({ jsm }: ResultStreams): Promise<number> {
  /** By the subjects of consumers, of which most have none: the results that all have acknowledged. */
  const floors = new Map<string | undefined, number>();
  let collectors = 0;
  for await (const { config, ack_floor } of jsm.consumers.list(RESULTS)) {
    const subjects = config.filter_subject || undefined;
    floors.set(subjects, Math.min(floors.get(subjects) ?? Infinity, ack_floor.stream_seq));
    collectors++;
  }
  const stored = floors.get(undefined) ?? 0;
  const isSimple = floors.size < 2;
  const { state } = await jsm.streams.info(
    RESULTS,
    isSimple ? undefined : { subjects_filter: "bs.results.>" },
  );
  // A cluster omits consumers whose leader is being chosen.
  if (collectors < state.consumer_count) return 0;
  // A server takes a purge up to the sequence number 1 for a purge of everything, also of messages
  // that have arrived since.
  const least = Math.max(1, state.first_seq);
  if (stored < least) return 0;
  if (isSimple) return (await jsm.streams.purge(RESULTS, { seq: stored + 1 })).purged;
  let removed = 0;
  const campaigns = Object.keys(state.subjects ?? {}).map((subject) => subject.split(".")[2]);
  for (const filter of new Set(campaigns.map(resultSubjects))) {
    const floor = Math.min(stored, floors.get(filter) ?? Infinity);
    if (floor < least) continue;
    removed += (await jsm.streams.purge(RESULTS, { filter, seq: floor + 1 })).purged;
  }
  return removed;
}
