/**
 * The rtnetlink messages for links, routes, neighbours and rules of Linux. Bodies, sizes and
 * offsets in bytes:
 *
 *     rtmsg 12       family 0  destination bits 1  source bits 2  service 3  table 4  protocol 5
 *                    scope 6  type 7  flags 8 (4)
 *     ifinfomsg 16   family 0  type 2 (2)  index 4 (4)  flags 8 (4)  change 12 (4)
 *     ndmsg 12       family 0  index 4 (4)  state 8 (2)  flags 10  type 11
 *     fib_rule_hdr 12  family 0  destination bits 1  source bits 2  service 3  table 4  action 7
 *                    flags 8 (4)
 *
 * An error is a message of type 2, which contains the negated error number and the request.
 *
 * @module
 */
import { Malformed } from "../../../core/bytes.ts";
import { AF_INET, AF_INET6 } from "../ffi/libc.ts";
import {
  decodeMessages,
  DUMP,
  HEADER_SIZE,
  type NetlinkFields,
  netlinkRequest,
  TYPE,
} from "./netlink_messages.ts";

const ERROR = 2;
const DONE = 3;
const NEW_LINK = 16;
const GET_LINK = 18;
const NEW_ROUTE = 24;
const GET_ROUTE = 26;
const NEW_NEIGHBOUR = 28;
const GET_NEIGHBOUR = 30;
const NEW_RULE = 32;
const GET_RULE = 34;
const NEW_NEIGHBOUR_TABLE = 64;
const GET_NEIGHBOUR_TABLE = 66;

const LINK_MAC = 1;
const LINK_NAME = 3;
const LINK_MTU = 4;
const LINK_QUEUES = 31;
const ROUTE_TO = 1;
const ROUTE_FROM = 2;
const ROUTE_INTERFACE = 4;
const ROUTE_GATEWAY = 5;
const ROUTE_METRIC = 6;
const ROUTE_SOURCE = 7;
const ROUTE_TABLE = 15;
const NEIGHBOUR_ADDRESS = 1;
const NEIGHBOUR_MAC = 2;
/** The number of entries from which on none is added, the state of the table, and its statistics. */
const TABLE_CAPACITY = 4;
const TABLE_STATE = 5;
const TABLE_STATISTICS = 7;
const RULE_PRIORITY = 6;
const RULE_TABLE = 15;
/** Attributes of routes that do not lead to a single IPv4 gateway. */
const ROUTE_DETOURS = [9, 18, 21, 22]; // several next hops, an IPv6 gateway, and two kinds of tunnels

/** A network interface, from an RTM_NEWLINK message. */
export interface NetworkInterface {
  readonly index: number;
  readonly name: string;
  /** ARP hardware type: 1 Ethernet, 772 loopback, 65534 none. */
  readonly type: number;
  readonly isUp: boolean;
  readonly isLoopback: boolean;
  readonly isPointToPoint: boolean;
  /** Hardware address; 6 bytes on Ethernet. */
  readonly mac: Uint8Array;
  readonly mtu: number;
  /** Maximum number of send queues; fewer may be in use. */
  readonly queues: number;
}

/** An IPv4 route, from an RTM_NEWROUTE message. */
export interface Ipv4Route {
  /** First address of the destination, and its prefix length. */
  readonly to: number;
  readonly bits: number;
  readonly table: number;
  /** Route type; 1: unicast. */
  readonly type: number;
  /** Type of service (TOS) of its datagrams; 0: all. */
  readonly service: number;
  readonly isDead: boolean;
  readonly metric: number;
  /** Index of the interface; 0: none. */
  readonly interface: number;
  /** Address of the gateway; `undefined`: the destination is on the link itself. */
  readonly gateway: number | undefined;
  /** The local address of its datagrams. */
  readonly source: number | undefined;
  /** Whether datagrams take other hops than this gateway: several gateways, or a tunnel. */
  readonly isDetour: boolean;
}

/** An entry of the ARP table: the MAC of an address on a link. */
export interface ArpNeighbour {
  readonly interface: number;
  readonly address: number;
  /** `undefined`: unknown or expired. */
  readonly mac: Uint8Array | undefined;
}

/** The size of the table of neighbours of a family, which all network namespaces share. */
export interface NeighbourTable {
  readonly entries: number;
  /** Maximum number of entries. */
  readonly capacity: number;
  /** Number of entries that were ever added, modulo 2^32. */
  readonly added: number;
}

