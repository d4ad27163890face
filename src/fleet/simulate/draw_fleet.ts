/**
 * Draws a fleet: chooses software, addresses and identities at random.
 *
 * @module
 */
import type { Address, Endpoint } from "../../core/address.ts";
import { formatAddress } from "../../core/address.ts";
import { closestName } from "../../core/closest_name.ts";
import { InputError } from "../../core/errors.ts";
import { serverId } from "../../core/record.ts";
import { Permutation } from "../../targets/permutation.ts";
import { RangeIndex, RangeSet } from "../../targets/ranges.ts";
import type { Range } from "../../targets/ranges.ts";
import { crowdedAddresses } from "./crowded_addresses.ts";
import { NO_CONNECTION } from "./raknet/open_connection_styles.ts";
import { HOSTILE_BEHAVIOURS, HostileHost, NAMED_TRICKS } from "./hostile/hostile_hosts.ts";
import { drawIdentity, ofJava, type SimulatedIdentity } from "./server_identity.ts";
import { labelled } from "./expected_labels.ts";
import { LAN_SOFTWARE, SOFTWARE, type Software } from "./software.ts";
import type { ManifestEntry } from "../manifest.ts";
import { Random } from "../random.ts";
import { SimulatedServer } from "./simulated_server.ts";
import type { Responder, StreamResponder } from "./responder.ts";
import { SlpConnections } from "./slp/slp_connection.ts";
import { SqpServer } from "./sqp/sqp_server.ts";
import { HTTP_TRICKS, NAMED_HTTP_TRICKS } from "./hostile/http_tricks.ts";
import { HttpHost } from "./nethernet/http_host.ts";
import { joinHost, joinTruth } from "./nethernet/join_styles.ts";
import { HostileListener, SLOW_TRICKS, STREAM_TRICKS } from "./hostile/hostile_listeners.ts";

/** The ports of a server that replies on every port. A scan that probes other ports finds none. */
const EVERY_PORT = Array.from({ length: 201 }, (_, i) => 19032 + i);

/**
 * A host of a fleet: its endpoint, its behaviour and its manifest entry. A server that replies on
 * every port is a host for each port, with the same entry.
 */
export interface FleetHost {
  /** Address and port of the host. */
  readonly endpoint: Endpoint;
  /** Responds to datagrams. `undefined`: the host does not respond to UDP. */
  readonly responder?: Responder;
  /** Accepts TCP connections. `undefined`: connections are refused. */
  readonly streams?: StreamResponder;
  /** What a correct scanner reports for the host. */
  readonly entry: ManifestEntry;
  /** The datagram that the host broadcasts. Default: none. */
  readonly announcement?: Uint8Array;
}

/** The parameters of {@linkcode drawFleet}. */
export interface FleetPlan {
  /** Number of servers. A server may have two ports. */
  readonly servers: number;
  /** Number of additional hosts that must not be reported: hostile or opted out. Default: 0. */
  readonly hostile?: number;
  /** Range of addresses. Each address has at most one host. */
  readonly range: Range;
  /** Seed of the random choices: an equal seed gives an equal fleet. */
  readonly seed: number;
  /**
   * Names of software to draw from. Default: all software that a fleet may contain without being
   * named.
   */
  readonly software?: readonly string[];
  /** Whether hosts accept TCP connections; each needs a file descriptor. Default: yes. */
  readonly tcp?: boolean;
  /** Whether hosts are in clusters of an IPv4 range, as on the Internet. Default: no. */
  readonly crowded?: boolean;
}

/** The manifest of hosts: one entry for each server. */
export function manifestEntries(hosts: readonly FleetHost[]): ManifestEntry[] {
  return [...new Set(hosts.map(({ entry }) => entry))];
}

/**
 * Draws a fleet with at most one host per address.
 *
 * @throws InputError when the range is too small, or IPv6 for clusters, or a software is unknown.
 */
