/**
 * The states of campaigns and the opt-outs, which all programs of campaigns follow.
 *
 * @module
 */
import type { Address } from "../core/address.ts";
import {
  FieldError,
  integer,
  objectOf,
  oneOfWords,
  parseJson,
  text,
} from "../core/checked_json.ts";
import { InputError } from "../core/errors.ts";
import { sleep, systemClock } from "../net/clock.ts";
import { readEntry } from "./entries.ts";
import {
  CAMPAIGN_NAME,
  campaignKey,
  CONTROL,
  MAX_PARTS,
  optOutKey,
  parseOptOutKey,
} from "./names.ts";
import type { KV, KvEntry, Received, WatchedEntry } from "./nats/client_types.ts";
import type { Broker } from "./nats/connection.ts";
import { brokerError, isWrongRevision } from "./nats/errors.ts";

/** What workers do about a campaign. */
export const CAMPAIGN_STATES = ["running", "paused", "cancelled"] as const;
/** What workers do about a campaign. */
export type CampaignState = typeof CAMPAIGN_STATES[number];

/** The entry of a campaign. */
export interface CampaignEntry {
  readonly state: CampaignState;
  /** SHA-256 of the specification, hexadecimal. */
  readonly spec: string;
  /** The version of the program. */
  readonly program: string;
  /** The digest of the order in which targets are probed. */
  readonly order: string;
  /** Number of parts. */
  readonly parts: number;
  /** When the campaign was submitted, milliseconds since 1970 UTC. */
  readonly submittedAt: number;
}

const isEntry = objectOf({
  state: oneOfWords(CAMPAIGN_STATES),
  spec: text(/^[\da-f]{64}$/, "64 hexadecimal digits"),
  program: text(/^[\w.+-]{1,64}$/, "a version"),
  order: text(/^[\w+/=:-]{1,128}$/, "a digest"),
  parts: integer(1, MAX_PARTS),
  submittedAt: integer(),
});

/** Delay before a watch that failed is started again, milliseconds. */
const RETRY_MS = 1000;
/** Interval of checks whether the watch lags behind the bucket, milliseconds. */
const CHECK_MS = 2000;

interface Entries {
  readonly campaigns: Map<string, CampaignEntry>;
  readonly optOuts: Set<Address>;
}

/** The entries of the bucket, kept up to date. */
export class Control implements AsyncDisposable {
  readonly #broker: Broker;
  readonly #bucket: KV;
  readonly #report: (line: string) => void;
  readonly #listeners = new Set<() => void>();
  readonly #disconnectListeners = new Set<() => void>();
  /** Those who wait until entries are applied. */
  readonly #waiting = new Set<() => void>();
  readonly #closing = new AbortController();
  #entries: Entries = { campaigns: new Map(), optOuts: new Set() };
  #watch: Received<WatchedEntry> | undefined;
  /** The last revision that the watch delivered. */
  #revision = 0;
  /** The revision up to which the entries contain all changes. */
  #applied = 0;
  #followed: Promise<unknown> = Promise.resolve();

  private constructor(broker: Broker, bucket: KV, report: (line: string) => void) {
    this.#broker = broker;
    this.#bucket = bucket;
    this.#report = report;
  }

