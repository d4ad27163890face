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
 * What to attach to records: the icon; `all`: raw replies too, which may contain names of players;
 * `sample`: the sample of players with UUIDs too, for records that are not stored.
 */
export type AttachedParts = "icons" | "all" | "sample";

/** The raw replies, the icon and the sample of players to attach to a record. */
export function attachedOf(replies: readonly ProtocolReply[], parts: AttachedParts): Attachments {
  const withRaw = parts === "all";
  const kept: Record<string, RawReply> = {};
  let icon: string | undefined;
  for (const { protocol, statement, raw } of replies) {
    if (raw !== undefined && withRaw) {
      kept[protocol] = { size: raw.length, data: raw.subarray(0, MAX_REPLY).toBase64() };
    }
    const { icon: bytes } = statement;
    if (bytes !== undefined && bytes.length <= MAX_ICON) icon ??= bytes.toBase64();
  }
  const sample = parts === "sample"
    ? replies.find(({ statement }) => statement.sample !== undefined)?.statement.sample
    : undefined;
  return {
    replies: kept,
    ...icon !== undefined && { icon },
    ...sample !== undefined && { sample },
  };
}
