/**
 * The options of a scan, and how it ends.
 *
 * @module
 */
import type { ProtocolSelection } from "../../protocols/list.ts";
import type { Address, Endpoint } from "../../core/address.ts";
import type { Clock } from "../../net/clock.ts";
import type {
  DatagramSocket,
  Dialer,
  Limits,
  PortSocket,
  PortSocketOptions,
  SendGate,
  StreamLimits,
  Throttle,
} from "../../net/mod.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { Sink } from "../../sinks/sink.ts";
import type { Targets } from "../../targets/compose.ts";
import type { Range } from "../../targets/ranges.ts";
import type { Shard } from "../../targets/shards.ts";
import type { TargetOrder } from "../../targets/space.ts";
import type { AdaptiveScan, NextPass } from "./adaptive_setup.ts";
import type { Marks } from "./low_water_mark.ts";
import type { TargetNames } from "./requested_names.ts";
import type { MakingThread, RowThreadOptions } from "../rows/thread_start.ts";
import type { EndReason, Outage, ScanState } from "./scan_state.ts";

/** Saves the progress of a scan. Another process can then resume the scan. No method rejects. */
export interface Checkpointer {
  /**
   * Records rows that every sink has accepted. No sink has accepted later rows.
   *
   * @param ids The rows as `serverId()` names them.
   */
  accepted(ids: readonly string[]): Promise<void>;
  /** Records an address that opted out. */
  optedOut(address: Address): Promise<void>;
  /**
   * Records a closed pass of an adaptive scan, before the next one is planned.
   *
   * @param line The line of the pass for the list beside the checkpoint.
   */
  passed?(line: string): Promise<void>;
  /**
   * Saves the position of the scan.
   *
   * @param marks Low-water marks: a scan that is resumed there misses no server.
   */
  save(marks: Marks, state: ScanState): Promise<void>;
}

/** A server that was known before the scan. */
export interface KnownTarget {
  readonly endpoint: Endpoint;
  /** Names of the server's known protocols; empty: the server is probed like other targets. */
  readonly protocols: readonly string[];
}

/** The addresses, protocols and ports that a scan probes. */
export interface ScanTargets extends TargetNames, ProtocolSelection {
  /** The addresses, and the explicit ports of some of them. */
  readonly addresses: Targets;
  /** The protocols, in the order of their passes. */
  readonly protocols: readonly Protocol[];
  /** The ports of a protocol for targets without an explicit port. */
  readonly ports: (protocol: string, family: 4 | 6) => readonly number[];
  /**
   * Known servers among the targets. Until such a server replies, it is queried only in its known protocols.
   * Default: none.
   */
  readonly known?: readonly KnownTarget[];
  /**
   * Whether known servers are queried in all their known protocols. Default: only in those among
   * `protocols`. After a reply, a server is also queried in the other `protocols`, with one
   * exception: if this option is true, a server that speaks a suppressible protocol is queried in
   * its known protocols only.
   */
  readonly queriesKnown?: boolean;
  /**
   * Addresses that opted out before. Nothing is sent to them. They are not exclusions: scans add to
   * this list, and a change of the exclusions would change the order of the targets.
   */
  readonly optedOut: Iterable<Range>;
  /** Endpoints that count as responders. They are not probed and get no row. */
  readonly responders: Iterable<Endpoint>;
}

/** The order of the targets, and the start. */
export interface ScanOrder extends TargetOrder {
  /** The shard that the targets are, for checkpoints. Default: all targets. */
  readonly shard?: Shard;
  /** The positions at which the passes over UDP and TCP start. */
  readonly from: Marks;
}