export function drawFleet(plan: FleetPlan): FleetHost[] {
  const { servers, hostile = 0, seed, software, tcp = true } = plan;
  const all = software?.map(kindOf) ??
    SOFTWARE.filter(({ optedOut, onlyNamed, twin }) => !optedOut && !onlyNamed && !twin);
  const kinds = tcp ? all : all.map(withoutTcp).filter(speaks);
  if (kinds.length === 0) {
    throw new InputError(
      `Cannot simulate ${software!.join(", ")} without TCP: there is no other protocol to simulate`,
    );
  }
  const random = new Random(seed);
  const hosts = drawAddresses(plan, servers + hostile).map((address, i) =>
    i < servers
      ? drawServer(address, drawKind(kinds, random), random)
      : [drawHostile(address, random, tcp)]
  );
  return hosts.flat();
}

function drawAddresses({ range, seed, crowded }: FleetPlan, hosts: number): Address[] {
  const addresses = new RangeIndex<Address>(RangeSet.of([range]));
  if (hosts > addresses.size) {
    throw new InputError(`Cannot place ${hosts} hosts: the range has ${addresses.size} addresses`);
  }
  const { start, end } = range;
  if (!crowded) {
    const order = new Permutation(addresses.size, seed);
    return Array.from({ length: hosts }, (_, i) => addresses.at(order.at(i)));
  }
  if (typeof start === "bigint" || typeof end === "bigint") {
    throw new InputError(`Cannot place servers in clusters at ${formatAddress(start)}: use IPv4`);
  }
  return crowdedAddresses({ start, end }, new Random(seed)).take(hosts).toArray();
}

function withoutTcp({ slp: _, join: __, twin, ...rest }: Software): Software {
  return { ...rest, ...(twin && { twin: withoutTcp(twin) }) };
}

function speaks({ bedrock, query, sqp, announcement, nethernet, trick }: Software): boolean {
  return trick === undefined
    ? (bedrock ?? query ?? sqp ?? announcement ?? nethernet) !== undefined
    : trick in HOSTILE_BEHAVIOURS;
}

function kindOf(name: string): Software {
  const kinds = [...SOFTWARE, ...LAN_SOFTWARE];
  const kind = kinds.find((other) => other.name === name);
  if (kind !== undefined) return kind;
  const meant = closestName(name, kinds.map((other) => other.name));
  const hint = meant === undefined
    ? `there is no such software; expected some of ${kinds.map((other) => other.name).join(", ")}`
    : `did you mean "${meant}"?`;
  throw new InputError(`Cannot simulate "${name}": ${hint}`);
}

function drawKind(kinds: readonly Software[], random: Random): Software {
  let left = random.below(kinds.reduce((sum, { weight }) => sum + weight, 0));
  return kinds.find(({ weight }) => (left -= weight) < 0)!;
}

/**
 * Creates one server of a software. The rest of its identity is drawn at random.
 *
 * @param seed An equal seed gives an equal server.
 * @throws InputError when the software is unknown.
 */
export function placeServer(
  address: Address,
  software: string,
  identity: Partial<SimulatedIdentity>,
  seed: number,
): FleetHost {
  const kind = kindOf(software);
  const random = new Random(seed);
  const whole = { ...released(kind, drawIdentity(random)), ...identity };
  return serverOf(address, kind, kind.adapt?.(whole) ?? whole, random);
}

/** An identity with a release of the software's edition. */
function released(software: Software, identity: SimulatedIdentity): SimulatedIdentity {
  const isJava = software.port === 25565 || software.announcement !== undefined;
  return isJava ? ofJava(identity) : identity;
}

function drawServer(address: Address, software: Software, random: Random): FleetHost[] {
  const identity = (software.adapt ?? ((same) => same))(released(software, drawIdentity(random)));
  const { twin, everyPort } = software;
  const host = serverOf(address, software, identity, random);
  if (everyPort) return EVERY_PORT.map((port) => ({ ...host, endpoint: { address, port } }));
  if (twin === undefined) return [host];
  const other = serverOf(address, twin, released(twin, identity), random);
  return [withTwin(host, other), withTwin(other, host)];
}

