/**
 * The state of a scan as JSON, for status files and metadata files.
 *
 * @module
 */
import { formatAddress, formatEndpoint } from "../../core/address.ts";
import { type ScanState, silentSyns } from "../../scan/mod.ts";
import { estimateLoss, type FloodReport } from "../../sweep/mod.ts";

/** Packet loss, estimated from the canaries. */
function lossOf({ canaries }: ScanState): Record<string, number> | null {
  const { sent, lost, stopped } = canaries;
  const estimate = estimateLoss(canaries);
  return estimate === undefined ? null : { sent, lost, stopped, ...estimate };
}

/** Hosts that flooded, and the protocols with incomplete results for that reason. */
function floodsOf({ floods }: ScanState): Omit<FloodReport, "passes"> {
  const { hosts, datagrams, addresses, disturbed } = floods;
  return { hosts, datagrams, addresses, disturbed };
}

/** The result of the search for the highest rate. */
function rateOf({ rate }: ScanState): Record<string, number | string | null> | null {
  if (rate === undefined) return null;
  const { lossAt = null, lossThere = null, usualLoss = null } = rate;
  return {
    rate: rate.rate,
    reason: rate.reason,
    loss_at: lossAt,
    loss_there: lossThere,
    usual_loss: usualLoss,
  };
}

/** The passes of an adaptive scan so far, and what they found. */
function adaptiveOf({ adaptive }: ScanState): Record<string, unknown> | null {
  if (adaptive === undefined) return null;
  const { spent, budget = null, evenSweep, found, recentYield, level } = adaptive;
  const { estimates, endedHosts, endedNetworks, ended = null } = adaptive;
  return {
    spent,
    budget,
    even_sweep: evenSweep,
    found,
    servers_per_million: recentYield,
    water_level: level,
    estimates: estimates.map(({ protocol, estimate }) => ({
      protocol,
      ...estimate,
      skipped: estimate.skipped.map((address) => `${formatAddress(address)}/12`),
    })),
    ended_hosts: endedHosts,
    ended_networks: endedNetworks,
    ended,
  };
}

/** The passes over TCP, the replies, and the queries of open ports. */
function tcpOf({ tcp }: ScanState): Record<string, number> {
  return {
    pass: tcp.pass,
    passes: tcp.passes,
    position: tcp.position,
    pass_size: tcp.size,
    probes_sent: tcp.sent,
    ...tcpCounters(tcp),
    unresponsive_networks: tcp.unresponsiveNetworks.size,
  };
}

/** Replies to SYN packets and queries of open ports by outcome, and probes without a reply. */
function tcpCounters(tcp: ScanState["tcp"]): Record<string, number> {
  return { probes_refused: tcp.refused, unanswered: silentSyns(tcp), ...tcp.counts };
}

/** The members of a status file for losses by cause, and for replies, which databases have too. */
export function lossCounters(state: ScanState): Record<string, unknown> {
  return {
    lost: state.lost,
    datagrams_dropped: state.dropped,
    probes_refused: state.refused,
    no_status: state.noStatus,
    uninspected: state.uninspected,
    replies: state.replies,
    floods: { datagrams: state.floods.datagrams },
    tcp: tcpCounters(state.tcp),
  };
}

/** The state as the object of the status file. */
export function scanStatus(state: ScanState): Record<string, unknown> {
  return {
    scan_id: state.scanId,
    state: state.ended ?? "running",
    pass: state.pass,
    passes: state.passes,
    position: state.position,
    pass_size: state.size,
    visited: state.visited,
    total: state.total,
    engine: state.engine,
    threads: state.threads,
    receive_buffer: state.receiveBuffer,
    probes_sent: state.sent,
    probes_refused: state.refused,
    errors: state.errors,
    waits: state.waits,
    datagrams_dropped: state.dropped,
    replies: state.replies,
    omitted_at: state.omittedAt.map(({ endpoint }) => formatEndpoint(endpoint)),
    floods: floodsOf(state),
    outage: state.outage ?? null,
    loss: lossOf(state),
    rate: rateOf(state),
    adaptive: adaptiveOf(state),
    tcp: tcpOf(state),
    inspecting: state.inspecting,
    written: state.written,
    aliases: state.aliases,
    lost: state.lost,
    first_probe_at: state.firstProbeAt ?? null,
    last_row_at: state.lastRowAt ?? null,
    no_status: state.noStatus,
    opted_out: state.optedOut,
    uninspected: state.uninspected,
    inspected_in_part: state.inspectedInPart,
  };
}
