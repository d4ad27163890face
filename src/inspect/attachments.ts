/**
 * What answers hold beside what is in a row.
 *
 * @module
 */
import type { Attachments, RawReply } from "../core/record.ts";
import type { ProtocolReply } from "./merge.ts";

/** Bytes of a reply that are kept. */
const MOST_REPLY = 32_768;
/** Larger icons are not kept, bytes: clients want 64 by 64 pixels. */
const MOST_ICON = 65_536;

/**
 * What is kept of answers.
 *
 * @param replies Whether replies are, in which players may be named.
 */
export function attachedOf(answers: readonly ProtocolReply[], replies: boolean): Attachments {
  const kept: Record<string, RawReply> = {};
  let icon: string | undefined;
  for (const { protocol, statement, raw } of answers) {
    if (raw !== undefined && replies) {
      kept[protocol] = { size: raw.length, data: raw.subarray(0, MOST_REPLY).toBase64() };
    }
    const { icon: bytes } = statement;
    if (bytes !== undefined && bytes.length <= MOST_ICON) icon ??= bytes.toBase64();
  }
  return icon === undefined ? { replies: kept } : { replies: kept, icon };
}