function withTwin(host: FleetHost, { entry }: FleetHost): FleetHost {
  return { ...host, entry: { ...host.entry, twin: serverId(entry) } };
}

function serverOf(
  address: Address,
  software: Software,
  identity: SimulatedIdentity,
  random: Random,
): FleetHost {
  const { bedrock, query, sqp, slp, announcement, nethernet, join, trick, port } = software;
  const entry = {
    host: formatAddress(address),
    port,
    software: software.name,
    ...(software.everyPort && { everyPort: true }),
    listed: !software.optedOut && trick === undefined,
    truth: labelled(software.name, identity, {
      ...(bedrock && { raknet: bedrock.truth(identity) }),
      ...(nethernet && { nethernet: nethernet.truth(identity) }),
      ...(join && { nethernet: joinTruth(join, identity) }),
      ...(slp && { slp: slp.truth(identity) }),
      ...(query && { query: query.truth(identity) }),
      ...(sqp && { sqp: sqp.truth(identity) }),
      ...(announcement && { lan: announcement.truth(identity, port) }),
    }),
    ...(bedrock && !bedrock.refusal &&
      { verified: bedrock.openConnection?.truth ?? NO_CONNECTION }),
  };
  const own = new Random(random.u32());
  const speaks = bedrock ?? query ?? nethernet;
  return {
    endpoint: { address, port },
    ...(sqp && { responder: new SqpServer(sqp, identity, own) }),
    ...(speaks && { responder: new SimulatedServer(software, identity, own) }),
    ...(slp && { streams: new SlpConnections(slp, identity) }),
    ...(join && { streams: joinHost(join, identity) }),
    ...(trick && hostile(trick, own)),
    entry,
    announcement: announcement?.datagram(identity, port),
  };
}

function hostile(trick: string, random: Random): Pick<FleetHost, "responder" | "streams"> {
  if (trick in HTTP_TRICKS) return { streams: new HttpHost(HTTP_TRICKS[trick](random)) };
  return trick in STREAM_TRICKS
    ? { streams: new HostileListener(trick, random) }
    : { responder: new HostileHost(trick, random) };
}

/**
 * Tricks of UDP hosts that a fleet may contain without being named: those that do not disturb other
 * hosts.
 */
const PLAYED_UDP = Object.keys(HOSTILE_BEHAVIOURS).filter((name) => !NAMED_TRICKS.includes(name));
const PLAYED = [
  ...PLAYED_UDP,
  ...Object.keys(STREAM_TRICKS).filter((name) => !SLOW_TRICKS.includes(name)),
];
const PLAYED_HTTP = Object.keys(HTTP_TRICKS).filter((name) => !NAMED_HTTP_TRICKS.includes(name));
/** Share of {@linkcode PLAYED_HTTP} among hostile hosts. */
const HTTP_SHARE = 0.3;

function drawHostile(address: Address, random: Random, tcp: boolean): FleetHost {
  const everyShy = SOFTWARE.filter(({ optedOut }) => optedOut);
  const shy = tcp ? everyShy : everyShy.map(withoutTcp).filter(speaks);
  const played = tcp ? PLAYED : PLAYED_UDP;
  const trick = tcp && random.chance(HTTP_SHARE)
    ? random.pick(PLAYED_HTTP)
    : random.pick([...played, ...shy.map(({ name }) => name)]);
  const software = shy.find(({ name }) => name === trick);
  if (software !== undefined) return drawServer(address, software, random)[0];
  const either = trick in HOSTILE_BEHAVIOURS;
  const port = either ? random.pick([19132, 25565]) : trick in HTTP_TRICKS ? 19132 : 25565;
  const entry = { host: formatAddress(address), port, software: trick, listed: false, truth: {} };
  return { endpoint: { address, port }, ...hostile(trick, new Random(random.u32())), entry };
}
