/**
 * Plans detecting passes: they find servers of a protocol that suppresses another one, before that
 * other one is sent.
 *
 * @module
 */
import { suppressorOf } from "../../inspect/interview.ts";
import { PROTOCOLS } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { segmentsOf } from "../../targets/compose.ts";
import type { Segment } from "../../targets/space.ts";
import type { ScanSelection } from "../scan_setup.ts";

/** A detecting pass of a protocol that suppresses another one. */
export interface SuppressionPlan {
  /** The protocol that suppresses the other one. */
  readonly protocol: Protocol;
  /** The protocol that is suppressed at servers of the other one. */
  readonly suppressed: Protocol;
  /** The targets of the suppressed protocol. */
  readonly segments: readonly Segment[];
}

/**
 * Plans the detecting passes of a scan. None is needed if the scan's own passes probe the suppressor
 * first, on the same ports. A resumed scan repeats them, because it does not store what they found.
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
