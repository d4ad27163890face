/**
 * Refuses a scan whose user has not confirmed the permission of the targets' owners, and describes
 * what it would send.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { Targets } from "../../targets/compose.ts";
import { countOf } from "../../core/quantities.ts";
import { permissionNeeded } from "../../targets/permission.ts";
import { maxSent, type Passes, type Plan } from "./scan_plan.ts";

/**
 * Checks that the user confirmed permission (`--i-have-permission`), if the targets require it.
 *
 * @param option The option that confirms permission, for the error.
 * @throws InputError with the reason why permission is needed, and what would be sent.
 */
export function requirePermission(
  targets: Targets,
  plan: Plan,
  permitted: boolean,
  option = "--i-have-permission",
): void {
  const what = permissionNeeded(targets);
  if (permitted || what === undefined) return;
  throw new InputError(
    `Cannot scan ${what} without ${option}: up to ${probesOf(plan)}, and their owners ` +
      "may object; scan only networks that you are responsible for, or whose owners agreed",
  );
}

/**
 * Checks that the user named who answers complaints (`--contact`), if there are public targets.
 *
 * @param nameOf Returns the name of an option, for the error.
 * @throws InputError without a contact.
 */
export function requireContact(
  { publicSize }: Pick<Targets, "publicSize">,
  contact: string | undefined,
  nameOf: (option: string) => string,
): void {
  if (contact !== undefined || publicSize === 0n) return;
  throw new InputError(
    `Cannot scan ${countOf(publicSize, "public address", "public addresses")} without ` +
      `${nameOf("contact")}: name the e-mail address or web page of who answers complaints, or ` +
      `write "contact" into a file of options (scan --config)`,
  );
}

/** The protocols of the passes that send probes. */
function sentIn({ protocols, probes }: Passes): string[] {
  return protocols.filter((_, i) => probes[i] > 0);
}

/** What would be sent, in words. */
function probesOf(plan: Plan): string {
  const { passes: { udp, tcp }, detectionPasses, interviews, probeTexts } = plan;
  const kinds = (names: readonly string[]) =>
    [...new Set(names)].map((name) => probeTexts.get(name)).join(" and ");
  const { udp: datagrams, tcp: connects } = maxSent(plan);
  const held = (transport: Protocol["transport"]) =>
    interviews.protocols.filter((one) => one.transport === transport).map(({ name }) => name);
  const names = [...detectionPasses.map(({ name }) => name), ...sentIn(udp), ...held("udp")];
  return [
    ...(datagrams > 0 ? [`${countOf(datagrams, "datagram")} would be sent (${kinds(names)})`] : []),
    ...(connects > 0
      ? [
        `${countOf(connects, "connection")} would be opened (${
          kinds([...sentIn(tcp), ...held("tcp")])
        })`,
      ]
      : []),
  ].join(" and ");
}
