/**
 * The sockets, connections and limits of a watch.
 *
 * @module
 */
import { type Address, isLoopback } from "../../core/address.ts";
import { descriptorsLeft, Shortage } from "../../net/file_descriptors.ts";
import {
  anyAddress,
  type DatagramSocket,
  HOST_RATE,
  type Network,
  STREAM_LIMITS,
  StreamLink,
  Throttle,
} from "../../net/mod.ts";
import { socketsFor } from "../../sweep/mod.ts";
import {
  newPollPool,
  Poller,
  type PollPool,
  SuppressingEndpoints,
  type WatchedServer,
  WatchSockets,
} from "../../watch/mod.ts";
import type { AttachedParts } from "../../inspect/mod.ts";
import { nonceOf } from "../../scan/mod.ts";
import { optOutCheck } from "../../targets/shipped_lists.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { OptionsOf } from "../options/option_table.ts";
import { type ProtocolChoice, protocolsOf } from "../settings/chosen_protocols.ts";
import { DEFAULTS } from "../settings/defaults.ts";
import { streamLimits } from "./scan_rates.ts";
import { shortageLine } from "./send_error_lines.ts";
import { randomBytes } from "../system_random.ts";

/** The options of a watch that concern polling. */
export type PollOptions =
  & ProtocolChoice
  & Pick<OptionsOf<"watch">, "timeout" | "concurrency" | "retries" | "rate">;

/** The poller of a watch, with its sockets, which are closed at the signal of the watch. */
export interface PollingSockets extends AsyncDisposable {
  readonly poller: Poller;
  /** The sockets of the poller. The caller calls their `listen()`. */
  readonly sockets: WatchSockets;
  readonly pool: PollPool;
  /** Makes a poller for only some protocols, with the same sockets and limits. */
  readonly pollerFor: (protocols: readonly Protocol[]) => Poller;
  /** The endpoints that suppress protocols, for all pollers. */
  readonly suppressing: SuppressingEndpoints;
  /** The address families of the sockets. */
  readonly families: readonly (4 | 6)[];
  /** Applies the default rate limit if an address that is polled from now on is not on loopback. */
  readonly limitRate: (address: Address) => void;
}

/** Endpoints that polls may probe besides the servers. */
export interface OtherEndpoints {
  /** Their address families. */
  readonly families: readonly (4 | 6)[];
  /** Whether all of them are on loopback. */
  readonly areLoopback: boolean;
  /** Maximum number of them that are probed at a time. */
  readonly atOnce: number;
}

/** What polls use and obey: the network, the end of the watch, and opt-outs. */
export interface PollingContext {
  /** Opens sockets and connections, and has the clock. */
  readonly network: Pick<Network, "clock" | "openSocket" | "dialer">;
  readonly scanId: string;
  readonly signal: AbortSignal;
  /** Receives a line when a socket fails. */
  readonly report: (line: string) => void;
  /** The attachments of records. */
  readonly attach: AttachedParts | undefined;
  readonly optedOut: (address: Address) => boolean;
  /** Endpoints that are probed besides the servers. Default: none. */
  readonly others?: OtherEndpoints;
  /** The rate limit and the caps, which a scan may share. Default: its own, from the options. */
  readonly throttle?: Throttle;
  /** Whether servers may be added later. Default: no. */
  readonly mayGrow?: boolean;
}

const NO_OTHERS: OtherEndpoints = { families: [], areLoopback: true, atOnce: 0 };

export async function openPollingSockets(
  servers: readonly WatchedServer[],
  options: PollOptions,
  context: PollingContext,
): Promise<PollingSockets> {
  const { rate } = options;
  const { signal, network, network: { clock }, others = NO_OTHERS, mayGrow = false } = context;
  const openExclusive = exclusiveOpener(network);
  const atOnce = mayGrow ? Infinity : servers.length + others.atOnce;
  const concurrency = await concurrencyFor(servers, options, atOnce, openExclusive);
  const throttle = context.throttle ?? throttleFor(servers, others, rate);
  const named = [...Poller.families(servers), ...others.families];
  const families = [...new Set(mayGrow ? [...named, ...await available(openExclusive)] : named)];
  const open = () =>
    families.flatMap((family) => openShared(() => openExclusive(family), concurrency));
  const sockets = new WatchSockets({ open, throttle, clock, signal, report: context.report });
  const suppressing = new SuppressingEndpoints(options.allProtocols);
  const pollerFor = pollersOn(sockets, throttle, options, { ...context, suppressing });
  const poller = pollerFor(protocolsOf(options));
  const limitRate = (address: Address) => {
    if (rate === undefined && !isLoopback(address)) {
      throttle.setRate(DEFAULTS.watch.rate, clock.now());
    }
  };
  const pool = newPollPool(concurrency);
  return {
    poller,
    pollerFor,
    pool,
    sockets,
    suppressing,
    families,
    limitRate,
    [Symbol.asyncDispose]: () => sockets.current[Symbol.asyncDispose](),
  };
}

