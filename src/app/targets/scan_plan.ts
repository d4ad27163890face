/**
 * What a scan would send, and how long it would take: for the dry run, the request for permission,
 * and the status line.
 *
 * @module
 */
import {
  countPlans,
  isDetectionTarget,
  isVisited,
  type KnownPlan,
  type PassScale,
  type ScanLimits,
  scanPasses,
  type ScanSelection,
  sumOf,
} from "../../scan/mod.ts";
import { type Pass, spaceOf } from "../../sweep/mod.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { densityOf } from "../../targets/density.ts";
import type { Segment } from "../../targets/space.ts";

/** The limits that determine the duration. */
export type DurationLimit = "rate" | "net-rate" | "host-rate" | "nothing";

/** The passes over one transport, which run one after the other. */
export interface Passes {
  /** Number of positions of each pass. */
  readonly sizes: readonly number[];
  /** The protocol of each pass. */
  readonly protocols: readonly string[];
  /** Maximum number of probes of each pass: known servers are sent their known protocols only. */
  readonly probes: readonly number[];
}

/** The probes of known servers that are interviewed outside the passes. */
export interface Interviews {
  readonly servers: number;
  /** The protocols that each of these servers is queried in. */
  readonly protocols: readonly Protocol[];
  /** Maximum number of datagrams and of connections before the first reply. */
  readonly probes: Readonly<Record<Protocol["transport"], number>>;
}

export interface AdaptivePlan extends PassScale {
  /** Number of endpoints that may be probed, in all swept protocols. */
  readonly endpoints: number;
  /** Maximum number of probes. */
  readonly budget: number;
  /** Number of known servers. Those among the targets are probed first. */
  readonly known: number;
  /** Number of passes that reach the budget. */
  readonly passes: number;
  /** Maximum number of probes to one /24. */
  readonly perNetwork: number;
  /** Servers per million probes below which the scan ends; 0: it does not end then. */
  readonly stopBelow: number;
  /** Memory of the counters before the first pass, bytes. */
  readonly bytes: number;
}

/** The plan of a scan: what it sends, and how long it takes. */
export interface Plan {
  /** The passes over UDP, and the concurrent ones over TCP. */
  readonly passes: Readonly<Record<Protocol["transport"], Passes>>;
  /** Protocols that are probed before the passes, and the one that each suppresses. */
  readonly detectionPasses: readonly {
    readonly name: string;
    readonly suppressed: string;
    readonly size: number;
    /** Maximum number of probes. */
    readonly probes: number;
  }[];
  /** Known servers that are interviewed beside the passes. */
  readonly interviews: Interviews;
  /** Number of known servers that are not probed, because they speak none of the scan's protocols. */
  readonly unprobed: number;
  /** Description of what the passes send, by protocol. */
  readonly probeTexts: ReadonlyMap<string, string>;
  /** The limit that determines the duration. */
  readonly limitedBy: DurationLimit;
  /** Minimum duration of sending, seconds. */
  readonly seconds: number;
  /**
   * The plan of an adaptive scan. `passes` then has one pass for each swept protocol, with the most that
   * it may send, and the duration is that of the whole budget at the rate limit.
   */
  readonly adaptive?: AdaptivePlan;
}

export interface PlanInput extends ScanSelection {
  readonly limits: Pick<ScanLimits, "retries" | "rates">;
}

export function planScan(input: PlanInput): Plan {
  const { targets: { protocols }, order, limits: { retries, rates } } = input;
  const passes = scanPasses(input, retries);
  const known = [...countPlans(input)];
  const countOf = (isCounted: (plan: KnownPlan) => boolean) =>
    sumOf(known.filter(([plan]) => isCounted(plan)).map(([, count]) => count));
  const detectionPasses = passes.detectionPasses.map((pass) =>
    counted(pass, order, countOf((plan) => !isDetectionTarget(plan, pass.suppressor)))
  );
  const protocolOf = ({ protocol }: Pass) => protocols.find(({ name }) => name === protocol)!;
  const counts = (pass: Pass) =>
    counted(pass, order, countOf((plan) => !isVisited(plan, protocolOf(pass))));
  const [udp, tcp] = [passes.udp.map(counts), passes.tcp.map(counts)];
  const interviews = interviewsOf(known, retries);
  const suppressors = detectionPasses.map(({ suppressor }) => suppressor);
  return {
    passes: { udp: listed(udp), tcp: listed(tcp) },
    detectionPasses: detectionPasses.map(({ protocol, suppressed, size, probes }) => ({
      name: protocol,
      suppressed: suppressed.name,
      size,
      probes,
    })),
    probeTexts: new Map(
      [...protocols, ...suppressors, ...interviews.protocols]
        .map(({ name, probeText }) => [name, probeText]),
    ),
    interviews,
    unprobed: countOf(({ probed }) => probed.length === 0),
    ...durationOf([...detectionPasses, ...udp, ...tcp], interviews, rates),
  };
}

