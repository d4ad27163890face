/**
 * Opens the sockets of a scan.
 *
 * @module
 */
import { type Address, type Endpoint, family } from "../../core/address.ts";
import { InputError, permissionText, ShortageError } from "../../core/errors.ts";
import { openSocket } from "../../net/deno/mod.ts";
import type { SendThread } from "../../net/linux/mod.ts";
import type { DatagramSocket, PortSocket, PortSocketOptions, SendGate } from "../../net/mod.ts";
import { waitingConnections } from "../../scan/mod.ts";
import { socketsFor } from "../../sweep/mod.ts";
import { descriptorsLeft, lacksDescriptor } from "../../net/file_descriptors.ts";
import { familiesOf, type Targets } from "../../targets/compose.ts";
import type { Engine } from "./choose_engine.ts";
import { countOf, withCommas } from "../../core/quantities.ts";
import type { OptionsOf } from "../options/option_table.ts";

/** The options that decide which sockets are opened. */
export interface SocketOptions
  extends Pick<OptionsOf<"scan">, "sourcePort" | "sourceIp" | "concurrency"> {
  /** Number of sender threads. */
  readonly threads: number;
}

/** The shared sockets by family. */
export type Sockets = Record<4 | 6, DatagramSocket[]>;

/**
 * Opens the sockets before anything else, so that a port in use is reported early.
 *
 * @param gate The gate of their datagrams. Default: none.
 * @throws InputError for sender threads with a gate, and for sockets that cannot be opened.
 */
export async function openScanSockets(
  targets: Targets,
  options: SocketOptions,
  engine: Engine,
  gate?: SendGate,
): Promise<Sockets> {
  const sockets: Sockets = { 4: [], 6: [] };
  try {
    await openInto(sockets, targets, options, engine, gate);
    return sockets;
  } catch (error) {
    await closeSockets(sockets);
    throw error;
  }
}

/** Closes the sockets of a scan that does not begin. */
export async function closeSockets(sockets: Sockets): Promise<void> {
  for (const socket of [...sockets[4], ...sockets[6]]) await socket[Symbol.asyncDispose]();
}

async function openInto(
  sockets: Sockets,
  targets: Targets,
  options: SocketOptions,
  engine: Engine,
  gate?: SendGate,
): Promise<void> {
  const families = familiesOf(targets);
  const { sourcePort: ports = [], concurrency } = options;
  if (families.length > 1 && ports.length > 0) {
    throw new InputError(
      "Cannot use --source-port for IPv4 and IPv6 targets at once: scan one family after the other",
    );
  }
  const threads = await startThreads(options, engine, gate !== undefined);
  for (const bits of families) {
    const opened: DatagramSocket[] = sockets[bits] = [];
    const open = (port: number) => {
      const local = { address: localAddress(options, bits), port };
      opened.push(openOne(engine, local, threads[opened.length % threads.length], gate));
    };
    const [first = 0, ...others] = ports;
    open(first);
    const enough = socketsFor(concurrency, opened[0].receiveBuffer);
    const count = first === 0 ? roundUp(enough, Math.max(1, threads.length)) : 1;
    while (opened.length < count) open(0);
    others.forEach(open);
  }
}

/** Rounds a number up to a multiple, so that all threads get the same number of sockets. */
function roundUp(value: number, of: number): number {
  return Math.ceil(value / of) * of;
}

async function startThreads(
  { threads, sourcePort: ports = [] }: SocketOptions,
  { name, startThread }: Engine,
  hasGate: boolean,
): Promise<readonly SendThread[]> {
  if (threads === 0) return [];
  const cannot = (why: string) => new InputError(`Cannot use --threads ${threads}: ${why}`);
  if (hasGate) throw cannot("a part of a campaign is sent from the main thread only");
  if (startThread === undefined) {
    throw cannot(`engine ${name} sends from the main thread only; use another --engine`);
  }
  if (ports.length > 0 && ports.length < threads) {
    throw cannot("each thread sends from a port of its own; give as many with --source-port");
  }
  try {
    return await Promise.all(Array.from({ length: threads }, startThread));
  } catch (error) {
    throw cannot(permissionText((error as Error).message));
  }
}

