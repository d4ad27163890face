/**
 * The uplink of Ethernet frames: the interface, the local address, and the gateway's MAC.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { formatAddress } from "../../../core/address.ts";
import { InputError } from "../../../core/errors.ts";
import { decodeArpReply, encodeArpRequest } from "./arp.ts";
import { NetlinkError, requestNetlink } from "./netlink_request.ts";
import {
  AF_PACKET,
  EOPNOTSUPP,
  failure,
  type Libc,
  MSG_DONTWAIT,
  POLLIN,
  SOCK_CLOEXEC,
  SOCK_RAW,
} from "../ffi/libc.ts";
import {
  encodeLinksRequest,
  encodeNeighboursRequest,
  encodeRouteRequest,
  encodeRoutesRequest,
  encodeRulesRequest,
  type NetworkInterface,
} from "./rtnetlink.ts";
import { linkLayerAddress } from "../ffi/sockaddr_ll.ts";
import { areDefaultRules, findNextHop, type NextHop } from "./routing_table.ts";

const ETHERNET = 1;
const ARP = 0x0806;
/** Number of ARP requests for a gateway's MAC, and the timeout of each, milliseconds. */
const ARP_TRIES = 3;
const ARP_WAIT_MS = 500;

/** The targets have no route for frames; the system's sockets can reach them. */
export class NoUplink extends Error {}

/** The route of frames to the targets behind one gateway. */
export interface Uplink {
  readonly interface: NetworkInterface;
  /** The local IPv4 address of frames. */
  readonly source: number;
  /** Address of the gateway. */
  readonly gateway: number;
  /** The address ranges behind the gateway, ascending; other targets use the system's sockets. */
  readonly ranges: NextHop["ranges"];
  /** Number of targets behind the gateway. */
  readonly targets: number;
}

/** The targets, and the user's options for the uplink. */
export interface UplinkOptions {
  /** The target ranges, ascending and disjoint. */
  readonly targets: readonly { readonly start: number; readonly end: number }[];
  /** Name of the only interface that may be used. Default: any. */
  readonly interface?: string;
  /** The local address. Default: the system's choice. */
  readonly source?: number;
}

/**
 * Finds the gateway with the most targets behind it. Nothing is sent.
 *
 * @throws NoUplink with the reason; InputError when the named interface does not exist.
 */
export function findUplink(libc: Libc, options: UplinkOptions): Uplink {
  const links = requestNetlink(libc, encodeLinksRequest())
    .flatMap((reply) => reply !== "done" && "link" in reply ? [reply.link] : []);
  const named = namedLink(links, options.interface);
  if (named !== undefined) requireEthernet(named);
  requireDefaultRules(libc);
  const routes = requestNetlink(libc, encodeRoutesRequest()).flatMap((reply) =>
    reply !== "done" && "route" in reply ? [reply.route] : []
  );
  const hop = findNextHop(routes, options.targets, named?.index);
  const where = named === undefined ? "" : ` over ${named.name}`;
  if (hop === undefined) throw new NoUplink(`no target is behind a gateway${where}`);
  const link = links.find(({ index }) => index === hop.interface)!;
  requireEthernet(link);
  const { target: to, gateway, ranges } = hop;
  const [reply] = requestNetlink(libc, encodeRouteRequest(to, options.source));
  const route = reply !== "done" && "route" in reply ? reply.route : undefined;
  if (route?.gateway !== gateway || route.interface !== link.index) {
    throw new NoUplink(
      `the system's route to ${formatAddress(to)} differs from its routing tables`,
    );
  }
  const source = options.source ?? route.source;
  if (source === undefined) throw new NoUplink(`${link.name} has no IPv4 address`);
  return { interface: link, source, gateway, ranges, targets: hop.targets };
}

