/**
 * blocksweep as a library: wire formats, target arithmetic, the sweep, and the rows.
 *
 * Bytes and targets are pure: they need no permission, and run wherever JavaScript does. The rest
 * takes its clock, sockets and random numbers as arguments.
 *
 * @example Reading a pong
 * ```ts
 * import { raknet } from "blocksweep";
 * import { assertEquals } from "@std/assert";
 *
 * const text = new TextEncoder().encode("MCPE;My server;766;1.21.50;3;20;1;world;Survival;");
 * const pong = raknet.encodePong({ advertise: false, time: 7n, guid: 1n, text });
 * const status = raknet.decodeAdvertisement(raknet.decodePong(pong)!.text!);
 * assertEquals([status?.motd, status?.online, status?.max], ["My server", 3, 20]);
 * ```
 *
 * @example Finding servers
 * ```ts ignore
 * import { find } from "blocksweep";
 *
 * for await (const server of find(["192.168.1.0/24"])) {
 *   console.log(server.host, server.port, server.name, server.players_online);
 * }
 * ```
 *
 * @example Every endpoint of a range once, in an order that no network notices
 * ```ts
 * import { compose, formatEndpoint, parseTarget, segmentsOf, TargetSpace } from "blocksweep";
 * import { assertEquals } from "@std/assert";
 *
 * const target = parseTarget("10.0.0.0/24");
 * if ("name" in target) throw new Error("a range is no name");
 * const targets = compose([target], { never: [], private: [], chosen: [] });
 * const space = new TargetSpace(segmentsOf(targets, () => [19132]), { seed: 7 });
 * const endpoint = { address: 0 as number | bigint, port: 0 };
 * const visited = new Set<string>();
 * for (let position = 0; position < space.size; position++) {
 *   space.at(position, endpoint);
 *   visited.add(formatEndpoint(endpoint));
 * }
 * assertEquals(visited.size, 256);
 * ```
 *
 * @module
 */
export * from "./core/address.ts";
export * from "./core/bytes.ts";
export * from "./classify/mod.ts";
export * from "./core/errors.ts";
export * from "./core/record.ts";
export * from "./core/schema.ts";
export * from "./core/text.ts";
/** The game's formatted text: read, and shown in plain, on terminals and on pages. */
export * as formatted from "./core/formatted/mod.ts";

export { PROTOCOLS, USUAL_PROTOCOLS, usualProtocols } from "./protocols/list.ts";
export * from "./protocols/protocol.ts";
export { hasUsualPort, usualPorts } from "./protocols/usual_ports.ts";
/** The local network: Java worlds' announcements and NetherNet's discovery, read and written. */
export * as lan from "./protocols/lan/mod.ts";
/** Query: requests, tokens and stats, read and written. */
export * as query from "./protocols/query/mod.ts";
/** RakNet: pings, pongs and advertisements, read and written. */
export * as raknet from "./protocols/raknet/mod.ts";
/** Server List Ping: requests, statuses and their old forms, read and written. */
export * as slp from "./protocols/slp/mod.ts";
/** SQP: challenges, queries, packets and chunks, read and written. */
export * as sqp from "./protocols/sqp/mod.ts";

export * from "./core/endpoints.ts";
export * from "./core/endpoint_set.ts";

export * from "./targets/compose.ts";
export * from "./targets/density.ts";
export * from "./targets/builtin_lists.ts";
export { RangeBudget } from "./targets/octet_ranges.ts";
export * from "./targets/parse.ts";
export * from "./targets/permission.ts";
export * from "./targets/permutation.ts";
export * from "./targets/ports.ts";
export * from "./targets/ranges.ts";
export * from "./targets/space.ts";
export * from "./targets/srv.ts";

export * from "./net/clock.ts";
export { openSocket } from "./net/deno/udp_socket.ts";
export { denoDialer } from "./net/deno/tcp_dialer.ts";
export { Shortage } from "./net/file_descriptors.ts";
export * from "./net/socket.ts";
export * from "./net/demultiplexer.ts";
export { STREAM_LIMITS, type StreamLimits } from "./net/stream_link.ts";
export * from "./net/throttle.ts";

export * from "./inspect/retry.ts";
export * from "./inspect/run_interview.ts";
export * from "./inspect/converse.ts";
export * from "./inspect/interview.ts";
export * from "./inspect/merge.ts";

export type { Interval } from "./sweep/canaries/confidence_interval.ts";
export type { FloodedPasses, FloodReport } from "./sweep/flooding_hosts.ts";
export {
  type CanaryCounts,
  estimateLoss,
  type LossEstimate,
  missedServers,
} from "./sweep/canaries/loss_estimate.ts";
export type { RateReason, RateReport } from "./sweep/rate/rate_search.ts";
export type { ReplyCounts } from "./sweep/receiver.ts";
export type { Mark } from "./sweep/trail.ts";
export * from "./sweep/token.ts";

export * from "./sinks/csv.ts";
export type { Disk, DiskFile } from "./sinks/file_operations.ts";
export * from "./sinks/json.ts";
export * from "./sinks/line_formats.ts";
export * from "./sinks/file_output.ts";
export type { ReaderWait } from "./sinks/named_pipe.ts";
export * from "./sinks/sink.ts";

export type { OptOut } from "./store/opt_outs.ts";
export type { PolledServer, PolledState } from "./store/poll_writer.ts";
export * from "./watch/mod.ts";

export * from "./scan/query_server.ts";
export * from "./scan/find_servers.ts";
export * from "./scan/scan_id.ts";
export * from "./scan/lan/mod.ts";
export type { Marks } from "./scan/checkpoint/low_water_mark.ts";
export type { TargetNames } from "./scan/requested_names.ts";
export * from "./scan/scan_options.ts";
export { scan } from "./scan/scan.ts";
export * from "./scan/scan_state.ts";
