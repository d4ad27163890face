/**
 * The endpoints to which a protocol must not be sent, because it would harm them, or us with them.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import type { Endpoints } from "../../core/endpoints.ts";
import { SuppressedEndpoints } from "../../inspect/suppressed_endpoints.ts";
import type { Protocol } from "../../protocols/protocol.ts";

/** Knows where protocols are suppressed. */
export class SuppressionTable {
  /** Whether the pass that runs only looks for speakers of a protocol. */
  isDetecting = false;
  /** Endpoints from which any datagram came but a reply in a protocol that may be suppressed. */
  readonly #replied: SuppressedEndpoints;
  /** Protocols that are suppressed at some. */
  readonly #suppressible: ReadonlySet<string>;
  /** Those of them of which no probe has left. */
  readonly #unsent: Set<string>;

  /**
   * Starts without replies.
   *
   * @param protocols The protocols of the scan.
   * @param seed 32 unpredictable bits.
   */
  constructor(private readonly protocols: readonly Protocol[], seed: number) {
    this.#replied = new SuppressedEndpoints(seed);
    const harmful = protocols.filter(({ suppressedBy }) => suppressedBy !== undefined);
    this.#suppressible = new Set(harmful.map(({ name }) => name));
    this.#unsent = new Set(this.#suppressible);
  }

  /** Whether some protocol of the scan may be suppressed: else no datagram needs to be noted. */
  get isActive(): boolean {
    return this.#suppressible.size > 0;
  }

  /** Notes that probes of a protocol leave from now on. */
  begin(protocol: string): void {
    this.#unsent.delete(protocol);
  }

  /**
   * Takes a reply.
   *
   * @param proven Whether it is one to our probe for sure.
   * @returns Whether nothing else is to be made of it: it only shows what to suppress, or replies to
   * a probe that was not sent.
   */
  note(protocol: string, endpoint: Endpoint, proven: boolean): boolean {
    if (!this.isActive) return false;
    if (this.#suppressible.has(protocol)) return this.#unsent.has(protocol);
    this.#replied.add(endpoint, proven);
    return this.isDetecting || this.protocols.every(({ name }) => name !== protocol);
  }

  /** Takes any other datagram; of a protocol, a broken reply. */
  noteStray(protocol: string | undefined, endpoint: Endpoint): void {
    const own = protocol !== undefined && this.#suppressible.has(protocol);
    if (!own || this.#unsent.has(protocol)) this.#replied.add(endpoint, false);
  }

  /** Whether anything but a reply in a protocol that may be suppressed came from an endpoint. */
  hasReplied(endpoint: Endpoint): boolean {
    return this.#replied.has(endpoint);
  }

  /** Whether all endpoints that are probed in a protocol for the sake of another one were. */
  hasProbedFor(protocol: string): boolean {
    return this.protocols.some(({ name, suppressedBy }) =>
      suppressedBy === protocol && !this.#unsent.has(name)
    );
  }

  /** Whether an endpoint must not be sent a protocol, or needs not, for its reply is there. */
  suppresses(endpoint: Endpoint, protocol: string): boolean {
    return (this.isDetecting || this.#suppressible.has(protocol)) && this.#replied.has(endpoint);
  }

  /** Whether a protocol is suppressed for a target in a batch. */
  suppressesAt(targets: Endpoints, i: number, protocol: string): boolean {
    return (this.isDetecting || this.#suppressible.has(protocol)) &&
      this.#replied.hasAt(targets, i);
  }
}
