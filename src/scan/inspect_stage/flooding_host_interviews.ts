/**
 * Interviews of hosts that flood, or in whose name datagrams are forged: one protocol, no follow-ups,
 * on a socket that no forger knows.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import {
  inspect,
  type Inspection,
  inspectKnown,
  type InspectOptions,
  settled,
} from "../../inspect/inspect.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { Sighting } from "../../core/record.ts";

/** Inspects a sighting or a known server; of a flooding host, no more than the first reply. */
export async function inspectDespiteFloods(
  subject: Sighting | { readonly endpoint: Endpoint; readonly spoken: readonly Protocol[] },
  options: InspectOptions,
  isFlooding: () => boolean,
): Promise<Inspection> {
  if (!isFlooding()) {
    const found = "spoken" in subject
      ? await inspectKnown(subject.endpoint, subject.spoken, options)
      : await inspect(subject, options);
    if (!isFlooding() || options.signal.aborted) return found;
    // The flood has ended the conversations of the interview.
    if (!isLost(found)) return withoutRest(found, options);
  }
  return withoutRest(await inspectAlone(subject, options), options);
}

/** Whether the first exchange brought nothing, for another reason than a lack of descriptors. */
function isLost({ answers, failure, exhausted }: Inspection): boolean {
  return failure === "noReply" || failure === "cancelled" ||
    failure === undefined && answers.length === 0 && !exhausted;
}

/** Uses the status of the first reply, or runs one exchange. */
async function inspectAlone(
  subject: Parameters<typeof inspectDespiteFloods>[0],
  options: InspectOptions,
): Promise<Inspection> {
  const alone = { ...options, follow: false, verify: false, link: options.exclusiveLink };
  if ("spoken" in subject) return await inspectKnown(subject.endpoint, subject.spoken, alone);
  return settled(subject, alone) ?? await inspect({ ...subject, known: undefined }, alone);
}

/** An inspection that is cut where follow-ups, or a verification, were left out. */
function withoutRest(
  found: Inspection,
  { protocols, follow, verify }: InspectOptions,
): Inspection {
  const leavesOut = verify || follow && protocols.length > 1;
  return leavesOut && found.answers.length > 0 ? { ...found, cut: true } : found;
}
