/**
 * The parts of replies that are not columns of a record: raw bytes and icons.
 *
 * @module
 */
import type { Attachments, RawReply } from "../core/record.ts";
import type { ProtocolReply } from "./protocol_reply.ts";

/** Limit on the stored bytes of a reply. */
const MAX_REPLY = 32_768;
/** Limit on an icon, bytes. Clients accept 64 by 64 pixels; larger icons are not stored. */
const MAX_ICON = 65_536;

/**
 * The raw replies and the icon to store with a record.
 *
 * @param withRaw Whether raw replies are stored. They may contain names of players.
 */
export function attachedOf(replies: readonly ProtocolReply[], withRaw: boolean): Attachments {
  const kept: Record<string, RawReply> = {};
  let icon: string | undefined;
  for (const { protocol, statement, raw } of replies) {
    if (raw !== undefined && withRaw) {
      kept[protocol] = { size: raw.length, data: raw.subarray(0, MAX_REPLY).toBase64() };
    }
    const { icon: bytes } = statement;
    if (bytes !== undefined && bytes.length <= MAX_ICON) icon ??= bytes.toBase64();
  }
  return icon === undefined ? { replies: kept } : { replies: kept, icon };
}
