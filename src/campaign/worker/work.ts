/**
 * A worker of campaigns: takes parts, scans them, and publishes their rows.
 *
 * @module
 */
import {
  DEFAULT_VANTAGE,
  type GivenOptions,
  type OptionsOf,
  readOptions,
} from "../../app/options/mod.ts";
import type { ScanContext } from "../../app/scan/mod.ts";
import { randomBytes } from "../../app/mod.ts";
import type { OptOutList } from "../../net/mod.ts";
import { contextNetwork } from "../../app/network/call_context.ts";
import { rangeOfOne } from "../../targets/ranges.ts";
import { workerExclusions } from "../part_request.ts";
import type { Address } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { sleep } from "../../net/clock.ts";
import { Control } from "../control.ts";
import { type Broker, connectBroker } from "../nats/connection.ts";
import { checkTopology } from "../nats/topology.ts";
import { CampaignJob } from "./campaign_job.ts";
import { requireSockets } from "./require_sockets.ts";
import { WorkerBeat } from "./worker_beat.ts";
import type { WorkerContext } from "./worker_context.ts";

export type WorkOptions = OptionsOf<"campaign work">;

/** What a worker uses besides its options. */
export interface WorkSurroundings {
  readonly context: Omit<ScanContext, "takesRows" | "writeRows" | "optOuts">;
  /** Ends the work in good order: parts are given back. */
  readonly signal: AbortSignal;
  /** Called for each round of the worker's loop, which takes parts. */
  readonly onRound?: () => void;
  /** Ends the work at once: other workers take the parts when their time is over. */
  readonly abandon?: AbortSignal;
}

/** The first pause after a part that failed, divided by two, and the longest one, milliseconds. */
const FAILURE_MS = 500;
const MAX_PAUSE_MS = 60_000;
/** Pause while there is nothing to do, or the server does not reply, milliseconds. */
const IDLE_MS = 1000;

/**
 * Works until the signal aborts.
 *
 * @throws InputError when the worker cannot begin: no server, no campaign, a wrong clock, options that
 * cannot be used, or a socket that cannot be opened.
 */
export async function work(given: GivenOptions, surroundings: WorkSurroundings): Promise<void> {
  const { context, signal, onRound, abandon = new AbortController().signal } = surroundings;
  const options = readOptions("campaign work", given, context);
  const { slots, engine, optOutFile, vantage } = options;
  if (engine === "xdp" && slots > 1) {
    throw new InputError(
      `Cannot use --engine xdp with --slots ${slots}: one scan at a time can use it; use --slots 1`,
    );
  }
  await requireSockets(options, context.network);
  const network = contextNetwork(context, optOutFile);
  const { clock } = network;
  const excluded = await workerExclusions(options, network.resolve);
  const worker = randomBytes(6).toHex();
  const report = options.quiet ? () => {} : context.warn;
  await using broker = await connectBroker(options, `blocksweep worker ${worker}`);
  await checkTopology(broker);
  const facts = {
    ...{ slots, engine: engine ?? "default", program: context.program, ...hostName() },
    ...vantage !== DEFAULT_VANTAGE && { vantage },
  };
  await using beat = await WorkerBeat.start(broker, { worker, facts, clock, report });
  await using control = await Control.open(broker, context.warn);
  const pool = new JobPool(slots, {
    broker,
    control,
    worker,
    vantage,
    options,
    excluded,
    context: {
      ...context,
      optOuts: optOutsOf(control, optOutFile === undefined ? undefined : network.optOuts),
      takesRows: true,
      writeRows: () => Promise.resolve(0),
    },
    clock,
    report,
    waiting: new Set(),
    abandon,
  });
  // A file that cannot be used ends the worker here, and not each of its parts.
  if (optOutFile !== undefined) await network.optOuts.read();
  void reportConnection(broker, report);
  await pool.run(beat, AbortSignal.any([signal, abandon]), onRound);
}

/**
 * The opt-outs of all campaigns, and those of the worker's own file. The checkpointers of parts share
 * new ones, and wait until they are stored.
 */
function optOutsOf(control: Control, file: OptOutList | undefined): OptOutList {
  return {
    read: async () => [
      ...Array.from(control.optOuts().keys(), rangeOfOne),
      ...await file?.read() ?? [],
    ],
    note: (address, source) => file?.note(address, source),
    version: file?.version,
  };
}

/** The name of the machine, if the program may know it. */
function hostName(): { readonly host?: string } {
  const { state } = Deno.permissions.querySync({ name: "sys", kind: "hostname" });
  return state === "granted" ? { host: Deno.hostname() } : {};
}

