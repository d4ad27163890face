/**
 * Servers that were known before a scan. They are probed first.
 *
 * @module
 */
import type { Endpoints } from "../../core/endpoints.ts";
import { lastNotAbove } from "../../targets/ranges.ts";
import type { DiscoveryTargets } from "../contract.ts";
import type { PassLimits } from "./hot_pass.ts";
import type { Universe } from "../counters/universe.ts";

/** What became of a known server. */
const WAITING = 0;
const PLANNED = 1;
const PROBED = 2;

/** The known servers among the targets, in ascending order. */
export class KnownTargets {
  /** Address * 1024 + index of the port. */
  readonly #keys: Float64Array;
  readonly #states: Uint8Array;
  /** The servers of the planned pass. */
  #chosen = new Uint32Array(0);
  #waiting: number;

  /** Selects the servers that are targets. */
  constructor({ known, ports }: DiscoveryTargets, universe: Universe) {
    const indexes = new Map(ports.map((port, i) => [port, i]));
    const keys = new Float64Array(known.length);
    let length = 0;
    for (const { address, port } of known) {
      const index = indexes.get(port);
      if (index !== undefined && universe.has(address)) keys[length++] = address * 1024 + index;
    }
    const sorted = keys.subarray(0, length).sort();
    this.#keys = sorted.filter((key, i) => i === 0 || key !== sorted[i - 1]);
    this.#states = new Uint8Array(this.#keys.length);
    this.#waiting = this.#keys.length;
    this.#ports = ports;
  }

  readonly #ports: readonly number[];

  /** Number of servers. */
  get length(): number {
    return this.#keys.length;
  }

  /** Number of servers that were not probed. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Number of servers of the planned pass. */
  get planned(): number {
    return this.#chosen.length;
  }

  /** Memory, bytes. */
  get bytes(): number {
    return 9 * this.#keys.length;
  }

  /** Calls a function with each server, in ascending order. */
  forEach(visit: (address: number, port: number) => void): void {
    for (const key of this.#keys) visit(Math.floor(key / 1024), key % 1024);
  }

  /**
   * Chooses servers that were not probed, as many as fit in the caps.
   *
   * @param spent Planned probes of earlier passes to a /24.
   */
  choose(budget: number, caps: PassLimits, spent: (network: number) => number): void {
    const chosen: number[] = [];
    let [network, left, host, leftOfHost] = [-1, 0, -1, 0];
    for (let i = 0; i < this.#keys.length && chosen.length < budget; i++) {
      if (this.#states[i] === PROBED) continue;
      const address = Math.floor(this.#keys[i] / 1024);
      if (Math.floor(address / 256) !== network) {
        network = Math.floor(address / 256);
        left = Math.min(caps.perNetwork, caps.netBudget - spent(network));
      }
      if (address !== host) [host, leftOfHost] = [address, caps.perHost];
      if (left-- < 1 || leftOfHost-- < 1) continue;
      this.#states[i] = PLANNED;
      chosen.push(i);
    }
    this.#chosen = Uint32Array.from(chosen);
  }

  /** Ends the planned pass. */
  end(visit: (network: number) => void): void {
    for (const i of this.#chosen) {
      this.#states[i] = PROBED;
      visit(Math.floor(this.#keys[i] / 2 ** 18));
    }
    this.#waiting -= this.#chosen.length;
    this.#chosen = new Uint32Array(0);
  }

  /** Gives up the servers that were not probed: the caps of all passes leave no room for them. */
  giveUp(): void {
    this.#waiting = 0;
  }

  /** Writes a server of the planned pass into a list. */
  write(position: number, i: number, targets: Endpoints): void {
    const key = this.#keys[this.#chosen[position]];
    targets.ipv4[i] = Math.floor(key / 1024);
    targets.ports[i] = this.#ports[key % 1024];
  }

  /** Calls a function with each server of the planned pass. */
  forEachPlanned(visit: (address: number, port: number) => void): void {
    for (const i of this.#chosen) {
      visit(Math.floor(this.#keys[i] / 1024), this.#keys[i] % 1024);
    }
  }

  /** Whether the planned pass contains a server. */
  isPlanned(address: number, port: number): boolean {
    return this.#state(address, port) === PLANNED;
  }

  /** Whether a server was probed. */
  wasProbed(address: number, port: number): boolean {
    return this.#state(address, port) === PROBED;
  }

  #state(address: number, port: number): number {
    const key = address * 1024 + port;
    const i = lastNotAbove(this.#keys, key);
    return i >= 0 && this.#keys[i] === key ? this.#states[i] : WAITING;
  }
}
