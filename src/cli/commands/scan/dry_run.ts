/**
 * The plan of a scan: what it would send.
 *
 * @module
 */
import { endpointKey } from "../../../core/address.ts";
import type { Protocol } from "../../../protocols/protocol.ts";
import { isVisited, type KnownPlan, knownPlans, type ScanSelection } from "../../../scan/mod.ts";
import { type ChosenLimits, type Engine, pendingProbes } from "../../../app/engines/mod.ts";
import { maxSent, type NamedTargets, type Passes, type Plan } from "../../../app/targets/mod.ts";
import type { PreparedScan, WritePlan } from "../../../app/scan/mod.ts";
import { AddressSet } from "../../../targets/ranges.ts";
import { segmentsOf, type Targets } from "../../../targets/compose.ts";
import { portList } from "../../../targets/ports.ts";
import { permissionNeeded } from "../../../targets/permission.ts";
import { requestText } from "../../../targets/srv.ts";
import { clockTime, countOf, withCommas } from "../../../core/quantities.ts";
import { adaptivePortsText, adaptiveRows, isAdaptive, wholeSeconds } from "./adaptive_plan_text.ts";

/** A row of a plan; a row without a text is left out. */
export type PlanRow = readonly [name: string, text: string | undefined];

/** The parts of a prepared scan that its plan shows. */
export type PlannedScan =
  & Pick<PreparedScan, "plan" | "whole" | "named" | "selection" | "limits" | "options">
  & Pick<PreparedScan, "threads">
  & Pick<WritePlan, "outputs" | "databases">
  & { readonly engine: Pick<Engine, "name" | "route"> };

/** The shard of a scan of all targets. */
export const WHOLE = { index: 1, count: 1 };

/** Where rows would go. */
export function writtenBy({ outputs, databases }: Pick<PlannedScan, "outputs" | "databases">) {
  return [...outputs, ...databases.locations];
}

export function planLines(planned: PlannedScan): string[] {
  const { plan, whole, named, selection, limits } = planned;
  const adaptive = isAdaptive(planned) ? planned : undefined;
  const { seed, shard = WHOLE } = selection.order;
  const rows: readonly PlanRow[] = [
    ["targets", targetsText(named)],
    ["SRV records", joinTexts(requestsOf(named))],
    ["rescan", knownText(named.first.length, plan)],
    ["excluded", excludedText(named) + (shard.count > 1 ? ", in all shards" : "")],
    ["permission", neededPermission(whole)],
    ["ports", adaptive === undefined ? portsText(selection) : adaptivePortsText(selection)],
    ["order", seed === undefined ? "ascending" : `shuffled, --seed ${seed}`],
    ["shard", `${shard.index}/${shard.count}`],
    ["suppression", suppressionText(plan)],
    ...adaptive === undefined
      ? [
        ["passes", passesText(plan)],
        ["probes", probesText(plan)],
        ["TCP probes", tcpProbesText(plan, pendingText(planned))],
      ] as const
      : adaptiveRows(adaptive),
    ["verify", joinTexts(verificationsOf(planned))],
    ["limits", limitsText(limits)],
    ["engine", engineText(planned)],
    ["limited by", plan.limitedBy === "nothing" ? "this machine" : `--${plan.limitedBy}`],
    [
      "duration",
      adaptive === undefined
        ? `at least ${clockTime(minSeconds(plan, limits))}`
        : `${clockTime(wholeSeconds(adaptive))} until the budget is spent`,
    ],
    [
      "outputs",
      writtenBy(planned).map(({ path, format }) => `${path} (${format.name})`).join(", "),
    ],
  ];
  return rowLines(rows);
}

export function rowLines(rows: readonly PlanRow[]): string[] {
  return rows.flatMap(([name, text]) => text === undefined ? [] : `${name.padEnd(13)}${text}`);
}

export function targetsText({ targets: { size, publicSize, loopbackSize } }: NamedTargets): string {
  return `${withCommas(size)}: ${withCommas(publicSize)} public, ` +
    `${withCommas(size - publicSize - loopbackSize)} private, ${withCommas(loopbackSize)} loopback`;
}

