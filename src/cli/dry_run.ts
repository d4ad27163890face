/**
 * Saying what a scan would do, without doing it.
 *
 * @module
 */
import { type Address, formatEndpoint } from "../address.ts";
import { planGuards } from "../scan/guard.ts";
import { AddressSet } from "../targets/address_set.ts";
import { segmentsOf } from "../targets/compose.ts";
import { permissionNeeded } from "../targets/permission.ts";
import { TargetSpace } from "../targets/space.ts";
import { print } from "./console.ts";
import type { OutputPlan } from "./outputs.ts";
import { clockTime, number, type Plan, probesOf } from "./plan.ts";
import type { ScanSettings, SpeedSettings } from "./scan_settings.ts";
import type { NamedTargets } from "./targets.ts";

const VERIFY = "requests of up to 1,464 bytes to each RakNet server that answered, up to reply 2";

/** The plan of a scan as lines. */
export function planLines(
  plan: Plan,
  { targets, optedOutSize }: NamedTargets,
  chosen: ScanSettings,
  { limits, cooldownMs }: SpeedSettings,
  outputs: readonly OutputPlan[],
): string[] {
  const { size, publicSize, loopbackSize, left } = targets;
  const local = size - publicSize - loopbackSize;
  const ports = chosen.protocols.map(({ name }) =>
    `${name} ${
      portList(segmentsOf(targets, (bits) => chosen.ports(name, bits)).flatMap((s) => s.ports))
    }`
  );
  const probes = probesOf(plan);
  const before = plan.guards.map(({ name, size }) => `${name} ${number(size)}`).join(", ");
  const spared = [...new Set(plan.guards.map((guard) => guard.spared))].join(", ");
  const gaps = plan.guards.length + plan.sizes.length - 1;
  const limit = (value: number | undefined) =>
    value === undefined ? "no limit" : `${number(value)}/s`;
  const { rate, netRate, hostRate } = limits;
  const needed = permissionNeeded(targets);
  const rows: [string, string][] = [
    [
      "targets",
      `${number(size)}: ${number(publicSize)} public, ${number(local)} private, ` +
      `${number(loopbackSize)} loopback`,
    ],
    [
      "left out",
      `${number(left.never)} never asked, ${number(left.private)} private, ` +
      `${number(left.chosen)} excluded, ${number(optedOutSize)} opted out`,
    ],
    ["permission", needed === undefined ? "not needed" : `--i-have-permission, for ${needed}`],
    ["ports", ports.join("; ")],
    ["order", chosen.seed === undefined ? "ascending" : `shuffled, --seed ${chosen.seed}`],
    ["shard", `${chosen.shard.index}/${chosen.shard.count}`],
    ...(before === ""
      ? []
      : [["before", `${before}: who answers is not asked ${spared}`] as [string, string]]),
    ["passes", plan.sizes.map((one, i) => `${plan.protocols[i]} ${number(one)}`).join(", ")],
    ["probes", `at most ${number(probes)}; those that answered are left out of retries`],
    ...chosen.verify ? [["verify", VERIFY] as [string, string]] : [],
    ["limits", `all ${limit(rate)}, a network ${limit(netRate)}, a host ${limit(hostRate)}`],
    ["governed by", plan.governor === "nothing" ? "the machine" : `--${plan.governor}`],
    ["time", `at least ${clockTime(plan.seconds + cooldownMs / 1000 + gaps)}`],
    ["outputs", outputs.map(({ path, format }) => `${path} (${format.name})`).join(", ")],
  ];
  return rows.map(([name, text]) => `${name.padEnd(12)}${text}`);
}

/** Ports, with those that follow each other as ranges. */
export function portList(ports: readonly number[]): string {
  const sorted = [...new Set(ports)].sort((a, b) => a - b);
  const spans: [number, number][] = [];
  for (const port of sorted) {
    const last = spans.at(-1);
    if (last !== undefined && port === last[1] + 1) last[1] = port;
    else spans.push([port, port]);
  }
  return spans.map(([first, last]) => first === last ? `${first}` : `${first}-${last}`).join(",");
}

/** Lines that are gathered before they are printed. */
const LINES = 1000;

/** Prints all targets in the order of the first passes, protocol by protocol. */
export async function printTargets(
  { targets, optedOut }: NamedTargets,
  chosen: ScanSettings,
): Promise<void> {
  const shy = new AddressSet(optedOut);
  const { seed, shard, maxTargets, retries, protocols } = chosen;
  const target = { address: 0 as Address, port: 0 };
  const guards = planGuards({ ...chosen, targets });
  const firsts = [
    ...guards.map(({ protocol: { name }, segments }) => ({ name, segments, pass: 1 })),
    ...protocols.map(({ name }, i) => ({
      name,
      segments: segmentsOf(targets, (bits) => chosen.ports(name, bits)),
      pass: i * (retries + 1) + 1,
    })),
  ];
  for (const { name, segments, pass } of firsts) {
    const space = new TargetSpace(segments, { seed, pass, shard, limit: maxTargets });
    let lines: string[] = [];
    for (let position = 0; position < space.size; position++) {
      space.at(position, target);
      if (!shy.has(target.address)) lines.push(`${formatEndpoint(target)} ${name}`);
      if (lines.length === LINES || lines.length > 0 && position === space.size - 1) {
        await print(lines.join("\n"));
        lines = [];
      }
    }
  }
}