  /**
   * Reads all entries, and follows their changes, also after the server was away.
   *
   * @param report Gets a line for each invalid entry.
   * @throws InputError when the bucket cannot be read.
   */
  static async open(broker: Broker, report: (line: string) => void): Promise<Control> {
    const control = new Control(broker, await broker.bucket(CONTROL), report);
    const ready = Promise.withResolvers<void>();
    const first = control.#follow(ready.resolve).catch(ready.reject);
    try {
      await ready.promise;
    } catch (error) {
      throw brokerError(error, broker.place);
    }
    control.#followed = Promise.all([
      first.then(() => control.#followAgain()),
      control.#restartAfterReconnections(),
      control.#restartWhenBehind(),
    ]);
    return control;
  }

  /** The campaigns by name. */
  campaigns(): ReadonlyMap<string, CampaignEntry> {
    return this.#entries.campaigns;
  }

  /** The addresses that opted out of all campaigns. */
  optOuts(): ReadonlySet<Address> {
    return this.#entries.optOuts;
  }

  /**
   * Calls a function after each change.
   *
   * @returns A function that ends this.
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Calls a function each time that the connection breaks.
   *
   * @returns A function that ends this.
   */
  onDisconnect(listener: () => void): () => void {
    this.#disconnectListeners.add(listener);
    return () => void this.#disconnectListeners.delete(listener);
  }

  /**
   * Waits until every change that is stored now was applied, and the listeners were called. Repeats
   * the request while the server does not reply.
   *
   * @returns `false` when the control is disposed of.
   */
  async whenCurrent(): Promise<boolean> {
    const { signal } = this.#closing;
    let state: { messages: number; last_seq: number } | undefined;
    while (state === undefined && !signal.aborted) {
      state = await this.#state().catch(() => undefined);
      if (state === undefined) await sleep(systemClock, RETRY_MS, signal);
    }
    while (!signal.aborted && state!.messages > 0 && this.#applied < state!.last_seq) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
    return !signal.aborted;
  }

  /**
   * Adds a campaign.
   *
   * @returns The entry of the bucket: an earlier one, if there is a campaign of that name.
   * @throws InputError when the entry cannot be written.
   */
  async add(name: string, entry: CampaignEntry): Promise<CampaignEntry> {
    return await this.#request(async () => {
      try {
        await this.#bucket.create(campaignKey(name), JSON.stringify(entry));
        return entry;
      } catch (error) {
        const found = isWrongRevision(error) ? await this.#read(name) : undefined;
        if (found === undefined) throw error;
        return found.entry;
      }
    });
  }

  /**
   * Changes the state of a campaign. `cancelled` is final.
   *
   * @throws InputError when there is no such campaign, or the state cannot be written.
   */
  async setState(name: string, state: CampaignState): Promise<void> {
    await this.#request(async () => {
      for (;;) {
        const found = await this.#read(name);
        if (found === undefined) throw new InputError(`There is no campaign "${name}"`);
        const { entry, revision } = found;
        if (entry.state === state) return;
        if (entry.state === "cancelled") throw new InputError(`Campaign "${name}" is cancelled`);
        try {
          await this.#bucket.update(
            campaignKey(name),
            JSON.stringify({ ...entry, state }),
            revision,
          );
          return;
        } catch (error) {
          if (!isWrongRevision(error)) throw error; // otherwise somebody else changed the state
        }
      }
    });
  }

  /**
   * Removes a campaign.
   *
   * @throws InputError when the entry cannot be removed.
   */
  async remove(name: string): Promise<void> {
    await this.#request(() => this.#bucket.purge(campaignKey(name)));
  }

  /**
   * Adds an address that no campaign may probe any more.
   *
   * @param by Who added it.
   * @throws InputError when the entry cannot be written.
   */
  async addOptOut(address: Address, by: string): Promise<void> {
    const value = JSON.stringify({ at: systemClock.wall(), by });
    await this.#request(() => this.#bucket.put(optOutKey(address), value));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#wake();
    this.#watch?.stop();
    await this.#followed;
  }

  async #request<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw brokerError(error, this.#broker.place);
    }
  }

  async #read(name: string): Promise<{ entry: CampaignEntry; revision: number } | undefined> {
    const found = await this.#bucket.get(campaignKey(name));
    if (found === null || found.operation !== "PUT") return undefined;
    try {
      return { entry: isEntry(parseJson(found.string()), ""), revision: found.revision };
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      throw new InputError(`The entry of campaign "${name}" is invalid: ${error.message}`);
    }
  }

  /** Watches the bucket until the watch ends. The entries are replaced once all of them are read. */
  async #follow(onRead: () => void): Promise<void> {
    const watch = await this.#bucket.watch();
    this.#watch = watch;
    const state = await this.#state();
    const entries: Entries = { campaigns: new Map(), optOuts: new Set() };
    let isRead = false;
    const update = () => {
      isRead = true;
      this.#entries = entries;
      onRead();
      for (const listener of [...this.#listeners]) listener();
      this.#applied = this.#revision;
      this.#wake();
    };
    if (state.messages === 0) update();
    if (this.#closing.signal.aborted) return watch.stop();
    for await (const entry of watch) {
      this.#apply(entries, entry);
      this.#revision = entry.revision;
      if (isRead || entry.isUpdate || entry.revision >= state.last_seq) update();
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

  async #state() {
    return (await this.#broker.jsm.streams.info(`KV_${CONTROL}`)).state;
  }

  /** A watch notices after 10 s that its server was away, so it is started again. */
  async #restartAfterReconnections(): Promise<void> {
    const statuses = this.#broker.connection.status()[Symbol.asyncIterator]();
    const closed = Promise.withResolvers<undefined>();
    this.#closing.signal.addEventListener("abort", () => closed.resolve(undefined));
    for (;;) {
      const next = await Promise.race([statuses.next(), closed.promise]);
      if (next === undefined || next.done) break;
      const { type } = next.value;
      if (type === "reconnect") this.#watch?.stop();
      if (type === "disconnect") this.#disconnectListeners.forEach((listener) => listener());
    }
    void statuses.return?.();
  }

  /** If the server of a cluster that feeds a watch is killed, the watch stands still for a minute. */
  async #restartWhenBehind(): Promise<void> {
    for (let before = 0; !this.#closing.signal.aborted;) {
      await sleep(systemClock, CHECK_MS, this.#closing.signal);
      const last = await this.#state().then(({ last_seq }) => last_seq, () => 0);
      if (this.#revision < before && before <= last) this.#watch?.stop();
      before = last;
    }
  }

  #apply({ campaigns, optOuts }: Entries, entry: KvEntry): void {
    const { key, operation } = entry;
    const address = parseOptOutKey(key);
    // An opt-out counts whatever its value is.
    if (address !== undefined && operation === "PUT") return void optOuts.add(address);
    if (address !== undefined) return void optOuts.delete(address);
    const [, name] = /^campaign\.(.*)$/.exec(key) ?? [];
    if (name !== undefined) campaigns.delete(name);
    if (operation !== "PUT") return;
    readEntry(CONTROL, entry, () => {
      if (name === undefined) throw new FieldError("its name is unknown");
      if (!CAMPAIGN_NAME.test(name)) throw new FieldError("it is not the name of a campaign");
      campaigns.set(name, isEntry(parseJson(entry.string()), ""));
    }, this.#report);
  }
}
