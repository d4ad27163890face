/**
 * The options of a scan, and how it ends.
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
import type { Targets } from "../targets/compose.ts";
import type { Range } from "../targets/ranges.ts";
import type { TargetOrder } from "../targets/space.ts";
import type { Marks } from "./checkpoint/low_water_mark.ts";
import type { TargetNames } from "./requested_names.ts";
import type { EndReason, ScanState } from "./scan_state.ts";

/** Saves the progress of a scan, so that another process can resume it. No method rejects. */
export interface Checkpointer {
  /** Records rows that every sink has accepted. No sink has accepted later rows. */
  accepted(records: readonly ServerRecord[]): Promise<void>;
  /** Records an address that opted out. */
  optedOut(address: Address): Promise<void>;
  /**
   * Saves the position of the scan.
   *
   * @param marks Low-water marks: a scan that is resumed there misses no server.
   */
  save(marks: Marks, state: ScanState): Promise<void>;
}

/** A server that was known before the scan. */
export interface KnownTarget {
  /** The endpoint of the server. */
  readonly endpoint: Endpoint;
  /** Names of the server's known protocols; empty: the server is probed like other targets. */
  readonly protocols: readonly string[];
}

/** The addresses, protocols and ports that a scan probes. */
export interface ScanTargets extends TargetNames {
  /** The addresses, and the ports that some of them have of their own. */
  readonly addresses: Targets;
  /** The protocols, in the order of their passes. */
  readonly protocols: readonly Protocol[];
  /** Every protocol of the program, in order of rank. Default: PROTOCOLS. */
  readonly allProtocols?: readonly Protocol[];
  /** The ports that are probed in a protocol where a target names none. */
  readonly ports: (protocol: string, family: 4 | 6) => readonly number[];
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
  readonly queriesKnown?: boolean;
  /**
   * Addresses that are sent nothing, as those that opt out in the scan. They are no exclusions:
   * with this list, which scans add to, the order of the targets would change.
   */
  readonly optedOut: Iterable<Range>;
  /** Servers that count as responders: they are not probed, and no row is written of them. */
  readonly responders: Iterable<Endpoint>;
}

/** Which of the targets a pass visits, and in which order. */
export interface ScanOrder extends TargetOrder {
  /** Where the passes of datagrams start, and those of connections. */
  readonly from: Marks;
}

/** How fast, how long and how often. */
export interface ScanLimits {
  /** The rate limit and the caps, packets per second. */
  readonly rates: Limits;
  /**
   * Whether the rate is searched: from the one in `rates` on, up to so many datagrams a second, the
   * highest at which no more is lost than at lower ones. Default: no.
   */
  readonly autoRate?: { readonly most: number };
  /** Whether caps apply to loopback addresses too. */
  readonly capLoopback: boolean;
  /** How often unresponsive targets are probed again, and an exchange is repeated. */
  readonly retries: number;
  /** How long a reply is awaited, milliseconds. */
  readonly timeoutMs: number;
  /** How long late replies are awaited at the end, milliseconds. */
  readonly cooldownMs: number;
  /** Maximum number of concurrent interviews. */
  readonly concurrency: number;
  /** Maximum number of concurrent TCP connections. */
  readonly connections: number;
  /** Timeouts and size limit of connections. Default: those of real clients. */
  readonly streamLimits?: StreamLimits;
  /** How many sockets that serve one interview each may be open at once. Default: no limit. */
  readonly soleSockets?: number;
  /** How many rows are written at most. Default: no limit. */
  readonly maxResults?: number;
  /** How long the scan runs at most, milliseconds. Default: no limit. */
  readonly maxRuntimeMs?: number;
}

/** What an interview queries, and what a row keeps of it. */
export interface ScanInterviews {
  /** Whether each server is sent the protocols that did not sight it. */
  readonly follow: boolean;
  /** Whether it is verified that a connection to a server can be opened. Default: no. */
  readonly verify?: boolean;
  /** Whether a MOTD is an opt-out. */
  readonly optsOut: (motd: string) => boolean;
  /** Whether rows name players. */
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
  readonly openSole: (family: 4 | 6) => DatagramSocket;
  /** Opens TCP connections. */
  readonly dialer: Dialer;
  /** The outputs of the rows. The scan does not close them. */
  readonly sinks: readonly Sink[];
  /** What saves how far the scan has come, each second. Default: nothing does. */
  readonly checkpoint?: Checkpointer;
  /** The clock of all timers, timeouts and time stamps. */
  readonly clock: Clock;
  /** Returns unpredictable random bytes. */
  readonly random: (size: number) => Uint8Array;
  /** Key of the probes' tokens, 8 bytes. Default: a new one. */
  readonly key?: Uint8Array;
  /** The counters that the scan updates. */
  readonly state: ScanState;
}

/** What is called when something happens. Default of each: nothing. */
export interface ScanHooks {
  /** Called for every address that opts out. */
  readonly onOptOut?: (address: Address) => void;
  /** Called when a pass begins; the counters say which. */
  readonly onPass?: (transport: "udp" | "tcp") => void;
  /** Called when the wall clock jumps against the monotonic clock: after sleep or a time change. */
  readonly onClockJump?: (ms: number) => void;
  /** Called once for each error code of sends. */
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
  /** How fast, how long and how often. */
  readonly limits: ScanLimits;
  /** What servers that reply are queried for. */
  readonly interviews: ScanInterviews;
  /** Sockets, outputs, clock and counters of the scan. */
  readonly io: ScanIo;
  /** What is called when something happens. Default: nothing. */
  readonly hooks?: ScanHooks;
  /** Ends the sweep; interviews and rows that have begun are finished. */
  readonly signal: AbortSignal;
  /** Ends interviews that have begun too. Default: nothing does. */
  readonly abandon?: AbortSignal;
}

/** Which endpoints a scan probes, and in which order. */
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
