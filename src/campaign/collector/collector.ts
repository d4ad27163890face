/**
 * Writes the results of campaigns into one database.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import { countOf } from "../../core/quantities.ts";
import { type Clock, sleep } from "../../net/clock.ts";
import type { OptOutList } from "../../net/mod.ts";
import {
  finishScan,
  type PartUpdate,
  writeCampaignBatch,
  writeOptOutEvents,
  writeOptOuts,
} from "../../store/mod.ts";
import type { AddressSet } from "../../targets/ranges.ts";
import { type Control, sourceOf } from "../control.ts";
import { resultConsumer, RESULTS, resultSubjects } from "../names.ts";
import type { Consumer, JsMsg } from "../nats/client_types.ts";
import type { Broker } from "../nats/connection.ts";
import { brokerError, isMissedHeartbeat, isMissingConsumer } from "../nats/errors.ts";
import { fetchMessages } from "../nats/fetch_messages.ts";
import { ensureResultConsumer } from "../nats/topology.ts";
import type { CollectedCampaign } from "./collected_campaign.ts";
import type { KnownCampaigns } from "./known_campaigns.ts";
import type { LeaseWatch } from "./lease_watch.ts";
import type { PatientDatabase } from "./patient_database.ts";
import { acknowledgedUpTo, hasNone, ResultPurger } from "./purge_results.ts";
import { type CampaignResults, type LeaveMessage, ResultBatch } from "./result_batch.ts";

/** Maximum number of messages of a request, at most 512 KiB each. */
const MESSAGES = 64;
/** Pause after a failure of NATS, milliseconds. */
const PAUSE_MS = 1000;
/** Delay before a message that cannot be left to others is delivered again, milliseconds. */
const UNUSABLE_MS = 30_000;
/** Usual time between two writes of the progress of parts, milliseconds. */
const EVERY_MS = 3000;

/** What a {@linkcode Collector} needs. */
export interface CollectorOptions {
  readonly broker: Broker;
  readonly control: Control;
  readonly patient: PatientDatabase;
  readonly campaigns: KnownCampaigns;
  readonly leases: LeaseWatch;
  /** The identity of the database's collectors, by which the consumer is named. */
  readonly identity: string;
  /** The opt-out file of this machine, and what it contained at the start. */
  readonly optOuts: Pick<OptOutList, "note"> & { readonly listed: Pick<AddressSet, "has"> };
  readonly downAfter: number;
  readonly clock: Clock;
  /** Ends the collector after the batch that it writes. */
  readonly signal: AbortSignal;
  readonly report: (line: string) => void;
  /** Called after the end of a campaign's scan. */
  readonly onFinished?: () => Promise<void>;
  /** Time between two writes of the progress of parts, milliseconds. Default: 3 s. */
  readonly everyMs?: number;
  /** Called for each round of the loop. */
  readonly onRound?: () => void;
}

/** When a collector ends by itself. Default: never. */
export interface CollectUntil {
  /** When no results wait. */
  readonly isEmpty?: boolean;
  /** When the scan of this campaign has ended. */
  readonly campaign?: string;
}

/** Collects until its signal is aborted, or until it is to end by itself. */
export class Collector {
  #consumer: Consumer | undefined;
  #nextRound = -Infinity;
  #isFailing = false;
  /** Number of requests for messages, one after the other, without signs of life of the server. */
  #missed = 0;
  readonly #optedOut = new Set<Address>();

  readonly #purger: ResultPurger;

  /** Collects nothing yet. */
  constructor(private readonly options: CollectorOptions) {
    this.#purger = new ResultPurger(options.broker, options.clock);
  }

