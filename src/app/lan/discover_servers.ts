/**
 * Discovery on the local networks with the sockets, limits and defaults of `lan`.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Network } from "../../net/network.ts";
import { STREAM_LIMITS, StreamLink } from "../../net/stream_link.ts";
import { HOST_RATE, Throttle } from "../../net/throttle.ts";
import { usualProtocols } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import {
  ANNOUNCEMENT_GROUP,
  broadcastProtocol,
  discover,
  type DiscoverySetup,
  type LanEnd,
  type LocalLink,
  type LocalNetwork,
  LONGEST_ANNOUNCEMENT,
} from "../../scan/lan/mod.ts";
import { optOutCheck } from "../../targets/builtin_lists.ts";
import type { WrittenPorts } from "../../targets/ports.ts";
import { newScanId, randomBytes } from "../system_random.ts";
import { nonceOf, seedOf } from "../../scan/random_numbers.ts";

/** Time limit of a reply, milliseconds. */
const TIMEOUT_MS = 1000;
/** Maximum number of ports, because probes are broadcast to each repeatedly. */
const MOST_PORTS = 64;

/** What to discover, and for how long. */
export interface DiscoveryOptions extends
  Pick<
    DiscoverySetup,
    "networks" | "ports" | "continuous" | "listenMs" | "players" | "servers" | "onServer" | "signal"
  >,
  Pick<DiscoverySetup, "optedOut" | "shortage"> {
  /** Opens the sockets, and has the clock. */
  readonly network: Network;
  /** Every protocol of the program, in order of rank. */
  readonly allProtocols: readonly Protocol[];
  /** Networks that are swept for Java servers, and for how long. Default: none. */
  readonly sweep?: Pick<NonNullable<DiscoverySetup["sweep"]>, "networks" | "mostMs">;
}

/**
 * Discovers servers until the time is up.
 *
 * @throws InputError when the machine has no network.
 */
export async function discoverServers(options: DiscoveryOptions): Promise<LanEnd> {
  const { network, networks, allProtocols, sweep } = options;
  requireNetworks(networks);
  const protocol = broadcastProtocol(allProtocols);
  const seed = seedOf(randomBytes);
  return await discover({
    ...options,
    ...socketsOf(options),
    protocol,
    protocols: usualProtocols(allProtocols),
    sweep: sweep && { ...sweep, seed, dialer: network.dialer },
    timeoutMs: TIMEOUT_MS,
    retries: 1,
    optsOut: optOutCheck(),
    clock: network.clock,
    ...randomNumbers(network),
  });
}

/**
 * Checks that there is a network to search.
 *
 * @throws InputError when the machine has none.
 */
export function requireNetworks({ length }: DiscoveryOptions["networks"]): void {
  if (length === 0) throw new InputError("Cannot search the LAN: this machine has no network");
}

/**
 * The UDP ports to which probes are broadcast.
 *
 * @param ports The ports that the user names. Default: the usual ports.
 * @throws InputError for no UDP port, or too many.
 */
export function broadcastPorts(
  ports: WrittenPorts | undefined,
  allProtocols: readonly Protocol[],
): DiscoverySetup["ports"] {
  if (ports === undefined) return broadcastProtocol(allProtocols).broadcastPorts;
  const { udp, text } = ports;
  if (udp.length >= 1 && udp.length <= MOST_PORTS) return { 4: udp, 6: udp };
  throw new InputError(`Cannot use --ports "${text}": lan takes 1 to ${MOST_PORTS} UDP ports`);
}

function socketsOf(
  { network, networks, signal, shortage }: DiscoveryOptions,
): Pick<DiscoverySetup, "open" | "openGroup" | "dial"> {
  const { clock, dialer, local, openSocket } = network;
  const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: HOST_RATE });
  const streams = { dialer, throttle, clock, limits: STREAM_LIMITS, signal, shortage };
  const interfaces = networks.flatMap((one) => "zone" in one ? [] : [one.address]);
  const group = { ...ANNOUNCEMENT_GROUP, interfaces, largest: LONGEST_ANNOUNCEMENT };
  return {
    open: (one: LocalNetwork | LocalLink) =>
      "zone" in one
        ? local.openLink(one.address, one.zone)
        : openSocket({ address: one.address, port: 0 }),
    openGroup: () => local.openGroup(group),
    dial: (endpoint, signal) => new StreamLink(endpoint, { ...streams, signal }),
  };
}

function randomNumbers({ clock }: Network): Pick<DiscoverySetup, "token" | "nonce" | "scanId"> {
  return {
    token: seedOf(randomBytes) >>> 1,
    nonce: () => nonceOf(randomBytes),
    scanId: newScanId(clock.wall()),
  };
}