/** Opens a socket for one exchange. */
function exclusiveOpener({ openSocket }: PollingContext["network"]) {
  return (family: 4 | 6) => openSocket({ address: anyAddress(family), port: 0 });
}

/** Makes pollers that share sockets, limits and the state of a shortage of descriptors. */
function pollersOn(
  sockets: WatchSockets,
  throttle: Throttle,
  { timeout, retries, allProtocols }: PollOptions,
  context: PollingContext & Pick<PollingSockets, "suppressing">,
): PollingSockets["pollerFor"] {
  const limits = streamLimits(timeout);
  const { signal, network, network: { clock, dialer }, report } = context;
  const shortage = new Shortage(
    clock,
    (code) => report(`${shortageLine("polls", code)}; polls are deferred meanwhile`),
  );
  const stream = { dialer, throttle, clock, signal, shortage };
  return (protocols) =>
    new Poller({
      ...context,
      protocols,
      allProtocols,
      timeoutMs: timeout ?? DEFAULTS.timeoutMs,
      retries,
      clock,
      openExclusive: exclusiveOpener(network),
      optsOut: optOutCheck(),
      shortage,
      get demultiplexer() {
        return sockets.current;
      },
      nonce: () => nonceOf(randomBytes),
      connect: (endpoint, connectMs = limits.connectMs) =>
        new StreamLink(endpoint, { ...stream, limits: { ...limits, connectMs } }),
    });
}

/**
 * A time in which a poll of an unresponsive server ends, milliseconds, unless it waits for the rate
 * limit: all retries in all protocols, each as long as a TCP connection may last. That includes the
 * pauses of an interview, also with a short timeout.
 */
export function longestPollMs(
  { timeout, retries, allProtocols }: Pick<PollOptions, "timeout" | "retries" | "allProtocols">,
): number {
  const connectionMs = Math.max(STREAM_LIMITS.totalMs, streamLimits(timeout).totalMs);
  return allProtocols.length * (retries + 1) * connectionMs;
}

/** The address families for which sockets can be opened. */
async function available(open: (family: 4 | 6) => DatagramSocket): Promise<(4 | 6)[]> {
  const families: (4 | 6)[] = [];
  for (const family of [4, 6] as const) {
    try {
      await open(family)[Symbol.asyncDispose]();
      families.push(family);
    } catch {
      // The system lacks the family, or the program may not use it: its servers are not added.
    }
  }
  return families;
}

/** The rate limit and caps of polls. If all endpoints are on loopback, there is no default limit. */
function throttleFor(
  servers: readonly WatchedServer[],
  others: OtherEndpoints,
  rate: number | undefined,
): Throttle {
  const local = others.areLoopback && servers.every(({ endpoint }) => isLoopback(endpoint.address));
  const usual = local ? undefined : DEFAULTS.watch.rate;
  return new Throttle({ rate: rate ?? usual, netRate: undefined, hostRate: HOST_RATE }, isLoopback);
}

/** Maximum duration of a poll of an unresponsive server, which must not delay others, milliseconds. */
const SILENT_MS = 5000;
/** Default maximum number of concurrent polls. */
const MOST = 4096;
/** Descriptors that sockets, databases and metrics may need besides connections. */
const SPARE_DESCRIPTORS = 128;

/** The maximum number of concurrent polls: each may need a descriptor of its own. */
async function concurrencyFor(
  servers: readonly WatchedServer[],
  { concurrency }: PollOptions,
  atOnce: number,
  openExclusive: (family: 4 | 6) => DatagramSocket,
): Promise<number> {
  const [first] = servers; // probes for clients may have none
  const enough = Math.ceil(servers.length * SILENT_MS / (first?.rules.intervalMs ?? SILENT_MS));
  const wanted = concurrency ?? Math.max(DEFAULTS.watch.concurrency, Math.min(MOST, enough));
  const most = Math.min(wanted, atOnce);
  const left = await descriptorsLeft(most + SPARE_DESCRIPTORS, () => openExclusive(4));
  return Math.max(1, Math.min(most, left - SPARE_DESCRIPTORS));
}

/** Opens enough sockets to buffer the replies of this many servers at once. */
function openShared(open: () => DatagramSocket, concurrency: number): DatagramSocket[] {
  const first = open();
  const size = Math.min(concurrency, socketsFor(concurrency, first.receiveBuffer));
  return [first, ...Array.from({ length: size - 1 }, open)];
}
