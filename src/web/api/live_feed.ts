/**
 * The state of running scans as server-sent events: `/api/live`.
 *
 * All streams share one reader, which reads the database once a second while a stream is open.
 *
 * @module
 */
import type { Clock } from "../../net/clock.ts";
import { jsonText, SCHEMA } from "../../sinks/json.ts";
import type { StoredScan } from "../../store/mod.ts";
import type { Piece } from "../browser/chart_data.ts";
import { type DashboardData, DataError } from "../queries/dashboard_data.ts";
import type { ListedServer } from "../queries/schemas.ts";
import { RateHistory } from "./rate_history.ts";
import type { AnswerOf } from "../queries/schemas.ts";
import { StreamLimit } from "./stream_limit.ts";

/** A server of a list, without the names of players. */
export function withoutPlayersColumn(server: ListedServer): Omit<ListedServer, "players"> {
  const { players: _, ...listed } = server;
  return listed;
}

/** Maximum number of open streams. */
export const MAX_STREAMS = 50;
/** Pause between two reads of the database, milliseconds. */
const READ_MS = 1000;
/** A stream without an event gets a comment after this time, milliseconds, so that proxies keep it open. */
const HEARTBEAT_MS = 15_000;
/** Number of the last servers of each running scan. */
const FINDS = 5;

/** An event of the stream, without the version of its schema. */
export type LiveState = AnswerOf<"live">;

/** What a feed reads. */
export interface LiveSources {
  readonly data: Pick<DashboardData, "runningScans" | "finds">;
  /** Reads the files of `--status-file`. */
  readonly status: () => Promise<LiveState["status"]>;
  readonly clock: Clock;
  /** Receives an error that is a defect of the program. */
  readonly report: (error: unknown) => void;
}

/** A listener of a feed. It is called with each state that differs from the one before. */
type Listener = (state: LiveState) => void;

/** Reads running scans while somebody listens. */
export class LiveFeed {
  /** The limit of open streams. */
  readonly limit = new StreamLimit(MAX_STREAMS);
  /** Listeners, and the identity of the only scan that each one wants. */
  readonly #listeners = new Map<Listener, string | undefined>();
  /** Listeners without a state yet. */
  readonly #waiting = new Set<Listener>();
  /** The identities of scans that ran while streams were open. */
  readonly #seen = new Set<string>();
  readonly #rates = new RateHistory();
  #last: LiveState | undefined;
  #cancel: (() => void) | undefined;
  #isReading = false;

  constructor(private readonly sources: LiveSources) {}

  /** Number of open streams. */
  get streams(): number {
    return this.#listeners.size;
  }

  /** The rates of a running scan since its start, as far as the dashboard has read its counters. */
  ratesOf(scan: StoredScan): readonly Piece[] {
    this.#rates.add(scan, this.sources.clock.wall());
    return this.#rates.of(scan.scan_id);
  }

  /**
   * Streams events until the signal.
   *
   * @param scan The identity of the only scan. Default: all scans.
   */
  async *stream(scan: string | undefined, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    let pending: LiveState | undefined;
    let wake = () => {};
    const listener = (state: LiveState) => {
      pending = state;
      wake();
    };
    const stop = () => wake();
    signal.addEventListener("abort", stop);
    this.#listen(listener, scan);
    try {
      yield encoder.encode(`retry: ${2 * READ_MS}\n\n`);
      while (!signal.aborted) {
        const woken = new Promise<void>((resolve) => wake = resolve);
        const isAwake = pending !== undefined || signal.aborted;
        const cancel = this.sources.clock.after(HEARTBEAT_MS, () => wake());
        if (!isAwake) await woken;
        cancel();
        if (signal.aborted) return;
        const text = pending === undefined ? ": alive\n\n" : eventText(pending, scan);
        pending = undefined;
        yield encoder.encode(text);
      }
    } finally {
      signal.removeEventListener("abort", stop);
      this.#unlisten(listener);
    }
  }

  #listen(listener: Listener, scan: string | undefined): void {
    this.#listeners.set(listener, scan);
    const last = this.#last;
    const hasScan = scan === undefined || last?.scans.some(({ scan_id }) => scan_id === scan);
    if (last !== undefined && hasScan) listener(last);
    else this.#waiting.add(listener);
    if (this.#listeners.size === 1 && !this.#isReading) void this.#read();
  }

  #unlisten(listener: Listener): void {
    this.#listeners.delete(listener);
    this.#waiting.delete(listener);
    if (this.#listeners.size > 0) return;
    this.#cancel?.();
    this.#cancel = undefined;
    this.#last = undefined;
    this.#seen.clear();
  }

  /** Reads the state, passes it on, and plans the next reading. */
  async #read(): Promise<void> {
    this.#isReading = true;
    const state = await this.#state();
    this.#isReading = false;
    if (this.#listeners.size === 0) return;
    const before = this.#last;
    this.#last = state;
    const isNew = before === undefined || textWithoutTime(before) !== textWithoutTime(state);
    for (const listener of isNew ? this.#listeners.keys() : this.#waiting) listener(state);
    this.#waiting.clear();
    this.#cancel = this.sources.clock.after(READ_MS, () => void this.#read());
  }

  async #state(): Promise<LiveState> {
    const { data, status, clock } = this.sources;
    const files = await status();
    const state = { at: clock.wall(), status: files };
    try {
      const named = [...this.#listeners.values()].filter((id) => id !== undefined);
      const ids = [...new Set([...named, ...this.#seen])];
      const found = (await data.runningScans(ids))
        .filter(({ state, scan_id }) => state === "running" || ids.includes(scan_id));
      const scans = await Promise.all(found.map(async (scan) => {
        const finds = await data.finds(scan.scan_id, FINDS);
        this.#seen.add(scan.scan_id);
        return {
          ...scan,
          ...this.#rates.add(scan, clock.wall()),
          finds: finds.map(withoutPlayersColumn),
        };
      }));
      return { ...state, scans, error: null };
    } catch (error) {
      if (error instanceof DataError) return { ...state, scans: [], error: error.message };
      this.sources.report(error);
      return { ...state, scans: [], error: "The database cannot be read." };
    }
  }
}

const encoder = new TextEncoder();

function textWithoutTime({ scans, status, error }: LiveState): string {
  return JSON.stringify([scans, status, error]);
}

/** An event for a client: with all scans, or only one. */
function eventText(state: LiveState, scan: string | undefined): string {
  const scans = scan === undefined
    ? state.scans
    : state.scans.filter(({ scan_id }) => scan_id === scan);
  return `event: state\ndata: ${jsonText({ schema: SCHEMA, ...state, scans })}\n\n`;
}
