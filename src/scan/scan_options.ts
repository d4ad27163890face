/**
 * What a scan is told, and how it ends.
 *
 * @module
 */
import type { Address, Endpoint } from "../core/address.ts";
import type { Clock } from "../net/clock.ts";
import type { DatagramSocket, Dialer } from "../net/socket.ts";
import type { StreamLimits } from "../net/stream_link.ts";
import type { Limits } from "../net/throttle.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { ServerRecord } from "../core/record.ts";
import type { Sink } from "../sinks/sink.ts";
import type { Mark } from "../sweep/trail.ts";
import type { Targets } from "../targets/compose.ts";
import type { Range } from "../targets/ranges.ts";
import type { Shard } from "../targets/space.ts";
import type { Marks } from "./checkpoint/low_water_mark.ts";
import type { TargetNames } from "./requested_names.ts";
import type { EndReason, ScanState } from "./scan_state.ts";

/** Keeps what a scan came to, so that another process can go on. None of its methods rejects. */
export interface Checkpointer {
  /** Every sink has accepted these rows, and nothing behind them. */
  accepted(records: readonly ServerRecord[]): Promise<void>;
  /** An address opted out. */
  optedOut(address: Address): Promise<void>;
  /**
   * Saves where the scan stands.
   *
   * @param marks Up to where it is through: whoever goes on there misses nobody.
   */
  save(marks: Marks, state: ScanState): Promise<void>;
}

/** A server that was known before the scan. */
export interface KnownTarget {
  /** Where it is. */
  readonly endpoint: Endpoint;
  /** Names of the protocols that it is known to speak; none: it is probed as any target is. */
  readonly protocols: readonly string[];
}

/** What to scan, and how. */
export interface ScanOptions extends TargetNames {
  /** The targets. */
  readonly targets: Targets;
  /** The protocols, in the order of their passes. */
  readonly protocols: readonly Protocol[];
  /** Every protocol of the program, in order of rank. Default: PROTOCOLS. */
  readonly allProtocols?: readonly Protocol[];
  /** The ports to ask for a protocol where a target names none. */
  readonly ports: (protocol: string, family: 4 | 6) => readonly number[];
  /** Seed of the order; `undefined`: no shuffling. */
  readonly seed: number | undefined;
  /** Which part of the targets. */
  readonly shard: Shard;
  /** How many targets a pass visits at the most. */
  readonly maxTargets: number;
  /** Targets that come before all others in each pass. Default: none. */
  readonly first?: readonly Endpoint[];
  /**
   * Servers among the targets that are sent only the protocols that they are known to speak before
   * they reply. Default: none.
   */
  readonly known?: readonly KnownTarget[];
  /**
   * Whether known servers are sent all protocols that they are known to speak. Default: only those
   * that are among `protocols`. The others of `protocols` follow a reply; where this is set, not at
   * servers of a protocol that suppresses another one.
   */
  readonly asksKnown?: boolean;
  /** How many rows to write at the most. */
  readonly maxResults: number;
  /** How long to run at the most, milliseconds. */
  readonly maxRuntimeMs: number;
  /** Where to start. */
  readonly from: Mark;
  /** Where to start over TCP. Default: with the first pass. */
  readonly fromTcp?: Mark;
  /**
   * Addresses that are left alone, as those that opt out in the scan are. They are no exclusions:
   * with the list, which scans add to, the order of the targets would change.
   */
  readonly optedOut: Iterable<Range>;
  /** Servers that are taken for answered: they are not asked, and no row is written of them. */
  readonly answered: Iterable<Endpoint>;
  /** Key of the probes' tokens, 8 bytes. Default: a new one. */
  readonly key?: Uint8Array;
  /** What keeps the scan's state, each second. */
  readonly checkpoint?: Checkpointer;
  /** How often the silent are asked again, and an exchange is repeated. */
  readonly retries: number;
  /** How long to wait for an answer, milliseconds. */
  readonly timeoutMs: number;
  /** How long to wait for late answers at the end, milliseconds. */
  readonly cooldownMs: number;
  /** Inspections at once. */
  readonly concurrency: number;
  /** Whether each server is asked for the protocols that did not sight it. */
  readonly follow: boolean;
  /** Whether it is found out if a connection to a server can be opened. Default: no. */
  readonly verify?: boolean;
  /** Whether rows name players. */
  readonly players: boolean;
  /** Limits for datagrams. */
  readonly limits: Limits;
  /**
   * Whether the rate is found out: from the one in `limits` on, up to so many datagrams a second, the
   * highest at which no more is lost than at lower ones. Default: no.
   */
  readonly autoRate?: { readonly most: number };
  /** Whether caps apply to loopback addresses too. */
  readonly capLoopback: boolean;
  /** Opens the shared sockets of a family. */
  readonly openSockets: (family: 4 | 6) => readonly DatagramSocket[];
  /** Threads that send for the shared sockets, and do nothing else. Default: none. */
  readonly threads?: number;
  /** Opens a socket on a port of its own. */
  readonly openSole: (family: 4 | 6) => DatagramSocket;
  /** How many of these may be open at once. Default: one for each inspection. */
  readonly soleSockets?: number;
  /** Opens connections. */
  readonly dialer: Dialer;
  /** Connections at once, over TCP. */
  readonly connections: number;
  /** How patient connections are. Default: as real clients. */
  readonly streamLimits?: StreamLimits;
  /** Whether a MOTD asks scanners to stay away. */
  readonly optsOut: (motd: string) => boolean;
  /** Told of every address that opted out. */
  readonly onOptOut: (address: Address) => void;
  /** Told when a pass of one of the two halves begins; the state says which. */
  readonly onPass?: (transport: "udp" | "tcp") => void;
  /**
   * Told when the clock that tells the time of day and the one that only runs have parted: the
   * machine slept, or its clock was set.
   */
  readonly onClockJump?: (ms: number) => void;
  /** Whether outputs keep replies as they came, and icons. Default: no. */
  readonly attach?: boolean;
  /** Told of each error that keeps datagrams from leaving, once. */
  readonly onTrouble?: (code: string, kind: "refused" | "waits" | "short") => void;
  /** Where rows go. The scan does not close them. */
  readonly sinks: readonly Sink[];
  /** Checks each second that rows which were written are still there; rejects where they are not. */
  readonly checkOutputs?: () => Promise<void>;
  /** Random bytes that nobody can guess. */
  readonly random: (size: number) => Uint8Array;
  /** The clock. */
  readonly clock: Clock;
  /** Ends the sweep; rows in hand are finished. */
  readonly signal: AbortSignal;
  /** What to count in. */
  readonly state: ScanState;
}

/** How a scan ended. */
export interface ScanEnd {
  /** Why. */
  readonly reason: EndReason;
  /** Where the sweep stands: whoever goes on there misses nobody. */
  readonly mark: Mark;
  /** Where it stands over TCP. */
  readonly tcpMark: Mark;
  /** What failed, when something did. */
  readonly error?: Error;
}
