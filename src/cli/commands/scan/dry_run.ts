/**
 * The plan of a scan: what it would send.
 *
 * @module
 */
import { type Address, endpointKey, formatEndpoint } from "../../../core/address.ts";
import type { Protocol } from "../../../protocols/protocol.ts";
import type { ScanSelection } from "../../../scan/scan_setup.ts";
import { planSuppression } from "../../../scan/sweep_stage/suppression_plan.ts";
import {
  isLookedFor,
  isVisited,
  type KnownPlan,
  knownPlans,
  targeted,
} from "../../../scan/inspect_stage/known_server_plan.ts";
import { AddressSet } from "../../../targets/ranges.ts";
import { segmentsOf } from "../../../targets/compose.ts";
import { portList } from "../../../targets/ports.ts";
import { permissionNeeded } from "../../../targets/permission.ts";
import { TargetSpace } from "../../../targets/space.ts";
import { requestText } from "../../../targets/srv.ts";
import { CONNECTION_ORDERS } from "../../../sweep/passes.ts";
import { print } from "../../term/console.ts";
import type { Engine } from "../../../app/engines/choose_engine.ts";
import {
  mostSent,
  type Passes,
  type Plan,
  scanSelectionOf,
} from "../../../app/targets/scan_plan.ts";
import { clockTime, countOf, withCommas } from "../../../core/quantities.ts";
import type { ScanSettings, SpeedSettings } from "../../../app/settings/scan_settings.ts";
import type { NamedTargets } from "../../../app/targets/find_targets.ts";

/** The plan of a scan as lines. */
export function planLines(
  plan: Plan,
  named: NamedTargets,
  chosen: ScanSettings,
  { limits, autoRate, cooldownMs }: SpeedSettings,
  outputs: readonly { readonly path: string; readonly format: { readonly name: string } }[],
  { name: engine, way }: Pick<Engine, "name" | "way">,
): string[] {
  const { targets, services, optedOutSize, first } = named;
  const { size, publicSize, loopbackSize, omitted } = targets;
  const local = size - publicSize - loopbackSize;
  const { udp, tcp } = plan.passes;
  const list = ({ probes, protocols }: Passes) =>
    probes.map((one, i) => `${protocols[i]} ${withCommas(one)}`).join(", ");
  const before = plan.guards.map(({ name, probes }) => `${name} ${withCommas(probes)}`).join(", ");
  const suppressed = [...new Set(plan.guards.map((guard) => guard.suppressed))].join(", ");
  const { udp: probes, tcp: connects } = mostSent(plan);
  const gaps = Math.max(0, plan.guards.length + udp.sizes.length - 1);
  const limit = (value: number | undefined) =>
    value === undefined ? "no limit" : `${withCommas(value)}/s`;
  const { rate, netRate, hostRate } = limits;
  const rising = autoRate === undefined
    ? ""
    : ` at first, up to ${limit(autoRate.most)} while nothing is lost`;
  const needed = permissionNeeded(targets);
  const led = [
    ...new Set([...services.values()].map(({ name, service }) => requestText(name, service))),
  ];
  const verifiers = chosen.verify ? chosen.protocols.flatMap(({ verify }) => verify ?? []) : [];
  const verified = verifiers.map(({ plan }) => plan).join("; ");
  const rows: [string, string][] = [
    [
      "targets",
      `${withCommas(size)}: ${withCommas(publicSize)} public, ${withCommas(local)} private, ` +
      `${withCommas(loopbackSize)} loopback`,
    ],
    ...led.length === 0 ? [] : [["SRV records", led.join("; ")] as [string, string]],
    ...first.length === 0 ? [] : [["rescan", knownText(first.length, plan)] as [string, string]],
    [
      "excluded",
      `${withCommas(omitted.never)} never probed, ${withCommas(omitted.private)} private, ` +
      `${withCommas(omitted.chosen)} by --exclude, ${withCommas(optedOutSize)} opted out`,
    ],
    ["permission", needed === undefined ? "not needed" : `--i-have-permission, for ${needed}`],
    ["ports", portsText(scanSelectionOf(chosen, named))],
    ["order", chosen.seed === undefined ? "ascending" : `shuffled, --seed ${chosen.seed}`],
    ["shard", `${chosen.shard.index}/${chosen.shard.count}`],
    ...(before === "" ? [] : [
      ["suppression", `${before} first; hosts that reply are not sent ${suppressed}`] as [
        string,
        string,
      ],
    ]),
    ["passes", [udp, tcp].map(list).filter((text) => text !== "").join("; at the same time ")],
    ...(probes === 0 ? [] : [[
      "probes",
      `at most ${withCommas(probes)}; retries skip endpoints that have replied`,
    ] as [string, string]]),
    ...(connects === 0 ? [] : [[
      "connections",
      `at most ${withCommas(connects)} over TCP, ${withCommas(chosen.concurrency)} at once; open ` +
      "connections are sent a status request",
    ] as [string, string]]),
    ...verified === "" ? [] : [["verify", verified] as [string, string]],
    [
      "limits",
      `total ${limit(rate)}${rising}, per network ${limit(netRate)}, per host ${limit(hostRate)}`,
    ],
    [
      "engine",
      engine + (chosen.threads === 0 ? "" : `, ${countOf(chosen.threads, "sender thread")}`) +
      (way === undefined ? "" : `, ${way}`),
    ],
    ["limited by", plan.governor === "nothing" ? "this machine" : `--${plan.governor}`],
    ["duration", `at least ${clockTime(plan.seconds + cooldownMs / 1000 + gaps)}`],
    ["outputs", outputs.map(({ path, format }) => `${path} (${format.name})`).join(", ")],
  ];
  return rows.map(([name, text]) => `${name.padEnd(13)}${text}`);
}

