/**
 * The states of campaigns and the opt-outs, which all programs of campaigns follow.
 *
 * @module
 */
import type { Address } from "../core/address.ts";
import {
  checked,
  FieldError,
  integer,
  objectOf,
  oneOf,
  optional,
  parseJson,
  text,
} from "../core/checked_values.ts";
import { InputError } from "../core/errors.ts";
import { systemClock } from "../net/clock.ts";
import type { OptOutSource } from "../net/mod.ts";
import { readEntry, type ReportSkipped } from "./entries.ts";
import { FollowedBucket } from "./followed_bucket.ts";
import {
  CAMPAIGN_NAME,
  campaignKey,
  CONTROL_BUCKET,
  MAX_PARTS,
  MAX_VIEWS,
  OPT_OUT_BUCKET,
  optOutKey,
  parseOptOutKey,
} from "./names.ts";
import type { KvEntry } from "./nats/client_types.ts";
import type { Broker } from "./nats/connection.ts";
import { brokerError, isWrongRevision } from "./nats/errors.ts";

/** What workers do about a campaign. */
export const CAMPAIGN_STATES = ["running", "paused", "cancelled"] as const;
/** What workers do about a campaign. */
export type CampaignState = typeof CAMPAIGN_STATES[number];

export interface CampaignEntry {
  readonly state: CampaignState;
  /** SHA-256 of the specification, hexadecimal. */
  readonly spec: string;
  /** The version of the program. */
  readonly program: string;
  /** The digest of the order in which targets are probed. */
  readonly order: string;
  readonly parts: number;
  /** The number of views of each part. Default: 1. */
  readonly views?: number;
  /** When the campaign was submitted, milliseconds since 1970 UTC. */
  readonly submittedAt: number;
}

const isEntry = objectOf({
  state: checked(oneOf(CAMPAIGN_STATES)),
  spec: text(/^[\da-f]{64}$/, "64 hexadecimal digits"),
  program: text(/^[\w.+-]{1,64}$/, "a version"),
  order: text(/^[\w+/=:-]{1,128}$/, "a digest"),
  parts: integer(1, MAX_PARTS),
  views: optional(integer(2, MAX_VIEWS)),
  submittedAt: integer(),
});

export interface CampaignOptOut {
  /** When it was added, Unix milliseconds of the clock of who added it. */
  readonly at: number;
  /** Who added it: a command, or the identity of a worker. */
  readonly by: string;
}

/** Where an opt-out of a campaign comes from, for the opt-out file of a machine. */
export function sourceOf({ by }: CampaignOptOut): OptOutSource {
  return { from: "NATS", why: `shared by ${by}` };
}

const isOptOut = objectOf({
  at: integer(),
  by: text(/^[\w -]{1,64}$/, "1 to 64 letters, digits, spaces, _ and -"),
});

function isOptOutText(json: string): boolean {
  try {
    isOptOut(parseJson(json), "");
    return true;
  } catch (error) {
    if (error instanceof FieldError) return false;
    throw error;
  }
}

/** The campaigns and opt-outs, kept up to date. */
export class Control implements AsyncDisposable {
  readonly #broker: Broker;
  readonly #listeners: Set<() => void>;
  readonly #disconnectListeners = new Set<() => void>();
  readonly #closing = new AbortController();
  readonly #campaigns: FollowedBucket<Map<string, CampaignEntry>>;
  readonly #optOuts: FollowedBucket<Map<Address, CampaignOptOut>>;
  readonly #reconnections: Promise<void>;

  private constructor(
    broker: Broker,
    campaigns: FollowedBucket<Map<string, CampaignEntry>>,
    optOuts: FollowedBucket<Map<Address, CampaignOptOut>>,
    listeners: Set<() => void>,
  ) {
    this.#broker = broker;
    this.#campaigns = campaigns;
    this.#optOuts = optOuts;
    this.#listeners = listeners;
    this.#reconnections = this.#restartAfterReconnections();
  }

  /**
   * Reads all entries, and follows their changes, also after the server was away.
   *
   * @param report Gets a line for each invalid entry.
   * @throws InputError when a bucket cannot be read.
   */
  static async open(broker: Broker, report: ReportSkipped): Promise<Control> {
    const listeners = new Set<() => void>();
    const onUpdate = () => [...listeners].forEach((listener) => listener());
    const empty = <K, V>() => new Map<K, V>();
    await using opening = new AsyncDisposableStack();
    const campaigns = opening.use(
      await FollowedBucket.open<Map<string, CampaignEntry>>(broker, CONTROL_BUCKET, {
        empty,
        apply: (entries, entry) => applyCampaign(entries, entry, report),
        onUpdate,
      }),
    );
    const optOuts = opening.use(
      await FollowedBucket.open<Map<Address, CampaignOptOut>>(broker, OPT_OUT_BUCKET, {
        empty,
        apply: (entries, entry) => applyOptOut(entries, entry, report),
        onUpdate,
      }),
    );
    opening.move();
    return new Control(broker, campaigns, optOuts, listeners);
  }

