/**
 * Copies of one datagram for many targets, where the system reads them.
 *
 * @module
 */
import type { Endpoints } from "../endpoints.ts";
import { Messages, writeSockaddr } from "./messages.ts";
import type { Batch } from "./socket.ts";

/** A batch in the memory that the system reads. */
export class MessageBatch implements Batch {
  readonly messages: Messages;
  readonly slots: DataView;
  length = 0;
  readonly #size: number;

  /** Makes the copies. */
  constructor(template: Uint8Array, capacity: number, bits: 4 | 6) {
    this.#size = template.length;
    this.messages = new Messages({ count: capacity, family: bits, payload: template.length });
    this.slots = this.messages.view;
    for (let i = 0; i < capacity; i++) this.messages.bytes.set(template, this.messages.payload(i));
  }

  add(targets: Endpoints, i: number): number {
    const slot = this.length++;
    writeSockaddr(this.slots, this.messages.name(slot), targets, i);
    return this.messages.payloads + slot * this.#size;
  }

  clear(): void {
    this.length = 0;
  }
}
