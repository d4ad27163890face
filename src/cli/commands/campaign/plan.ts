/**
 * The plan of a campaign: its parts, and what workers would send.
 *
 * @module
 */
import type { PreparedCampaign } from "../../../campaign/mod.ts";
import { DEFAULT_SLOTS } from "../../../app/options/mod.ts";
import { rateOf } from "../../../app/engines/mod.ts";
import { maxSent } from "../../../app/targets/mod.ts";
import { clockTime, countOf, withCommas } from "../../../core/quantities.ts";
import { portList } from "../../../targets/ports.ts";
import { permissionNeeded } from "../../../targets/permission.ts";
import { resultLine } from "../../term/json_results.ts";
import {
  excludedText,
  joinTexts,
  limitsText,
  minSeconds,
  neededPermission,
  passesText,
  type PlanRow,
  portsText,
  probesText,
  requestsOf,
  rowLines,
  sentPorts,
  suppressionText,
  targetsText,
  tcpProbesText,
  verificationsOf,
} from "../scan/dry_run.ts";
import { limitsOf, passesOf, targetCounts } from "../scan/plan_json.ts";

export function campaignPlanLines(campaign: PreparedCampaign): string[] {
  const { named, selection, plan, limits, networks, spec } = campaign;
  const { name, parts, maxRunning, views } = spec;
  const { order: { seed } } = selection;
  const { datagrams, connections, seconds } = partOf(campaign);
  const rows: readonly PlanRow[] = [
    ["campaign", name],
    ["targets", targetsText(named)],
    ["SRV records", joinTexts(requestsOf(named))],
    ["excluded", excludedText(named)],
    ["permission", neededPermission(named.targets)],
    ["ports", portsText(selection)],
    ["order", seed === undefined ? "ascending" : `shuffled, --seed ${seed}`],
    [
      "parts",
      `${withCommas(parts)} of ${countOf(networks, "network")} (/24, IPv6: /48), at most ` +
      `${withCommas(maxRunning)} at the same time`,
    ],
    ["views", viewsText(views)],
    [
      "a part",
      `the first: at most ${countOf(datagrams, "datagram")} and ` +
      `${countOf(connections, "connection")}, at least ${clockTime(seconds)}`,
    ],
    ["workers", workersText(maxRunning)],
    ["suppression", suppressionText(plan)],
    ["passes", passesText(plan)],
    ["probes", probesText(plan)],
    ["TCP probes", tcpProbesText(plan)],
    ["verify", joinTexts(verificationsOf(campaign))],
    ["limits", limitsText(limits)],
    ["bandwidth", bandwidthText(bitsPerSecond(campaign))],
    ["duration", `at least ${clockTime(secondsOf(campaign))}`],
  ];
  return rowLines(rows);
}

/** The plan of a campaign as one line of JSON. */
export function campaignPlanJson(campaign: PreparedCampaign): string {
  const { named, selection, plan, limits, networks, spec } = campaign;
  const { name, parts, maxRunning, views } = spec;
  const { udp, tcp } = maxSent(plan);
  const { datagrams, connections, seconds } = partOf(campaign);
  return resultLine("campaign submit --dry-run", {
    name,
    ...targetCounts(named),
    srv_records: requestsOf(named),
    permission: permissionNeeded(named.targets) ?? null,
    ports: sentPorts(selection)
      .map(({ protocol, ports }) => ({ protocol, ports: portList(ports) })),
    seed: selection.order.seed ?? null,
    parts,
    networks,
    max_running: maxRunning,
    views: views ?? 1,
    first_part: { probes: datagrams, tcp_probes: connections, duration_s: seconds },
    passes: passesOf(plan),
    probes: udp,
    tcp_probes: tcp,
    verify: verificationsOf(campaign),
    limits: limitsOf(limits),
    bits_per_second: bitsPerSecond(campaign) ?? null,
    duration_s: secondsOf(campaign),
  });
}

/** What the first part sends, and its least duration at its share of the rate, seconds. */
function partOf({ firstPart, limits }: PreparedCampaign) {
  const { udp, tcp } = maxSent(firstPart);
  return { datagrams: udp, connections: tcp, seconds: minSeconds(firstPart, limits) };
}

/** The least duration, seconds: for all packets, and for the parts and views that follow each other. */
function secondsOf(campaign: PreparedCampaign): number {
  const { plan, limits, spec: { parts, maxRunning, views = 1 } } = campaign;
  const turns = Math.ceil(parts / maxRunning);
  return views * Math.max(minSeconds(plan, limits), turns * partOf(campaign).seconds);
}

function viewsText(views: number | undefined): string | undefined {
  return views === undefined
    ? undefined
    : `${views} of each part, one after the other; the probes below are those of one view`;
}

function workersText(maxRunning: number): string {
  const workers = Math.ceil(maxRunning / DEFAULT_SLOTS);
  return `${countOf(workers, "worker")} with ${DEFAULT_SLOTS} slots (the default) can scan ` +
    "that many parts at the same time";
}

/** Maximum bits per second on Ethernet; `undefined`: no limit. */
function bitsPerSecond({ limits: { rates: { rate } }, selection }: PreparedCampaign) {
  const { addresses } = selection.targets;
  return rate === undefined ? undefined : rate / rateOf(1, addresses, selection.targets);
}

function bandwidthText(bits: number | undefined): string | undefined {
  if (bits === undefined) return undefined;
  return `at most ${
    withCommas(Math.ceil(bits / 1000))
  } kbit/s on Ethernet, of all workers together`;
}
