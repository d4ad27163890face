/**
 * Runs a scan with sockets, outputs and a clock that the program chooses.
 *
 * @module
 */
import { chosenProtocols } from "../app/settings/mod.ts";
import type { DatagramSocket, Dialer } from "../net/mod.ts";
import {
  type Marks,
  newState,
  runSetup,
  type ScanControls,
  type ScanEnd,
  type ScanInterviews,
  type ScanLimits,
  START,
} from "../scan/mod.ts";
import type { Address, Endpoint } from "../core/address.ts";
import type { Clock } from "../net/clock.ts";
import { PROTOCOLS, USUAL_PROTOCOLS } from "../protocols/list.ts";
import { usualPorts } from "../protocols/usual_ports.ts";
import type { Sink } from "../sinks/sink.ts";
import type { Targets } from "../targets/compose.ts";
import type { Range } from "../targets/ranges.ts";
import type { TargetOrder } from "../targets/space.ts";

/** The addresses, protocols and ports that a scan probes. */
export interface GivenTargets {
  /** The addresses, and the explicit ports of some of them. */
  readonly addresses: Targets;
  /** The name that resolved to each address. Default: none has a name. */
  readonly names?: ReadonlyMap<Address, string>;
  /** Names of the protocols to use, as in `scan()`. Default: all except `sqp`. */
  readonly protocols?: readonly string[];
  /** The ports of a protocol for targets without an explicit port. Default: its usual ports. */
  readonly ports?: (protocol: string, family: 4 | 6) => readonly number[];
  /** Addresses that opted out before. Nothing is sent to them. Default: none. */
  readonly optedOut?: Iterable<Range>;
  /** Endpoints that already have a record. They are not probed and get none. Default: none. */
  readonly responders?: Iterable<Endpoint>;
}

/** What a scan reads and writes: sockets, outputs, clock, random bytes. */
export interface GivenIo {
  /** Opens the shared sockets of a family. */
  readonly openSockets: (family: 4 | 6) => readonly DatagramSocket[];
  /** Opens a socket on an ephemeral port. */
  readonly openExclusive: (family: 4 | 6) => DatagramSocket;
  /** Opens the TCP connections of passes and interviews. */
  readonly dialer: Dialer;
  /** The outputs of the records. The scan does not close them. */
  readonly sinks: readonly Sink[];
  /** The clock of all timers, timeouts and time stamps. */
  readonly clock: Clock;
  /** Returns unpredictable random bytes. */
  readonly random: (size: number) => Uint8Array;
}

/** Counters of a scan that runs. */
export interface ScanCounters {
  /** Number of targets of all passes, as far as known. */
  readonly total: number;
  /** Number of visited targets of all passes. */
  readonly visited: number;
  /** Number of datagrams that the passes have sent. */
  readonly sent: number;
  /** Number of records that every output has accepted. */
  readonly written: number;
  /** Number of records with `alias_of`: an earlier record describes the same server. */
  readonly aliases: number;
  /** Number of servers that replied to a probe, but to no follow-up. */
  readonly noStatus: number;
  /** Number of servers that opted out. */
  readonly optedOut: number;
}

/** A scan as a program describes it. */
export interface GivenScan {
  /** The identity of the scan, a UUIDv7. */
  readonly scanId: string;
  /** The addresses, protocols and ports to probe. */
  readonly targets: GivenTargets;
  /** The order of the targets. */
  readonly order: TargetOrder;
  /** Where the passes start: the marks of a stopped scan with the same order. Default: START. */
  readonly from?: Marks;
  /** Rates, timeouts, repetitions and numbers. */
  readonly limits: ScanLimits;
  /** What interviews query, and what records contain. */
  readonly interviews: ScanInterviews;
  /** Sockets, outputs and clock. */
  readonly io: GivenIo;
  /**
   * Called before the first probe.
   *
   * @param controls Functions that may be called until the scan ends.
   * @param counters The counters, which the scan updates.
   */
  readonly onStart?: (controls: ScanControls, counters: ScanCounters) => void;
  /** Called for every address that opts out by a marker in a reply. */
  readonly onOptOut?: (address: Address) => void;
  /** Ends the sweep. Interviews that have begun are finished, and their records are written. */
  readonly signal: AbortSignal;
  /** Cancels also the interviews that have begun. Default: they are never cancelled. */
  readonly abandon?: AbortSignal;
}

/**
 * Runs a scan to its end: passes, interviews, records. It checks only the permission, exclusions and
 * opt-outs that its arguments contain.
 *
 * @throws InputError for a protocol that does not exist.
 */
export async function runScan(given: GivenScan): Promise<ScanEnd> {
  const { scanId, targets, order, from = START, io, onStart, onOptOut, ...rest } = given;
  const { protocols } = targets;
  const state = newState(scanId, io.clock.now());
  return await runSetup({
    ...rest,
    targets: {
      names: new Map(),
      ports: usualPorts(PROTOCOLS),
      optedOut: [],
      responders: [],
      ...targets,
      protocols: protocols === undefined ? USUAL_PROTOCOLS : chosenProtocols(protocols, PROTOCOLS),
    },
    order: { ...order, from },
    io: { ...io, state },
    hooks: { onStart: (controls) => onStart?.(controls, state), onOptOut },
  });
}
