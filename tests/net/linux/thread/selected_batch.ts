/** A batch of datagrams to which a {@linkcode BlockWriter} adds its targets. */
import type { Endpoints } from "../../../../src/core/endpoints.ts";
import type { SelectionBatch } from "../../../../src/net/linux/thread/block_writer.ts";
import { DatagramBatch } from "../../../../src/net/socket.ts";

/** A batch that can be read. */
export class SelectedBatch extends DatagramBatch implements SelectionBatch {
  addSelected(targets: Endpoints, indexes: Uint16Array, tokens: Int32Array, clock: number): void {
    for (const i of indexes) this.add(targets, i, tokens[i], clock);
  }
}