/** Reports when the connection breaks, and when it is there again. */
async function reportConnection(broker: Broker, report: (line: string) => void): Promise<void> {
  for await (const { type } of broker.connection.status()) {
    if (type === "disconnect") {
      report(`blocksweep: NATS at ${broker.urls} is not reachable; all parts wait`);
    } else if (type === "reconnect") {
      report(`blocksweep: NATS at ${broker.urls} is reachable again`);
    }
  }
}

/** The campaigns, and the slots in which their parts are scanned. */
class JobPool {
  readonly #jobs = new Map<string, CampaignJob>();
  readonly #running = new Set<Promise<void>>();
  /** Number of parts that failed one after the other, and when the next one may be taken. */
  #failures = 0;
  #resumesAt = -Infinity;
  /** The opt-outs that running parts have. One that was removed and added again is new. */
  #shared: ReadonlySet<Address> = new Set();
  /** The index of the campaign that gets the next free slot. */
  #turn = 0;

  constructor(private readonly slots: number, private readonly worker: WorkerContext) {}

  /** Takes and scans parts until the signal aborts, and gives back what is not finished. */
  async run(
    clocks: Pick<WorkerBeat, "hasRightClock">,
    signal: AbortSignal,
    onRound: () => void = () => {},
  ): Promise<void> {
    const { control, abandon } = this.worker;
    this.#update();
    const unwatch = control.onChange(() => this.#update());
    while (!signal.aborted) {
      onRound();
      const mayTake = clocks.hasRightClock && this.worker.clock.now() >= this.#resumesAt;
      const isBusy = mayTake && await this.#fill(signal);
      if (!isBusy) await this.#pause(signal);
    }
    unwatch();
    for (const job of this.#jobs.values()) job.stop("stopped");
    if (abandon.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    abandon.addEventListener("abort", () => resolve(), { once: true });
    await Promise.race([Promise.all(this.#running), promise]);
  }

  /** Takes over changes of campaigns, and opt-outs. */
  #update(): void {
    const { control } = this.worker;
    const entries = control.campaigns();
    for (const [name, job] of this.#jobs) {
      const entry = entries.get(name);
      if (entry !== undefined && job.isOf(entry)) job.change(entry.state);
      else {
        job.change("cancelled"); // it was removed
        this.#jobs.delete(name);
      }
    }
    for (const [name, entry] of entries) {
      if (!this.#jobs.has(name)) this.#jobs.set(name, new CampaignJob(this.worker, name, entry));
    }
    const before = this.#shared;
    this.#shared = new Set(control.optOuts().keys());
    for (const address of this.#shared) {
      if (before.has(address)) continue;
      for (const job of this.#jobs.values()) job.optOut(address);
    }
  }

  /** Fetches tasks for the free slots, in turn from each campaign. Returns whether it asked for any. */
  async #fill(signal: AbortSignal): Promise<boolean> {
    const free = this.slots - this.#running.size;
    const runnable = [...this.#jobs.values()].filter(({ isRunnable }) => isRunnable);
    if (free === 0 || runnable.length === 0) return false;
    const first = this.#turn % runnable.length;
    const ordered = [...runnable.slice(first), ...runnable.slice(0, first)];
    const checked = await Promise.all(
      ordered.map(async (job) => await job.hasTasks().catch(() => false) ? [job] : []),
    );
    const jobs = checked.flat().slice(0, free);
    if (jobs.length === 0 || signal.aborted) return false;
    this.#turn += jobs.length;
    const results = await Promise.all(jobs.map((job, i) => {
      const share = Math.floor(free / jobs.length) + (i < free % jobs.length ? 1 : 0);
      return job.fetch(share, (run) => this.#track(run)).then(() => true, () => false);
    }));
    return results.some((isFetched) => isFetched);
  }

  #track(run: Promise<boolean>): void {
    const tracked = run.then((isWhole) => {
      this.#running.delete(tracked);
      this.#count(isWhole);
    });
    this.#running.add(tracked);
  }

  /**
   * Pauses after a failure, twice as long after each further one. A worker that cannot scan therefore
   * leaves the parts to others, and does not use up their tries.
   */
  #count(isWhole: boolean): void {
    this.#failures = isWhole ? 0 : this.#failures + 1;
    if (isWhole) return;
    const pause = Math.min(MAX_PAUSE_MS, 2 ** this.#failures * FAILURE_MS);
    this.#resumesAt = this.worker.clock.now() + pause;
  }

  /** Waits until a part ends or a second is over. */
  async #pause(signal: AbortSignal): Promise<void> {
    const waiting = new AbortController();
    const either = AbortSignal.any([signal, waiting.signal]);
    await Promise.race([sleep(this.worker.clock, IDLE_MS, either), ...this.#running]);
    waiting.abort();
  }
}
