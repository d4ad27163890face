/**
 * The links of a scan that each use a socket of their own.
 *
 * @module
 */
import { type Endpoint, family } from "../../core/address.ts";
import { ConnectionSlots, type Demultiplexer, type Link } from "../../net/mod.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";

/** Opens links with a socket each. The number of open sockets is limited. */
export class ExclusiveLinks {
  readonly #slots: ConnectionSlots;

  /**
   * Prepares the limit; it opens no link.
   *
   * @param demultiplexer Passes datagrams from these sockets to their links.
   */
  constructor(
    private readonly options: ScanSetup,
    private readonly demultiplexer: Demultiplexer,
  ) {
    this.#slots = new ConnectionSlots(options.limits.exclusiveSockets ?? Infinity, Infinity);
  }

  /** Opens a link on its own socket. Waits while too many such sockets are open. */
  async open(peer: Endpoint): Promise<Link> {
    const free = await this.#slots.acquire(peer.address);
    try {
      const socket = this.options.io.openExclusive(family(peer.address));
      return this.demultiplexer.exclusiveLink(peer, socket, free);
    } catch (error) {
      free();
      throw error;
    }
  }
}
