/**
 * Before which passes speakers of a protocol are looked for, because another one must not be sent to
 * them.
 *
 * @module
 */
import { suppressorOf } from "../../inspect/interview.ts";
import { PROTOCOLS } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { segmentsOf } from "../../targets/compose.ts";
import type { Segment } from "../../targets/space.ts";
import type { ScanSelection } from "../scan_setup.ts";

/** A protocol that is probed before the passes, for it suppresses another one. */
export interface SuppressionPlan {
  /** The protocol that suppresses the other one. */
  readonly protocol: Protocol;
  /** The one that it suppresses. */
  readonly suppressed: Protocol;
  /** Where that one will be sent. */
  readonly segments: readonly Segment[];
}

/**
 * What has to be looked for before the passes of a scan: nothing where these find it first, on the
 * same ports. A resumed scan does not know what its first part found.
 */
export function planSuppression(
  { targets, order: { from: { udp: from } } }: ScanSelection,
): SuppressionPlan[] {
  const { protocols, allProtocols = PROTOCOLS, ports } = targets;
  const fresh = from.pass === 1 && from.position === 0;
  const segmentsFor = ({ name }: Protocol) =>
    segmentsOf(targets.addresses, (bits) => ports(name, bits));
  return protocols.flatMap((suppressed) => {
    const protocol = suppressorOf(suppressed, allProtocols);
    if (protocol === undefined) return [];
    const segments = segmentsFor(suppressed);
    const found = fresh && protocols.includes(protocol) &&
      segmentsFor(protocol).every(({ ports }, i) => ports.join() === segments[i].ports.join());
    return found ? [] : [{ protocol, suppressed, segments }];
  });
}
