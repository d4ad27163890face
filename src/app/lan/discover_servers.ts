/**
 * Discovery on the local networks with the sockets, limits and defaults of `lan`.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { HOST_RATE, type Network, STREAM_LIMITS, StreamLink, Throttle } from "../../net/mod.ts";
import {
  ANNOUNCEMENT_GROUPS,
  broadcastProtocol,
  discover,
  type DiscoverySetup,
  type LanEnd,
  type LocalLink,
  type LocalNetwork,
  LONGEST_ANNOUNCEMENT,
  type SweptNetworks,
} from "../../scan/lan/mod.ts";
import { nonceOf, seedOf } from "../../scan/mod.ts";
import { usualProtocols } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { optOutCheck } from "../../targets/shipped_lists.ts";
import type { Range } from "../../targets/ranges.ts";
import type { WrittenPorts } from "../../targets/ports.ts";
import { type CallContext, contextNetwork } from "../network/call_context.ts";
import type { OptionsOf } from "../options/option_table.ts";
import { localNetworks, sweptNetworks } from "./local_networks.ts";
import { randomBytes } from "../system_random.ts";

/** Time limit of a reply, milliseconds. */
const TIMEOUT_MS = 1000;
/** Maximum number of ports, because probes are broadcast to each repeatedly. */
const MAX_PORTS = 64;

export interface PreparedDiscovery extends Pick<DiscoverySetup, "networks" | "ports"> {
  /** The addresses in the opt-out file. */
  readonly optedOut: readonly Range[];
  readonly options: OptionsOf<"lan">;
  /** The networks that are swept for dedicated servers; `undefined`: none. */
  readonly swept: SweptNetworks | undefined;
  readonly network: Network;
}

/**
 * Finds the networks of this machine, and the addresses that opted out. Nothing is sent.
 *
 * @throws InputError when the machine has no network, and for ports that cannot be used.
 */
export async function prepareLanDiscovery(
  options: OptionsOf<"lan">,
  context: Omit<CallContext, "nameOf">,
): Promise<PreparedDiscovery> {
  const { allProtocols, noSweep, optOutFile, quiet } = options;
  const ports = broadcastPorts(options.ports, allProtocols);
  const network = contextNetwork(context, optOutFile);
  const interfaces = network.local.interfaces();
  const networks = localNetworks(interfaces);
  const optedOut = await network.optOuts.read();
  const swept = noSweep ? undefined : sweptNetworks(interfaces);
  for (const skipped of quiet ? [] : swept?.skipped ?? []) {
    context.warn(`blocksweep: not swept for dedicated servers: ${skipped}`);
  }
  if (networks.length > 0) return { options, networks, ports, optedOut, swept, network };
  throw new InputError("Cannot search the LAN: this machine has no network");
}

/** How long a discovery runs, and what receives its results. */
export interface RunDiscoveryOptions extends
  Pick<
    DiscoverySetup,
    | "continuous"
    | "listenMs"
    | "servers"
    | "onServer"
    | "onChange"
    | "attach"
    | "counts"
    | "scanId"
    | "signal"
    | "shortage"
  > {
  /** Addresses that opted out, besides those of the opt-out file. Default: none. */
  readonly optedOut?: readonly Range[];
  /** Maximum duration of the sweep for dedicated servers, milliseconds. */
  readonly sweepMs: number;
}

/** Discovers servers until the time is up. */
export async function discoverServers(
  prepared: PreparedDiscovery,
  { sweepMs, optedOut = [], ...run }: RunDiscoveryOptions,
): Promise<LanEnd> {
  const { network, networks, ports, swept, options } = prepared;
  const { allProtocols, noPlayers } = options;
  const seed = seedOf(randomBytes);
  return await discover({
    ...run,
    ...socketsOf(prepared, run),
    networks,
    ports,
    optedOut: [...prepared.optedOut, ...optedOut],
    allProtocols,
    players: !noPlayers,
    protocol: broadcastProtocol(allProtocols),
    protocols: usualProtocols(allProtocols),
    sweep: swept && { networks: swept.swept, maxMs: sweepMs, seed, dialer: network.dialer },
    timeoutMs: TIMEOUT_MS,
    retries: 1,
    optsOut: optOutCheck(),
    clock: network.clock,
    token: seedOf(randomBytes) >>> 1,
    nonce: () => nonceOf(randomBytes),
  });
}

/**
 * The UDP ports to which probes are broadcast.
 *
 * @param ports The ports that the user names. Default: the usual ports.
 * @throws InputError for no UDP port, or too many.
 */
function broadcastPorts(
  ports: WrittenPorts | undefined,
  allProtocols: readonly Protocol[],
): DiscoverySetup["ports"] {
  if (ports === undefined) return broadcastProtocol(allProtocols).broadcastPorts;
  const { udp, text } = ports;
  if (udp.length >= 1 && udp.length <= MAX_PORTS) return { 4: udp, 6: udp };
  throw new InputError(`Cannot use --ports "${text}": lan takes 1 to ${MAX_PORTS} UDP ports`);
}

function socketsOf(
  { network, networks }: PreparedDiscovery,
  { signal, shortage }: Pick<RunDiscoveryOptions, "signal" | "shortage">,
): Pick<DiscoverySetup, "open" | "openGroup" | "dial"> {
  const { clock, dialer, local, openSocket } = network;
  const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: HOST_RATE });
  const streams = { dialer, throttle, clock, limits: STREAM_LIMITS, signal, shortage };
  const interfaces = {
    4: networks.flatMap((one) => "zone" in one ? [] : [one.address]),
    6: networks.flatMap((one) => "zone" in one ? [one.index] : []),
  };
  return {
    open: (one: LocalNetwork | LocalLink) =>
      "zone" in one
        ? local.openLink(one.address, one.zone)
        : openSocket({ address: one.address, port: 0 }),
    openGroup: (bits) =>
      local.openGroup({
        ...ANNOUNCEMENT_GROUPS[bits],
        interfaces: interfaces[bits],
        largest: LONGEST_ANNOUNCEMENT,
      }),
    dial: (endpoint, signal) => new StreamLink(endpoint, { ...streams, signal }),
  };
}