/** Limits of a scan: rates, timeouts, repetitions and numbers. */
export interface ScanLimits {
  /** The rate limit and the caps, packets per second. */
  readonly rates: Limits;
  /**
   * Options of the rate search, which starts at the rate in `rates`; `most` is the highest rate, packets
   * per second. Default: no search.
   */
  readonly autoRate?: { readonly most: number };
  /** Whether caps apply to loopback addresses too. */
  readonly capLoopback: boolean;
  /** Number of repetitions of probes and exchanges without a reply. */
  readonly retries: number;
  /** Timeout for a reply, milliseconds. */
  readonly timeoutMs: number;
  /** How long the scan waits for late replies at the end, milliseconds. */
  readonly cooldownMs: number;
  /** Maximum number of concurrent interviews. */
  readonly concurrency: number;
  /** Maximum number of concurrent TCP connections on which servers are queried. */
  readonly connections: number;
  /**
   * Maximum number of connections of the sweep that wait to be accepted. Engines that send raw SYN packets
   * need none. Default: as many as `connections`.
   */
  readonly pendingProbes?: number;
  /** Maximum time for a reply to a probe over TCP, milliseconds. Default: 900. */
  readonly portWaitMs?: number;
  /**
   * Timeouts and size limit of connections. Default: those of real clients.
   *
   * @internal
   */
  readonly streamLimits?: StreamLimits;
  /** Maximum number of open sockets that serve one interview each. Default: no limit. */
  readonly exclusiveSockets?: number;
  /** Maximum number of open ports in unresponsive networks that wait. Default: 1,048,576. */
  readonly maxDeferred?: number;
  /** Maximum number of rows. Default: no limit. */
  readonly maxResults?: number;
  /** Maximum duration of the scan, milliseconds. Default: no limit. */
  readonly maxRuntimeMs?: number;
}

/** What interviews query, and which parts of the replies are stored. */
export interface ScanInterviews {
  /** Whether each server is queried in the protocols other than that of its first reply. */
  readonly follow: boolean;
  /** Whether interviews verify that a server accepts connections. Default: no. */
  readonly verify?: boolean;
  /** Returns whether a MOTD contains an opt-out. */
  readonly optsOut: (motd: string) => boolean;
  /**
   * Returns whether the MOTD in a reply of a probe with `wholeStatus` may contain an opt-out. If not,
   * the reply is decoded when its row is made. Default: all replies are decoded when they arrive.
   */
  readonly mayOptOut?: (reply: Uint8Array) => boolean;
  /** Whether rows contain names of players. */
  readonly players: boolean;
  /** Whether outputs store raw replies and icons. Default: no. */
  readonly attach?: boolean;
}

/** What a scan reads and writes: sockets, outputs, clock, random bytes, counters. */
export interface ScanIo {
  /** Opens the shared sockets of a family. */
  readonly openSockets: (family: 4 | 6) => readonly DatagramSocket[];
  /** Sender threads of the shared sockets. Default: none. */
  readonly threads?: number;
  /** Opens a socket on an ephemeral port. */
  readonly openExclusive: (family: 4 | 6) => DatagramSocket;
  /** Opens the sockets of a family that probe TCP ports. Default: one that connects through the dialer. */
  readonly openPorts?: (family: 4 | 6, options: PortSocketOptions) => readonly PortSocket[];
  /** Opens the TCP connections of passes and interviews. */
  readonly dialer: Dialer;
  /** The outputs of the rows. The scan does not close them. */
  readonly sinks: readonly Sink[];
  /**
   * Starts a thread that makes the rows while many servers are found. All sinks need `writeMade`.
   * The thread makes rows of PROTOCOLS without attachments; other scans do not start it. Default: none.
   */
  readonly startRowThread?: (options: RowThreadOptions) => MakingThread;
  /** Saves the progress of the scan each second. Default: progress is not saved. */
  readonly checkpoint?: Checkpointer;
  /** The rate limit and the caps, which other scans may share. Default: its own, from the limits. */
  readonly throttle?: Throttle;
  /**
   * The gate of its connections. The sockets have the same. If it closes for good, `abandon` ends
   * the scan. Default: none.
   */
  readonly gate?: SendGate;
  /** The clock of all timers, timeouts and time stamps. */
  readonly clock: Clock;
  /** Returns unpredictable random bytes. */
  readonly random: (size: number) => Uint8Array;
  /** Key of the probes' tokens, 8 bytes. Default: a new one. */
  readonly key?: Uint8Array;
  /** The counters that the scan updates. */
  readonly state: ScanState;
}

