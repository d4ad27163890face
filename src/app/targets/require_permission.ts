/**
 * Refuses a scan whose user has not confirmed the permission of the targets' owners, and describes
 * what it would send.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { CallContext } from "../network/call_context.ts";
import type { GivenOptions } from "../options/given_options.ts";
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
 * Checks that the user named who answers complaints (`--contact`), if there are public targets. Without
 * the option, the kept contact is used.
 *
 * @returns The options, with the contact if it is needed.
 * @throws InputError without a contact.
 */
export async function requireContact(
  { publicSize }: Pick<Targets, "publicSize">,
  options: GivenOptions,
  { nameOf, keptContact }: Pick<CallContext, "nameOf" | "keptContact">,
): Promise<GivenOptions> {
  if (options.given.has("contact") || publicSize === 0n) return options;
  const contact = await keptContact?.();
  if (contact !== undefined) return withContact(options, contact);
  const option = nameOf("contact");
  const once = keptContact === undefined ? "" : `, once with ${option}: it is kept for later scans`;
  throw new InputError(
    `Cannot scan ${countOf(publicSize, "public address", "public addresses")} without ` +
      `${option}: name the e-mail address or web page of who answers complaints${once}`,
  );
}

/** Options with a contact, which they did not have. */
export function withContact(options: GivenOptions, contact: string): GivenOptions {
  return { ...options, given: new Map([...options.given, ["contact", [contact]]]) };
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