/** Texts in one row; `undefined`: none. */
export function joinTexts(texts: readonly string[]): string | undefined {
  return texts.length === 0 ? undefined : texts.join("; ");
}

/** The SRV records that led from a requested name to a target. */
export function requestsOf({ services }: NamedTargets): string[] {
  const requests = [...services.values()].map(({ name, service }) => requestText(name, service));
  return [...new Set(requests)];
}

/** The options that the targets need. */
export function neededPermission(targets: Targets): string {
  const needed = permissionNeeded(targets);
  if (needed === undefined) return "not needed";
  return `--i-have-permission${targets.publicSize > 0n ? " and --contact" : ""}, for ${needed}`;
}

/** The numbers of excluded addresses. */
export function excludedText({ targets: { omitted }, optedOutSize }: NamedTargets): string {
  return `${withCommas(omitted.never)} never probed, ${withCommas(omitted.private)} private, ` +
    `${withCommas(omitted.chosen)} by --exclude, ${withCommas(optedOutSize)} opted out`;
}

/**
 * The passes that come first, and the protocols that are not sent to hosts that reply to these
 * passes.
 */
export function suppressionText({ detectionPasses }: Plan): string | undefined {
  if (detectionPasses.length === 0) return undefined;
  const first = detectionPasses.map(({ name, probes }) => `${name} ${withCommas(probes)}`).join(
    ", ",
  );
  const suppressed = [...new Set(detectionPasses.map(({ suppressed }) => suppressed))].join(", ");
  return `${first} first; hosts that reply are not sent ${suppressed}`;
}

/** The passes of probes, and the concurrent ones of connections. */
export function passesText({ passes: { udp, tcp } }: Plan): string {
  const list = ({ probes, protocols }: Passes) =>
    probes.map((one, i) => `${protocols[i]} ${withCommas(one)}`).join(", ");
  return [udp, tcp].map(list).filter((text) => text !== "").join("; at the same time ");
}

export function probesText(plan: Plan): string | undefined {
  const { udp } = maxSent(plan);
  return udp === 0
    ? undefined
    : `at most ${withCommas(udp)}; retries skip endpoints that have replied`;
}

/**
 * The number of probes over TCP.
 *
 * @param pending A text about those that wait for a reply. Default: none.
 */
export function tcpProbesText(plan: Plan, pending = ""): string | undefined {
  const { tcp } = maxSent(plan);
  if (tcp === 0) return undefined;
  return `at most ${countOf(tcp, "SYN packet")}${pending}; each open port gets a status request`;
}

/** How many probes over TCP wait for a reply; engines that write frames have no limit. */
function pendingText({ limits, engine: { name, route } }: PlannedScan): string {
  return route === undefined
    ? `, at most ${withCommas(pendingProbes(limits, name))} pending at once`
    : "";
}

/** What `--verify` does in each protocol. */
export function verificationsOf(
  { options: { verify }, selection: { targets: { protocols } } }: Pick<PlannedScan, "selection"> & {
    readonly options: Pick<PlannedScan["options"], "verify">;
  },
): string[] {
  return verify ? protocols.flatMap(({ verify }) => verify?.plan ?? []) : [];
}

export function limitsText({ rates: { rate, netRate, hostRate }, autoRate }: ChosenLimits): string {
  const limit = (value: number | undefined) =>
    value === undefined ? "no limit" : `${withCommas(value)}/s`;
  const rising = autoRate === undefined
    ? ""
    : ` at first, up to ${limit(autoRate.most)} while no packets are lost`;
  return `total ${limit(rate)}${rising}, per network ${limit(netRate)}, per host ${
    limit(hostRate)
  }`;
}

function engineText(
  { engine: { name, route }, threads, limits: { rates: { netRate, hostRate } } }: Pick<
    PlannedScan,
    "engine" | "threads" | "limits"
  >,
): string {
  const parts: string[] = [name];
  if (threads > 0) parts.push(countOf(threads, "sender thread"));
  if (threads > 0 && (netRate ?? hostRate) !== undefined) {
    parts.push("the main thread computes targets, because of the caps");
  }
  return [...parts, ...route === undefined ? [] : [route]].join(", ");
}