function openOne(
  engine: Engine,
  local: Endpoint,
  thread: SendThread | undefined,
  gate: SendGate | undefined,
): DatagramSocket {
  try {
    return engine.open(local, thread, gate);
  } catch (error) {
    throw openError(error, local.port === 0 ? "open a socket" : `send from port ${local.port}`);
  }
}

/** The error of a scan whose socket cannot be opened. */
function openError(error: unknown, what: string): unknown {
  if (error instanceof Deno.errors.NotCapable) return error;
  const { message } = error as Error;
  if (!lacksDescriptor(error)) return new InputError(`Cannot ${what}: ${message}`);
  return new ShortageError(
    `Cannot open the sockets of a scan: ${message}; raise the limit (ulimit -n)`,
  );
}

/**
 * Opens the sockets of a family that probe TCP ports: one for each sender thread of the shared sockets,
 * which sends their frames; one if the engine writes no frames. They share the number of connections.
 *
 * @throws InputError for sockets that cannot be opened.
 */
export function openPortSockets(
  { openPorts, route }: Pick<Engine, "route"> & Required<Pick<Engine, "openPorts">>,
  bits: 4 | 6,
  { sourceIp }: Pick<SocketOptions, "sourceIp">,
  shared: readonly DatagramSocket[],
  given: PortSocketOptions,
): PortSocket[] {
  const local = { address: localAddress({ sourceIp }, bits), port: 0 };
  const writesFrames = route !== undefined && bits === 4;
  const threads = new Set(writesFrames ? shared.map(({ thread }) => thread) : [undefined]);
  const atOnce = Math.max(1, Math.floor(given.atOnce / threads.size));
  const options = { ...given, atOnce };
  const opened: PortSocket[] = [];
  try {
    for (const thread of threads) {
      opened.push(openPorts(local, options, thread as SendThread | undefined));
    }
    return opened;
  } catch (error) {
    for (const socket of opened) void socket[Symbol.asyncDispose]();
    throw openError(error, "open a socket of SYN packets");
  }
}

/** The local source address: any, unless the user chose one. */
export function localAddress(
  { sourceIp }: Pick<SocketOptions, "sourceIp">,
  bits: 4 | 6,
): Address {
  if (sourceIp === undefined) return bits === 4 ? 0 : 0n;
  if (family(sourceIp) === bits) return sourceIp;
  throw new InputError(
    `Cannot use --source-ip: it is not an IPv${bits} address, and there are IPv${bits} targets`,
  );
}

/** A file that takes a tenth of a socket's time to open. */
const NULL_DEVICE = "/dev/null";

/**
 * Returns a function that occupies a descriptor: by the null device, or if that may not be read, by a
 * socket. The socket has an address family of the scan, because permission for the other family may be
 * missing.
 */
function descriptorTaker(
  targets: Targets,
  options: Pick<SocketOptions, "sourceIp">,
): () => AsyncDisposable {
  const { state } = Deno.permissions.querySync({ name: "read", path: NULL_DEVICE });
  if (state === "granted" && Deno.build.os !== "windows") {
    return () => {
      const file = Deno.openSync(NULL_DEVICE);
      return { [Symbol.asyncDispose]: () => Promise.resolve(file.close()) };
    };
  }
  const { sourceIp } = options;
  const [bits = sourceIp === undefined ? 4 : family(sourceIp)] = familiesOf(targets);
  return () => openSocket({ address: localAddress(options, bits), port: 0 }, 1);
}

/**
 * Checks that enough descriptors are free for what a scan opens besides its sockets.
 *
 * @param needed Minimum number of free descriptors.
 * @throws ShortageError
 */
export async function requireDescriptors(
  targets: Targets,
  options: Pick<SocketOptions, "sourceIp">,
  needed: number,
): Promise<void> {
  const left = await descriptorsLeft(needed, descriptorTaker(targets, options));
  if (left === needed) return;
  throw new ShortageError(
    `Cannot scan: ${
      countOf(left, "descriptor")
    } of the ${needed} that outputs and connections need ` +
      "are available; raise the limit (ulimit -n)",
  );
}

/** Descriptors that outputs, databases and sockets of inspections may need besides connections. */
const SPARE_DESCRIPTORS = 64;
/** A number of inspection sockets that is seldom reached: free descriptors beyond it are not counted. */
const MANY_SOCKETS = 256;

