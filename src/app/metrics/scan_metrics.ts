/**
 * The metrics of a scan.
 *
 * @module
 */
import type { ScanState } from "../../scan/mod.ts";
import type { Family, Sample } from "./prometheus_text.ts";

/** A database, and what is to be written to it. */
export interface WrittenDatabase {
  /** Number of results that are not in the database yet. */
  readonly waiting: number;
  /** Whether the last attempt to write failed. */
  readonly failing: boolean;
}

export function scanFamilies(
  state: ScanState,
  databases: readonly WrittenDatabase[] = [],
): Family[] {
  return [
    ...trafficFamilies(state),
    ...resultFamilies(state),
    ...adaptiveFamilies(state),
    ...databaseFamilies(databases, "Rows in spill files, which wait for databases."),
  ];
}

/**
 * The families of databases.
 *
 * @param help What the backlog counts.
 */
export function databaseFamilies(databases: readonly WrittenDatabase[], help: string): Family[] {
  return [
    gauge("database_backlog", help, databases.reduce((sum, { waiting }) => sum + waiting, 0)),
    gauge(
      "databases_failing",
      "Databases that could not be written at the last attempt.",
      databases.filter(({ failing }) => failing).length,
    ),
  ];
}

/** The families of what a scan sends and receives. */
function trafficFamilies(state: ScanState): Family[] {
  const { tcp } = state;
  const { valid, invalid, closed, unresponsive, cancelled, unqueried, ...synReplies } = tcp.counts;
  // An unverified reply moves to another class later, so the number of unverified ones can fall.
  const { unverified, ...classes } = state.replies;
  const labelled = (label: string, counts: object): Sample[] =>
    Object.entries(counts).map(([key, value]) => ({ labels: { [label]: key }, value }));
  return [
    counter("probes_sent", "Probes sent over UDP.", state.sent),
    counter("probes_refused", "Probes over UDP that the system refused to send.", state.refused),
    counter("syn_packets_sent", "Probes sent over TCP: SYN packets.", tcp.sent),
    counter("syn_packets_refused", "SYN packets that the system refused to send.", tcp.refused),
    metricFamily(
      "syn_replies",
      "counter",
      "Replies to SYN packets, by class.",
      labelled("class", synReplies),
    ),
    metricFamily(
      "open_ports",
      "counter",
      "Queries of open TCP ports, by outcome.",
      labelled("outcome", { valid, invalid, closed, unresponsive, cancelled, unqueried }),
    ),
    gauge(
      "unresponsive_networks",
      "Networks and hosts that accept connections over TCP and reply to no query.",
      tcp.unresponsiveNetworks.size,
    ),
    metricFamily(
      "replies",
      "counter",
      "Datagrams received in reply to probes, by class.",
      labelled("class", classes),
    ),
    gauge("replies_unverified", "Replies that no second query has confirmed yet.", unverified),
    counter(
      "datagrams_dropped",
      "Received datagrams that the system dropped: a receive buffer was full, or a checksum wrong.",
      state.dropped,
    ),
    gauge("flooding_hosts", "Hosts that flood, by the source of datagrams.", state.floods.hosts),
    counter("flood_datagrams", "Datagrams received from flooding hosts.", state.floods.datagrams),
  ];
}

/** The families of what a scan finds: servers, rows, and targets that are left. */
function resultFamilies(state: ScanState): Family[] {
  return [
    counter(
      "servers_without_status",
      "Servers that replied to a probe and to no follow-up.",
      state.noStatus,
    ),
    counter("servers_opted_out", "Servers that opted out.", state.optedOut),
    gauge(
      "servers_uninspected",
      "Servers not inspected for lack of descriptors.",
      state.uninspected,
    ),
    counter("rows_written", "Rows that every output accepted.", state.written),
    counter("rows_lost", "Rows that could not be written.", state.lost),
    gauge("inspections", "Inspections in progress or pending.", state.inspecting),
    gauge("targets", "Targets of all passes.", state.total),
    gauge("targets_visited", "Targets that the passes have visited.", state.visited),
  ];
}

function adaptiveFamilies({ adaptive }: ScanState): Family[] {
  if (adaptive === undefined) return [];
  const { spent, budget, recentYield, estimates } = adaptive;
  const estimated = (of: "found" | "total" | "low" | "high") =>
    estimates.map(({ protocol, estimate }) => ({ labels: { protocol }, value: estimate[of] }));
  return [
    gauge("adaptive_probes", "Probes of all complete passes.", spent),
    ...budget === undefined
      ? []
      : [gauge("adaptive_budget_probes", "Probes that the budget allows.", budget)],
    gauge(
      "adaptive_servers_per_million",
      "Servers per million probes in the last two passes.",
      recentYield,
    ),
    ...([
      ["found", "found", "Servers that were found on default ports."],
      ["estimated", "total", "Estimated number of servers on default ports."],
      ["estimated_low", "low", "Lower end of the 95 % interval of the estimate."],
      ["estimated_high", "high", "Upper end of the 95 % interval of the estimate."],
    ] as const).map(([name, of, help]) =>
      metricFamily(`adaptive_servers_${name}`, "gauge", help, estimated(of))
    ),
  ];
}

/** A family of type counter with one value. */
export function counter(name: string, help: string, value: number): Family {
  return metricFamily(name, "counter", help, [{ value }]);
}

/** A family of type gauge with one value. */
export function gauge(name: string, help: string, value: number): Family {
  return metricFamily(name, "gauge", help, [{ value }]);
}

/** A metric family. Its name gets the prefix `blocksweep_`; a counter gets the suffix `_total` too. */
export function metricFamily(
  name: string,
  type: Family["type"],
  help: string,
  samples: readonly Sample[],
): Family {
  return { name: `blocksweep_${name}${type === "counter" ? "_total" : ""}`, type, help, samples };
}
