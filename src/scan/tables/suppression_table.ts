/**
 * The endpoints that are not queried in suppressible protocols: a protocol with a suppressor
 * (`suppressedBy`) harms servers of that suppressor.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import type { AddedAddresses } from "../../core/endpoint_set.ts";
import type { Endpoints } from "../../core/endpoints.ts";
import { SuppressedEndpoints } from "../../inspect/mod.ts";
import type { Protocol } from "../../protocols/protocol.ts";

/** Records replies, and decides for which endpoints a protocol is suppressed. */
export class SuppressionTable {
  /** Whether the running pass is a detecting pass. */
  isDetecting = false;
  /** Endpoints that sent any datagram other than a reply in a suppressible protocol. */
  readonly #replied: SuppressedEndpoints;
  /** Names of the suppressible protocols. */
  readonly #suppressible: ReadonlySet<string>;
  /** Names of the suppressible protocols whose passes have not begun. */
  readonly #unsent: Set<string>;

  /**
   * Creates a table without replies.
   *
   * @param protocols The protocols of the scan.
   * @param seed 32 unpredictable bits.
   * @param added Gets the address of each recorded endpoint. Default: nothing does.
   */
  constructor(
    private readonly protocols: readonly Protocol[],
    seed: number,
    added?: AddedAddresses,
  ) {
    this.#replied = new SuppressedEndpoints(seed, added);
    const harmful = protocols.filter(({ suppressedBy }) => suppressedBy !== undefined);
    this.#suppressible = new Set(harmful.map(({ name }) => name));
    this.#unsent = new Set(this.#suppressible);
  }

  /**
   * Whether a protocol of the scan may be suppressed. If none may be, no datagram needs to be
   * recorded.
   */
  get isActive(): boolean {
    return this.#suppressible.size > 0;
  }

  /** Records that a pass of a protocol begins. */
  begin(protocol: string): void {
    this.#unsent.delete(protocol);
  }

  /**
   * Records a reply.
   *
   * @param proved Whether the reply repeats the token.
   * @returns Whether the reply is not processed further, because it only shows which protocol to
   * suppress, or because no probe was sent in its protocol.
   */
  note(protocol: string, endpoint: Endpoint, proved: boolean): boolean {
    if (!this.isActive) return false;
    if (this.#suppressible.has(protocol)) return this.#unsent.has(protocol);
    this.#replied.add(endpoint, proved);
    return this.isDetecting || this.protocols.every(({ name }) => name !== protocol);
  }

  /**
   * Records any other datagram. `protocol` is that of a malformed reply, otherwise `undefined`.
   */
  noteStray(protocol: string | undefined, endpoint: Endpoint): void {
    const own = protocol !== undefined && this.#suppressible.has(protocol);
    if (!own || this.#unsent.has(protocol)) this.#replied.add(endpoint, false);
  }

  /** Whether an endpoint sent any datagram other than a reply in a suppressible protocol. */
  hasReplied(endpoint: Endpoint): boolean {
    return this.#replied.has(endpoint);
  }

  /** Whether the detecting passes of a protocol have ended. */
  hasProbedFor(protocol: string): boolean {
    return this.protocols.some(({ name, suppressedBy }) =>
      suppressedBy === protocol && !this.#unsent.has(name)
    );
  }

  /**
   * Whether the running pass of a protocol skips an endpoint, because the protocol is suppressed or
   * a detecting pass has already detected the endpoint.
   */
  suppresses(endpoint: Endpoint, protocol: string): boolean {
    return (this.isDetecting || this.#suppressible.has(protocol)) && this.#replied.has(endpoint);
  }

  /** Whether a protocol is suppressed for a target in a batch. */
  suppressesAt(targets: Endpoints, i: number, protocol: string): boolean {
    return (this.isDetecting || this.#suppressible.has(protocol)) &&
      this.#replied.hasAt(targets, i);
  }
}
