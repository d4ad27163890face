/**
 * The metrics of a watch.
 *
 * @module
 */
import { formatEndpoint } from "../../core/address.ts";
import {
  EVENT_KINDS,
  type Journal,
  type WatchCounts,
  type WatchedServer,
  type WatchEvent,
} from "../../watch/mod.ts";
import { type Family, Histogram, type Sample } from "./prometheus_text.ts";
import { counter, gauge, metricFamily } from "./scan_metrics.ts";

/** Maximum number of servers with a time series of their own; later ones have none. */
const MOST_SERVERS = 10_000;
/** Bucket bounds of the delay of polls, seconds. */
const LATE = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 30];
/** Counts what a watch does. */
export class WatchMetrics {
  readonly #late = new Histogram(LATE);
  readonly #events = new Map(EVENT_KINDS.map((event) => [event, 0]));

  /** Starts with zero events and no late polls. */
  constructor(
    private readonly servers: readonly WatchedServer[],
    private readonly counts: WatchCounts,
    private readonly journals: readonly Journal[],
  ) {}

  /** Counts the delay of a poll against its schedule, milliseconds. */
  late(ms: number): void {
    this.#late.add(ms / 1000);
  }

  /** Counts an event by its kind. */
  add({ event }: WatchEvent): void {
    this.#events.set(event, this.#events.get(event)! + 1);
  }

  /** All metric families, with their current values. */
  families(): Family[] {
    return [...serverFamilies(this.servers), ...this.#pollFamilies(), ...this.#journalFamilies()];
  }

  /** The families of polls, and of the events that they led to. */
  #pollFamilies(): Family[] {
    const { polls, replied, deferred, maxLateMs } = this.counts;
    return [
      counter("polls", "Finished polls.", polls),
      counter("polls_replied", "Polls with a reply.", replied),
      counter("polls_deferred", "Polls deferred for lack of descriptors.", deferred),
      metricFamily(
        "poll_delay_seconds",
        "histogram",
        "Delay of polls against their schedule.",
        this.#late.samples,
      ),
      gauge(
        "poll_delay_max_seconds",
        "Longest delay of a poll against its schedule.",
        maxLateMs / 1000,
      ),
      metricFamily(
        "events",
        "counter",
        "Events by kind.",
        [...this.#events].map(([event, value]) => ({ labels: { event }, value })),
      ),
    ];
  }

  /** The families of the observations that databases store. */
  #journalFamilies(): Family[] {
    const sum = (of: (journal: Journal) => number) =>
      this.journals.reduce((all, journal) => all + of(journal), 0);
    return [
      counter(
        "observations_written",
        "Observations written to databases.",
        sum(({ written }) => written),
      ),
      counter(
        "observations_lost",
        "Observations that no database accepted.",
        sum(({ lost }) => lost),
      ),
    ];
  }
}

/** The families of the servers: their number by state, and series for each of the first ones. */
function serverFamilies(servers: readonly WatchedServer[]): Family[] {
  const listed = servers.slice(0, MOST_SERVERS).map((server) => ({
    server,
    labels: { server: formatEndpoint(server.endpoint) },
  }));
  const each = (value: (server: WatchedServer) => number): Sample[] =>
    listed.map(({ server, labels }) => ({ labels, value: value(server) }));
  const countOf = (state: boolean | undefined) =>
    servers.filter(({ online }) => online === state).length;
  return [
    metricFamily(
      "up",
      "gauge",
      "1: the server is online; 0: offline; NaN: not yet known.",
      each(upOf),
    ),
    metricFamily("players", "gauge", "Players online; NaN: unknown.", each(playersOf)),
    metricFamily(
      "latency_seconds",
      "gauge",
      "Round-trip time; NaN: offline or unknown.",
      each(latencyOf),
    ),
    metricFamily("servers", "gauge", "Watched servers by state.", [
      { labels: { state: "online" }, value: countOf(true) },
      { labels: { state: "offline" }, value: countOf(false) },
      { labels: { state: "unknown" }, value: countOf(undefined) },
    ]),
    gauge(
      "servers_without_series",
      `Servers beyond the first ${MOST_SERVERS}, which have no series of their own.`,
      servers.length - listed.length,
    ),
  ];
}

function upOf({ online }: WatchedServer): number {
  return online === undefined ? NaN : online ? 1 : 0;
}

/** An offline server has no players. */
function playersOf({ online, row }: WatchedServer): number {
  return online === false ? 0 : row?.players_online ?? NaN;
}

function latencyOf({ online, row }: WatchedServer): number {
  return online ? (row?.latency_ms ?? NaN) / 1000 : NaN;
}
