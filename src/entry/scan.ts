/**
 * A scan on sockets, outputs and a clock of the program.
 *
 * The function {@linkcode scan} of `blocksweep` runs a scan with the engines, outputs and checks of the
 * command line. {@linkcode runScan} is for programs that have their own network or output, or that
 * resume a scan without files. It checks permissions, exclusions and opt-outs only if the caller passes
 * them.
 *
 * @example A scan that is interrupted, and continued where it stopped
 * ```ts
 * import { type GivenScan, runScan, type ServerRecord, type Sink, uuidv7 } from "blocksweep/scan";
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
 * const setup = (maxRuntimeMs: number): GivenScan => ({
 *   scanId,
 *   targets: {
 *     addresses: compose([target], { never: [], private: [], chosen: [] }),
 *     responders: rows.map(({ host, port }) => ({ address: parseAddress(host)!, port })),
 *   },
 *   order: { seed: 7 },
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
 *   },
 *   signal: new AbortController().signal,
 * });
 * const part = await network.run(runScan(setup(2000)));
 * assertEquals([part.reason, rows.length < 50], ["max-runtime", true]);
 * const rest = await network.run(runScan({ ...setup(Infinity), from: part.marks }));
 * assertEquals([rest.reason, rows.length], ["done", 50]);
 * ```
 *
 * @module
 */
export type { ServerRecord } from "../core/record.ts";
export {
  type GivenIo,
  type GivenScan,
  type GivenTargets,
  runScan,
  type ScanCounters,
} from "../library/run_scan.ts";
export { type Clock, systemClock } from "../net/clock.ts";
export { denoDialer } from "../net/deno/tcp_dialer.ts";
export { type MulticastGroup, openSocket } from "../net/deno/udp_socket.ts";
export type { LocalSockets, Network, OptOutList, OptOutSource } from "../net/network.ts";
export type { SendGate } from "../net/send_gate.ts";
export {
  type Batch,
  DatagramBatch,
  type DatagramReceiver,
  type DatagramSocket,
  type ProbeSocket,
  type ReceiverCapacity,
  type SocketErrors,
  type Template,
} from "../net/socket.ts";
export type {
  ConnectError,
  ConnectFailure,
  ConnectionEnd,
  Dialer,
  EncryptedStream,
  Stream,
  TlsFailure,
} from "../net/stream.ts";
export type { Limits } from "../net/throttle.ts";
export { type Marks, START } from "../scan/setup/low_water_mark.ts";
export type {
  ScanControls,
  ScanEnd,
  ScanInterviews,
  ScanLimits,
} from "../scan/setup/scan_setup.ts";
export type { EndReason } from "../scan/setup/scan_state.ts";
export type { Sink } from "../sinks/sink.ts";
export { uuidv7 } from "../store/rows/uuid.ts";
export type { Mark } from "../sweep/mark_history.ts";
