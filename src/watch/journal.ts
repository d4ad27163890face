/**
 * Keeping a list up to date while a watch runs: in batches, and never in the way of the watch.
 *
 * @module
 */
import { type Address, formatEndpoint } from "../core/address.ts";
import type { Clock } from "../net/clock.ts";
import type { RecordWithAttachments, ServerRecord } from "../core/record.ts";
import type { OptOut } from "../store/opt_outs.ts";
import type { PolledServer, PollObservation } from "../store/poll_writer.ts";
import type { WatchEvent } from "./events.ts";
import type { WatchedServer } from "./watched_server.ts";

/** How often what has gathered is written, milliseconds; after a failure ever more seldom. */
const EVERY_MS = 1000;
const SELDOM_MS = 30_000;
/** Servers, and observations, that are written in one transaction. */
const BATCH = 1000;
/** Observations that wait at the most; those beyond are lost, the oldest first. */
const MOST_WAITING = 200_000;
/** While nothing happens to a server, it is noted so often that it is as it was, milliseconds. */
const UNCHANGED_MS = 3_600_000;
/** And so often where it stands, which says when it was last asked. */
const STANDS_MS = 60_000;
const SECONDS = 60;

/** What a journal needs. */
export interface JournalOptions {
  /** How it is told of. */
  readonly name: string;
  /** The watch. */
  readonly scanId: string;
  /** Writes into the list; rejects when that fails, and is then called again with the same. */
  readonly write: (
    servers: readonly PolledServer[],
    states: readonly PollObservation[],
    optOuts: readonly OptOut[],
  ) => Promise<void>;
  /** The clock. */
  readonly clock: Clock;
  /** Told when writing fails, and when it works again. */
  readonly tell: (line: string) => void;
  /** Observations that wait at the most. Default: 200,000. */
  readonly mostWaiting?: number;
}

/** A row with what came beside it. */
function withAttached(row: ServerRecord, answer: RecordWithAttachments | undefined): ServerRecord {
  const attachments = answer?.attachments;
  return attachments === undefined ? row : { ...row, attachments } as RecordWithAttachments;
}

/** What is known of a server's polls. */
interface Noted {
  /** The number of the last. */
  round: number;
  /** When it was last observed, and when its stand was last given to be written. */
  notedAt: number;
  writtenAt: number;
  /** Polls in a row that it had not answered then. */
  misses: number;
}

/** Takes polls, and writes them. */
export class Journal {
  /** Observations that were written. */
  written = 0;
  /** Observations that were lost. */
  lost = 0;
  /** Servers that were polled since they were written, as they stand. */
  #servers = new Map<string, PolledServer>();
  #states: PollObservation[] = [];
  /** Addresses that opted out since that was written. */
  #optOuts: OptOut[] = [];
  /** Servers to which nothing has happened, as they stand: they are written in their time. */
  readonly #quiet = new Map<string, PolledServer>();
  readonly #rounds = new Map<WatchedServer, Noted>();
  #cancel: (() => void) | undefined;
  #writing: Promise<void> | undefined;
  #pause = EVERY_MS;
  /** Notes that the watch begins, until that is noted: what is observed refers to it. */
  #begin: (() => Promise<void>) | undefined;
  /** Observations that are being written. */
  #underway = 0;
  /** Whether the list took nothing when it was last tried. */
  failing = false;
  #over = false;

  /** Nothing waits yet. */
  constructor(private readonly options: JournalOptions) {}

  /**
   * Notes that the watch begins, before all else; tries again later where that fails.
   *
   * @param note Does so; rejects when that fails, and is then called again.
   */
  async begin(note: () => Promise<void>): Promise<void> {
    this.#begin = note;
    await this.#start();
  }

  /**
   * Takes a poll; returns at once.
   *
   * @param server As it stands after the poll.
   * @param events What the poll told.
   * @param at When it ended, Unix milliseconds.
   * @param answer What came, with what is beside the row.
   */
  note(
    server: WatchedServer,
    events: readonly WatchEvent[],
    at: number,
    answer?: RecordWithAttachments,
  ): void {
    const { row, misses, endpoint } = server;
    const online = server.online === true;
    const id = formatEndpoint(endpoint);
    const current = misses === 0 ? row : undefined;
    const known = this.#rounds.get(server) ?? this.#meet(server, at);
    const earlier = this.#servers.get(id) ?? this.#quiet.get(id);
    const stand = { id, record: current ?? earlier?.record, online, failures: misses, at };
    const happened = events.length > 0 || misses !== known.misses;
    known.round++;
    known.misses = misses;
    if (happened || this.#servers.has(id) || at - known.writtenAt >= STANDS_MS) {
      known.writtenAt = at;
      this.#quiet.delete(id);
      this.#servers.set(id, stand);
    } else this.#quiet.set(id, stand);
    // Whether it is up is open between a miss and the next answer: that is not noted.
    const told = events.length > 0 || at - known.notedAt >= UNCHANGED_MS;
    if (told && row !== undefined && (current !== undefined || !online)) {
      known.notedAt = at;
      const { scanId } = this.options;
      const seen = current && withAttached(current, answer);
      this.#states.push({ scanId, id, round: known.round, at, record: seen });
      this.#bound();
    }
    this.#schedule();
  }