/** How many servers are known, which of them no pass visits, and how many are not probed. */
function knownText(size: number, { interviews: { servers, protocols }, unprobed }: Plan): string {
  const names = protocols.map(({ name }) => name).join(", ");
  return [
    `${countOf(size, "known server")}, the most overdue first`,
    ...servers === 0 ? [] : [`${withCommas(servers)} queried over ${names} outside the passes`],
    ...unprobed === 0
      ? []
      : [`${withCommas(unprobed)} not probed: they speak no selected protocol`],
  ].join("; ");
}

/** The ports on which each protocol is sent, in passes and in interviews. */
function portsText({ targets }: ScanSelection): string {
  const known = knownPorts(targets);
  const ports: Ports[] = targets.protocols.map((protocol) => {
    const withheld = known.filter(({ plan }) => !isVisited(plan, protocol));
    return { name: protocol.name, ports: visitedPorts(targets, protocol, withheld) };
  });
  const interviewed = known.filter(({ plan }) => plan.interviewed);
  for (const { name } of new Set(interviewed.flatMap(({ plan }) => plan.probed))) {
    const sent = interviewed.filter(({ plan }) => plan.probed.some((one) => one.name === name));
    ports.push({ name: `interviews: ${name}`, ports: sent.map(({ port }) => port) });
  }
  return ports.filter(({ ports }) => ports.length > 0)
    .map(({ name, ports }) => `${name} ${portList(ports)}`).join("; ");
}

/** The ports that a protocol is sent to. */
interface Ports {
  readonly name: string;
  readonly ports: readonly number[];
}

/** The port of a known server, and what the server is sent. */
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

/** The ports of a protocol's passes, without those where each target is a server that it is withheld from. */
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

/** Lines that are gathered before they are printed. */
const LINES = 1000;

/** One pass, and which known servers it visits. */
interface Listed {
  readonly protocol: Protocol;
  readonly space: TargetSpace;
  readonly visits: (plan: KnownPlan, protocol: Protocol) => boolean;
}

/** Prints all targets in the order of the first passes, protocol by protocol, and the interviews. */
export async function printTargets(selection: ScanSelection, retries: number): Promise<void> {
  let lines: string[] = [];
  for (const line of targetLines(selection, retries)) {
    if (lines.push(line) < LINES) continue;
    await print(lines.join("\n"));
    lines = [];
  }
  if (lines.length > 0) await print(lines.join("\n"));
}

function* targetLines(selection: ScanSelection, retries: number): Generator<string> {
  const { targets } = selection;
  const optedOutSet = new AddressSet(targets.optedOut);
  const plans = knownPlans(targets);
  const target = { address: 0 as Address, port: 0 };
  for (const { protocol, space, visits } of firstPasses(selection, retries)) {
    for (let position = 0; position < space.size; position++) {
      space.at(position, target);
      const plan = plans.size === 0 ? undefined : plans.get(endpointKey(target));
      if (optedOutSet.has(target.address) || plan !== undefined && !visits(plan, protocol)) {
        continue;
      }
      yield `${formatEndpoint(target)} ${protocol.name}`;
    }
  }
  const isTarget = targeted(selection);
  for (const server of targets.known ?? []) {
    const { probed, interviewed } = plans.get(endpointKey(server.endpoint))!;
    if (!interviewed || optedOutSet.has(server.endpoint.address) || !isTarget(server)) continue;
    for (const { name } of probed) yield `${formatEndpoint(server.endpoint)} ${name}`;
  }
}

/** The first pass of each protocol, preceded by the passes that only detect servers of another protocol. */
function firstPasses(selection: ScanSelection, retries: number): Listed[] {
  const { targets: { addresses, protocols, ports }, order } = selection;
  const guards = planSuppression(selection).map(({ protocol, segments }) => ({
    protocol,
    space: new TargetSpace(segments, { ...order, pass: 1 }),
    visits: isLookedFor,
  }));
  const seen = { udp: 0, tcp: 0 };
  const passes = protocols.map((protocol) => {
    const { name, transport } = protocol;
    const segments = segmentsOf(addresses, (bits) => ports(name, bits));
    const first = seen[transport]++ * (retries + 1) + 1;
    const pass = transport === "tcp" ? CONNECTION_ORDERS + first : first;
    const space = new TargetSpace(segments, { ...order, pass });
    return { protocol, space, visits: isVisited };
  });
  return [...guards, ...passes];
}
