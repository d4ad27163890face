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
import type { ManifestEntry } from "../fleet/manifest.ts";
import { drawFleet, type FleetHost, placeServer } from "../fleet/simulate/draw_fleet.ts";
import { type Faults, NO_FAULTS } from "../fleet/simulate/network/faults.ts";
import type { ServerIdentity } from "../fleet/simulate/server_identity.ts";
import type { Clock } from "../net/clock.ts";
import type { LocalSockets, Network, OptOutList } from "../net/network.ts";
import type { DatagramSocket, Dialer } from "../net/socket.ts";
import { parseTarget } from "../targets/parse.ts";
import type { Range } from "../targets/ranges.ts";
import type { Service, ServiceFinder } from "../targets/srv.ts";
import { FakeNetwork } from "./fake_network.ts";
import { FakeStreams } from "./fake_streams.ts";

/** What a simulated network is like. */
export interface SimulatedNetworkOptions {
  /**
   * Seed of everything that is drawn.
   *
   * @default 1
   */
  readonly seed?: number;
  /**
   * Where the program stands in a local network, as `192.168.1.2/24`: servers in it hear its
   * broadcasts. Default: in none.
   */
  readonly local?: string;
  /** Losses, copies and delays of datagrams, and delays of connections. Default: none. */
  readonly faults?: Faults;
}

/** Where a simulated server stands, and what it publishes. */
export interface SimulatedServerPlan {
  /** Its address; its port is the usual one of its software. */
  readonly host: string;
  /** Its software, as `blocksweep fleet --software` names it: `bds`, `geyser`, `vanilla`, … */
  readonly software: string;
  /** What it publishes. The rest is drawn; software that publishes less leaves some of it out. */
  readonly status?: Partial<
    Pick<ServerRecord, "name" | "version" | "players_online" | "players_max" | "players" | "map">
  >;
}

/** Simulated servers in a range. */
export interface SimulatedFleetPlan {
  /** Where they stand: one on an address. */
  readonly range: string;
  /**
   * How many there are.
   *
   * @default 100
   */
  readonly servers?: number;
  /**
   * How many hosts stand beside them that no record may come of: hostile, or opted out.
   *
   * @default 0
   */
  readonly hostile?: number;
  /** Their software: see {@linkcode SimulatedServerPlan.software}. Default: a usual mix. */
  readonly software?: readonly string[];
  /**
   * The same seed draws the same servers.
   *
   * @default 1
   */
  readonly seed?: number;
}

/** Draws the servers of a plan. */
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
 * A network of simulated servers, with a clock of its own: an hour passes in the time that its events
 * take, and nothing leaves the process. Functions of the library take it as the option `network`.
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
  /** The datagrams: their faults, and what was sent. */
  readonly datagrams: FakeNetwork;
  /** The connections: their faults, and which were begun. */
  readonly streams: FakeStreams;
  /** What was noted as opted out. */
  readonly optedOut: Address[] = [];
  /** The local network that the program stands in. */
  readonly local: LocalSockets;
  readonly #names = new Map<string, readonly Address[]>();
  readonly #services = new Map<string, Service>();
  readonly #seed: number;

  /** Makes a network without hosts. */
  constructor({ seed = 1, faults = NO_FAULTS, local }: SimulatedNetworkOptions = {}) {
    this.#seed = seed;
    this.datagrams = new FakeNetwork(seed, faults);
    const { delay, jitter } = faults;
    const streamFaults = { delay, jitter, largest: 1460, reset: 0, halfOpen: 0 };
    this.streams = new FakeStreams(this.datagrams, seed, streamFaults);
    const interfaces = local === undefined ? [] : [interfaceOf(local)];
    if (interfaces.length > 0) this.datagrams.broadcasts.push(EVERYBODY);
    this.local = {
      interfaces: () => interfaces,
      openLink: (address) => this.datagrams.open(6, address),
      openGroup: () => Promise.resolve(this.datagrams.open(4)),
    };
  }

  /** The network's clock: it stands still outside of {@linkcode SimulatedNetwork.run}. */
  get clock(): Clock {
    return this.datagrams;
  }

  /** Opens connections to the servers; other hosts refuse them. */
  get dialer(): Dialer {
    return this.streams;
  }

  /** The list of opted-out addresses, which is empty at first. */
  get optOuts(): OptOutList {
    return {
      read: () => Promise.resolve(this.optedOut.map(rangeOfOne)),
      note: (address) => void this.optedOut.push(address),
    };
  }

  /** Opens a socket of the program under test. */
  readonly openSocket = ({ address }: Endpoint): DatagramSocket =>
    this.datagrams.open(family(address), address === 0 || address === 0n ? undefined : address);

  /**
   * Resolves a name that was added.
   *
   * @throws InputError for any other.
   */
  readonly resolve = (name: string): Promise<readonly Address[]> => {
    const addresses = this.#names.get(name);
    if (addresses !== undefined) return Promise.resolve(addresses);
    return Promise.reject(new InputError(`Cannot find host "${name}": there is no such name`));
  };

  /** Looks up the SRV record of a name that was added. */
  readonly findService: ServiceFinder = (name) => Promise.resolve(this.#services.get(name));

  /**
   * Adds a server; where one stands already, it takes its place.
   *
   * @returns What a record of it has to contain.
   * @throws InputError when its software is unknown, or its host no address.
   */
  addServer({ host, software, status = {} }: SimulatedServerPlan): ManifestEntry {
    const address = parseAddress(host);
    if (address === undefined) throw new InputError(`Cannot place a server on "${host}"`);
    const seed = this.#seed + Number(BigInt.asUintN(32, BigInt(address)));
    return this.#add(placeServer(address, software, identityOf(status), seed));
  }

  /**
   * Adds servers that are drawn.
   *
   * @returns What a record of each has to contain; nothing, where `listed` is false.
   * @throws InputError for a plan that cannot be used.
   */
  addFleet(plan: SimulatedFleetPlan): readonly ManifestEntry[] {
    return drawPlan(plan).map((host) => this.#add(host));
  }

  /** Takes a server off the network: what is sent to it gets no reply. */
  removeServer({ host, port }: Pick<ServerRecord, "host" | "port">): void {
    const endpoint = { address: parseAddress(host)!, port };
    this.datagrams.host(endpoint, { respond: () => [] });
    this.streams.host(endpoint, "timeout");
  }

  /** Adds a name, in lower case, and perhaps where its SRV record for Java leads. */
  addName(name: string, addresses: readonly string[], service?: Service): void {
    this.#names.set(name, addresses.map((text) => parseAddress(text)!));
    if (service !== undefined) this.#services.set(name, service);
  }

  /** Advances the clock until a promise settles; fails when nothing on the network can settle it. */
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
const EVERYBODY = 0xffffffff;

/** The interface of a machine on an address of a network: `192.168.1.2/24`. */
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

function rangeOfOne(start: Address): Range {
  return { start, end: typeof start === "number" ? start + 1 : start + 1n };
}

function identityOf(status: NonNullable<SimulatedServerPlan["status"]>): Partial<ServerIdentity> {
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
