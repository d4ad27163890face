/**
 * Rejects a selected protocol without a port to probe.
 *
 * @module
 */
import { InputError } from "../core/errors.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { segmentsOf, type Targets } from "../targets/compose.ts";

/**
 * Checks that every protocol has a port to probe on every target.
 *
 * @param how How a user selects ports, for the text of the error.
 * @throws InputError for the first protocol without a port on some target.
 */
export function requirePorts(
  targets: Targets,
  protocols: readonly Protocol[],
  ports: (protocol: string, family: 4 | 6) => readonly number[],
  how: string,
): void {
  const portless = protocols.find(({ name, ports: usual }) =>
    segmentsOf(targets, (bits) => [...usual[bits], ...ports(name, bits)])
      .some(({ ports }) => ports.length === 0)
  );
  if (portless === undefined) return;
  throw new InputError(
    `Cannot use protocol "${portless.name}" without a port: it has no default port; ${how}`,
  );
}
