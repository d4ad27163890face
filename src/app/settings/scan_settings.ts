/**
 * The options of the scan command, read and checked: nothing is opened or sent here.
 *
 * @module
 */
import { type Address, parseAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { parseMac } from "../../net/mac_address.ts";
import { STREAM_LIMITS, type StreamLimits } from "../../net/stream_link.ts";
import type { Limits } from "../../net/throttle.ts";
import { PROTOCOLS, usualProtocols } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { Mark } from "../../sweep/trail.ts";
import type { Targets } from "../../targets/compose.ts";
import { defaultSpeed } from "../../targets/permission.ts";
import { parsePorts } from "../../targets/ports.ts";
import type { Shard } from "../../targets/space.ts";
import { closestName } from "../../core/closest_name.ts";
import { rateOf } from "./bandwidth.ts";
import { DEFAULTS } from "./defaults.ts";
import { ENGINE_CHOICES, type EngineChoice } from "../engines/choose_engine.ts";
import { usualPorts } from "../../protocols/usual_ports.ts";
import type { AutoRate, Settings } from "./option_values.ts";

/** What does not depend on the targets. */
export interface ScanSettings {
  readonly protocols: readonly Protocol[];
  /** Whether known servers are sent what they speak, for the user names no protocols. */
  readonly asksKnown: boolean;
  /** Every protocol of the program, in order of rank. */
  readonly allProtocols: readonly Protocol[];
  readonly ports: (protocol: string, family: 4 | 6) => readonly number[];
  /** `undefined`: ascending order. */
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
  /** Ports of our own; none: any. */
  readonly sourcePorts: readonly number[];
  readonly sourceAddress: Address | undefined;
  /** The engine that the user named. */
  readonly engine: EngineChoice | undefined;
  /** The only interface that frames may leave by; and the MAC of the gateway there. */
  readonly interfaceName: string | undefined;
  readonly gatewayMac: Uint8Array | undefined;
  /** Threads that only send; 0: the program's own does. */
  readonly threads: number;
  /** How often to say where the scan stands, where there is no terminal, milliseconds; 0: never. */
  readonly statsEveryMs: number;
  /** What the user said of the speed. */
  readonly speed: GivenSpeed;
}

/** What the user said of the speed; what is missing is filled in when the targets are known. */
interface GivenSpeed {
  readonly rate: number | AutoRate | undefined;
  /** Bits a second. */
  readonly bandwidth: number | undefined;
  readonly netRate: number | "off" | undefined;
  readonly hostRate: number | "off" | undefined;
  readonly cooldownMs: number | undefined;
}

/** What writes frames, or may. */
const FRAMERS = new Set<string | undefined>(["packet", "xdp", "fastest"]);
/** More threads than cores send no faster. */
const MOST_THREADS = 64;
/** The largest seed: whole numbers up to it are exact. */
const MOST_SEED = Number.MAX_SAFE_INTEGER;

/**
 * Reads the settings of a scan.
 *
 * @param allProtocols Every protocol, in order of rank.
 */
export function readScanSettings(
  settings: Settings,
  randomSeed: () => number,
  allProtocols: readonly Protocol[] = PROTOCOLS,
): ScanSettings {
  const protocols = chosenProtocols(settings.list("protocol"), allProtocols);
  return {
    protocols,
    asksKnown: settings.text("protocol") === undefined,
    allProtocols,
    ports: chosenPorts(settings.text("ports"), protocols, allProtocols),
    ...readOrder(settings, randomSeed),
    retries: settings.whole("retries", 0, 3) ?? DEFAULTS.scan.retries,
    timeoutMs: chosenTimeout(settings),
    streamLimits: streamLimits(settings.milliseconds("timeout")),
    concurrency: settings.whole("concurrency", 1, 100_000) ?? DEFAULTS.scan.concurrency,
    maxTargets: settings.wholeCount("max-targets") ?? Infinity,
    maxResults: settings.wholeCount("max-results") ?? Infinity,
    maxRuntimeMs: settings.time("max-runtime") ?? Infinity,
    follow: !settings.has("no-follow"),
    verify: chosenVerify(settings, protocols, allProtocols),
    players: !settings.has("no-players"),
    ...readSource(settings),
    engine: settings.oneOf("engine", ENGINE_CHOICES) as EngineChoice | undefined,
    ...readWay(settings),
    threads: settings.whole("threads", 0, MOST_THREADS) ?? 0,
    statsEveryMs: settings.time("stats-every") ?? 0,
    speed: {
      rate: settings.rate("rate"),
      bandwidth: settings.bits("bandwidth"),
      netRate: settings.cap("net-rate"),
      hostRate: settings.cap("host-rate"),
      cooldownMs: settings.time("cooldown"),
    },
  };
}

/** How patient connections are: as real clients, or as long as the user says, and twice in all. */
export function streamLimits(timeoutMs: number | undefined): StreamLimits {
  if (timeoutMs === undefined) return STREAM_LIMITS;
  const [connectMs, firstByteMs, totalMs] = [timeoutMs, timeoutMs, 2 * timeoutMs];
  return { ...STREAM_LIMITS, connectMs, firstByteMs, totalMs };
}

/** The protocols of `--protocol`, in the order of their passes. */
export function chosenProtocols(
  names: readonly string[] | undefined,
  allProtocols: readonly Protocol[] = PROTOCOLS,
): readonly Protocol[] {
  if (names === undefined) return usualProtocols(allProtocols);
  const known = allProtocols.map(({ name }) => name);
  for (const name of names) {
    if (known.includes(name)) continue;
    const meant = closestName(name, known);
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    throw new InputError(
      `Cannot look for protocol "${name}": known are ${known.join(", ")}${hint}`,
    );
  }
  if (names.length === 0) throw new InputError("Cannot look for no protocol: --protocol is empty");
  return allProtocols.filter(({ name }) => names.includes(name));
}

/** The ports of `--ports`, by protocol and version of the Internet Protocol. */
/**
 * Whether `--verify` is given.
 *
 * @throws InputError when none of the chosen protocols can verify a server.
 */
export function chosenVerify(
  settings: Settings,
  protocols: readonly Protocol[],
  allProtocols: readonly Protocol[],
): boolean {
  if (!settings.has("verify")) return false;
  if (protocols.some(({ verify }) => verify !== undefined)) return true;
  const able = allProtocols.filter(({ verify }) => verify !== undefined);
  throw new InputError(
    `Cannot use --verify with --protocol ${protocols.map(({ name }) => name).join(",")}: ` +
      (able.length === 0
        ? "no protocol verifies servers"
        : `it wants one of ${able.map(({ name }) => name).join(", ")}`),
  );
}

export function chosenPorts(
  text: string | undefined,
  protocols: readonly Protocol[],
  allProtocols: readonly Protocol[],
) {
  if (text === undefined) return usualPorts(allProtocols);
  const ports = parsePorts(text);
  const transports = [...new Set(protocols.map(({ transport }) => transport))];
  if (transports.every((transport) => ports[transport].length === 0)) {
    const [name] = transports;
    throw new InputError(
      `Cannot use --ports "${text}": no ${name.toUpperCase()} port is among them`,
    );
  }
  return (protocol: string) => {
    const { transport } = protocols.find(({ name }) => name === protocol)!;
    return ports[transport];
  };
}

function readOrder(settings: Settings, randomSeed: () => number) {
  const shard = settings.shard();
  const from = settings.mark();
  const fromTcp = settings.mark("tcp");
  const given = settings.whole("seed", 0, MOST_SEED);
  const ascending = settings.has("no-randomize");
  if (ascending && given !== undefined) {
    throw new InputError("Cannot use --seed with --no-randomize: the order is one or the other");
  }
  const fixed = ascending || given !== undefined;
  if (shard.count > 1 && !fixed) {
    throw new InputError("Cannot use --shard without --seed: all machines need the same order");
  }
  if (!fixed && (isLater(from) || isLater(fromTcp))) {
    throw new InputError("Cannot use --from without the --seed of the scan that was interrupted");
  }
  return { shard, from, fromTcp, seed: ascending ? undefined : given ?? randomSeed() };
}

/** Whether a mark is behind the start. */
export function isLater({ pass, position }: Mark): boolean {
  return pass > 1 || position > 0;
}

function readSource(settings: Settings) {
  const ports = settings.text("source-port");
  const address = settings.text("source-ip");
  const sourceAddress = address === undefined ? undefined : parseAddress(address);
  if (address !== undefined && sourceAddress === undefined) {
    throw new InputError(`Cannot use --source-ip "${address}": not an address`);
  }
  return { sourcePorts: ports === undefined ? [] : parsePorts(ports).udp, sourceAddress };
}

/** Which way frames take, for the engines that write them. */
function readWay(settings: Settings) {
  const interfaceName = settings.text("interface");
  const text = settings.text("gateway-mac");
  const gatewayMac = text === undefined ? undefined : parseMac(text);
  if (text !== undefined && gatewayMac === undefined) {
    throw new InputError(
      `Cannot use --gateway-mac "${text}": it wants six bytes, as 02:00:5e:10:00:01`,
    );
  }
  for (const [name, value] of [["interface", interfaceName], ["gateway-mac", text]]) {
    if (value === undefined || FRAMERS.has(settings.text("engine"))) continue;
    throw new InputError(`Cannot use --${name}: it is for --engine packet, xdp or fastest`);
  }
  return { interfaceName, gatewayMac };
}

/** How long to wait for an answer: with less than a millisecond, everybody would be silent. */
export function chosenTimeout(settings: Settings): number {
  const value = settings.milliseconds("timeout") ?? DEFAULTS.timeoutMs;
  if (value >= 1) return value;
  throw new InputError(
    `Cannot use --timeout "${settings.text("timeout")}": it must be at least 1 ms`,
  );
}

/** Limits, and whether they hold for loopback too. */
export interface SpeedSettings {
  readonly limits: Limits;
  /** Up to which rate the highest without loss is looked for, from the one in `limits` on. */
  readonly autoRate?: { readonly most: number };
  readonly capLoopback: boolean;
  readonly cooldownMs: number;
}

/** Limits and cooldown; what is not said is mild. Of a rate and a bandwidth the lower one holds. */
export function speedFor(
  targets: Targets,
  { speed, protocols, allProtocols }: ScanSettings,
): SpeedSettings {
  const mild = defaultSpeed(targets);
  const cap = (given: number | "off" | undefined, usual: number | undefined) =>
    given === "off" ? undefined : given ?? usual;
  const { bandwidth, rate: given, netRate, hostRate } = speed;
  const line = bandwidth === undefined
    ? Infinity
    : rateOf(bandwidth, protocols, targets, allProtocols);
  const auto = typeof given === "object";
  const most = Math.min(line, auto ? given.most ?? mild.mostAutoRate : Infinity);
  const rate = auto ? AUTO_START : given ?? (bandwidth === undefined ? mild.rate : Infinity);
  const lowest = Math.min(most, rate ?? Infinity);
  return {
    limits: {
      rate: lowest === Infinity ? undefined : lowest,
      netRate: cap(netRate, mild.netRate),
      hostRate: cap(hostRate, mild.hostRate),
    },
    ...(auto ? { autoRate: { most } } : {}),
    capLoopback: typeof netRate === "number" || typeof hostRate === "number",
    cooldownMs: speed.cooldownMs ?? mild.cooldownMs,
  };
}

/** Where the search for a rate begins, datagrams a second. */
const AUTO_START = 1000;
