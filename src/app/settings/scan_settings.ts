/**
 * The settings of a scan, from the options of the command. Nothing is opened or sent here.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { STREAM_LIMITS, type StreamLimits } from "../../net/stream_link.ts";
import type { ProtocolSelection } from "../../protocols/list.ts";
import type { Marks } from "../../scan/checkpoint/low_water_mark.ts";
import { isLater, type Mark } from "../../sweep/trail.ts";
import type { AutoRate, GivenSpeed } from "./speed.ts";
import { parsePorts, type Ports } from "../../targets/ports.ts";
import type { Shard } from "../../targets/space.ts";
import { chosenVerify, type ProtocolChoice, protocolsOf } from "./chosen_protocols.ts";
import { DEFAULTS } from "./defaults.ts";
import type { EngineChoice } from "../engines/engine_names.ts";
import { usualPorts } from "../../protocols/usual_ports.ts";

/** The settings that do not depend on the targets. */
export interface ScanSettings extends ProtocolSelection {
  /** Whether known servers are queried in all their known protocols: `--protocol` was not given. */
  readonly queriesKnown: boolean;
  readonly ports: (protocol: string, family: 4 | 6) => readonly number[];
  /** Seed of the target order; `undefined`: ascending order. */
  readonly seed: number | undefined;
  readonly shard: Shard;
  readonly from: Mark;
  readonly fromTcp: Mark;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly streamLimits: StreamLimits;
  readonly concurrency: number;
  readonly maxTargets: number;
  readonly maxResults: number;
  readonly maxRuntimeMs: number;
  readonly follow: boolean;
  readonly verify: boolean;
  readonly players: boolean;
  /** Source ports; empty: any. */
  readonly sourcePorts: readonly number[];
  readonly sourceAddress: Address | undefined;
  /** The engine that the user named. */
  readonly engine: EngineChoice | undefined;
  /** The only interface for sending frames. */
  readonly interfaceName: string | undefined;
  /** The MAC address of the gateway at that interface. */
  readonly gatewayMac: Uint8Array | undefined;
  /** Number of sender threads; 0: the main thread sends. */
  readonly threads: number;
  /** Interval of progress lines if there is no terminal, milliseconds; 0: none. */
  readonly statsEveryMs: number;
  /** The speed that the user requested. */
  readonly speed: GivenSpeed;
}

/** Ports, and the text that named them. */
export interface WrittenPorts extends Ports {
  /** The text of `--ports`. */
  readonly text: string;
}

/** Parses ports, and keeps their text. */
export function writtenPorts(text: string | undefined): WrittenPorts | undefined {
  return text === undefined ? undefined : { ...parsePorts(text), text };
}

/** The options of a scan that determine its settings. */
export interface ScanChoices extends ProtocolChoice {
  readonly ports: WrittenPorts | undefined;
  readonly seed: number | undefined;
  readonly noRandomize: boolean;
  readonly shard: Shard;
  readonly from: Marks;
  readonly rate: number | AutoRate | undefined;
  /** Maximum bandwidth of sent packets, bits per second. */
  readonly bandwidth: number | undefined;
  readonly netRate: number | "off" | undefined;
  readonly hostRate: number | "off" | undefined;
  readonly concurrency: number;
  /** Timeout for each reply, milliseconds. */
  readonly timeout: number | undefined;
  readonly retries: number;
  readonly cooldown: number | undefined;
  readonly noFollow: boolean;
  readonly verify: boolean;
  readonly engine: EngineChoice | undefined;
  readonly threads: number;
  readonly interface: string | undefined;
  readonly gatewayMac: Uint8Array | undefined;
  readonly sourcePort: readonly number[] | undefined;
  readonly sourceIp: Address | undefined;
  readonly noPlayers: boolean;
  readonly maxTargets: number | undefined;
  readonly maxResults: number | undefined;
  readonly maxRuntime: number | undefined;
  readonly statsEvery: number | undefined;
}

