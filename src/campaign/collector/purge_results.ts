/**
 * Makes room in the stream of results, which no limit of age empties.
 *
 * @module
 */
import type { Clock } from "../../net/clock.ts";
import { RESULTS, resultSubjects } from "../names.ts";
import type { ConsumerInfo, JetStreamManager } from "../nats/client_types.ts";

/** What a {@linkcode ResultPurger} uses of NATS. */
export interface ResultStreams {
  readonly jsm: {
    readonly streams: Pick<JetStreamManager["streams"], "info" | "purge">;
    readonly consumers: Pick<JetStreamManager["consumers"], "list">;
  };
}

/**
 * For how long a cluster has to list the same consumers, milliseconds. It omits those whose leader is
 * being chosen, and a server that was restarted knows some of them later.
 */
const STABLE_MS = 60_000;

/** What has been acknowledged at a time. */
interface Reading {
  readonly at: number;
  /** The names of the consumers. */
  readonly names: string;
  /** By the subjects of consumers, of which most have none: the results that all have acknowledged. */
  readonly floors: ReadonlyMap<string | undefined, number>;
}

/**
 * Removes the results that the collectors of all databases have acknowledged, when the stream is more
 * than half full. Until then they stay. A collector of another database then still gets all of them. And
 * some results were lost when a single server (2.9.10) was killed while results were removed; the cause
 * in the server is not known.
 */
export class ResultPurger {
  /** The readings of the last minute with the same consumers, and one before. */
  #readings: Reading[] = [];

  /** Whether results that all have acknowledged take up room for a while. */
  isHeldBack = false;

  /** Removes nothing yet. */
  constructor(private readonly broker: ResultStreams, private readonly clock: Clock) {}

  /**
   * Removes the results that the collectors of all databases have acknowledged, if the stream is more
   * than half full; in a cluster, those that were acknowledged a minute ago. Results that wait for a
   * collector of another version stay.
   *
   * @returns The number of removed messages.
   */
  async purge(): Promise<number> {
    const { jsm } = this.broker;
    this.isHeldBack = false;
    const stream = await jsm.streams.info(RESULTS);
    if (stream.state.bytes * 2 <= stream.config.max_bytes) return 0;
    const reading = await this.#read();
    const isSimple = reading.floors.size < 2;
    const { state, cluster } = await jsm.streams.info(
      RESULTS,
      isSimple ? undefined : { subjects_filter: "bs.results.>" },
    );
    const floors = cluster === undefined ? reading.floors : this.#stable(reading);
    const stored = floors?.get(undefined) ?? 0;
    this.isHeldBack = stored < Math.min(reading.floors.get(undefined) ?? 0, state.last_seq);
    // A server takes a purge up to the sequence number 1 for a purge of everything, also of messages
    // that have arrived since.
    const least = Math.max(1, state.first_seq);
    if (stored < least) return 0;
    if (isSimple) return (await jsm.streams.purge(RESULTS, { seq: stored + 1 })).purged;
    let removed = 0;
    const campaigns = Object.keys(state.subjects ?? {}).map((subject) => subject.split(".")[2]);
    for (const filter of new Set(campaigns.map(resultSubjects))) {
      const floor = Math.min(stored, floors?.get(filter) ?? Infinity);
      if (floor < least) continue;
      removed += (await jsm.streams.purge(RESULTS, { filter, seq: floor + 1 })).purged;
    }
    return removed;
  }

  async #read(): Promise<Reading> {
    const at = this.clock.now();
    const names: string[] = [];
    const floors = new Map<string | undefined, number>();
    for await (const info of this.broker.jsm.consumers.list(RESULTS)) {
      names.push(info.name);
      const subjects = info.config.filter_subject || undefined;
      floors.set(subjects, Math.min(floors.get(subjects) ?? Infinity, acknowledgedUpTo(info)));
    }
    return { at, names: names.sort().join(), floors };
  }

  /** The reading of a minute ago; `undefined` when the consumers have changed since. */
  #stable(reading: Reading): Reading["floors"] | undefined {
    const same = this.#readings.at(-1)?.names === reading.names ? this.#readings : [];
    const old = same.findLastIndex(({ at }) => at <= reading.at - STABLE_MS);
    this.#readings = [...same.slice(Math.max(0, old)), reading];
    return old < 0 ? undefined : same[old].floors;
  }
}

/**
 * The sequence number up to which a consumer has acknowledged all messages; 0: unknown. While a message
 * is delivered again, the server's own number (2.9.10) passes messages that wait for acknowledgement.
 */
export function acknowledgedUpTo({ ack_floor, num_redelivered }: ConsumerInfo): number {
  return num_redelivered > 0 ? 0 : ack_floor.stream_seq;
}

/** Whether a consumer has nothing to deliver, and all that it delivered is acknowledged. */
export function hasNone({ num_pending, num_ack_pending }: ConsumerInfo): boolean {
  return num_pending + num_ack_pending === 0;
}
