/**
 * How frames of our own reach the targets: the interface, our address, and the gateway's MAC.
 *
 * @module
 */
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
/** How often a gateway is asked for its MAC, and how long each answer may take. */
const ARP_TRIES = 3;
const ARP_WAIT_MS = 500;

/** There is no place for frames of our own here: the system's sockets do. */
export class NoUplink extends Error {}

/** Where frames go. */
export interface Uplink {
  readonly interface: NetworkInterface;
  /** Our address. */
  readonly source: number;
  /** The gateway's address. */
  readonly gateway: number;
  /** What lies behind it, ascending; the rest is for the system's own sockets. */
  readonly ranges: NextHop["ranges"];
  /** How many targets that are. */
  readonly targets: number;
}

/** What is to be reached, and what the user said of the way. */
export interface UplinkOptions {
  /** The targets, ascending and apart. */
  readonly targets: readonly { readonly start: number; readonly end: number }[];
  /** The name of the only interface that may be used. Default: any. */
  readonly interface?: string;
  /** Our address. Default: the system's choice. */
  readonly source?: number;
}

/**
 * Finds the way that most targets are on; nothing is sent.
 *
 * @throws NoUplink with the reason; InputError when there is no such interface.
 */
export function findUplink(libc: Libc, options: UplinkOptions): Uplink {
  const links = requestNetlink(libc, encodeLinksRequest())
    .flatMap((answer) =>
      "link" in (answer as object) ? [(answer as { link: NetworkInterface }).link] : []
    );
  const named = namedLink(links, options.interface);
  if (named !== undefined) requireEthernet(named);
  requireDefaultRules(libc);
  const routes = requestNetlink(libc, encodeRoutesRequest()).flatMap((answer) =>
    answer !== "done" && "route" in answer ? [answer.route] : []
  );
  const way = findNextHop(routes, options.targets, named?.index);
  const place = named === undefined ? "" : ` over ${named.name}`;
  if (way === undefined) throw new NoUplink(`no target is behind a gateway${place}`);
  const link = links.find(({ index }) => index === way.interface)!;
  requireEthernet(link);
  const { target: to, gateway, ranges } = way;
  const [answer] = requestNetlink(libc, encodeRouteRequest(to, options.source));
  const route = answer !== "done" && "route" in answer ? answer.route : undefined;
  if (route?.gateway !== gateway || route.interface !== link.index) {
    throw new NoUplink(`the system sends to ${formatAddress(to)} otherwise than its routes say`);
  }
  const source = options.source ?? route.source;
  if (source === undefined) throw new NoUplink(`${link.name} has no address to send from`);
  return { interface: link, source, gateway, ranges, targets: way.targets };
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
    `Cannot use --interface "${name}": there is no such interface, but ${names}`,
  );
}

function requireEthernet({ name, isLoopback, isPointToPoint, type, mac }: NetworkInterface): void {
  const what = isLoopback
    ? "loopback"
    : isPointToPoint
    ? "point-to-point"
    : type !== ETHERNET || mac.length !== 6
    ? "no Ethernet"
    : undefined;
  if (what !== undefined) throw new NoUplink(`${name} is ${what}`);
}

/** With rules of others, which route counts may depend on more than the target. */
function requireDefaultRules(libc: Libc): void {
  try {
    const rules = requestNetlink(libc, encodeRulesRequest()).flatMap((answer) =>
      answer !== "done" && "rule" in answer ? [answer.rule] : []
    );
    if (areDefaultRules(rules)) return;
  } catch (error) {
    // A kernel without policy routing has no rules but the usual ones.
    if (error instanceof NetlinkError && error.errno === EOPNOTSUPP) return;
    throw error;
  }
  throw new NoUplink(
    "the system has routing rules (ip rule), which frames of our own would pass by",
  );
}

/**
 * The MAC of the gateway: as the system knows it, or as the gateway itself answers.
 *
 * @throws InputError when it does not answer; Error with the call that failed.
 */
export async function findGatewayMac(libc: Libc, uplink: Uplink): Promise<Uint8Array> {
  const { interface: link, gateway } = uplink;
  for (const answer of requestNetlink(libc, encodeNeighboursRequest())) {
    if (answer === "done" || !("neighbour" in answer)) continue;
    const { neighbour } = answer;
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
        throw failure(libc, `ask for a MAC on ${link.name}`);
      }
      const mac = await receiveMac(libc, socket, gateway);
      if (mac !== undefined) return mac;
    }
  } finally {
    call.close(socket);
  }
  throw new InputError(
    `Cannot reach the gateway: ${formatAddress(gateway)} does not answer ARP on ${link.name}; ` +
      "--gateway-mac names its MAC",
  );
}

async function receiveMac(
  libc: Libc,
  socket: number,
  gateway: number,
): Promise<Uint8Array | undefined> {
  const frame = new Uint8Array(128);
  const wanted = Int32Array.of(socket, POLLIN);
  const end = performance.now() + ARP_WAIT_MS;
  for (;;) {
    const size = Number(libc.call.recv(socket, frame, BigInt(frame.length), MSG_DONTWAIT));
    const reply = size > 21 ? decodeArpReply(frame.subarray(0, size)) : undefined;
    if (reply?.address === gateway) return reply.mac;
    const left = end - performance.now();
    if (left <= 0) return undefined;
    if (size < 0) await libc.call.poll(wanted, 1n, Math.ceil(left));
  }
}

/** A number in the order of bytes of the network. */
function networkOrder(value: number): number {
  return (value & 0xff) << 8 | value >>> 8;
}
