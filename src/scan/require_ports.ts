/**
 * Finding out that a protocol would be asked nowhere.
 *
 * @module
 */
import { InputError } from "../core/errors.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { segmentsOf, type Targets } from "../targets/compose.ts";

/**
 * Checks that there is a port to ask for every protocol that has no usual one.
 *
 * @param how How a user names ports.
 * @throws InputError for the first protocol that has none on some target.
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
