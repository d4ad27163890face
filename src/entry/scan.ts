/**
 * The parts of a scan, a LAN discovery and a watch: engines, sweep, interviews, outputs, checkpoints.
 *
 * The function {@linkcode scan} of `blocksweep` combines these parts with the defaults of the command
 * line. The parts are for programs that need another engine, output or order, or that resume a scan.
 * Clock, sockets and random numbers are arguments. The parts check permissions, exclusions and opt-outs
 * only if the caller passes them.
 *
 * @example A scan that is interrupted, and continued where it stopped
 * ```ts
 * import {
 *   type GivenScan,
 *   newState,
 *   PROTOCOLS,
 *   runScan,
 *   type ServerRecord,
 *   type Sink,
 *   START,
 *   usualPorts,
 *   usualProtocols,
 *   uuidv7,
 * } from "blocksweep/scan";
 * import { compose, optOutCheck, parseAddress, parseTarget } from "blocksweep/targets";
 * import { SimulatedNetwork } from "blocksweep/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const network = new SimulatedNetwork(); // or openSocket(), denoDialer() and systemClock
 * network.addFleet({ range: "10.0.0.0/24", servers: 50, software: ["bds"] });
 * const target = parseTarget("10.0.0.0/24");
 * if ("name" in target) throw new Error("10.0.0.0/24 is a range");
 *
 * const rows: ServerRecord[] = [];
 * const sink: Sink = {
 *   write: async (records) => void rows.push(...records),
 *   flush: async () => {},
 *   position: () => rows.length,
 *   [Symbol.asyncDispose]: async () => {},
 * };
 * const random = (size: number) => crypto.getRandomValues(new Uint8Array(size));
 * const scanId = uuidv7(Date.now(), random(10));
 * const setup = (maxRuntimeMs: number): Omit<GivenScan, "order"> => ({
 *   targets: {
 *     addresses: compose([target], { never: [], private: [], chosen: [] }),
 *     names: new Map(),
 *     protocols: usualProtocols(PROTOCOLS),
 *     ports: usualPorts(PROTOCOLS),
 *     optedOut: [],
 *     responders: rows.map(({ host, port }) => ({ address: parseAddress(host)!, port })),
 *   },
 *   limits: {
 *     rates: { rate: 100, netRate: undefined, hostRate: undefined },
 *     capLoopback: false,
 *     retries: 0,
 *     timeoutMs: 1500,
 *     cooldownMs: 1000,
 *     concurrency: 256,
 *     connections: 256,
 *     maxRuntimeMs,
 *   },
 *   interviews: { follow: true, optsOut: optOutCheck(), players: true },
 *   io: {
 *     openSockets: (family) => [network.openSocket({ address: family === 4 ? 0 : 0n, port: 0 })],
 *     openExclusive: (family) => network.openSocket({ address: family === 4 ? 0 : 0n, port: 0 }),
 *     dialer: network.dialer,
 *     sinks: [sink],
 *     clock: network.clock,
 *     random,
 *     state: newState(scanId, network.clock.now()),
 *   },
 *   signal: new AbortController().signal,
 * });
 * const order = { seed: 7 };
 * const part = await network.run(runScan({ ...setup(2000), order: { ...order, from: START } }));
 * assertEquals([part.reason, rows.length < 50], ["max-runtime", true]);
 * const rest = await network.run(runScan({ ...setup(Infinity), order: { ...order, from: part.marks } }));
 * assertEquals([rest.reason, rows.length], ["done", 50]);
 * ```
 *
 * @module
 */
export * from "../core/record.ts";
export * from "../protocols/list.ts";
export * from "../protocols/protocol.ts";
export * from "../protocols/usual_ports.ts";
export type { InspectionPool, Task } from "../inspect/inspection_pool.ts";
export * from "../inspect/converse.ts";
export * from "../inspect/interview.ts";
export * from "../inspect/merge.ts";
export type { ProtocolReply, UndecodedReply } from "../inspect/protocol_reply.ts";
export * from "../inspect/run_interview.ts";
export * from "../library/engines.ts";
export * from "../net/clock.ts";
export { type MulticastGroup, openSocket } from "../net/deno/udp_socket.ts";
export { denoDialer } from "../net/deno/tcp_dialer.ts";
export * from "../net/demultiplexer.ts";
export { Shortage } from "../net/file_descriptors.ts";
export * from "../net/network.ts";
export { exclusiveLink } from "../net/peer_link.ts";
export type { SendGate } from "../net/send_gate.ts";
export type * from "../net/port_socket.ts";
export * from "../net/socket.ts";
export type { PortCounts } from "../sweep/ports/port_receiver.ts";
export { STREAM_LIMITS, type StreamLimits } from "../net/stream_link.ts";
export { type Limits, Throttle } from "../net/throttle.ts";
export {
  type Checkpoint,
  type CheckpointState,
  type Counters,
  countersOf,
  countFrom,
  formatCheckpoint,
  type ListFingerprint,
  type Offsets,
  parseCheckpoint,
  readCheckpoint,
} from "../scan/checkpoint/checkpoint_file.ts";
export { type Marks, START } from "../scan/checkpoint/low_water_mark.ts";
export type { AliasState } from "../scan/inspect_stage/aliases.ts";
export type { DigestTableState } from "../scan/inspect_stage/alias_digests.ts";
export * from "../scan/lan/mod.ts";
export * from "../scan/query_server.ts";
export type { RowMakerOptions, RowSource } from "../scan/rows/row_maker.ts";
export type { MakingThread, RowThreadOptions } from "../scan/rows/thread_start.ts";
export type { NameRequest, SharedRequests, TargetNames } from "../scan/requested_names.ts";
export {
  ENGINE_CHOICES,
  type EngineChoice,
  ENGINES,
  FASTEST,
} from "../app/engines/engine_names.ts";
export type * from "../discovery/contract.ts";
export type * from "../scan/adaptive/adaptive_report.ts";
export type * from "../scan/adaptive/adaptive_setup.ts";
export type { DiscoveredServer, PassRecord, ProtocolFinds } from "../scan/adaptive/pass_record.ts";
export * from "../scan/scan.ts";
export * from "../scan/scan_id.ts";
export * from "../scan/scan_setup.ts";
export * from "../scan/scan_state.ts";
export * from "../sinks/csv.ts";
export * from "../sinks/file_operations.ts";
export * from "../sinks/file_output.ts";
export * from "../sinks/json.ts";
export * from "../sinks/line_formats.ts";
export type { ReaderWait } from "../sinks/named_pipe.ts";
export * from "../sinks/sink.ts";
export type { Interval } from "../sweep/canaries/confidence_interval.ts";
export {
  type CanaryCounts,
  estimateLoss,
  type LossEstimate,
  missedServers,
} from "../sweep/canaries/loss_estimate.ts";
export type { FloodedPasses, FloodReport } from "../sweep/flooding_hosts.ts";
export type { RateReason, RateReport } from "../sweep/rate/rate_search.ts";
export type { ReplyCounts } from "../sweep/reply_counts.ts";
export * from "../targets/token.ts";
export type { Mark } from "../sweep/mark_history.ts";
export type { WatchSpan } from "../store/uptime/watch_spans.ts";
export * from "../watch/mod.ts";
export type { HostFilterMemory } from "../targets/host_filter.ts";
export type { SpaceData } from "../targets/space.ts";
export type { NamedService } from "../targets/srv.ts";
