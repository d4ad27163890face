/**
 * Searches replies for opt-out markers as soon as they arrive, and records the addresses that sent
 * a marker.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import type { Sighting } from "../../core/record.ts";
import { firstReplyOf, type ProtocolReply } from "../../inspect/mod.ts";
import { motdAsSent, type Protocol } from "../../protocols/protocol.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";
import type { ScanTables } from "./scan_tables.ts";

/** Records opt-outs in the tables, the state, the checkpoint and the hook of a scan. */
export class OptOutRecorder {
  readonly #options: ScanSetup;
  readonly #tables: Pick<ScanTables, "lowWater" | "optedOut" | "stop">;
  readonly #protocols: readonly Protocol[];
  /** Settles when the checkpoint contains all opt-outs so far. */
  #saved: Promise<void> = Promise.resolve();

  /** Creates a recorder without opt-outs. */
  constructor(options: ScanSetup, tables: Pick<ScanTables, "lowWater" | "optedOut" | "stop">) {
    const { protocols, allProtocols } = options.targets;
    this.#options = options;
    this.#tables = tables;
    this.#protocols = [...protocols, ...allProtocols];
  }

  /** Whether a reply contains an opt-out marker. */
  readonly isOptOut = ({ statement }: ProtocolReply): boolean =>
    this.#options.interviews.optsOut(motdAsSent(statement));

  /**
   * Decodes the reply of a sighting, and searches it for an opt-out marker.
   *
   * @returns `undefined` for a sighting without a status.
   */
  search(
    sighting: Pick<Sighting, "protocol" | "status" | "raw">,
  ): ProtocolReply | "optOut" | undefined {
    const reply = firstReplyOf(sighting, this.#protocols);
    return reply !== undefined && this.isOptOut(reply) ? "optOut" : reply;
  }

  /**
   * Records the address of a reply that becomes no sighting, if the reply contains an opt-out marker.
   * The low-water mark does not advance until the checkpoint contains the opt-out. Otherwise a resumed
   * scan could probe later targets of the address.
   */
  take(reply: Pick<Sighting, "endpoint" | "protocol" | "status" | "raw">): void {
    if (this.search(reply) !== "optOut") return;
    this.recordWhenSaved(reply.endpoint.address, this.#tables.lowWater.begin());
  }

  /**
   * Records an opt-out.
   *
   * @param onSaved Called when the checkpoint contains the opt-out.
   */
  recordWhenSaved(address: Address, onSaved: () => void): void {
    this.record(address).then(onSaved, (error) => this.#tables.stop.fail(error));
  }

  /**
   * Records an opt-out. From now on nothing is sent to the address. Resolves when the opt-out is
   * saved.
   */
  record(address: Address): Promise<void> {
    if (this.#add(address)) {
      this.#options.io.state.optedOut++;
      this.#options.hooks?.onOptOut?.(address);
    }
    return this.#saved;
  }

  /** Records an opt-out that was found elsewhere: it is neither counted nor reported. */
  recordFromOutside(address: Address): void {
    this.#add(address);
  }

  /** Adds an opt-out to the table and to the checkpoint. Returns whether it is new. */
  #add(address: Address): boolean {
    const { checkpoint } = this.#options.io;
    const { optedOut } = this.#tables;
    if (optedOut.has(address)) return false;
    optedOut.add(address);
    this.#saved = this.#saved.then(() => checkpoint?.optedOut(address));
    return true;
  }

  /** Resolves when the checkpoint contains all opt-outs so far. */
  saved(): Promise<void> {
    return this.#saved;
  }
}
