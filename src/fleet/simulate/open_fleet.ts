/**
 * Opens the sockets of a fleet and lets its hosts respond.
 *
 * @module
 */
import {
  type Endpoint,
  endpointKey,
  family,
  formatEndpoint,
  isLoopback,
} from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import type { Clock } from "../../net/clock.ts";
import type { Stream } from "../../net/mod.ts";
import { drawDelays, type Faults, NO_FAULTS } from "./network/faults.ts";
import { serve } from "./network/tcp_connection.ts";
import type { DatagramNetwork, StreamNetwork } from "./network/fleet_network.ts";
import type { FleetHost } from "./draw_fleet.ts";
import { ANNOUNCEMENTS } from "./lan_worlds.ts";
import { Random } from "../random.ts";
import { ListenerPerHost, SocketPerHost } from "./network/socket_per_host.ts";
import type { WitnessLog } from "../witness_log.ts";

/** Options of {@linkcode openFleet}. */
export interface FleetOptions {
  /** The clock of delays and announcements. */
  readonly clock: Clock;
  /** Simulated faults of the network. Default: none. */
  readonly faults?: Faults;
  /** Seed of the random faults. */
  readonly seed: number;
  /** The log of all traffic. Default: none. */
  readonly witness?: WitnessLog;
  /**
   * Laboratory networks. Hosts may have addresses in these networks, and receive broadcasts to
   * them.
   */
  readonly lab?: readonly { readonly address: number; readonly netmask: number }[];
  /** What to do when an address is in use: the end of the error. Default: nothing. */
  readonly ifInUse?: string;
}

/**
 * Maximum number of hosts with a socket each. If there are more hosts, all hosts with the same port
 * share one socket, by FFI.
 */
const MAX_SOCKETS = 4000;

/**
 * Opens the sockets of a fleet.
 *
 * @throws InputError when an address is not loopback (outside a laboratory), in use, or not of this machine.
 */
export async function openFleet(
  hosts: readonly FleetHost[],
  options: FleetOptions,
): Promise<Fleet> {
  const outside = hosts.find(({ endpoint }) => !isLoopback(endpoint.address));
  if (outside !== undefined && options.lab === undefined) {
    throw new InputError(
      `Cannot put a simulated server on ${
        formatEndpoint(outside.endpoint)
      }: not a loopback address`,
    );
  }
  const loud = hosts.find(({ announcement }) => announcement !== undefined);
  if (loud !== undefined && options.lab === undefined) {
    throw new InputError(
      `Cannot announce ${formatEndpoint(loud.endpoint)} on a LAN: this needs --lab`,
    );
  }
  try {
    return new Fleet(hosts, await openFronts(hosts, options), options);
  } catch (error) {
    const isInUse = error instanceof InputError && error.cause instanceof Deno.errors.AddrInUse;
    if (!isInUse || options.ifInUse === undefined) throw error;
    throw new InputError(`${error.message}; ${options.ifInUse}`, { cause: error.cause });
  }
}

async function openFronts(hosts: readonly FleetHost[], options: FleetOptions): Promise<Fronts> {
  const accepting = hosts.filter(({ streams }) => streams !== undefined);
  const streams = new ListenerPerHost(accepting.map(({ endpoint }) => endpoint));
  try {
    return { datagrams: await openDatagrams(hosts, options), streams };
  } catch (error) {
    streams[Symbol.dispose]();
    throw error;
  }
}

/** What to do when an address of a range is in use. */
export function ifInUse(range: string): string {
  return `end the program that uses it, for example another fleet or demo in ${range}`;
}

async function openDatagrams(
  hosts: readonly FleetHost[],
  { lab }: FleetOptions,
): Promise<DatagramNetwork> {
  // A host that only sends announcements needs a socket too.
  const endpoints = hosts.filter(({ responder, announcement }) => responder ?? announcement)
    .map(({ endpoint }) => endpoint);
  if (endpoints.length <= MAX_SOCKETS) return new SocketPerHost(endpoints, lab ?? []);
  const { WildcardNetwork } = await import("./network/wildcard_socket.ts");
  return new WildcardNetwork(endpoints);
}

/** The sockets of a fleet. */
export interface Fronts {
  /** UDP sockets of the hosts. */
  readonly datagrams: DatagramNetwork;
  /** TCP listeners of the hosts. */
  readonly streams: StreamNetwork;
}