/** A routing rule, which selects a routing table. */
export interface RoutingRule {
  readonly priority: number;
  readonly table: number;
  /** Whether the rule applies to all datagrams. */
  readonly isForAll: boolean;
}

/** A reply, or an error number; `"done"` ends a list. */
export type RtnetlinkReply =
  | { readonly link: NetworkInterface }
  | { readonly route: Ipv4Route }
  | { readonly neighbour: ArpNeighbour }
  | { readonly neighbours: NeighbourTable }
  | { readonly rule: RoutingRule }
  | { readonly errno: number }
  | "done";

/** Encodes a request for all IPv4 routes. */
export const encodeRoutesRequest = (): Uint8Array<ArrayBuffer> =>
  netlinkRequest(GET_ROUTE, DUMP, [AF_INET, ...new Array(11).fill(0)]);

/** Encodes a request for all IPv4 routing rules. */
export const encodeRulesRequest = (): Uint8Array<ArrayBuffer> =>
  netlinkRequest(GET_RULE, DUMP, [AF_INET, ...new Array(11).fill(0)]);

/** Encodes a request for all IPv4 neighbours (the ARP table). */
export const encodeNeighboursRequest = (): Uint8Array<ArrayBuffer> =>
  netlinkRequest(GET_NEIGHBOUR, DUMP, [AF_INET, ...new Array(11).fill(0)]);

/** Encodes a request for the size of the table of neighbours. */
export const encodeNeighbourTableRequest = (family: 4 | 6): Uint8Array<ArrayBuffer> =>
  netlinkRequest(GET_NEIGHBOUR_TABLE, DUMP, [family === 4 ? AF_INET : AF_INET6, 0, 0, 0]);

/** Encodes a request for all interfaces. */
export const encodeLinksRequest = (): Uint8Array<ArrayBuffer> =>
  netlinkRequest(GET_LINK, DUMP, new Array(16).fill(0));

/**
 * Encodes a request for the route of a datagram.
 *
 * @param from The local address. Default: the system's choice.
 */
export function encodeRouteRequest(to: number, from?: number): Uint8Array<ArrayBuffer> {
  const bits = from === undefined ? 0 : 32;
  return netlinkRequest(GET_ROUTE, 0, [
    AF_INET,
    32,
    bits,
    ...new Array(9).fill(0),
    ...addressAttribute(ROUTE_TO, to),
    ...from === undefined ? [] : addressAttribute(ROUTE_FROM, from),
  ]);
}

function addressAttribute(type: number, address: number): number[] {
  return [8, 0, type, 0, ...quad(address)];
}

function quad(address: number): number[] {
  return [address >>> 24, address >>> 16 & 0xff, address >>> 8 & 0xff, address & 0xff];
}

/**
 * Decodes the messages of a received datagram; messages of other types are skipped.
 *
 * @throws The errors of {@linkcode decodeMessages}.
 */
export function decodeReplies(bytes: Uint8Array): RtnetlinkReply[] {
  return decodeMessages(bytes).map(decodeReply).filter((reply) => reply !== undefined);
}

function decodeReply(fields: NetlinkFields): RtnetlinkReply | undefined {
  switch (fields.u16(TYPE, "type")) {
    case DONE:
      return "done";
    case ERROR:
      return { errno: -fields.i32(HEADER_SIZE, "error") };
    case NEW_LINK:
      return { link: decodeLink(fields) };
    case NEW_ROUTE:
      return fields.u8(HEADER_SIZE, "family") === AF_INET
        ? { route: decodeRoute(fields) }
        : undefined;
    case NEW_NEIGHBOUR:
      return { neighbour: decodeNeighbour(fields) };
    case NEW_NEIGHBOUR_TABLE:
      return decodeNeighbourTable(fields);
    case NEW_RULE:
      return fields.u8(HEADER_SIZE, "family") === AF_INET
        ? { rule: decodeRule(fields) }
        : undefined;
  }
}

function decodeLink(fields: NetlinkFields): NetworkInterface {
  const flags = fields.u32(HEADER_SIZE + 8, "flags");
  const attributes = fields.attributes(HEADER_SIZE + 16);
  return {
    type: fields.u16(HEADER_SIZE + 2, "hardware"),
    index: fields.u32(HEADER_SIZE + 4, "index"),
    isUp: (flags & 1) !== 0,
    isLoopback: (flags & 8) !== 0,
    isPointToPoint: (flags & 0x10) !== 0,
    name: text(attributes.get(LINK_NAME)),
    mac: attributes.get(LINK_MAC)?.bytes.slice() ?? new Uint8Array(),
    mtu: attributes.get(LINK_MTU)?.u32(0, "MTU") ?? 0,
    queues: attributes.get(LINK_QUEUES)?.u32(0, "queues") ?? 1,
  };
}