  campaigns(): ReadonlyMap<string, CampaignEntry> {
    return this.#campaigns.state;
  }

  /** The addresses that opted out of all campaigns. */
  optOuts(): ReadonlyMap<Address, CampaignOptOut> {
    return this.#optOuts.state;
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
    const current = await Promise.all([
      this.#campaigns.whenCurrent(),
      this.#optOuts.whenCurrent(),
    ]);
    return current.every((one) => one);
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
        await this.#campaigns.bucket.create(campaignKey(name), JSON.stringify(entry));
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
          await this.#campaigns.bucket.update(
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
    await this.#request(() => this.#campaigns.bucket.delete(campaignKey(name)));
  }

  /**
   * Adds an address that no campaign may probe any more.
   *
   * @param by Who adds it.
   * @throws InputError when the entry cannot be written.
   */
  async addOptOut(address: Address, by: string): Promise<void> {
    const key = optOutKey(address);
    const value = JSON.stringify({ at: systemClock.wall(), by });
    const { bucket } = this.#optOuts;
    await this.#request(async () => {
      try {
        await bucket.create(key, value);
      } catch (error) {
        const found = await bucket.get(key);
        if (found === null) throw error;
        if (isOptOutText(found.string())) return;
        // The stream keeps the first value of a key, also one that is no opt-out.
        const filter = `$KV.${OPT_OUT_BUCKET}.${key}`;
        await this.#broker.jsm.streams.purge(`KV_${OPT_OUT_BUCKET}`, { filter });
        await bucket.create(key, value);
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.all([
      this.#campaigns[Symbol.asyncDispose](),
      this.#optOuts[Symbol.asyncDispose](),
      this.#reconnections,
    ]);
  }

  async #request<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw brokerError(error, this.#broker.urls);
    }
  }

  async #read(name: string): Promise<{ entry: CampaignEntry; revision: number } | undefined> {
    const found = await this.#campaigns.bucket.get(campaignKey(name));
    if (found === null || found.operation !== "PUT") return undefined;
    try {
      return { entry: isEntry(parseJson(found.string()), ""), revision: found.revision };
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      throw new InputError(`The entry of campaign "${name}" is invalid: ${error.message}`);
    }
  }

  async #restartAfterReconnections(): Promise<void> {
    const statuses = this.#broker.connection.status()[Symbol.asyncIterator]();
    const closed = Promise.withResolvers<undefined>();
    this.#closing.signal.addEventListener("abort", () => closed.resolve(undefined));
    for (;;) {
      const next = await Promise.race([statuses.next(), closed.promise]);
      if (next === undefined || next.done) break;
      const { type } = next.value;
      if (type === "reconnect") {
        this.#campaigns.restart();
        this.#optOuts.restart();
      }
      if (type === "disconnect") this.#disconnectListeners.forEach((listener) => listener());
    }
    void statuses.return?.();
  }
}

function applyCampaign(
  campaigns: Map<string, CampaignEntry>,
  entry: KvEntry,
  report: ReportSkipped,
): void {
  const [, name] = /^campaign\.(.*)$/.exec(entry.key) ?? [];
  if (name !== undefined) campaigns.delete(name);
  if (entry.operation !== "PUT") return;
  readEntry(CONTROL_BUCKET, entry, () => {
    if (name === undefined) throw new FieldError("its name is unknown");
    if (!CAMPAIGN_NAME.test(name)) throw new FieldError("it is not the name of a campaign");
    campaigns.set(name, isEntry(parseJson(entry.string()), ""));
  }, report);
}

/** The bucket keeps the first value of each key, so that nobody takes an opt-out back. */
function applyOptOut(
  optOuts: Map<Address, CampaignOptOut>,
  entry: KvEntry,
  report: ReportSkipped,
): void {
  if (entry.operation !== "PUT") return;
  readEntry(OPT_OUT_BUCKET, entry, () => {
    const address = parseOptOutKey(entry.key);
    if (address === undefined) throw new FieldError("it is not the key of an address");
    optOuts.set(address, isOptOut(parseJson(entry.string()), ""));
  }, report);
}
