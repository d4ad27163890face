/**
 * The parts of a scan, a LAN discovery and a watch: engines, sweep, interviews, outputs, checkpoints.
 *
 * {@linkcode scan} of `blocksweep` puts them together with the defaults of the command line. These
 * parts are for programs that need another engine, output or order, or that continue a scan. They
 * take clock, sockets and random numbers as arguments. Here nothing checks permission, exclusions and
 * opt-outs but what the caller passes.
 *
 * @module
 */
export * from "../core/record.ts";
export * from "../inspect/converse.ts";
export * from "../inspect/interview.ts";
export * from "../inspect/merge.ts";
export * from "../inspect/retry.ts";
export * from "../inspect/run_interview.ts";
export * from "../net/clock.ts";
export { type MulticastGroup, openSocket } from "../net/deno/udp_socket.ts";
export { denoDialer } from "../net/deno/tcp_dialer.ts";
export * from "../net/demultiplexer.ts";
export { Shortage } from "../net/file_descriptors.ts";
export * from "../net/network.ts";
export * from "../net/socket.ts";
export { STREAM_LIMITS, type StreamLimits } from "../net/stream_link.ts";
export * from "../net/throttle.ts";
export type { Marks } from "../scan/checkpoint/low_water_mark.ts";
export * from "../scan/lan/mod.ts";
export * from "../scan/query_server.ts";
export type { TargetNames } from "../scan/requested_names.ts";
export {
  ENGINE_CHOICES,
  type EngineChoice,
  ENGINES,
  FASTEST,
} from "../app/engines/engine_names.ts";
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
export type { ReplyCounts } from "../sweep/receiver.ts";
export * from "../sweep/token.ts";
export type { Mark } from "../sweep/trail.ts";
export * from "../watch/mod.ts";