/** Reads a name that ends with a NUL. */
function text(fields: NetlinkFields | undefined): string {
  return fields === undefined ? "" : new TextDecoder().decode(fields.bytes).replace(/\0.*/s, "");
}

function decodeRoute(fields: NetlinkFields): Ipv4Route {
  const attributes = fields.attributes(HEADER_SIZE + 12);
  const address = (type: number) => attributes.get(type)?.u32be(0, "address");
  const bits = fields.u8(HEADER_SIZE + 1, "bits");
  if (bits > 32) throw new Malformed(`a route of ${bits} bits`, fields.at + HEADER_SIZE + 1);
  return {
    bits,
    to: address(ROUTE_TO) ?? 0,
    service: fields.u8(HEADER_SIZE + 3, "service"),
    type: fields.u8(HEADER_SIZE + 7, "type"),
    isDead: (fields.u32(HEADER_SIZE + 8, "flags") & 1) !== 0,
    table: attributes.get(ROUTE_TABLE)?.u32(0, "table") ?? fields.u8(HEADER_SIZE + 4, "table"),
    metric: attributes.get(ROUTE_METRIC)?.u32(0, "metric") ?? 0,
    interface: attributes.get(ROUTE_INTERFACE)?.u32(0, "interface") ?? 0,
    gateway: address(ROUTE_GATEWAY),
    source: address(ROUTE_SOURCE),
    isDetour: ROUTE_DETOURS.some((type) => attributes.has(type)),
  };
}

/** Neighbour states in which the kernel uses the MAC: reachable, stale, delay, probe, permanent. */
const USED = 0x02 | 0x04 | 0x08 | 0x10 | 0x80;

function decodeNeighbour(fields: NetlinkFields): ArpNeighbour {
  const attributes = fields.attributes(HEADER_SIZE + 12);
  const isUsed = (fields.u16(HEADER_SIZE + 8, "state") & USED) !== 0;
  return {
    interface: fields.u32(HEADER_SIZE + 4, "interface"),
    address: attributes.get(NEIGHBOUR_ADDRESS)?.u32be(0, "address") ?? 0,
    mac: isUsed ? attributes.get(NEIGHBOUR_MAC)?.bytes.slice() : undefined,
  };
}

/** A second message of each table, with the settings of one interface, has none of these attributes. */
function decodeNeighbourTable(fields: NetlinkFields): RtnetlinkReply | undefined {
  const attributes = fields.attributes(HEADER_SIZE + 4);
  const capacity = attributes.get(TABLE_CAPACITY)?.u32(0, "capacity");
  const entries = attributes.get(TABLE_STATE)?.u32(4, "entries");
  const added = attributes.get(TABLE_STATISTICS)?.u32(0, "added");
  if (capacity === undefined || entries === undefined || added === undefined) return undefined;
  return { neighbours: { entries, capacity, added } };
}

/**
 * Attributes of rules for all datagrams: priority, table, suppressed prefix length (14), origin
 * (21).
 */
const RULE_USUAL = new Set([RULE_PRIORITY, RULE_TABLE, 14, 21]);
const SUPPRESSES_NONE = 0xffff_ffff;

function decodeRule(fields: NetlinkFields): RoutingRule {
  const attributes = fields.attributes(HEADER_SIZE + 12);
  const bits = [1, 2, 3].map((at) => fields.u8(HEADER_SIZE + at, "bits"));
  const isTable = fields.u8(HEADER_SIZE + 7, "action") === 1;
  const suppressed = attributes.get(14)?.u32(0, "prefix") ?? SUPPRESSES_NONE;
  const isInverted = (fields.u32(HEADER_SIZE + 8, "flags") & 2) !== 0;
  return {
    priority: attributes.get(RULE_PRIORITY)?.u32(0, "priority") ?? 0,
    table: attributes.get(RULE_TABLE)?.u32(0, "table") ?? fields.u8(HEADER_SIZE + 4, "table"),
    isForAll: isTable && !isInverted && suppressed === SUPPRESSES_NONE &&
      bits.every((one) => one === 0) &&
      [...attributes.keys()].every((type) => RULE_USUAL.has(type)),
  };
}