  /** Takes that an address opted out. */
  optOut(address: Address, at: number): void {
    this.#optOuts.push({ address, at });
    this.#schedule();
  }

  /**
   * Writes what is left.
   *
   * @param patienceMs How long it may take; what is not written by then is lost.
   */
  async close(patienceMs: number): Promise<void> {
    const { clock } = this.options;
    const deadline = clock.now() + patienceMs;
    this.#over = true;
    this.#cancel?.();
    for (const [id, stand] of this.#quiet) this.#servers.set(id, stand);
    this.#quiet.clear();
    const { promise: timeUp, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(patienceMs, resolve);
    while (this.#waits && clock.now() < deadline) {
      await Promise.race([this.#start(), timeUp]);
      if (!this.failing) continue;
      const pause = Math.min(EVERY_MS, deadline - clock.now());
      if (pause > 0) await new Promise<void>((resolve) => clock.after(pause, resolve));
    }
    cancel();
    const left = this.#states.length + this.#underway;
    if (left > 0 || this.#waits) this.failing = true;
    this.lost += left;
    this.#states = [];
  }

  /** A server's first poll: where it stands is written at another second than for its neighbours. */
  #meet(server: WatchedServer, at: number): Noted {
    const writtenAt = at - STANDS_MS * (this.#rounds.size % SECONDS) / SECONDS;
    const known = { round: 0, notedAt: -Infinity, writtenAt, misses: 0 };
    this.#rounds.set(server, known);
    return known;
  }

  #bound(): void {
    const { mostWaiting = MOST_WAITING } = this.options;
    const many = this.#states.length - mostWaiting;
    if (many <= 0) return;
    this.#states.splice(0, many);
    this.lost += many;
  }

  #schedule(): void {
    if (this.#over || this.#cancel !== undefined || this.#writing !== undefined) return;
    if (!this.#waits) return;
    this.#cancel = this.options.clock.after(this.#pause, () => {
      this.#cancel = undefined;
      void this.#start();
    });
  }

  /** Whether there is something to write. */
  get #waits(): boolean {
    return this.#begin !== undefined ||
      this.#servers.size + this.#states.length + this.#optOuts.length > 0;
  }

  /** Writes, unless that is being done. */
  #start(): Promise<void> {
    return this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
      this.#schedule();
    });
  }

  /** Writes all that waits, batch by batch; what could not be written waits again. */
  async #write(): Promise<void> {
    const { clock, write, name, tell } = this.options;
    try {
      await this.#begin?.();
      this.#begin = undefined;
      while (this.#waits) {
        const servers = [...this.#servers.values()].slice(0, BATCH);
        const states = this.#states.splice(0, BATCH);
        const optOuts = this.#optOuts.splice(0);
        for (const { id } of servers) this.#servers.delete(id);
        this.#underway = states.length;
        try {
          await write(servers, states, optOuts);
        } catch (error) {
          this.#takeBack(servers, states);
          this.#optOuts.unshift(...optOuts);
          throw error;
        } finally {
          this.#underway = 0;
        }
        this.written += states.length;
        await clock.yieldToEvents(); // polls go on between transactions
      }
      if (this.failing) tell(`${name} takes what is seen again`);
      this.failing = false;
      this.#pause = EVERY_MS;
    } catch (error) {
      if (!this.failing) tell(`${(error as Error).message}; the watch goes on, and tries again`);
      this.failing = true;
      this.#pause = Math.min(2 * this.#pause, SELDOM_MS);
    }
  }

  /** Keeps what could not be written, unless something newer is known. */
  #takeBack(servers: readonly PolledServer[], states: readonly PollObservation[]): void {
    for (const server of servers) {
      if (!this.#servers.has(server.id)) this.#servers.set(server.id, server);
    }
    this.#states.unshift(...states);
    this.#bound();
  }
}
