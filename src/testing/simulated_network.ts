/**
 * A whole network in one process for tests of programs: hosts, names, opt-outs and a clock.
 *
 * @module
 */
import {
  type Address,
  type Endpoint,
  family,
  formatAddress,
  parseAddress,
} from "../core/address.ts";
import { InputError } from "../core/errors.ts";
import type { ServerRecord } from "../core/record.ts";
import {
  drawFleet,
  type Faults,
  type FleetHost,
  manifestEntries,
  type ManifestEntry,
  NO_FAULTS,
  placeServer,
  type SimulatedIdentity,
} from "../fleet/mod.ts";
import type {
  DatagramSocket,
  Dialer,
  LocalSockets,
  Network,
  OptOutList,
  SendGate,
} from "../net/mod.ts";
import type { Clock } from "../net/clock.ts";
import { parseTarget } from "../targets/parse.ts";
import { type Range, rangeOfOne } from "../targets/ranges.ts";
import type { Service, ServiceFinder } from "../targets/srv.ts";
import { FakeNetwork } from "./fake_network.ts";
import { FakeStreams } from "./fake_streams.ts";

/** The options of a simulated network. */
export interface SimulatedNetworkOptions {
  /**
   * Seed of all random choices.
   *
   * @default 1
   */
  readonly seed?: number;
  /**
   * The program's address in a local network, for example `192.168.1.2/24`. Servers in this network
   * receive broadcasts of the program. Default: no local network.
   */
  readonly local?: string;
  /** Losses, copies and delays of datagrams, and delays of connections. Default: none. */
  readonly faults?: Faults;
}

/** A simulated server: its address, software and status. */
export interface SimulatedServerPlan {
  /** The address of the server. Its port is the usual port of the software. */
  readonly host: string;
  /**
   * The name of the software, as in `blocksweep fleet --software`: `bds`, `geyser`, `vanilla`, …
   */
  readonly software: string;
  /**
   * The status of the server. Missing values are random. Values that the software does not publish
   * are ignored.
   */
  readonly status?: Partial<
    Pick<ServerRecord, "name" | "version" | "players_online" | "players_max" | "players" | "map">
  >;
}

/** Simulated servers in a range of addresses. */
export interface SimulatedFleetPlan {
  /** The range of addresses, with at most one server on each address. */
  readonly range: string;
  /**
   * The number of servers.
   *
   * @default 100
   */
  readonly servers?: number;
  /**
   * The number of additional hosts that must not be reported: hostile or opted-out hosts.
   *
   * @default 0
   */
  readonly hostile?: number;
  /**
   * The names of their software, in the form of {@linkcode SimulatedServerPlan.software}. Default:
   * a mix of the usual software.
   */
  readonly software?: readonly string[];
  /**
   * Seed of the servers. Equal seeds give equal servers.
   *
   * @default 1
   */
  readonly seed?: number;
}

/** Creates the random servers of a plan. */
export function drawPlan(
  { range, servers = 100, seed = 1, ...rest }: SimulatedFleetPlan,
): FleetHost[] {
  return drawFleet({ ...rest, servers, seed, range: rangeOf(range) });
}

function rangeOf(text: string): Range {
  const target = parseTarget(text);
  if ("range" in target) return target.range;
  throw new InputError(`Cannot place servers in "${text}": it must be a range of addresses`);
}

/**
 * A network of simulated servers, with a simulated clock. A simulated hour takes only as long as the
 * computation of its events, and no packet leaves the process. Functions of the library accept the network
 * as the option `network`.
 *
 * @example A test of a program that counts players
 * ```ts
 * import { query } from "blocksweep";
 * import { SimulatedNetwork } from "blocksweep/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const network = new SimulatedNetwork();
 * const status = { name: "Lobby", players_online: 3, players_max: 20 };
 * network.addServer({ host: "10.0.0.7", software: "bds", status });
 * const servers = await network.run(query("10.0.0.7", { network }));
 * assertEquals(servers.map(({ host, players_online }) => [host, players_online]), [["10.0.0.7", 3]]);
 * ```
 */
export class SimulatedNetwork implements Network {
  /**
   * The UDP part of the network: faults, and a log of datagrams.
   *
   * @internal
   */
  readonly datagrams: FakeNetwork;
  /**
   * The TCP part of the network: faults, and a log of connections.
   *
   * @internal
   */
  readonly streams: FakeStreams;
  /** Addresses that were recorded as opted out. */
  readonly optedOut: Address[] = [];
  /** The local network of the program. */
  readonly local: LocalSockets;
  readonly #names = new Map<string, readonly Address[]>();
  readonly #services = new Map<string, Service>();
  readonly #seed: number;

  /** Creates a network without hosts. */
  constructor({ seed = 1, faults = NO_FAULTS, local }: SimulatedNetworkOptions = {}) {
    this.#seed = seed;
    this.datagrams = new FakeNetwork(seed, faults);
    const { delay, jitter } = faults;
    const streamFaults = { delay, jitter, largest: 1460, reset: 0, halfOpen: 0 };
    this.streams = new FakeStreams(this.datagrams, seed, streamFaults);
    const interfaces = local === undefined ? [] : [interfaceOf(local)];
    if (interfaces.length > 0) this.datagrams.broadcasts.push(BROADCAST);
    this.local = {
      interfaces: () => interfaces,
      openLink: (address) => this.datagrams.open(6, address),
      openGroup: ({ address }) => Promise.resolve(this.datagrams.open(family(address))),
    };
  }

