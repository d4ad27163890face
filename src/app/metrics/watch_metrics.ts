/**
 * The numbers of a watch, for collectors.
 *
 * @module
 */
import { formatEndpoint } from "../../core/address.ts";
import type { Journal, WatchCounts, WatchedServer, WatchEvent } from "../../watch/mod.ts";
import { type Family, Histogram, type Sample } from "./prometheus_text.ts";
import { counter, gauge, metricFamily } from "./scan_metrics.ts";

/** Servers with values of their own: the first that were named. */
const MOST_SERVERS = 10_000;
/** How late polls begin, seconds. */
const LATE = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 30];
/** The kinds of events: each has a value from the start. */
const EVENTS: readonly WatchEvent["event"][] = [
  ...["online", "offline", "changed", "players", "restarted", "opted_out"] as const,
];

/** Counts what a watch does. */
export class WatchMetrics {
  readonly #late = new Histogram(LATE);
  readonly #events = new Map<string, number>(EVENTS.map((event) => [event, 0]));

  /** Nothing was done yet. */
  constructor(
    private readonly servers: readonly WatchedServer[],
    private readonly counts: WatchCounts,
    private readonly journals: readonly Journal[],
  ) {}

  /** Takes how late a poll began, milliseconds. */
  late(ms: number): void {
    this.#late.add(ms / 1000);
  }

  /** Takes an event. */
  add({ event }: WatchEvent): void {
    this.#events.set(event, this.#events.get(event)! + 1);
  }

  /** The families. */
  families(): Family[] {
    const { servers, counts, journals } = this;
    const listed = servers.slice(0, MOST_SERVERS).map((server) => ({
      server,
      labels: { server: formatEndpoint(server.endpoint) },
    }));
    const each = (value: (server: WatchedServer) => number): Sample[] =>
      listed.map(({ server, labels }) => ({ labels, value: value(server) }));
    const up = (state: boolean | undefined) => servers.filter(({ online }) => online === state);
    const sum = (of: (journal: Journal) => number) =>
      journals.reduce((all, journal) => all + of(journal), 0);
    return [
      metricFamily("up", "gauge", "Whether the server is up; NaN until that is known.", each(upOf)),
      metricFamily("players", "gauge", "Players; NaN where it does not tell.", each(playersOf)),
      metricFamily(
        "latency_seconds",
        "gauge",
        "Round trip; NaN while it is down.",
        each(latencyOf),
      ),
      metricFamily("servers", "gauge", "Watched servers.", [
        { labels: { state: "online" }, value: up(true).length },
        { labels: { state: "offline" }, value: up(false).length },
        { labels: { state: "unknown" }, value: up(undefined).length },
      ]),
      gauge(
        "servers_without_series",
        `Servers beyond ${MOST_SERVERS}, which have no values of their own.`,
        servers.length - listed.length,
      ),
      counter("polls", "Polls that ended.", counts.polls),
      counter("polls_answered", "Polls that were answered.", counts.answered),
      counter("polls_put_off", "Polls put off for lack of descriptors.", counts.putOff),
      metricFamily("poll_late_seconds", "histogram", "How late polls began.", this.#late.samples),
      gauge(
        "poll_late_worst_seconds",
        "How late the latest poll began.",
        counts.worstLateMs / 1000,
      ),
      metricFamily(
        "events",
        "counter",
        "What was told.",
        [...this.#events].map(([event, value]) => ({ labels: { event }, value })),
      ),
      counter("observations_written", "Observations in lists.", sum(({ written }) => written)),
      counter("observations_lost", "Observations that no list took.", sum(({ lost }) => lost)),
    ];
  }
}

function upOf({ online }: WatchedServer): number {
  return online === undefined ? NaN : online ? 1 : 0;
}

/** Nobody plays on a server that is down. */
function playersOf({ online, row }: WatchedServer): number {
  return online === false ? 0 : row?.players_online ?? NaN;
}

function latencyOf({ online, row }: WatchedServer): number {
  return online ? (row?.latency_ms ?? NaN) / 1000 : NaN;
}
