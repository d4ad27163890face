/**
 * The options of a scan from a program.
 *
 * @module
 */
import type { EngineChoice } from "../app/settings/mod.ts";
import type { Shard } from "../targets/shards.ts";
import type { ScanOrWatchOptions } from "./common_options.ts";

/** Options of a scan. They have the names and defaults of the options of `blocksweep scan`. */
export interface ScanOptions extends ScanOrWatchOptions {
  /**
   * Ports to probe, for example `19132,25565-25570`. Default: the usual ports of each protocol.
   */
  readonly ports?: string;
  /** A database whose servers are probed again, before other targets. */
  readonly rescan?: string;
  /** Addresses, ranges and names that are not probed. */
  readonly exclude?: readonly string[];
  /** Files with exclusions: an address, range or name per line. */
  readonly excludeFile?: readonly string[];
  /**
   * Whether you have the permission to scan these public addresses, or more than 1,048,576 private
   * addresses.
   */
  readonly iHavePermission?: boolean;
  /** Seed of the target order. Default: a random seed. */
  readonly seed?: number;
  /** Whether endpoints are probed in ascending order. Default: in shuffled order. */
  readonly noRandomize?: boolean;
  /**
   * The part of the targets to scan: whole networks (/24, IPv6: /48). All machines that share the
   * targets need the same seed.
   * Default: all targets.
   */
  readonly shard?: Shard;
  /** The position at which a stopped scan goes on, for example `2:1500` or `2:1500,T:3:0`. */
  readonly from?: string;
  /**
   * Packets per second, or `auto` to search for the highest rate without additional loss. Default:
   * 1000.
   */
  readonly rate?: number | "auto" | `auto:${number}`;
  /** Bits per second on Ethernet. Of a rate and a bandwidth, the lower one applies. */
  readonly bandwidth?: number;
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
  /**
   * Whether to probe in passes, each planned from the servers that earlier passes found. Default: each
   * endpoint is probed once.
   */
  readonly adaptive?: boolean;
  /**
   * When an adaptive scan ends: after a percentage of one probe for each target address (`50%`), a
   * number of probes (`200M`), or a time (`12h`). Default: `50%`.
   */
  readonly budget?: string | number;
  /** Servers per million probes: an adaptive scan ends when passes find fewer. Default: it does not. */
  readonly stopBelow?: number;
  /**
   * A database or a file of rows with servers that were known before: an adaptive scan probes those among
   * the targets first. Default: none.
   */
  readonly known?: string;
  /**
   * Maximum number of probes of an adaptive scan to one /24. The protocols share it.
   *
   * @default 16384
   */
  readonly netBudget?: number;
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
  /**
   * Number of sender threads of the engines `udp`, `packet` and `xdp`. Default: 0; with `fastest`
   * also more, on fast scans without caps.
   */
  readonly threads?: number;
  /** The network interface on which `packet` and `xdp` send. Default: that of most targets. */
  readonly interface?: string;
  /** The MAC address of the gateway for `packet` and `xdp`. Default: from the kernel, or by ARP. */
  readonly gatewayMac?: string;
  /** Local ports from which probes are sent, for example `40000-40003`. Default: any. */
  readonly sourcePort?: string | number;
  /** The local address from which probes are sent. Default: any. */
  readonly sourceIp?: string;
  /**
   * Paths of files (.csv .ndjson .json .txt) and databases (.db, postgres:) to which rows are written,
   * besides being yielded. Default: none.
   */
  readonly output?: readonly string[];
  /** Format of files without a known suffix: csv, ndjson, json, hostport, grep or table. */
  readonly format?: string;
  /** Whether rows are added to the files. Default: files are truncated. */
  readonly append?: boolean;
  /** Names of the columns to write. Default: all. */
  readonly fields?: readonly string[];
  /**
   * Number of scans in a row without a reply after which a database counts a server as offline.
   *
   * @default 3
   */
  readonly downAfter?: number;
  /** Tags that servers get in databases, each of 1 to 64 characters, besides those that they have. Default: none. */
  readonly tag?: readonly string[];
  /**
   * The file from which the scan can be resumed. Default: the first file of `output` plus
   * `.checkpoint`; for a database with a running or interrupted scan, plus
   * `.2.checkpoint`.
   */
  readonly checkpoint?: string;
  /** The checkpoint of a scan to resume, with the targets and options of that scan. */
  readonly resume?: string;
  /** A JSON file with the state of the running scan. Default: none. */
  readonly statusFile?: string;
  /** A JSON file with the options and results of the scan, written at its end. Default: none. */
  readonly metadataFile?: string;
}
