/**
 * Putting a fleet on the network.
 *
 * @module
 */
import { type Endpoint, endpointKey, formatEndpoint, isLoopback } from "../address.ts";
import { InputError } from "../errors.ts";
import type { Clock } from "../net/clock.ts";
import { drawDelays, type Faults, NO_FAULTS } from "./faults.ts";
import type { Front } from "./front.ts";
import type { FleetHost } from "./generate.ts";
import { ANNOUNCEMENTS } from "./lan.ts";
import { Random } from "./random.ts";
import { SocketFront } from "./sockets.ts";
import type { Witness } from "./witness.ts";

/** How a fleet is run. */
export interface FleetOptions {
  /** The clock. */
  readonly clock: Clock;
  /** What the network does to it. Default: nothing. */
  readonly faults?: Faults;
  /** Seed of the faults. */
  readonly seed: number;
  /** Who writes down what happens. */
  readonly witness?: Witness;
  /** Networks of a laboratory: hosts may stand in them, and get what is sent to everybody. */
  readonly lab?: readonly { readonly address: number; readonly netmask: number }[];
}

/** Hosts with a socket each; more of them share one, through FFI. */
const MOST_SOCKETS = 4000;

/**
 * Opens a fleet.
 *
 * @throws InputError when an address is not loopback (outside of a laboratory), taken, or not ours.
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
      `Cannot announce ${
        formatEndpoint(loud.endpoint)
      } on a network: only a laboratory (--lab) has one`,
    );
  }
  const endpoints = hosts.map(({ endpoint }) => endpoint);
  if (endpoints.length <= MOST_SOCKETS) {
    return new Fleet(hosts, new SocketFront(endpoints, options.lab ?? []), options);
  }
  const { WildcardFront } = await import("./wildcard.ts");
  return new Fleet(hosts, new WildcardFront(endpoints), options);
}

/** A fleet on the network, until it is disposed of. */
export class Fleet implements AsyncDisposable {
  /** Datagrams that reached it. */
  received = 0;
  /** Datagrams that it sent. */
  sent = 0;
  /** Rejects when the fleet's network fails. */
  readonly running: Promise<void>;
  readonly #hosts: Map<number | bigint, FleetHost>;
  readonly #front: Front;
  readonly #options: FleetOptions;
  readonly #random: Random;
  readonly #cancels = new Set<() => void>();

  /** Starts answering. */
  constructor(hosts: readonly FleetHost[], front: Front, options: FleetOptions) {
    this.#hosts = new Map(hosts.map((host) => [endpointKey(host.endpoint), host]));
    this.#front = front;
    this.#options = options;
    this.#random = new Random(options.seed);
    this.running = front.listen((datagram, from, host) => this.#receive(datagram, from, host));
    for (const host of hosts) this.#announce(host);
  }

  /** Announces a host at once, and again and again. */
  #announce(host: FleetHost): void {
    if (host.announcement === undefined) return;
    this.#send(host.announcement, host.endpoint, ANNOUNCEMENTS.endpoint);
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
      if (delay <= 0) this.#answer(host, datagram, from);
      else {
        const copy = datagram.slice();
        this.#later(delay, () => this.#answer(host, copy, from));
      }
    }
  }

  #answer({ endpoint, responder }: FleetHost, datagram: Uint8Array, peer: Endpoint): void {
    const { clock } = this.#options;
    for (const reply of responder.respond(datagram, peer, clock.now())) {
      this.#send(reply, endpoint, peer);
    }
  }

  #send(datagram: Uint8Array, endpoint: Endpoint, peer: Endpoint): void {
    const { clock, witness } = this.#options;
    const departures = this.#delays();
    witness?.note(clock.now(), "out", endpoint, peer, datagram, departures.length === 0);
    for (const delay of departures) {
      const send = () => {
        this.sent++;
        this.#front.send(datagram, endpoint, peer);
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

  /** Leaves the network; datagrams on their way are lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const cancel of this.#cancels) cancel();
    await this.#front[Symbol.asyncDispose]();
  }
}
