/**
 * Putting a fleet on the network: one socket per host, so that every answer comes from the address
 * that was asked.
 *
 * @module
 */
import { type Endpoint, formatEndpoint, isLoopback } from "../address.ts";
import { InputError } from "../errors.ts";
import type { Clock } from "../net/clock.ts";
import { openSocket } from "../net/deno.ts";
import type { DatagramSocket } from "../net/socket.ts";
import { drawDelays, type Faults, NO_FAULTS } from "./faults.ts";
import type { FleetHost } from "./generate.ts";
import { Random } from "./random.ts";
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
  /** Whether hosts may stand on other addresses than loopback. Default: no. */
  readonly lab?: boolean;
}

/** The largest request that a host reads. */
const LARGEST_REQUEST = 2048;

/** A fleet on the network, until it is disposed of. */
export class Fleet implements AsyncDisposable {
  /** Datagrams that reached it. */
  received = 0;
  /** Datagrams that it sent. */
  sent = 0;
  readonly #sockets: DatagramSocket[] = [];
  readonly #cancels = new Set<() => void>();
  readonly #options: FleetOptions;
  readonly #random: Random;

  /**
   * Opens a socket for each host.
   *
   * @throws InputError when an address is not loopback (without `lab`), taken, or not ours, or when
   * there are more hosts than sockets may be open.
   */
  constructor(hosts: readonly FleetHost[], options: FleetOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
    try {
      for (const host of hosts) this.#open(host);
    } catch (error) {
      this.#sockets.forEach((socket) => socket[Symbol.asyncDispose]());
      throw error;
    }
  }

  #open({ endpoint, responder }: FleetHost): void {
    if (!this.#options.lab && !isLoopback(endpoint.address)) {
      throw new InputError(
        `Cannot put a simulated server on ${formatEndpoint(endpoint)}: not a loopback address`,
      );
    }
    const socket = openHostSocket(endpoint, this.#sockets.length);
    this.#sockets.push(socket);
    socket.listen((datagram, from) => {
      this.received++;
      const { clock, witness } = this.#options;
      const arrivals = this.#delays();
      witness?.note(clock.now(), "in", endpoint, from, datagram, arrivals.length === 0);
      const copy = datagram.slice();
      for (const delay of arrivals) {
        this.#later(delay, () => {
          for (const reply of responder.respond(copy, from, clock.now())) {
            this.#send(socket, endpoint, from, reply);
          }
        });
      }
    });
  }

  #send(socket: DatagramSocket, host: Endpoint, peer: Endpoint, reply: Uint8Array): void {
    const { clock, witness } = this.#options;
    const departures = this.#delays();
    witness?.note(clock.now(), "out", host, peer, reply, departures.length === 0);
    for (const delay of departures) {
      this.#later(delay, () => {
        this.sent++;
        void socket.send(reply, peer);
      });
    }
  }

  #delays(): number[] {
    return drawDelays(this.#options.faults ?? NO_FAULTS, this.#random);
  }

  #later(delay: number, action: () => void): void {
    if (delay <= 0) return action();
    const cancel = this.#options.clock.after(delay, () => {
      this.#cancels.delete(cancel);
      action();
    });
    this.#cancels.add(cancel);
  }

  /** Closes all sockets; datagrams on their way are lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const cancel of this.#cancels) cancel();
    await Promise.all(this.#sockets.map((socket) => socket[Symbol.asyncDispose]()));
  }
}

function openHostSocket(endpoint: Endpoint, open: number): DatagramSocket {
  try {
    return openSocket(endpoint, LARGEST_REQUEST);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    const { message } = error as Error;
    const advice = /too many open files/i.test(message)
      ? `; ${open} are open: raise the limit (ulimit -n) or ask for fewer servers`
      : "";
    throw new InputError(`Cannot open ${formatEndpoint(endpoint)}: ${message}${advice}`);
  }
}
