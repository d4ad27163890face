/**
 * The lease of a part. The server of NATS accepts acknowledgements of a task from everybody who ever
 * received it, so a worker holds a part only by a key of its own: each update of the key names the
 * revision that it replaces, and the update of a worker that lost the part is refused.
 *
 * @module
 */
import { FieldError } from "../core/checked_values.ts";
import { type Clock, sleep } from "../net/clock.ts";
import type { SendGate } from "../net/mod.ts";
import type { Control } from "./control.ts";
import { Fence, type Moment, momentOf } from "./fence.ts";
import {
  formatLeaseValue,
  hasEnded,
  type LeaseState,
  type LeaseValue,
  parseLeaseValue,
  UNTAKEN,
} from "./lease_value.ts";
import { LEASE_BUCKET, leaseKey } from "./names.ts";
import { beginView } from "./views.ts";
import type { KV, KvEntry } from "./nats/client_types.ts";
import type { Broker } from "./nats/connection.ts";
import { isWrongRevision } from "./nats/errors.ts";

export interface LeaseOptions {
  /** The identity of the worker. */
  readonly worker: string;
  /** The vantage of the worker. Default: the campaign has one view per part. */
  readonly vantage?: string;
  /** The time after which the task goes to another worker, milliseconds. */
  readonly ackWaitMs: number;
  readonly clock: Clock;
  /** What the gate waits for after it was closed, or the connection broke. */
  readonly control: Pick<Control, "whenCurrent" | "onDisconnect">;
  /** Is called after each successful update of a held lease, to keep the task from redelivery. */
  readonly onRenewed?: () => void;
}

/**
 * Why a part was not taken: it has ended; its view from the vantage of this worker is done; another
 * worker holds it; or another worker took it at the same time, or the server did not reply.
 */
export type NotTaken = "ended" | "viewed" | "held" | "refused";

/** A part that this worker holds until it is lost or ended. */
export class Lease implements AsyncDisposable {
  /** Lets packets pass while the lease is fresh: see {@linkcode Fence}. */
  readonly gate: SendGate;
  readonly #bucket: KV;
  readonly #key: string;
  readonly #options: LeaseOptions;
  readonly #fence: Fence;
  readonly #lost = new AbortController();
  #value: LeaseValue;
  #revision: number;
  /** Values that may be written although the server did not reply, and when each was sent first. */
  readonly #unresolved = new Map<string, Moment>();
  /** The value without a reply, which is sent again. */
  #repeated: string | undefined;
  #cancelTimer = () => {};
  #renewal: Promise<unknown> = Promise.resolve();
  #isEnding = false;
  readonly #ignoreDisconnects: () => void;

  private constructor(
    bucket: KV,
    key: string,
    options: LeaseOptions,
    value: LeaseValue,
    revision: number,
  ) {
    this.#bucket = bucket;
    this.#key = key;
    this.#options = options;
    this.#value = value;
    this.#revision = revision;
    const { clock, ackWaitMs, control } = options;
    const fence = new Fence(clock, ackWaitMs / 2, () => control.whenCurrent());
    this.gate = this.#fence = fence;
    this.#ignoreDisconnects = control.onDisconnect(() => fence.interrupt());
  }

  /**
   * Takes a part whose task this worker has received. The part of another worker is taken over if its
   * lease was not renewed for the time of `ackWaitMs`, by this machine's clock and the server's stamp.
   * A fresh lease stays: the part was queued twice, or signs of its worker were lost. The update names
   * the revision that was judged, so a renewal after that refuses it.
   *
   * @returns The lease, or the reason why the part was not taken. It is `refused` when the server did
   * not reply for the time of `ackWaitMs`.
   */
  static async take(
    broker: Broker,
    campaign: string,
    part: number,
    options: LeaseOptions,
  ): Promise<Lease | NotTaken> {
    const { worker, vantage, clock, ackWaitMs } = options;
    const bucket = await broker.bucket(LEASE_BUCKET);
    const key = leaseKey(campaign, part);
    const giveUp = clock.now() + ackWaitMs;
    const mayRepeat = async () => {
      await sleep(clock, ackWaitMs / 4);
      return clock.now() < giveUp;
    };
    let entry = await getEntry(bucket, key);
    while (entry === undefined && await mayRepeat()) entry = await getEntry(bucket, key);
    if (entry === undefined) return "refused";
    const before = entry === null ? undefined : valueOf(entry);
    if (before !== undefined && hasEnded(before)) return "ended";
    const last = before ?? { ...UNTAKEN, worker, at: 0 };
    if (vantage !== undefined && last.views?.done.includes(vantage)) return "viewed";
    const isHeld = last.state === "held";
    if (isHeld && clock.wall() - Number(entry!.created) < ackWaitMs) return "held";
    const why = isHeld ? `worker ${last.worker} stopped without giving the part back` : last.why;
    const value: LeaseValue = {
      ...last,
      ...vantage !== undefined && beginView(last, vantage),
      ...{ state: "held", tries: last.tries + 1, rate: 0, why },
    };
    const lease = new Lease(bucket, key, options, value, entry?.revision ?? 0);
    let outcome = await lease.#write();
    while (outcome === "unknown" && await mayRepeat()) outcome = await lease.#write();
    if (outcome !== "written") {
      await lease.#stop();
      return "refused";
    }
    if (isHeld) await lease.#awaitOtherFence(entry!.created);
    options.onRenewed?.();
    lease.#schedule();
    return lease;
  }

