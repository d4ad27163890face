/**
 * A batch of TCP ports to connect to.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import type { Endpoints } from "../../core/endpoints.ts";
import type { Batch } from "../socket.ts";

/** Targets of connections, each with its token and stamp. */
export class PortBatch implements Batch {
  length = 0;
  /** The address of each target. */
  readonly addresses: Address[] = [];
  /** The port of each target. */
  readonly ports: number[] = [];
  /** The token of each target. */
  readonly tokens: number[] = [];
  /** The stamp of each target, microseconds modulo 2^32. */
  readonly clocks: number[] = [];

  add(targets: Endpoints, i: number, token: number, clock: number): void {
    const slot = this.length++;
    this.addresses[slot] = targets.address(i);
    this.ports[slot] = targets.ports[i];
    this.tokens[slot] = token >>> 0;
    this.clocks[slot] = clock;
  }

  clear(): void {
    this.length = 0;
  }
}
