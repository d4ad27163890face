/**
 * A batch of datagrams in the memory layout of `sendmmsg`.
 *
 * @module
 */
import type { Endpoints } from "../../../core/endpoints.ts";
import { MessageHeaders, writeSockaddr } from "../ffi/mmsghdr.ts";
import { type Batch, Stamp, type Template } from "../../socket.ts";

/** Copies of one datagram, with message headers, for one system call. */
export class MessageBatch implements Batch {
  readonly messages: MessageHeaders;
  length = 0;
  readonly #size: number;
  readonly #stamp: Stamp;

  /** Creates `capacity` copies for targets of one address family. */
  constructor(of: Template, capacity: number, bits: 4 | 6) {
    const { template } = of;
    this.#size = template.length;
    this.#stamp = new Stamp(of);
    this.messages = new MessageHeaders({ count: capacity, family: bits, payload: template.length });
    for (let i = 0; i < capacity; i++) this.messages.bytes.set(template, this.messages.payload(i));
  }

  add(targets: Endpoints, i: number, token: number, clock: number): void {
    const slot = this.length++;
    const { messages } = this;
    writeSockaddr(messages.view, messages.name(slot), targets, i);
    this.#stamp.write(messages.view, messages.payloads + slot * this.#size, token, clock);
  }

  /** Adds the targets at some indexes of a list, with their tokens. */
  addSelected(targets: Endpoints, indexes: Uint16Array, tokens: Int32Array, clock: number): void {
    for (let k = 0; k < indexes.length; k++) {
      this.add(targets, indexes[k], tokens[indexes[k]], clock);
    }
  }

  clear(): void {
    this.length = 0;
  }
}