  /** What the worker knows about the part; it is written with the next update. */
  get value(): LeaseValue {
    return this.#value;
  }

  /** Is aborted when another worker has taken the part: then nothing may be done for it. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** The revision of the key, which is a part of the identities of published rows. */
  get revision(): number {
    return this.#revision;
  }

  set(update: Partial<Omit<LeaseValue, "state" | "worker" | "at">>): void {
    this.#value = { ...this.#value, ...update };
  }

  /**
   * Ends the lease: no packet passes the gate any more, and the state is written as often as
   * necessary. `released` restores the number of tries.
   *
   * @param signal Ends the repetitions.
   * @returns Whether the state was written; `false` when the part was lost, or the signal aborted.
   */
  async end(
    state: Exclude<LeaseState, "held">,
    extra: Partial<Omit<LeaseValue, "state" | "worker" | "at">> = {},
    signal?: AbortSignal,
  ): Promise<boolean> {
    await this.#stop();
    if (this.lost.aborted) return false;
    const tries = this.#value.tries - (state === "released" ? 1 : 0);
    this.#value = { ...this.#value, tries, rate: 0, ...extra, state };
    this.#repeated = undefined;
    while (!signal?.aborted) {
      const outcome = await this.#write();
      if (outcome !== "unknown") return outcome === "written";
      await sleep(this.#options.clock, this.#period, signal);
    }
    return false;
  }

  /** Stops renewing, and keeps all packets back. The value of the key stays. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }

  async #stop(): Promise<void> {
    this.#isEnding = true;
    this.#fence.close();
    this.#ignoreDisconnects();
    this.#cancelTimer();
    await this.#renewal;
  }

  get #period(): number {
    return this.#options.ackWaitMs / 4;
  }

  /** Renews the lease a quarter of `ackWaitMs` after the last renewal began. */
  #schedule(wait = this.#period): void {
    if (this.#isEnding || this.lost.aborted) return;
    this.#cancelTimer = this.#options.clock.after(wait, () => {
      this.#renewal = this.#renew();
    });
  }

  async #renew(): Promise<void> {
    const { clock, onRenewed } = this.#options;
    const start = clock.now();
    const outcome = await this.#write();
    if (outcome === "written" && !this.#isEnding) onRenewed?.();
    this.#schedule(Math.max(0, start + this.#period - clock.now()));
  }

  /** Writes the value once. `unknown`: the server did not reply; the write may have succeeded. */
  async #write(): Promise<"written" | "refused" | "unknown"> {
    const { worker, clock } = this.#options;
    const start = momentOf(clock);
    this.#value = { ...this.#value, worker, at: Math.round(start.wall) };
    const json = this.#repeated ?? formatLeaseValue(this.#value);
    try {
      this.#written(await this.#put(json), start);
      return "written";
    } catch (error) {
      if (isWrongRevision(error)) return await this.#resolveRefusal();
      this.#repeated = json;
      if (!this.#unresolved.has(json)) this.#unresolved.set(json, start);
      return "unknown";
    }
  }

  #put(json: string): Promise<number> {
    if (this.#revision === 0) return this.#bucket.create(this.#key, json);
    return this.#bucket.update(this.#key, json, this.#revision, this.#period);
  }

  #written(revision: number, start: Moment): void {
    this.#revision = revision;
    this.#unresolved.clear();
    this.#repeated = undefined;
    this.#fence.renew(start);
  }

  /**
   * A refused update means that the part is lost, unless an earlier update without a reply was
   * written.
   */
  async #resolveRefusal(): Promise<"written" | "refused" | "unknown"> {
    if (this.#unresolved.size > 0) {
      const entry = await getEntry(this.#bucket, this.#key);
      if (entry === undefined) return "unknown"; // the next update is refused again
      const start = entry === null ? undefined : this.#unresolved.get(entry.string());
      if (start !== undefined) {
        this.#written(entry!.revision, start);
        return await this.#write();
      }
    }
    this.#fence.close();
    this.#lost.abort();
    return "refused";
  }

  /**
   * Keeps packets back until the fence of the last holder is closed. It usually is. But if the clock
   * of this machine is ahead, the holder may have renewed the lease just before.
   *
   * @param renewed When the last holder renewed the lease, by the server's clock.
   */
  async #awaitOtherFence(renewed: Date): Promise<void> {
    const { clock, ackWaitMs } = this.#options;
    const now = clock.now();
    const entry = await getEntry(this.#bucket, this.#key);
    const age = entry?.revision === this.#revision ? Number(entry.created) - Number(renewed) : 0;
    this.#fence.holdUntil(now + Math.max(0, ackWaitMs / 2 - age));
  }
}

/** Reads a key; `undefined`: the server did not reply. */
async function getEntry(bucket: KV, key: string): Promise<KvEntry | null | undefined> {
  try {
    return await bucket.get(key);
  } catch {
    return undefined; // the callers repeat the request, or assume the worst
  }
}

/** The value of an entry. One that no worker of this program wrote is as good as none. */
function valueOf(entry: KvEntry): LeaseValue | undefined {
  if (entry.operation !== "PUT") return undefined;
  try {
    return parseLeaseValue(entry.string());
  } catch (error) {
    if (error instanceof FieldError) return undefined;
    throw error;
  }
}