/** Limits on sockets with one peer each, which need a descriptor per server or target. */
export interface Capacity {
  /** Maximum number of TCP connections on which servers are queried. */
  readonly connections: number;
  /** Maximum number of connections of the sweep that wait to be accepted. */
  readonly pendingProbes: number;
  /** Maximum number of sockets of inspections; `Infinity`: no limit is needed. */
  readonly exclusiveSockets: number;
}

/** The connections that a scan requests, and the descriptors that stay free for files. */
export interface DescriptorNeeds {
  /** Number of connections on which servers are queried; 0: the scan opens none. */
  readonly connections: number;
  /** Number of connections beside these that wait to be accepted. */
  readonly pendingProbes: number;
  /** Number of descriptors to leave free for outputs, databases and checkpoints. */
  readonly files: number;
}

/** The least share of scarce descriptors that queries of servers get. */
const QUERIED_SHARE = 0.4;

/** Number of descriptors of connections on which servers are queried, and of those that wait for a query. */
function queryDescriptors(connections: number): number {
  return connections + waitingConnections({ connections });
}

/**
 * Divides descriptors among connections and sockets of inspections.
 *
 * @param left Number of free descriptors.
 */
export function divide(
  left: number,
  { connections, pendingProbes, files }: DescriptorNeeds,
): Capacity {
  if (connections === 0) {
    const exclusiveSockets = left >= files + MANY_SOCKETS ? Infinity : Math.max(1, left - files);
    return { connections: 1, pendingProbes: 1, exclusiveSockets };
  }
  const free = left - Math.min(SPARE_DESCRIPTORS, left >> 1);
  const needed = queryDescriptors(connections) + pendingProbes;
  if (free >= needed) return { connections, pendingProbes, exclusiveSockets: Infinity };
  const forQueries = Math.max(QUERIED_SHARE * free, free - pendingProbes);
  const queried = Math.max(1, Math.min(connections, Math.floor(forQueries / 5 * 4)));
  const pending = Math.max(1, Math.min(pendingProbes, free - queryDescriptors(queried)));
  const rest = left - files - queryDescriptors(queried) - pending;
  return {
    connections: queried,
    pendingProbes: pending,
    exclusiveSockets: Math.max(1, rest),
  };
}

/**
 * The number of sockets that may be open at once. If the system allows fewer than requested, a line
 * reports it.
 *
 * @param probeMs How long a connection of the sweep waits to be accepted, milliseconds; `undefined`: few
 * targets need connections, because the engine sends SYN packets itself.
 */
export async function capacityFor(
  targets: Targets,
  options: Pick<SocketOptions, "sourceIp">,
  needs: DescriptorNeeds,
  probeMs: number | undefined,
  report: (line: string) => void,
): Promise<Capacity> {
  const { connections, pendingProbes, files } = needs;
  const most = connections === 0
    ? files + MANY_SOCKETS
    : queryDescriptors(connections) + pendingProbes + SPARE_DESCRIPTORS;
  const left = await descriptorsLeft(most, descriptorTaker(targets, options));
  const capacity = divide(left, needs);
  if (connections > 0 && left < most) {
    const text = shortageText(left, needs, capacity, probeMs);
    if (text !== undefined) report(text);
  }
  return capacity;
}

/** The line about fewer connections than requested; `undefined`: only the rare ones are fewer. */
function shortageText(
  left: number,
  wanted: DescriptorNeeds,
  { connections, pendingProbes }: Capacity,
  probeMs: number | undefined,
): string | undefined {
  const parts = [
    ...connections === wanted.connections ? [] : [
      `${countOf(connections, "concurrent query", "concurrent queries")} instead of ` +
      withCommas(wanted.connections),
    ],
    ...probeMs === undefined || pendingProbes >= wanted.pendingProbes ? [] : [
      `${countOf(pendingProbes, "pending probe")} instead of ${withCommas(wanted.pendingProbes)} ` +
      `(about ${withCommas(Math.floor(1000 * pendingProbes / probeMs))} per second if targets do ` +
      "not reply)",
    ],
  ];
  if (parts.length === 0) return undefined;
  const are = left === 1 ? "descriptor is" : "descriptors are";
  return `blocksweep: only ${withCommas(left)} ${are} available: ${parts.join(", ")}; raise the ` +
    "limit (ulimit -n)";
}