/**
 * The least duration, seconds: for sending, for a second between passes, and for the cooldown of passes
 * over UDP. Those over TCP end when no probe waits for a reply.
 */
export function minSeconds(
  { seconds, detectionPasses, passes: { udp, tcp } }: Plan,
  { cooldownMs }: Pick<ChosenLimits, "cooldownMs">,
): number {
  const udpPasses = detectionPasses.length + udp.sizes.length;
  const afterUdp = udpPasses === 0 ? 0 : cooldownMs / 1000 + udpPasses - 1;
  return seconds + Math.max(afterUdp, tcp.sizes.length - 1, 0);
}

/** The numbers of known servers, of those without a pass, and of those that are not probed. */
function knownText(
  size: number,
  { interviews: { servers, protocols }, unprobed }: Plan,
): string | undefined {
  if (size === 0) return undefined;
  const names = protocols.map(({ name }) => name).join(", ");
  return [
    `${countOf(size, "known server")} first`,
    ...servers === 0 ? [] : [`${withCommas(servers)} queried over ${names} outside the passes`],
    ...unprobed === 0
      ? []
      : [`${withCommas(unprobed)} not probed: they speak no selected protocol`],
  ].join("; ");
}

export function portsText(selection: ScanSelection): string {
  return sentPorts(selection).map(({ protocol, interviews, ports }) =>
    `${interviews ? "interviews: " : ""}${protocol} ${portList(ports)}`
  ).join("; ");
}

/** The ports on which each protocol is sent, in passes and in interviews. */
export function sentPorts({ targets }: ScanSelection): SentPorts[] {
  const known = knownPorts(targets);
  const ports: SentPorts[] = targets.protocols.map((protocol) => {
    const withheld = known.filter(({ plan }) => !isVisited(plan, protocol));
    const visited = visitedPorts(targets, protocol, withheld);
    return { protocol: protocol.name, interviews: false, ports: visited };
  });
  const interviewed = known.filter(({ plan }) => plan.interviewed);
  for (const { name } of new Set(interviewed.flatMap(({ plan }) => plan.probed))) {
    const sent = interviewed.filter(({ plan }) => plan.probed.some((one) => one.name === name));
    ports.push({ protocol: name, interviews: true, ports: sent.map(({ port }) => port) });
  }
  return ports.filter(({ ports }) => ports.length > 0);
}

/** The ports that a protocol is sent to. */
export interface SentPorts {
  readonly protocol: string;
  /** Whether interviews send the protocol there, instead of passes. */
  readonly interviews: boolean;
  readonly ports: readonly number[];
}

/** The port of a known server, and the protocols that are sent there. */
interface KnownPort {
  readonly port: number;
  readonly plan: KnownPlan;
}

/** The known servers among the targets. */
function knownPorts(targets: ScanSelection["targets"]): KnownPort[] {
  const { addresses, known = [] } = targets;
  const plans = knownPlans(targets);
  const all = new AddressSet(addresses.groups.flatMap(({ addresses }) => [...addresses]));
  return known.filter(({ endpoint }) => all.has(endpoint.address)).map(({ endpoint }) => ({
    port: endpoint.port,
    plan: plans.get(endpointKey(endpoint))!,
  }));
}

/** The ports that the passes of a protocol visit, without ports if the protocol is sent to no target. */
function visitedPorts(
  { addresses, ports }: ScanSelection["targets"],
  { name }: Protocol,
  withheld: readonly KnownPort[],
): number[] {
  const targets = new Map<number, bigint>();
  const add = (port: number, size: bigint) => targets.set(port, (targets.get(port) ?? 0n) + size);
  for (const segment of segmentsOf(addresses, (bits) => ports(name, bits))) {
    const { size } = segment.addresses;
    for (const port of segment.ports) add(port, size);
  }
  for (const { port } of withheld) add(port, -1n);
  return [...targets].filter(([, size]) => size > 0n).map(([port]) => port);
}