/** A running fleet. Disposing of it closes all sockets. */
export class Fleet implements AsyncDisposable {
  /** Number of received datagrams. */
  received = 0;
  /** Number of sent datagrams. */
  sent = 0;
  /** Number of accepted connections. */
  accepted = 0;
  /** Rejects when a socket of the fleet fails. */
  readonly running: Promise<void>;
  readonly #hosts: Map<number | bigint, FleetHost>;
  readonly #fronts: Fronts;
  readonly #options: FleetOptions;
  readonly #random: Random;
  readonly #cancels = new Set<() => void>();
  readonly #leaving = new AbortController();
  readonly #connections = new Set<Promise<void>>();

  /** Starts to respond to datagrams and connections. */
  constructor(hosts: readonly FleetHost[], fronts: Fronts, options: FleetOptions) {
    this.#hosts = new Map(hosts.map((host) => [endpointKey(host.endpoint), host]));
    this.#fronts = fronts;
    this.#options = options;
    this.#random = new Random(options.seed);
    const { datagrams, streams } = fronts;
    this.running = Promise.all([
      datagrams.listen((datagram, from, host) => this.#receive(datagram, from, host)),
      streams.listen((stream, from, host) => this.#accept(stream, from, host)),
    ]).then(() => {});
    for (const host of hosts) this.#announce(host);
  }

  /** Sends a host's announcement now and at each interval. */
  #announce(host: FleetHost): void {
    if (host.announcement === undefined) return;
    const group = ANNOUNCEMENTS.groups[family(host.endpoint.address)];
    this.#send(host.announcement, host.endpoint, group);
    this.#later(ANNOUNCEMENTS.everyMs, () => this.#announce(host));
  }

  #receive(datagram: Uint8Array, from: Endpoint, to: Endpoint): void {
    const host = this.#hosts.get(endpointKey(to));
    if (host === undefined) return;
    this.received++;
    const { clock, witness } = this.#options;
    const arrivals = this.#delays();
    witness?.note(clock.now(), "in", to, from, datagram, arrivals.length === 0);
    for (const delay of arrivals) {
      if (delay <= 0) this.#response(host, datagram, from);
      else {
        const copy = datagram.slice();
        this.#later(delay, () => this.#response(host, copy, from));
      }
    }
  }

  #response({ endpoint, responder }: FleetHost, datagram: Uint8Array, peer: Endpoint): void {
    const { clock } = this.#options;
    for (const reply of responder?.respond(datagram, peer, clock.now()) ?? []) {
      this.#send(reply, endpoint, peer);
    }
  }

  #accept(stream: Stream, from: Endpoint, to: Endpoint): void {
    const { clock, faults = NO_FAULTS, witness } = this.#options;
    const number = ++this.accepted;
    const serving = serve(stream, this.#hosts.get(endpointKey(to))!.streams!, from, {
      clock,
      // TCP repeats lost segments, so faults only delay the bytes of connections.
      delay: () => faults.delay + faults.jitter * this.#random.below(1000) / 1000,
      signal: this.#leaving.signal,
      note: (event) => witness?.noteStream(clock.now(), number, to, from, event),
    }).finally(() => this.#connections.delete(serving));
    this.#connections.add(serving);
  }

  #send(datagram: Uint8Array, endpoint: Endpoint, peer: Endpoint): void {
    const { clock, witness } = this.#options;
    const delays = this.#delays();
    witness?.note(clock.now(), "out", endpoint, peer, datagram, delays.length === 0);
    for (const delay of delays) {
      const send = () => {
        this.sent++;
        this.#fronts.datagrams.send(datagram, endpoint, peer);
      };
      if (delay <= 0) send();
      else this.#later(delay, send);
    }
  }

  #delays(): number[] {
    return drawDelays(this.#options.faults ?? NO_FAULTS, this.#random);
  }

  #later(delay: number, action: () => void): void {
    const cancel = this.#options.clock.after(delay, () => {
      this.#cancels.delete(cancel);
      action();
    });
    this.#cancels.add(cancel);
  }

  /** Closes all sockets. Delayed datagrams are lost, and connections are closed. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const cancel of this.#cancels) cancel();
    this.#fronts.streams[Symbol.dispose]();
    this.#leaving.abort();
    await Promise.all(this.#connections);
    await this.#fronts.datagrams[Symbol.asyncDispose]();
    // A listener is closed when its pending call ends: then its address is free again.
    await this.running.catch(() => {});
  }
}
