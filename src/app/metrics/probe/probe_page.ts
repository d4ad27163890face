/**
 * The metrics of one probe, as blackbox_exporter has them. They have no label with the target:
 * Prometheus adds it as `instance`.
 *
 * @module
 */
import type { Family } from "../prometheus_text.ts";
import { gauge, metricFamily } from "../scan_metrics.ts";
import type { InfoLabels } from "../server_info.ts";

/** What a server reported in a probe. */
export interface ProbedStatus {
  /** Players online; `null`: unknown. */
  readonly players: number | null;
  /** Player slots; `null`: unknown. */
  readonly slots: number | null;
  /** Round trip, milliseconds; `null`: unknown. */
  readonly latencyMs: number | null;
  /** The labels of the info series; `undefined`: there is none. */
  readonly info: InfoLabels | undefined;
}

/** The result of a probe. */
export interface ProbeMetrics {
  /** What the server reported; `undefined`: it did not reply. */
  readonly status: ProbedStatus | undefined;
  /** Duration of the probe without the lookup of the name, milliseconds. */
  readonly tookMs: number;
  /** Duration of the lookup of the name, milliseconds; 0 for an address. */
  readonly lookupMs: number;
}

export function probeFamilies({ status, tookMs, lookupMs }: ProbeMetrics): Family[] {
  return [
    plain("probe_success", "1: the server replied; 0: it did not.", status === undefined ? 0 : 1),
    plain("probe_duration_seconds", "Duration of the probe.", (tookMs + lookupMs) / 1000),
    plain("probe_dns_lookup_time_seconds", "Duration of the lookup of the name.", lookupMs / 1000),
    gauge("probe_players", "Players online; NaN: unknown.", status?.players ?? NaN),
    gauge("probe_players_max", "Player slots; NaN: unknown.", status?.slots ?? NaN),
    gauge(
      "probe_latency_seconds",
      "Round-trip time; NaN: unknown.",
      (status?.latencyMs ?? NaN) / 1000,
    ),
    ...(status?.info === undefined ? [] : [
      metricFamily("probe_info", "gauge", "What the server publishes about itself.", [
        { value: 1, labels: { ...status.info } },
      ]),
    ]),
  ];
}

/** A family whose name is that of blackbox_exporter, without our prefix. */
function plain(name: string, help: string, value: number): Family {
  return { name, type: "gauge", help, samples: [{ value }] };
}
