/**
 * Plans detecting passes. Before the passes of a protocol with a suppressor, they find the servers
 * of the suppressor.
 *
 * @module
 */
import { suppressorOf } from "../../inspect/mod.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { segmentsOf } from "../../targets/compose.ts";
import type { Segment } from "../../targets/space.ts";
import type { ScanSelection } from "../setup/scan_setup.ts";

/** The detecting passes of a suppressor. */
export interface SuppressionPlan {
  /** The suppressor, in which the detecting passes probe. */
  readonly protocol: Protocol;
  /** The protocol that is suppressed for servers of the suppressor. */
  readonly suppressed: Protocol;
  /** The targets of the suppressed protocol. */
  readonly segments: readonly Segment[];
}

/**
 * Plans the detecting passes of a scan. No detecting pass is needed if the other passes of the scan
 * probe in the suppressor first, on the same ports. A resumed scan repeats the detecting passes,
 * because their results are not stored.
 */
export function planSuppression(
  { targets, order: { from: { udp: from } } }: ScanSelection,
): SuppressionPlan[] {
  const { protocols, allProtocols, ports } = targets;
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
