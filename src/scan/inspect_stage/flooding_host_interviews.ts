/**
 * Interviews of hosts that flood, or whose address is forged in a flood. Such an interview uses one
 * protocol and no follow-ups. It uses a socket of its own, because a sender of forged datagrams does
 * not know the port of that socket.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import {
  inspect,
  type Inspection,
  inspectionWithoutQuery,
  inspectKnown,
  type InspectOptions,
} from "../../inspect/inspect.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { Sighting } from "../../core/record.ts";

/**
 * Inspects a sighting or a known server. For a flooding host, the inspection ends after the first
 * reply.
 */
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
    // The flood has cancelled the links of the interview.
    if (!isLost(found)) return withoutRest(found, options);
  }
  return withoutRest(await inspectFirstReply(subject, options), options);
}

/** Whether the first exchange had no result, for a reason other than a lack of descriptors. */
function isLost({ replies, failure, exhausted }: Inspection): boolean {
  return failure === "noReply" || failure === "cancelled" ||
    failure === undefined && replies.length === 0 && !exhausted;
}

/** Uses the status of the first reply, or runs one exchange. */
async function inspectFirstReply(
  subject: Parameters<typeof inspectDespiteFloods>[0],
  options: InspectOptions,
): Promise<Inspection> {
  const alone = { ...options, follow: false, verify: false, link: options.exclusiveLink };
  if ("spoken" in subject) return await inspectKnown(subject.endpoint, subject.spoken, alone);
  return inspectionWithoutQuery(subject, alone) ??
    await inspect({ ...subject, known: undefined }, alone);
}

/** Marks an inspection as cut short if follow-ups, or a verification, were omitted. */
function withoutRest(
  found: Inspection,
  { protocols, follow, verify }: InspectOptions,
): Inspection {
  const omitsRest = verify || follow && protocols.length > 1;
  return omitsRest && found.replies.length > 0 ? { ...found, isCutShort: true } : found;
}