  /** The clock of the network. It advances only while {@linkcode SimulatedNetwork.run} runs. */
  get clock(): Clock {
    return this.datagrams;
  }

  /** Opens connections to the servers. Other hosts refuse connections. */
  get dialer(): Dialer {
    return this.streams;
  }

  /** The list of opted-out addresses, which is empty at first. */
  get optOuts(): OptOutList {
    return {
      read: () => Promise.resolve(this.optedOut.map(rangeOfOne)),
      note: (address) => void this.optedOut.push(address),
      version: () => Promise.resolve(`${this.optedOut.length} addresses`),
    };
  }

  /** Opens a socket of the program under test. */
  readonly openSocket = ({ address }: Endpoint, gate?: SendGate): DatagramSocket =>
    this.datagrams.open(
      family(address),
      address === 0 || address === 0n ? undefined : address,
      gate,
    );

  /**
   * Resolves a name that was added.
   *
   * @throws InputError for a name that was not added.
   */
  readonly resolve = (name: string): Promise<readonly Address[]> => {
    const addresses = this.#names.get(name);
    if (addresses !== undefined) return Promise.resolve(addresses);
    return Promise.reject(new InputError(`Cannot find host "${name}": there is no such name`));
  };

  /** Looks up the SRV record of a name that was added. */
  readonly findService: ServiceFinder = (name) => Promise.resolve(this.#services.get(name));

  /**
   * Adds a server. A server that is already on the endpoint is replaced.
   *
   * @returns The values that a record of the server must contain.
   * @throws InputError when the software is unknown, or the host is not an address.
   */
  addServer({ host, software, status = {} }: SimulatedServerPlan): ManifestEntry {
    const address = parseAddress(host);
    if (address === undefined) throw new InputError(`Cannot place a server on "${host}"`);
    const seed = this.#seed + Number(BigInt.asUintN(32, BigInt(address)));
    return this.#add(placeServer(address, software, identityOf(status), seed));
  }

  /**
   * Adds random servers.
   *
   * @returns The values that a record of each server must contain; `listed` is false for hosts without a record.
   * @throws InputError for a plan that cannot be used.
   */
  addFleet(plan: SimulatedFleetPlan): readonly ManifestEntry[] {
    const hosts = drawPlan(plan);
    for (const host of hosts) this.#add(host);
    return manifestEntries(hosts);
  }

  /** Removes a server from the network. Packets to the server then get no reply. */
  removeServer({ host, port }: Pick<ServerRecord, "host" | "port">): void {
    const endpoint = { address: parseAddress(host)!, port };
    this.datagrams.host(endpoint, { respond: () => [] });
    this.streams.host(endpoint, "timeout");
  }

  /** Adds a name, in lower case, and optionally the target of its SRV record for Java. */
  addName(name: string, addresses: readonly string[], service?: Service): void {
    this.#names.set(name, addresses.map((text) => parseAddress(text)!));
    if (service !== undefined) this.#services.set(name, service);
  }

  /**
   * Advances the clock until a promise settles. Operations on files proceed while the network has
   * nothing to do. Fails when the promise is not settled after further 30 seconds of real time.
   */
  run<T>(promise: Promise<T>): Promise<T> {
    return this.datagrams.run(promise);
  }

  #add({ endpoint, responder, streams, entry }: FleetHost): ManifestEntry {
    if (responder !== undefined) this.datagrams.host(endpoint, responder);
    if (streams !== undefined) this.streams.host(endpoint, streams);
    return entry;
  }
}

/** The limited broadcast address, 255.255.255.255. */
const BROADCAST = 0xffffffff;

/** The interface of a machine with an address in a network, for example `192.168.1.2/24`. */
function interfaceOf(text: string): Deno.NetworkInterfaceInfo {
  const [address, bits] = text.split("/");
  const range = rangeOf(text);
  const netmask = formatAddress(0xffffffff - (Number(range.end) - Number(range.start) - 1));
  if (typeof range.start === "number" && bits !== undefined) {
    const [name, mac] = ["eth0", "02:00:00:00:00:01"];
    return { family: "IPv4", name, mac, address, netmask, cidr: text, scopeid: null };
  }
  throw new InputError(`Cannot use local "${text}": it must be like 192.168.1.2/24`);
}

function identityOf(
  status: NonNullable<SimulatedServerPlan["status"]>,
): Partial<SimulatedIdentity> {
  const { name, version, players_max, map, players } = status;
  const online = status.players_online ?? players?.length;
  const motd = name == null ? undefined : { text: name, plain: name };
  return {
    ...(motd && { motd, latinMotd: motd }),
    ...(version != null && { version }),
    ...(online !== undefined && { online, players: players ?? [] }),
    ...(players_max != null && { max: players_max }),
    ...(map != null && { level: map }),
  };
}