/** The number of positions of a pass, and its maximum number of probes. */
interface PassSize {
  readonly size: number;
  readonly probes: number;
}

/**
 * Counts the positions of a pass.
 *
 * @param withheld Number of known servers among the targets that the pass does not probe.
 */
function counted<P extends Pass>(
  pass: P,
  order: ScanSelection["order"],
  withheld: number,
): P & PassSize {
  const { size } = spaceOf(pass, { ...order, first: undefined });
  return { ...pass, size, probes: Math.max(0, size - withheld) };
}

/** The passes over one transport as a plan has them. */
function listed(passes: readonly (Pass & PassSize)[]): Passes {
  return {
    sizes: passes.map(({ size }) => size),
    protocols: passes.map(({ protocol }) => protocol),
    probes: passes.map(({ probes }) => probes),
  };
}

/** The limit that determines the duration, and the minimum duration, seconds. */
function durationOf(
  passes: readonly (Pass & PassSize)[],
  { probes: { udp, tcp } }: Interviews,
  { rate = Infinity, netRate = Infinity, hostRate = Infinity }: ScanLimits["rates"],
): Pick<Plan, "limitedBy" | "seconds"> {
  const times = { "rate": (udp + tcp) / rate, "net-rate": 0, "host-rate": 0 };
  for (const { size, probes, segments } of passes) {
    const { host, net } = densityOf(segments);
    times.rate += probes / rate;
    times["net-rate"] += meanOfNetwork(net, segments, probes) / netRate;
    times["host-rate"] += meanOfHost(host, size, probes) / hostRate;
  }
  const [[name, seconds]] = (Object.entries(times) as [DurationLimit, number][])
    .sort(([, a], [, b]) => b - a);
  return { limitedBy: seconds > 0 ? name : "nothing", seconds };
}

/** What is sent to known servers that are interviewed without a pass. */
function interviewsOf(
  known: readonly (readonly [KnownPlan, number])[],
  retries: number,
): Interviews {
  const held = known.filter(([{ interviewed }]) => interviewed);
  const sent = held.flatMap(([{ probed }, servers]) => probed.map((one) => ({ one, servers })));
  const over = (transport: Protocol["transport"]) =>
    sumOf(sent.filter(({ one }) => one.transport === transport).map(({ servers }) => servers));
  return {
    servers: sumOf(held.map(([, servers]) => servers)),
    protocols: [...new Set(sent.map(({ one }) => one))],
    probes: { udp: over("udp") * (retries + 1), tcp: over("tcp") },
  };
}

/**
 * The expected number of probes to the host with the most endpoints. It is below the number of
 * endpoints if a limit leaves out positions at random.
 */
function meanOfHost(host: number, size: number, probes: number): number {
  return size === 0 ? 0 : Math.min(host * probes / size, probes);
}

/**
 * The expected number of targets in the network with the most endpoints. It is below the number
 * of endpoints if a limit leaves out targets at random.
 */
function meanOfNetwork(net: number, segments: readonly Segment[], size: number): number {
  const all = segments.reduce((sum, s) => sum + Number(s.addresses.size) * s.ports.length, 0);
  return all === 0 ? 0 : net * size / all;
}

/** Maximum number of datagrams and of connections before the first reply. */
export function maxSent({ passes: { udp, tcp }, detectionPasses, interviews }: Plan) {
  return {
    udp: sumOf([...udp.probes, ...detectionPasses.map(({ probes }) => probes)]) +
      interviews.probes.udp,
    tcp: sumOf(tcp.probes) + interviews.probes.tcp,
  };
}
