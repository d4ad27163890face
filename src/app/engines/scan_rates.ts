/**
 * The rates, timeouts and numbers of a scan, by its options and its targets.
 *
 * @module
 */
import { type Limits, STREAM_LIMITS, type StreamLimits, SWEEP_WAIT_MS } from "../../net/mod.ts";
import type { ScanLimits } from "../../scan/mod.ts";
import type { ProtocolSelection } from "../../protocols/list.ts";
import type { Targets } from "../../targets/compose.ts";
import type { EngineName } from "../settings/engine_names.ts";
import { DEFAULTS, defaultSpeed } from "../settings/defaults.ts";
import type { OptionsOf } from "../options/option_table.ts";
import { family } from "../../core/address.ts";

/** The limits of a scan that do not depend on free descriptors. */
export type ChosenLimits =
  & Omit<ScanLimits, "connections" | "pendingProbes" | "exclusiveSockets">
  & Required<Pick<ScanLimits, "streamLimits" | "portWaitMs" | "maxRuntimeMs">>;

/** The options from which limits are computed. */
export type LimitOptions =
  & Pick<OptionsOf<"scan">, "rate" | "bandwidth" | "netRate" | "hostRate">
  & Pick<OptionsOf<"scan">, "cooldown" | "retries" | "timeout" | "concurrency">
  & Partial<Pick<OptionsOf<"scan">, "maxResults" | "maxRuntime">>;

/** The limits, with cautious defaults for the targets. Of a rate and a bandwidth, the lower one applies. */
export function scanLimits(
  options: LimitOptions,
  targets: Targets,
  selection: ProtocolSelection,
): ChosenLimits {
  const { bandwidth, rate: given, netRate, hostRate, retries, timeout, concurrency } = options;
  const defaults = defaultSpeed(targets);
  const cap = (given: number | "off" | undefined, usual: number | undefined) =>
    given === "off" ? undefined : given ?? usual;
  const bandwidthRate = bandwidth === undefined ? Infinity : rateOf(bandwidth, targets, selection);
  const auto = typeof given === "object";
  const most = Math.min(bandwidthRate, auto ? given.most ?? defaults.maxAutoRate : Infinity);
  const rate = auto ? AUTO_START : given ?? (bandwidth === undefined ? defaults.rate : Infinity);
  const lowest = Math.min(most, rate ?? Infinity);
  return {
    rates: {
      rate: lowest === Infinity ? undefined : lowest,
      netRate: cap(netRate, defaults.netRate),
      hostRate: cap(hostRate, defaults.hostRate),
    },
    ...(auto ? { autoRate: { most } } : {}),
    capLoopback: typeof netRate === "number" || typeof hostRate === "number",
    retries,
    concurrency,
    timeoutMs: timeout ?? DEFAULTS.timeoutMs,
    cooldownMs: options.cooldown ?? defaults.cooldownMs,
    streamLimits: streamLimits(timeout),
    portWaitMs: Math.min(timeout ?? Infinity, SWEEP_WAIT_MS),
    maxResults: options.maxResults ?? Infinity,
    maxRuntimeMs: options.maxRuntime ?? Infinity,
  };
}

/** The limits of a scan at the highest rate that it may try. */
export function fastest({ rates, autoRate }: Pick<ScanLimits, "rates" | "autoRate">): Limits {
  return { ...rates, rate: autoRate?.most ?? rates.rate };
}

/** Maximum number of connections of a sweep that wait to be accepted, by engine. */
const MAX_PENDING: Readonly<Record<EngineName, number>> = {
  portable: 32_768, // each takes about 15 KiB
  udp: 60_000, // about 5 KiB, in the kernel
  packet: 1024, // those of targets on the link
  xdp: 1024,
};
/** The part by which more connections may wait than the rate needs, for bursts and late timers. */
const SPARE_PENDING = 1.2;
/** Connections that wait without a rate limit: loopback accepts or refuses at once. */
const PENDING_UNLIMITED = 1024;

/**
 * Maximum number of connections of a sweep that wait to be accepted: as many as begin at the rate limit
 * within `portWaitMs`.
 */
export function pendingProbes(
  { portWaitMs, ...rates }: Pick<ChosenLimits, "portWaitMs" | "rates" | "autoRate">,
  engine: EngineName,
): number {
  const { rate } = fastest(rates);
  const needed = rate === undefined
    ? PENDING_UNLIMITED
    : Math.ceil(SPARE_PENDING * rate * portWaitMs / 1000);
  return Math.min(MAX_PENDING[engine], needed);
}

/** The first rate of a rate search, datagrams per second. */
const AUTO_START = 1000;

/**
 * Time limits of connections: those of real clients; with `--timeout`, its value for the connection
 * and for the first byte, and twice its value in total.
 */
export function streamLimits(timeoutMs: number | undefined): StreamLimits {
  if (timeoutMs === undefined) return STREAM_LIMITS;
  const [connectMs, firstByteMs, totalMs] = [timeoutMs, timeoutMs, 2 * timeoutMs];
  return { ...STREAM_LIMITS, connectMs, firstByteMs, totalMs };
}

/** Sizes on Ethernet, bytes: preamble, header with checksum, and the gap after a frame. */
const PREAMBLE = 8;
const HEADER = 14;
const CHECKSUM = 4;
const GAP = 12;
/** Minimum length; shorter frames are padded. */
const MIN_FRAME = 64;
const IP: Readonly<Record<4 | 6, number>> = { 4: 20, 6: 40 };
const UDP = 8;
/** A SYN segment has no payload, but a longer header, with the options of Linux. */
const SYN = 40 - UDP;

/** Size of a datagram on Ethernet, bytes. */
export function wireSize(payload: number, bits: 4 | 6): number {
  const frame = HEADER + IP[bits] + UDP + payload + CHECKSUM;
  return PREAMBLE + Math.max(MIN_FRAME, frame) + GAP;
}

/**
 * The rate that a bandwidth allows: the number of the largest probes that may be sent per second.
 *
 * @param bandwidth Bits a second.
 */
export function rateOf(
  bandwidth: number,
  { groups }: Targets,
  { protocols, allProtocols }: ProtocolSelection,
): number {
  // Suppressors are probed too.
  const sent = protocols.flatMap(({ name, suppressedBy }) => [name, suppressedBy]);
  const payloads = allProtocols.filter(({ name }) => sent.includes(name))
    .map(({ probe }) => probe?.template.length ?? SYN);
  const sizes = groups.flatMap(({ addresses: [{ start }] }) =>
    payloads.map((payload) => wireSize(payload, family(start)))
  );
  return bandwidth / (8 * Math.max(...sizes));
}
