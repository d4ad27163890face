/**
 * The plan of a scan as `--dry-run --json` prints it.
 *
 * @module
 */
import type { ChosenLimits } from "../../../app/engines/mod.ts";
import { maxSent, type NamedTargets, type Plan } from "../../../app/targets/mod.ts";
import { portList } from "../../../targets/ports.ts";
import { permissionNeeded } from "../../../targets/permission.ts";
import { resultLine } from "../../term/json_results.ts";
import { adaptiveJson, isAdaptive, wholeSeconds, windowsOf } from "./adaptive_plan_text.ts";
import {
  minSeconds,
  type PlannedScan,
  requestsOf,
  sentPorts,
  verificationsOf,
  WHOLE,
  writtenBy,
} from "./dry_run.ts";

/** The plan of a scan as one line of JSON. */
export function planJson(
  planned: PlannedScan,
): string {
  const { plan, whole, named, selection, limits, engine, threads } = planned;
  const adaptive = isAdaptive(planned) ? planned : undefined;
  const { seed = null, shard = WHOLE } = selection.order;
  const { udp, tcp } = maxSent(plan);
  return resultLine("scan --dry-run", {
    ...targetCounts(named),
    srv_records: requestsOf(named),
    known_servers: knownCounts(named, plan),
    permission: permissionNeeded(whole) ?? null,
    ports: adaptive === undefined
      ? sentPorts(selection).map((sent) => ({ ...sent, ports: portList(sent.ports) }))
      : windowsOf(selection),
    seed,
    shard,
    suppression: plan.detectionPasses
      .map(({ name: protocol, probes, suppressed }) => ({ protocol, probes, suppressed })),
    passes: passesOf(plan),
    probes: udp,
    tcp_probes: tcp,
    concurrency: limits.concurrency,
    verify: verificationsOf(planned),
    limits: limitsOf(limits),
    engine: { name: engine.name, threads, route: engine.route ?? null },
    limited_by: plan.limitedBy === "nothing" ? null : plan.limitedBy,
    duration_s: adaptive === undefined ? minSeconds(plan, limits) : wholeSeconds(adaptive),
    outputs: writtenBy(planned).map(({ path, format: { name: format } }) => ({ path, format })),
    ...adaptive && { adaptive: adaptiveJson(adaptive) },
  });
}

/** The numbers of targets, and of excluded addresses. */
export function targetCounts({ targets, optedOutSize }: NamedTargets) {
  const { size, publicSize, loopbackSize, omitted } = targets;
  return {
    targets: {
      all: Number(size),
      public: Number(publicSize),
      private: Number(size - publicSize - loopbackSize),
      loopback: Number(loopbackSize),
    },
    excluded: {
      never_probed: Number(omitted.never),
      private: Number(omitted.private),
      by_option: Number(omitted.chosen),
      opted_out: Number(optedOutSize),
    },
  };
}

function knownCounts({ first }: NamedTargets, { interviews, unprobed }: Plan) {
  return { all: first.length, interviewed: interviews.servers, unprobed };
}

/** The passes over UDP, then the concurrent ones over TCP. */
export function passesOf({ passes }: Plan) {
  return (["udp", "tcp"] as const).flatMap((transport) => {
    const { probes, protocols } = passes[transport];
    return probes.map((count, i) => ({ transport, protocol: protocols[i], probes: count }));
  });
}

export function limitsOf({ rates: { rate, netRate, hostRate }, autoRate }: ChosenLimits) {
  return {
    rate: rate ?? null,
    rate_auto: autoRate?.most ?? null,
    net_rate: netRate ?? null,
    host_rate: hostRate ?? null,
  };
}
