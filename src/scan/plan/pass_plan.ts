/**
 * The passes of a scan over UDP and TCP, and the number of their positions.
 *
 * @module
 */
import { GAP_MS } from "../../inspect/mod.ts";
import {
  CONNECTION_ORDERS,
  type Mark,
  type Pass,
  planPasses,
  type ProbeKind,
  spaceOf,
} from "../../sweep/mod.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { SYN_PROBE } from "../../protocols/syn_probe.ts";
import { isLastAt } from "../../protocols/usual_ports.ts";
import { segmentsOf } from "../../targets/compose.ts";
import type { ScanIo, ScanLimits, ScanSelection, ScanSetup } from "../setup/scan_setup.ts";
import type { PassCounts, ScanState } from "../setup/scan_state.ts";
import { planSuppression } from "./suppression_plan.ts";

/** A pass that only detects servers of a protocol that suppresses another one. */
export interface DetectionPass extends Pass {
  /** The protocol that is probed. */
  readonly suppressor: Protocol;
  /** The protocol that is suppressed for servers that reply. */
  readonly suppressed: Protocol;
}

export interface ScanPasses {
  /** The first passes, which only detect servers of a protocol that suppresses another one. */
  readonly detectionPasses: readonly DetectionPass[];
  /** Passes of UDP probes. */
  readonly udp: readonly Pass[];
  /** Passes of SYN packets, concurrent with the UDP passes. */
  readonly tcp: readonly Pass[];
}

/** The passes of a scan, and the probes that they send. */
export interface PassPlan extends ScanPasses {
  /** The kinds of probes that the scan sends for its protocols. */
  readonly kinds: readonly ProbeKind[];
  /** All kinds of probes, including those of the detecting passes. */
  readonly allKinds: readonly ProbeKind[];
  /** The kinds of probes of the protocols over TCP. */
  readonly tcpKinds: readonly ProbeKind[];
  /** Pause between passes, milliseconds. Servers have this time to reply. */
  readonly gapMs: number;
}

/** The options that determine the passes of a scan. */
export interface PassPlanInput extends ScanSelection {
  /** The number of retries, and the timeout for a reply. */
  readonly limits: Pick<ScanLimits, "retries" | "timeoutMs">;
  /** The options of an adaptive scan. Default: the scan is not adaptive. */
  readonly adaptive?: unknown;
}

const NO_PASSES: ScanPasses = { detectionPasses: [], udp: [], tcp: [] };

/** The passes over the targets of a scan: one for each protocol, and one more for each retry. */
export function scanPasses(selection: ScanSelection, retries: number): ScanPasses {
  const { addresses, protocols, ports } = selection.targets;
  const segmentsFor = (name: string) => segmentsOf(addresses, (bits) => ports(name, bits));
  const over = (transport: Protocol["transport"]) =>
    protocols.filter((one) => one.transport === transport);
  return {
    detectionPasses: planSuppression(selection).flatMap(({ protocol, suppressed, segments }, i) =>
      planPasses([protocol], retries, () => segments, i * (retries + 1))
        .map((pass) => ({ ...pass, suppressor: protocol, suppressed }))
    ),
    udp: planPasses(probed(over("udp")), retries, segmentsFor),
    tcp: planPasses(
      inPassOrder(over("tcp"), selection.targets),
      retries,
      segmentsFor,
      CONNECTION_ORDERS,
    ),
  };
}

/** Plans the passes of a scan, and the probes that they send. */
export function planScanPasses(input: PassPlanInput): PassPlan {
  const { targets: { protocols, allProtocols }, limits: { retries, timeoutMs } } = input;
  // the passes of an adaptive scan are planned one after the other
  const passes = input.adaptive === undefined ? scanPasses(input, retries) : NO_PASSES;
  const suppressors = passes.detectionPasses.map(({ suppressor }) => suppressor);
  const suppresses = protocols.some(({ suppressedBy }) => suppressedBy !== undefined);
  return {
    ...passes,
    kinds: kindsOf(protocols, allProtocols),
    allKinds: kindsOf([...new Set([...suppressors, ...protocols])], allProtocols),
    tcpKinds: protocols.filter(({ transport }) => transport === "tcp")
      .map((protocol) => ({ ...kindOf(protocol, allProtocols), probe: SYN_PROBE })),
    gapMs: suppresses ? Math.max(GAP_MS, timeoutMs) : GAP_MS,
  };
}

/** Protocols in the order of their passes: last those that are late on a port of their targets. */
export function inPassOrder(
  protocols: readonly Protocol[],
  { addresses, ports }: Pick<ScanSelection["targets"], "addresses" | "ports">,
): readonly Protocol[] {
  const isLast = (one: Protocol) =>
    one.lastElsewhere &&
    segmentsOf(addresses, (bits) => ports(one.name, bits))
      .some(({ ports }) => ports.some((port) => isLastAt(one, port)));
  return [...protocols.filter((one) => !isLast(one)), ...protocols.filter(isLast)];
}

/** Protocols with a probe. */
function probed(protocols: readonly Protocol[]): Protocol[] {
  return protocols.filter(({ probe }) => probe !== undefined);
}

/**
 * The kinds of probes of protocols. The number of a kind is the index of its protocol among all
 * protocols.
 */
function kindsOf(protocols: readonly Protocol[], allProtocols: readonly Protocol[]): ProbeKind[] {
  return probed(protocols).map((one) => ({ ...kindOf(one, allProtocols), probe: one.probe! }));
}

function kindOf({ name }: Protocol, allProtocols: readonly Protocol[]): Omit<ProbeKind, "probe"> {
  return { protocol: name, kind: allProtocols.findIndex((other) => other.name === name) };
}

/** Counts the positions of all passes, and those that an earlier run of the scan visited. */
export function countPositions(
  plan: ScanPasses,
  { order, io: { state } }: Pick<ScanSetup, "order"> & { readonly io: Pick<ScanIo, "state"> },
): void {
  const sizesOf = (passes: readonly Pass[]) => passes.map((pass) => spaceOf(pass, order).size);
  state.total = sumOf(sizesOf(plan.detectionPasses));
  state.visited = 0;
  countTransport(sizesOf(plan.udp), order.from.udp, state, state);
  countTransport(sizesOf(plan.tcp), order.from.tcp, state.tcp, state);
}

function countTransport(
  sizes: readonly number[],
  from: Mark,
  counts: PassCounts,
  state: Pick<ScanState, "total" | "visited">,
): void {
  counts.passes = sizes.length;
  state.total += sumOf(sizes);
  state.visited += sumOf(sizes.slice(0, from.pass - 1)) + from.position;
  if (from.pass <= sizes.length) return;
  counts.pass = sizes.length;
  counts.size = counts.position = sizes.at(-1) ?? 0;
}

export function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0);
}