/** Values of `--engine` that may select an engine that writes frames. */
const FRAME_ENGINES: ReadonlySet<EngineChoice | undefined> = new Set(["packet", "xdp", "fastest"]);

/**
 * The settings of a scan.
 *
 * @throws InputError for options that contradict each other.
 */
export function scanSettings(
  options: ScanChoices,
  randomSeed: () => number,
): ScanSettings {
  checkFrameOptions(options);
  return {
    protocols: protocolsOf(options),
    queriesKnown: options.protocol === undefined,
    allProtocols: options.allProtocols,
    ports: chosenPorts(options),
    ...orderOf(options, randomSeed),
    retries: options.retries,
    timeoutMs: options.timeout ?? DEFAULTS.timeoutMs,
    streamLimits: streamLimits(options.timeout),
    concurrency: options.concurrency,
    maxTargets: options.maxTargets ?? Infinity,
    maxResults: options.maxResults ?? Infinity,
    maxRuntimeMs: options.maxRuntime ?? Infinity,
    follow: !options.noFollow,
    verify: chosenVerify(options),
    players: !options.noPlayers,
    sourcePorts: options.sourcePort ?? [],
    sourceAddress: options.sourceIp,
    engine: options.engine,
    interfaceName: options.interface,
    gatewayMac: options.gatewayMac,
    threads: options.threads,
    statsEveryMs: options.statsEvery ?? 0,
    speed: {
      rate: options.rate,
      bandwidth: options.bandwidth,
      netRate: options.netRate,
      hostRate: options.hostRate,
      cooldownMs: options.cooldown,
    },
  };
}

/**
 * Time limits of connections: those of real clients; with `--timeout`, its value for the connection
 * and for the first byte, and twice its value in total.
 */
export function streamLimits(timeoutMs: number | undefined): StreamLimits {
  if (timeoutMs === undefined) return STREAM_LIMITS;
  const [connectMs, firstByteMs, totalMs] = [timeoutMs, timeoutMs, 2 * timeoutMs];
  return { ...STREAM_LIMITS, connectMs, firstByteMs, totalMs };
}

/** The ports of `--ports`, by protocol and version of the Internet Protocol. */
export function chosenPorts(
  { ports, ...choice }: ProtocolChoice & Pick<ScanChoices, "ports">,
): ScanSettings["ports"] {
  if (ports === undefined) return usualPorts(choice.allProtocols);
  const protocols = protocolsOf(choice);
  const transports = [...new Set(protocols.map(({ transport }) => transport))];
  if (transports.every((transport) => ports[transport].length === 0)) {
    const [name] = transports;
    throw new InputError(
      `Cannot use --ports "${ports.text}": it has no ${name.toUpperCase()} port`,
    );
  }
  return (protocol) => {
    const { transport } = protocols.find(({ name }) => name === protocol)!;
    return ports[transport];
  };
}

function orderOf(
  { shard, from, seed, noRandomize: ascending }: ScanChoices,
  randomSeed: () => number,
) {
  if (ascending && seed !== undefined) {
    throw new InputError("Cannot use --seed with --no-randomize: --no-randomize needs no seed");
  }
  const fixed = ascending || seed !== undefined;
  if (shard.count > 1 && !fixed) {
    throw new InputError("Cannot use --shard without --seed: all machines need the same order");
  }
  if (!fixed && (isLater(from.udp) || isLater(from.tcp))) {
    throw new InputError("Cannot use --from without the --seed of the scan that was interrupted");
  }
  return {
    shard,
    from: from.udp,
    fromTcp: from.tcp,
    seed: ascending ? undefined : seed ?? randomSeed(),
  };
}

/** Checks that options of engines that write frames are given with such an engine. */
function checkFrameOptions({ interface: name, gatewayMac, engine }: ScanChoices): void {
  for (const [option, value] of [["interface", name], ["gateway-mac", gatewayMac]]) {
    if (value === undefined || FRAME_ENGINES.has(engine)) continue;
    throw new InputError(`Cannot use --${option}: it is for --engine packet, xdp or fastest`);
  }
}
