/**
 * A batch of SYN packets: frames for targets behind the gateway, and connections to other targets.
 *
 * @module
 */
import type { Endpoints } from "../../../core/endpoints.ts";
import type { Batch } from "../../socket.ts";
import { type FrameBatch, isFramed } from "../batch/frame_batch.ts";
import type { TargetBatch } from "../batch/target_batch.ts";
import type { AddressesBehindGateway } from "../netlink/routing_table.ts";

/** A batch for a {@linkcode SynSocket}. */
export class SynBatch implements Batch {
  /**
   * Creates a batch from empty ones.
   *
   * @param behind The addresses that get frames; `undefined`: none.
   * @param framed The frames, or their targets for a sender thread.
   * @param plain The batch of the socket for all other targets.
   */
  constructor(
    private readonly behind: AddressesBehindGateway | undefined,
    readonly framed: FrameBatch | TargetBatch,
    readonly plain: Batch,
  ) {}

  get length(): number {
    return this.framed.length + this.plain.length;
  }

  add(targets: Endpoints, i: number, token: number, clock: number): void {
    const batch = isFramed(this.behind, targets, i) ? this.framed : this.plain;
    batch.add(targets, i, token, clock);
  }

  clear(): void {
    this.framed.clear();
    this.plain.clear();
  }
}
