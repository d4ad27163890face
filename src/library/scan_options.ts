/**
 * The options of a scan from a program, and their conversion to settings of the command line.
 *
 * @module
 */
import { ENGINE_CHOICES, type EngineChoice } from "../app/engines/engine_names.ts";
import { DEFAULTS } from "../app/settings/defaults.ts";
import {
  type ScanChoices,
  type ScanSettings,
  scanSettings,
  writtenPorts,
} from "../app/settings/scan_settings.ts";
import { InputError } from "../core/errors.ts";
import type { Shard } from "../targets/space.ts";
import { START } from "../scan/checkpoint/low_water_mark.ts";
import {
  checked,
  checkedMs,
  checkedRetries,
  checkedTimeout,
  type InquiryOptions,
  protocolChoice,
} from "./common_options.ts";
import { randomBytes } from "../app/system_random.ts";
import { seedOf } from "../scan/random_numbers.ts";

/** Options of a scan. They have the names and defaults of the options of `blocksweep scan`. */
export interface ScanOptions extends InquiryOptions {
  /**
   * Ports to probe, for example `19132,25565-25570`. Default: the usual ports of each protocol.
   */
  readonly ports?: string;
  /** Addresses, ranges and names that are not probed. */
  readonly exclude?: readonly string[];
  /**
   * Whether you have the permission to scan these public addresses, or more than 1,048,576 private
   * addresses.
   */
  readonly iHavePermission?: boolean;
  /** The opt-out file. Default: `blocksweep/opt-out.txt` in the user's configuration folder. */
  readonly optOutFile?: string;
  /** Seed of the target order. Default: a random seed. */
  readonly seed?: number;
  /** Whether endpoints are probed in ascending order. Default: in shuffled order. */
  readonly noRandomize?: boolean;
  /**
   * The part of the targets to scan. All machines that share the targets need the same seed.
   * Default: all targets.
   */
  readonly shard?: Shard;
  /**
   * Packets per second, or `auto` to search for the highest rate without additional loss. Default:
   * 1000.
   */
  readonly rate?: number | "auto";
  /** Packets per second to one /24 (IPv6: /48), or `off`. Default: 50. */
  readonly netRate?: number | "off";
  /** Packets per second to one address, or `off`. Default: 5. */
  readonly hostRate?: number | "off";
  /**
   * Maximum number of servers that are queried at once.
   *
   * @default 256
   */
  readonly concurrency?: number;
  /**
   * Number of repetitions of a probe or an exchange without a reply, 0 to 3.
   *
   * @default 1
   */
  readonly retries?: number;
  /** How long late replies are awaited at the end, milliseconds. Default: 5000; loopback: 1000. */
  readonly cooldownMs?: number;
  /** Maximum number of endpoints to probe. Default: all. */
  readonly maxTargets?: number;
  /** Maximum number of records to yield. Default: all. */
  readonly maxResults?: number;
  /** Maximum duration of the scan, milliseconds. Default: no limit. */
  readonly maxRuntimeMs?: number;
  /**
   * Whether servers are queried only in the protocol of their first reply. Default: in all
   * protocols.
   */
  readonly noFollow?: boolean;
  /** Whether to verify that servers accept RakNet connections. Default: no. */
  readonly verify?: boolean;
  /** Whether records contain no names of players. Default: records contain them. */
  readonly noPlayers?: boolean;
  /**
   * The engine that sends datagrams: `portable`, `udp`, `packet`, `xdp` or `fastest`. Default:
   * `udp` if `--allow-ffi` is granted, else `portable`.
   */
  readonly engine?: EngineChoice;
}

const COUNT = { least: 1, most: 1e9 };

/**
 * Converts the options to settings of the command line.
 *
 * @throws InputError for the first option that cannot be used.
 */
export function settingsOf(options: ScanOptions): ScanSettings {
  const { engine, shard = WHOLE } = options;
  if (engine !== undefined && !ENGINE_CHOICES.includes(engine)) {
    throw new InputError(`Cannot use engine "${engine}": expected ${ENGINE_CHOICES.join(", ")}`);
  }
  const choices = {
    ...OTHER_CHOICES,
    ...speedOf(options),
    ...protocolChoice(options),
    engine,
    ports: writtenPorts(options.ports),
    seed: checked("seed", options.seed, { least: 0, most: Number.MAX_SAFE_INTEGER }),
    noRandomize: options.noRandomize ?? false,
    shard: {
      count: checked("shard.count", shard.count, { least: 1, most: 9_999_999 })!,
      index: checked("shard.index", shard.index, { least: 1, most: shard.count })!,
    },
    noFollow: options.noFollow ?? false,
    verify: options.verify ?? false,
    noPlayers: options.noPlayers ?? false,
    maxTargets: checked("maxTargets", options.maxTargets, COUNT),
    maxResults: checked("maxResults", options.maxResults, COUNT),
    maxRuntime: checkedMs("maxRuntimeMs", options.maxRuntimeMs),
  };
  return scanSettings(choices, () => seedOf(randomBytes));
}

const WHOLE: Shard = { index: 1, count: 1 };

/** Default settings for options that only the command line has. */
const OTHER_CHOICES = {
  from: START,
  bandwidth: undefined,
  threads: 0,
  interface: undefined,
  gatewayMac: undefined,
  sourcePort: undefined,
  sourceIp: undefined,
  statsEvery: undefined,
};

function speedOf(
  options: ScanOptions,
): Pick<
  ScanChoices,
  "rate" | "netRate" | "hostRate" | "concurrency" | "timeout" | "retries" | "cooldown"
> {
  const { rate, concurrency } = options;
  return {
    rate: rate === "auto"
      ? { most: undefined }
      : checked("rate", rate, { least: 0.001, most: 1e9, fractions: true }),
    netRate: capOf("netRate", options.netRate),
    hostRate: capOf("hostRate", options.hostRate),
    concurrency: checked("concurrency", concurrency, { least: 1, most: 100_000 }) ??
      DEFAULTS.scan.concurrency,
    timeout: checkedTimeout(options),
    retries: checkedRetries(options, "scan"),
    cooldown: checkedMs("cooldownMs", options.cooldownMs),
  };
}

function capOf(name: string, cap: number | "off" | undefined): number | "off" | undefined {
  return cap === "off" ? cap : checked(name, cap, { least: 1, most: 1e6 });
}