/** Functions that change a running scan. */
export interface ScanControls {
  /**
   * Adds an opt-out that was found elsewhere. Exchanges with the address are cancelled, and nothing
   * more is sent to it. `onOptOut` is not called for it.
   */
  readonly optOut: (address: Address) => void;
  /** Adds ranges that opted out, as `optOut` does. The checkpoint does not contain them. */
  readonly optOutRanges: (ranges: readonly Range[]) => void;
}

/** Callbacks for events of a scan. Each is optional. */
export interface ScanHooks {
  /** Called before the first probe. The functions may be called until the scan ends. */
  readonly onStart?: (controls: ScanControls) => void;
  /** Called for every address that opts out by a marker in a reply. */
  readonly onOptOut?: (address: Address) => void;
  /** Called when a pass begins; the counters contain its number. */
  readonly onPass?: (transport: "udp" | "tcp") => void;
  /**
   * Awaited before each pass of an adaptive scan is planned. Returns its maximum number of probes,
   * at least 1. Default: no pass waits.
   */
  readonly beforePass?: (pass: NextPass) => Promise<number>;
  /** Called when the wall clock jumps against the monotonic clock: after sleep or a time change. */
  readonly onClockJump?: (ms: number) => void;
  /**
   * Called when an outage of the scan's own network is noticed, and when it is over. Meanwhile the
   * scan sends nothing but queries to servers that replied before.
   *
   * @param until The end of the outage, Unix milliseconds; `undefined`: it begins.
   */
  readonly onOutage?: (outage: Outage, until: number | undefined) => void;
  /** Called once for each error code of sending. */
  readonly onTrouble?: (code: string, kind: "refused" | "waits" | "short") => void;
  /** Called each second. Must reject if written rows have disappeared. */
  readonly checkOutputs?: () => Promise<void>;
}

/** What to scan, and how. */
export interface ScanSetup {
  /** The addresses, protocols and ports to probe. */
  readonly targets: ScanTargets;
  /** The order of the targets, and where the passes start. */
  readonly order: ScanOrder;
  /** Rates, timeouts, repetitions and numbers. */
  readonly limits: ScanLimits;
  /** What interviews query, and what rows contain. */
  readonly interviews: ScanInterviews;
  /** Sockets, outputs, clock and counters of the scan. */
  readonly io: ScanIo;
  /**
   * Probes in passes that are planned from the servers of earlier passes. Default: each endpoint is
   * probed once.
   */
  readonly adaptive?: AdaptiveScan;
  /** Callbacks for events of the scan. Default: none. */
  readonly hooks?: ScanHooks;
  /** Ends the sweep. Interviews that have begun are finished, and their rows are written. */
  readonly signal: AbortSignal;
  /** Cancels also the interviews that have begun. Default: they are never cancelled. */
  readonly abandon?: AbortSignal;
}

/** A setup whose targets may lack `allProtocols`. */
export interface GivenSetup extends Omit<ScanSetup, "targets"> {
  /** The addresses, protocols and ports to probe. Default of `allProtocols`: PROTOCOLS. */
  readonly targets: Omit<ScanTargets, "allProtocols"> & Partial<ScanTargets>;
}

/** The endpoints that a scan probes, and their order. */
export type ScanSelection = Pick<ScanSetup, "targets" | "order">;

/** How a scan ended. */
export interface ScanEnd {
  /** Why the scan ended. */
  readonly reason: EndReason;
  /** Low-water marks: a scan that is resumed there misses no server. */
  readonly marks: Marks;
  /** The error that ended the scan; `undefined` when no error did. */
  readonly error?: Error;
}
