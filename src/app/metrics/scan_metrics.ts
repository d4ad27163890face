/**
 * The numbers of a scan, for collectors.
 *
 * @module
 */
import type { ScanState } from "../../scan/scan_state.ts";
import type { Family, Sample } from "./prometheus_text.ts";

/** The families of a scan. */
export function scanFamilies(state: ScanState): Family[] {
  const { tcp } = state;
  const replies = Object.entries(state.replies).map(([kind, value]): Sample => ({
    labels: { kind },
    value,
  }));
  const connections = Object.entries(tcp.counts).map(([outcome, value]): Sample => ({
    labels: { outcome },
    value,
  }));
  return [
    counter("probes_sent", "Probes that left.", state.sent),
    counter("probes_refused", "Probes that the system refused to send.", state.refused),
    counter("connections_begun", "Connections that were begun.", tcp.sent),
    metricFamily("connections", "counter", "Connections, by what came of them.", connections),
    metricFamily("replies", "counter", "Datagrams besides conversations, by kind.", replies),
    counter("datagrams_dropped", "Datagrams that found no room in a buffer.", state.dropped),
    gauge(
      "hosts_flooding",
      "Hosts that flooded, or in whose name a flood was forged.",
      state.floods.hosts,
    ),
    counter("flood_datagrams", "Datagrams of flooding hosts.", state.floods.datagrams),
    counter("servers_fell_silent", "Servers that told no status.", state.fellSilent),
    counter("servers_opted_out", "Servers that asked to be left alone.", state.optedOut),
    gauge(
      "targets_unprobed",
      "TCP targets for which no descriptor could be had.",
      tcp.unprobed,
    ),
    gauge(
      "servers_uninspected",
      "Servers without a row, for no descriptor could be had to inspect them.",
      state.uninspected,
    ),
    counter("rows_written", "Rows that every output has accepted.", state.written),
    counter("rows_lost", "Rows that could not be written.", state.lost),
    gauge("inspections", "Servers that are asked, or wait for it.", state.inspecting),
    gauge("targets", "Positions of all passes.", state.total),
    gauge("targets_visited", "Positions left behind.", state.visited),
  ];
}

/** A family of one value that only grows. */
export function counter(name: string, help: string, value: number): Family {
  return metricFamily(name, "counter", help, [{ value }]);
}

/** A family of one value. */
export function gauge(name: string, help: string, value: number): Family {
  return metricFamily(name, "gauge", help, [{ value }]);
}

/** A family. */
export function metricFamily(
  name: string,
  type: Family["type"],
  help: string,
  samples: readonly Sample[],
): Family {
  return { name: `blocksweep_${name}${type === "counter" ? "_total" : ""}`, type, help, samples };
}