function namedLink(
  links: readonly NetworkInterface[],
  name?: string,
): NetworkInterface | undefined {
  if (name === undefined) return undefined;
  const found = links.find((link) => link.name === name);
  if (found !== undefined) return found;
  const names = links.map((link) => link.name).join(", ");
  throw new InputError(
    `Cannot use --interface "${name}": no such interface; available: ${names}`,
  );
}

function requireEthernet({ name, isLoopback, isPointToPoint, type, mac }: NetworkInterface): void {
  const what = isLoopback
    ? "loopback"
    : isPointToPoint
    ? "point-to-point"
    : type !== ETHERNET || mac.length !== 6
    ? "not an Ethernet interface"
    : undefined;
  if (what !== undefined) throw new NoUplink(`${name} is ${what}`);
}

/** Requires default routing rules. With other rules, a route may depend on more than the target. */
function requireDefaultRules(libc: Libc): void {
  try {
    const rules = requestNetlink(libc, encodeRulesRequest()).flatMap((reply) =>
      reply !== "done" && "rule" in reply ? [reply.rule] : []
    );
    if (areDefaultRules(rules)) return;
  } catch (error) {
    // A kernel without policy routing has only the default rules.
    if (error instanceof NetlinkError && error.errno === EOPNOTSUPP) return;
    throw error;
  }
  throw new NoUplink(
    "the system has routing rules (ip rule), which frames would bypass",
  );
}

/**
 * Finds the MAC of the gateway: in the system's ARP table, else by an ARP request.
 *
 * @throws InputError when the gateway does not reply; Error with the call that failed.
 */
export async function findGatewayMac(libc: Libc, uplink: Uplink): Promise<Uint8Array> {
  const { interface: link, gateway } = uplink;
  for (const reply of requestNetlink(libc, encodeNeighboursRequest())) {
    if (reply === "done" || !("neighbour" in reply)) continue;
    const { neighbour } = reply;
    if (neighbour.interface === link.index && neighbour.address === gateway) {
      if (neighbour.mac !== undefined) return neighbour.mac;
    }
  }
  return await requestMac(libc, uplink);
}

async function requestMac(libc: Libc, uplink: Uplink): Promise<Uint8Array> {
  const { call } = libc;
  const { interface: link, source, gateway } = uplink;
  const socket = call.socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, networkOrder(ARP));
  if (socket < 0) throw failure(libc, "open a socket for ARP");
  try {
    const name = linkLayerAddress(link.index, ARP);
    if (call.bind(socket, name, name.length) < 0) throw failure(libc, "bind a socket for ARP");
    const request = encodeArpRequest(link.mac, source, gateway);
    for (let tries = 0; tries < ARP_TRIES; tries++) {
      if (call.sendto(socket, request, BigInt(request.length), 0, name, name.length) < 0) {
        throw failure(libc, `request a MAC on ${link.name}`);
      }
      const mac = await receiveMac(libc, socket, gateway);
      if (mac !== undefined) return mac;
    }
  } finally {
    call.close(socket);
  }
  throw new InputError(
    `Cannot reach the gateway: ${formatAddress(gateway)} does not reply to ARP on ${link.name}; ` +
      "give its MAC with --gateway-mac",
  );
}

async function receiveMac(
  libc: Libc,
  socket: number,
  gateway: number,
): Promise<Uint8Array | undefined> {
  const frame = new Uint8Array(128);
  const wanted = Int32Array.of(socket, POLLIN);
  const end = systemClock.now() + ARP_WAIT_MS;
  for (;;) {
    const size = Number(libc.call.recv(socket, frame, BigInt(frame.length), MSG_DONTWAIT));
    const reply = size > 21 ? decodeArpReply(frame.subarray(0, size)) : undefined;
    if (reply?.address === gateway) return reply.mac;
    const left = end - systemClock.now();
    if (left <= 0) return undefined;
    if (size < 0) await libc.call.poll(wanted, 1n, Math.ceil(left));
  }
}

/** Converts a 16-bit number to network byte order. */
function networkOrder(value: number): number {
  return (value & 0xff) << 8 | value >>> 8;
}