  /**
   * Collects results.
   *
   * @throws OutputLostError when the file of the database was removed or replaced.
   */
  async run({ isEmpty = false, campaign }: CollectUntil = {}): Promise<void> {
    const { signal, clock, everyMs = EVERY_MS, campaigns, onRound } = this.options;
    if (campaign !== undefined) await this.#withBroker(() => campaigns.begun(campaign));
    while (!signal.aborted) {
      onRound?.();
      const isDrained = await this.#withBroker(() => this.#collect()) ?? false;
      const isLast = isDrained && isEmpty;
      if (clock.now() < this.#nextRound && !isLast) continue;
      const isComplete = await this.#withBroker(() => this.#collectLeft()) ?? false;
      const running = await this.#withBroker(() => this.#round());
      this.#nextRound = clock.now() + everyMs;
      if (this.#purger.isHeldBack) continue;
      if (isLast && isComplete && running !== undefined) return;
      if (campaign !== undefined && running?.has(campaign) === false) return;
    }
  }

  /**
   * Runs work that uses NATS. After a failure it reports one line, and waits.
   *
   * @returns `undefined` after a failure.
   */
  async #withBroker<T>(work: () => Promise<T>): Promise<T | undefined> {
    const { broker, clock, signal, report } = this.options;
    try {
      const result = await work();
      if (this.#isFailing) report(`blocksweep: NATS at ${broker.urls} replies again`);
      this.#isFailing = false;
      return result;
    } catch (error) {
      if (!isBrokerFailure(error)) throw error;
      if (isMissingConsumer(error)) this.#consumer = undefined;
      // While a cluster elects a leader, requests fail for some seconds.
      if (!this.#isFailing) report(`blocksweep: ${brokerError(error, broker.urls).message}`);
      this.#isFailing = true;
      await sleep(clock, PAUSE_MS, signal);
      return undefined;
    }
  }

  /**
   * Requests messages, and writes them.
   *
   * @returns Whether no message waits, and none is unacknowledged.
   */
  async #collect(): Promise<boolean> {
    const { broker, identity } = this.options;
    const consumer = await this.#openConsumer();
    // Messages of a campaign that this program cannot use would hold back all that follow.
    const mayWait = await this.#take(consumer, async (campaign, msg) => {
      await ensureResultConsumer(broker, identity, campaign);
      msg.ack();
    });
    return !mayWait && await isEmpty(consumer);
  }

  /**
   * Writes the results that collectors of other versions have left, and that this one can use.
   *
   * @returns Whether no such message waits, and none is unacknowledged.
   */
  async #collectLeft(): Promise<boolean> {
    const { broker: { js, jsm }, campaigns, identity, signal, clock } = this.options;
    let isComplete = true;
    const prefix = resultConsumer(identity, "");
    for await (const info of jsm.consumers.list(RESULTS)) {
      const { name } = info;
      if (!name.startsWith(prefix) || hasNone(info)) continue;
      if (typeof await campaigns.find(name.slice(prefix.length)) === "string") continue;
      const consumer = await js.consumers.get(RESULTS, name);
      const later = (_: string, msg: JsMsg) => Promise.resolve(msg.nak(UNUSABLE_MS));
      const until = clock.now() + EVERY_MS; // the other results wait meanwhile
      while (!signal.aborted && clock.now() < until && await this.#take(consumer, later));
      isComplete &&= await isEmpty(consumer);
    }
    return isComplete;
  }

  /** Requests messages, and writes them. Returns whether more may wait. */
  async #take(consumer: Consumer, leave: LeaveMessage): Promise<boolean> {
    const { campaigns, report } = this.options;
    const newBatch = () => new ResultBatch((name) => campaigns.begun(name), leave, report);
    let batch = newBatch();
    let count = 0;
    try {
      for await (const msg of fetchMessages(consumer, MESSAGES, this.options.clock)) {
        count++;
        await batch.add(msg);
        if (!batch.isFull) continue;
        await this.#write(batch.results);
        batch = newBatch();
      }
      this.#missed = 0;
    } catch (error) {
      if (!isMissedHeartbeat(error) || ++this.#missed > 1) throw error;
      return true;
    } finally {
      await this.#write(batch.results); // also when the server is gone
    }
    return count > 0;
  }

  async #openConsumer(): Promise<Consumer> {
    const { broker, identity } = this.options;
    if (this.#consumer !== undefined) return this.#consumer;
    await ensureResultConsumer(broker, identity);
    return this.#consumer = await broker.js.consumers.get(RESULTS, resultConsumer(identity));
  }

