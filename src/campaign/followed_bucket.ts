/**
 * Follows a bucket of keys: its entries are kept up to date, also after the server was away.
 *
 * @module
 */
import { sleep, systemClock } from "../net/clock.ts";
import type { KV, KvEntry, Received, WatchedEntry } from "./nats/client_types.ts";
import type { Broker } from "./nats/connection.ts";
import { brokerError } from "./nats/errors.ts";

/** Delay before a watch that failed is started again, milliseconds. */
const RETRY_MS = 1000;
/** Interval of checks whether the watch lags behind the bucket, milliseconds. */
const CHECK_MS = 2000;

/** What a {@linkcode FollowedBucket} makes of entries. */
export interface BucketReducer<T> {
  /** Makes the state of an empty bucket. */
  readonly empty: () => T;
  /** Changes the state by an entry. */
  readonly apply: (state: T, entry: KvEntry) => void;
  /** Called after each change of the state. */
  readonly onUpdate: () => void;
}

/** A bucket whose entries are followed until it is disposed of. */
export class FollowedBucket<T> implements AsyncDisposable {
  readonly bucket: KV;
  readonly #broker: Pick<Broker, "jsm">;
  readonly #name: string;
  readonly #reader: BucketReducer<T>;
  readonly #closing = new AbortController();
  /** Those who wait until entries are applied. */
  readonly #waiting = new Set<() => void>();
  #state: T;
  #watch: Received<WatchedEntry> | undefined;
  /** The last revision that the watch delivered. */
  #revision = 0;
  /** The revision up to which the state contains all changes. */
  #applied = 0;
  #followed: Promise<unknown> = Promise.resolve();

  private constructor(
    broker: Pick<Broker, "jsm">,
    name: string,
    bucket: KV,
    reader: BucketReducer<T>,
  ) {
    this.#broker = broker;
    this.#name = name;
    this.bucket = bucket;
    this.#reader = reader;
    this.#state = reader.empty();
  }

  /**
   * Reads all entries, and follows their changes.
   *
   * @throws InputError when the bucket cannot be read.
   */
  static async open<T>(
    broker: Pick<Broker, "jsm" | "bucket" | "urls">,
    name: string,
    reader: BucketReducer<T>,
  ): Promise<FollowedBucket<T>> {
    const followed = new FollowedBucket(broker, name, await broker.bucket(name), reader);
    const ready = Promise.withResolvers<void>();
    const first = followed.#follow(ready.resolve).catch(ready.reject);
    try {
      await ready.promise;
    } catch (error) {
      throw brokerError(error, broker.urls);
    }
    followed.#followed = Promise.all([
      first.then(() => followed.#followAgain()),
      followed.#restartWhenBehind(),
    ]);
    return followed;
  }

  /** What the entries are now. */
  get state(): T {
    return this.#state;
  }

  /** Starts the watch again: it notices only after 10 s that its server was away. */
  restart(): void {
    this.#watch?.stop();
  }

  /**
   * Waits until every change that is stored now was applied. Repeats the request while the server
   * does not reply.
   *
   * @returns `false` when this is disposed of.
   */
  async whenCurrent(): Promise<boolean> {
    const { signal } = this.#closing;
    let last: number | undefined;
    while (last === undefined && !signal.aborted) {
      last = await this.#last().catch(() => undefined);
      if (last === undefined) await sleep(systemClock, RETRY_MS, signal);
    }
    while (!signal.aborted && this.#applied < last!) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
    return !signal.aborted;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#wake();
    this.#watch?.stop();
    await this.#followed;
  }

  /** Watches the bucket until the watch ends. The state is replaced once all entries are read. */
  async #follow(onRead: () => void): Promise<void> {
    const watch = await this.bucket.watch();
    this.#watch = watch;
    const last = await this.#last();
    const state = this.#reader.empty();
    let isRead = false;
    const update = () => {
      isRead = true;
      this.#state = state;
      onRead();
      this.#reader.onUpdate();
      this.#applied = this.#revision;
      this.#wake();
    };
    if (last === 0) update();
    if (this.#closing.signal.aborted) return watch.stop();
    for await (const entry of watch) {
      this.#reader.apply(state, entry);
      this.#revision = entry.revision;
      if (isRead || entry.isUpdate || entry.revision >= last) update();
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  async #followAgain(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        await this.#follow(() => {});
      } catch {
        // The server is away, or has no leader. The entries that were read stay.
        await sleep(systemClock, RETRY_MS, this.#closing.signal);
      }
    }
  }

  /** The revision of the last entry; 0: there is none. */
  async #last(): Promise<number> {
    const query = { last_by_subj: `$KV.${this.#name}.>` };
    return (await this.#broker.jsm.streams.getMessage(`KV_${this.#name}`, query))?.seq ?? 0;
  }

  /** If the server of a cluster that feeds a watch is killed, the watch stands still for a minute. */
  async #restartWhenBehind(): Promise<void> {
    for (let before = 0; !this.#closing.signal.aborted;) {
      await sleep(systemClock, CHECK_MS, this.#closing.signal);
      const last = await this.#last().catch(() => 0);
      if (this.#revision < before && before <= last) this.restart();
      before = last;
    }
  }
}
