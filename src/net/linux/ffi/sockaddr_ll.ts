/**
 * Socket addresses of AF_PACKET, sizes and offsets in bytes:
 *
 *     sockaddr_ll 20  family 0 (2, host order)  protocol 2 (2, BE)  interface 4 (4, host order)
 *                     hardware 8 (2)  kind 10  length 11  address 12 (8)
 *
 * @module
 */
import { AF_PACKET } from "./libc.ts";

const SIZE = 20;

/**
 * The socket address of an interface.
 *
 * @param index The index of the interface.
 * @param protocol The Ethernet protocol to receive; 0: none.
 */
export function linkLayerAddress(index: number, protocol: number): Uint8Array<ArrayBuffer> {
  const name = new Uint8Array(SIZE);
  const view = new DataView(name.buffer);
  view.setUint16(0, AF_PACKET, true);
  view.setUint16(2, protocol);
  view.setUint32(4, index, true);
  return name;
}