  /** Writes results, and then acknowledges their messages. */
  async #write(results: readonly CampaignResults[]): Promise<void> {
    for (const { campaign, vantage, records, parts, messages } of results) {
      // Without these signs of work, the messages would be delivered again.
      const keep = () => messages.forEach((msg) => msg.working());
      const isWritten = await this.#writeNews(campaign, { vantage, records, parts }, keep);
      for (const msg of messages) isWritten ? msg.ack() : msg.nak();
    }
  }

  /** Writes what is new of a campaign. Returns `false` when this was cancelled. */
  async #writeNews(
    { scanId: id, scope }: CollectedCampaign,
    news: Pick<CampaignResults, "vantage" | "records"> & { readonly parts: readonly PartUpdate[] },
    onWait?: () => void,
  ): Promise<boolean> {
    const { patient } = this.options;
    const written = await patient.run(async () => {
      await writeCampaignBatch(patient.database, { id, ...news }, scope);
      await patient.database.flush(); // what is acknowledged survives a failure of the machine
      return true;
    }, onWait);
    return written ?? false;
  }

  /**
   * Writes what changes without results: opt-outs, the progress of parts, the ends of scans.
   *
   * @returns The names of the campaigns whose scans run.
   */
  async #round(): Promise<ReadonlySet<string>> {
    await this.#writeOptOuts();
    await this.#writeProgress();
    const running = new Set<string>();
    for (const [campaign, isRunning] of await this.options.campaigns.inDatabase()) {
      if (!isRunning) continue;
      await this.#writeCancelled(campaign);
      if (!await this.#finish(campaign)) running.add(campaign.name);
    }
    await this.#purger.purge();
    return running;
  }

  /** Writes the addresses that have opted out of campaigns since the last time. */
  async #writeOptOuts(): Promise<void> {
    const { control, patient, optOuts, clock } = this.options;
    const fresh = [...control.optOuts()].filter(([address]) => !this.#optedOut.has(address));
    if (fresh.length === 0) return;
    const { database } = patient;
    const at = Math.round(clock.wall());
    const rows = fresh.map(([address]) => ({ address, at }));
    const isWritten = await patient.run(() =>
      database.transaction(async () => {
        await writeOptOutEvents(database, await writeOptOuts(database, rows), null);
        return true;
      })
    );
    if (!isWritten) return;
    for (const [address, entry] of fresh) {
      if (!optOuts.listed.has(address)) optOuts.note(address, sourceOf(entry));
      this.#optedOut.add(address);
    }
  }

  /** Writes the progress of the parts that run. */
  async #writeProgress(): Promise<void> {
    const { leases, campaigns } = this.options;
    const stored = await campaigns.inDatabase();
    for (const [name, updates] of leases.take()) {
      try {
        const isRunning = updates.some(({ state }) => state === "running");
        const campaign = isRunning ? await campaigns.begun(name) : await campaigns.find(name);
        if (typeof campaign === "string" || !isRunning && !stored.has(campaign)) continue;
        const parts = updates.filter(({ part }) => part <= campaign.spec.parts);
        await this.#writeNews(campaign, { records: [], parts });
      } catch (error) {
        leases.putBack(name, updates);
        throw error;
      }
    }
  }

  /** Parts of a cancelled campaign that no worker holds will not be scanned. */
  async #writeCancelled(campaign: CollectedCampaign): Promise<void> {
    const { control, leases, clock } = this.options;
    const { name, spec } = campaign;
    if (control.campaigns().get(name)?.state !== "cancelled") return;
    if (leases.isHeld(name, spec.ackWaitMs)) return;
    const at = Math.round(clock.wall());
    const cancelled = Array.from({ length: spec.parts }, (_, i): PartUpdate => (
      { part: i + 1, state: "cancelled", at, tries: 0 }
    ));
    await this.#writeNews(campaign, { records: [], parts: cancelled });
  }

  /** Ends the scan of a campaign if all its parts have ended, and all its results are stored. */
  async #finish(campaign: CollectedCampaign): Promise<boolean> {
    const { patient, clock, downAfter, control, report, onFinished } = this.options;
    if (!await this.#isStored(campaign)) return false;
    const { scanId: id, since, name } = campaign;
    const ended = await patient.run(() =>
      finishScan(patient.database, {
        ...{ id, since, at: Math.round(clock.wall()), downAfter },
        coverage: (parts) => campaign.coverage(parts, control.optOuts().keys()),
        views: campaign.spec.views === undefined ? undefined : (parts) => campaign.vantages(parts),
      })
    );
    if (ended === undefined) return false;
    const { state, missing } = ended;
    report(
      `campaign ${name}: ${state}; ${countOf(missing, "known server")} did not reply`,
    );
    await onFinished?.();
    return true;
  }

  /** Whether every result of a campaign is acknowledged. */
  async #isStored({ name }: CollectedCampaign): Promise<boolean> {
    const { broker: { jsm }, identity } = this.options;
    const stored = acknowledgedUpTo(await (await this.#openConsumer()).info());
    const last = await jsm.streams.getMessage(RESULTS, { last_by_subj: resultSubjects(name) });
    if (last !== null && last.seq > stored) return false;
    try {
      return hasNone(await jsm.consumers.info(RESULTS, resultConsumer(identity, name)));
    } catch (error) {
      if (isMissingConsumer(error)) return true; // no collector has left any
      throw error;
    }
  }
}

async function isEmpty(consumer: Consumer): Promise<boolean> {
  return hasNone(await consumer.info());
}

/** Whether an error is one of NATS or its client: these pass. */
function isBrokerFailure(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof Deno.errors.NotCapable) return false;
  return !["OutputLostError", "TypeError", "RangeError", "ReferenceError"].includes(error.name);
}
